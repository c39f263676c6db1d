#include "dialects/NN/NN.h"
#include "dialects/NN/Views.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::nn;

/// What a value is another view of; null where it is none.
static Value viewedBy(Value value) {
  if (auto reshape = value.getDefiningOp<ReshapeOp>())
    return reshape.getOperand();
  auto slice = value.getDefiningOp<SliceOp>();
  return slice && slice.getFirstOfRun() ? slice.getOperand() : Value();
}

Value spillway::nn::sourceOf(Value value) {
  while (Value viewed = viewedBy(value))
    value = viewed;
  return value;
}

uint64_t spillway::nn::offsetInSource(Value value) {
  int64_t offset = 0;
  for (; Value viewed = viewedBy(value); value = viewed)
    if (auto slice = value.getDefiningOp<SliceOp>())
      offset += *slice.getFirstOfRun() * elementBytes(slice.getType().getElementType());
  return static_cast<uint64_t>(offset);
}

bool spillway::nn::takesSameElement(OpOperand &use) {
  auto sum = dyn_cast<AddRowsOp>(use.getOwner());
  return sum ? &use == &sum.getDataMutable() : OpTrait::hasElementwiseMappableTraits(use.getOwner());
}
