#include "spillway/Conversion/OnnxToNN/NormStatistics.h"

using namespace mlir;
using namespace spillway;

zero::StateOp NormStatistics::stateOf(Tensor tensor) const {
  auto use = tensor.value.getDefiningOp<zero::UseOp>();
  return use ? states.lookup(use.getState()) : zero::StateOp();
}

Tensor NormStatistics::current(Tensor state) const {
  auto use = state.value.getDefiningOp<zero::UseOp>();
  auto found = use ? updated.find(use.getStateAttr()) : updated.end();
  return found == updated.end() ? state : found->second;
}

void NormStatistics::update(Tensor state, Tensor next) {
  stateOf(state).setRewritten(true);
  updated[state.value.getDefiningOp<zero::UseOp>().getStateAttr()] = next;
}

void NormStatistics::emitUpdates(OpBuilder &builder) {
  for (auto &[state, value] : updated)
    zero::UpdateOp::create(builder, value.value.getLoc(), builder.getArrayAttr(state), /*tile=*/IntegerAttr(),
                           value.value);
}
