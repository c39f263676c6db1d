#include "spillway/Plan/Tiling.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::plan;
using zero::StateOp;

Tileability::Tileability(ModuleOp module) {
  for (StateOp state : module.getOps<StateOp>()) {
    tileable_[state] = false;
    groups_.insert(state);
  }
  auto visitUses = [&](auto visit) {
    for (auto function : module.getOps<func::FuncOp>())
      for (auto use : function.getOps<zero::UseOp>())
        visit(use, symbols_.lookupNearestSymbolFrom<StateOp>(use, use.getStateAttr()));
  };
  visitUses([&](zero::UseOp, StateOp state) { tileable_[state] = true; });
  visitUses([&](zero::UseOp use, StateOp state) {
    for (OpOperand &operand : use->getUses()) {
      auto call = dyn_cast<nn::CallOp>(operand.getOwner());
      nn::KernelOp kernel = call ? call.getKernel(symbols_) : nn::KernelOp();
      unsigned i = operand.getOperandNumber();
      tileable_[state] &= kernel && i < kernel.getNumArguments() &&
                          kernel.getArgAttr(i, nn::tiledAttrName) &&
                          kernel.getArgAttr(i, nn::layoutAttrName) == state.getLayoutAttr() &&
                          kernel.getArgAttr(i, nn::rowsAttrName) == state.getRowsAttr() &&
                          static_cast<int64_t>(kernel.getUnits()) == state.getUnitCount();
    }
  });
  for (auto function : module.getOps<func::FuncOp>())
    for (auto call : function.getOps<nn::CallOp>()) {
      StateOp first;
      for (unsigned i = 0; i < call.getInputs().size(); ++i)
        if (StateOp state = tiledArgument(call, i)) {
          if (first)
            groups_.unionSets(first, state);
          first = state;
        }
    }
}

StateOp Tileability::tiledArgument(nn::CallOp call, unsigned i) {
  auto use = call.getInputs()[i].getDefiningOp<zero::UseOp>();
  if (!use)
    return {};
  auto state = symbols_.lookupNearestSymbolFrom<StateOp>(use, use.getStateAttr());
  return isTileable(state) ? state : StateOp();
}

FailureOr<StateOp> Tileability::tiledState(nn::CallOp call) {
  StateOp first;
  for (unsigned i = 0; i < call.getInputs().size(); ++i) {
    StateOp state = tiledArgument(call, i);
    if (first && state && first.getTile() != state.getTile())
      return call.emitOpError("takes tiles of ")
             << first.getName() << " and " << state.getName() << ", which are not cut alike";
    if (!first)
      first = state;
  }
  return first;
}

StateOp Tileability::groupOf(StateOp state) {
  return cast<StateOp>(groups_.getLeaderValue(state));
}

int64_t spillway::plan::tileUnitsFor(StateOp state, uint64_t maxBytes) {
  int64_t units = state.getUnitCount(), grain = state.getTileGrain();
  int64_t grainBytes = std::max<int64_t>(1, grain * state.getUnitBytes());
  int64_t most = std::max<int64_t>(1, static_cast<int64_t>(maxBytes) / grainBytes) * grain;
  int64_t tiles = llvm::divideCeil(units, most);
  return std::min<int64_t>(units, llvm::alignTo(llvm::divideCeil(units, tiles), grain));
}

LogicalResult spillway::plan::applyTileRules(ModuleOp module, Tileability &tileability,
                                             ArrayRef<std::string> rules) {
  DenseSet<Operation *> done;
  for (StringRef rule : rules) {
    auto [pattern, number] = rule.rsplit('=');
    llvm::Regex regex(("^(" + pattern + ")$").str());
    std::string error;
    int64_t units = 0;
    if (number.getAsInteger(10, units) || units < 1)
      return module.emitError("tile rule ") << rule << ": expected REGEX=UNITS, at least one unit";
    if (!regex.isValid(error))
      return module.emitError("tile rule ") << rule << ": " << error;
    bool matched = false;
    for (StateOp state : module.getOps<StateOp>()) {
      if (!tileability.isTileable(state) || !regex.match(state.getName()))
        continue;
      matched = true;
      int64_t whole = llvm::alignTo(units, state.getTileGrain());
      if (done.insert(state).second)
        state.setTile(std::min(whole, state.getUnitCount()));
    }
    if (!matched)
      return module.emitError("tile rule ")
             << rule << ": no state that kernels can take by parts matches";
  }
  return success();
}
