#include "spillway/Plan/Tiling.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Regex.h"

#include <numeric>

using namespace mlir;
using namespace spillway;
using namespace spillway::plan;
using zero::StateOp;

/// What of operand `i` of a call, an input or a destination, its kernel says.
static Attribute attrOf(nn::CallOp call, nn::KernelOp kernel, unsigned i, StringRef name) {
  unsigned inputs = call.getInputs().size();
  return i < inputs ? kernel.getArgAttr(i, name) : kernel.getResultAttr(i - inputs, name);
}

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
      bool byUnits = kernel && attrOf(call, kernel, i, nn::tiledAttrName) &&
                     static_cast<int64_t>(kernel.getUnits()) == state.getUnitCount();
      bool byDepth = kernel && attrOf(call, kernel, i, nn::depthTiledAttrName);
      tileable_[state] &= (byUnits || byDepth) &&
                          attrOf(call, kernel, i, nn::layoutAttrName) == state.getLayoutAttr() &&
                          attrOf(call, kernel, i, nn::rowsAttrName) == state.getRowsAttr();
    }
  });
  restrictUpdates(module);
  for (auto function : module.getOps<func::FuncOp>())
    for (auto call : function.getOps<nn::CallOp>()) {
      StateOp first;
      for (Value operand : call.getOperands())
        if (StateOp state = tiledOperand(operand)) {
          if (first)
            groups_.unionSets(first, state);
          first = state;
        }
    }
}

void Tileability::restrictUpdates(ModuleOp module) {
  bool changed = true;
  while (std::exchange(changed, false))
    for (auto function : module.getOps<func::FuncOp>())
      for (auto update : function.getOps<zero::UpdateOp>()) {
        auto states = llvm::map_to_vector(update.getStates(), [&](Attribute name) {
          return symbols_.lookupNearestSymbolFrom<StateOp>(update, cast<FlatSymbolRefAttr>(name));
        });
        if (llvm::all_of(states, [&](StateOp state) { return isTileable(state); }))
          continue;
        for (StateOp state : states)
          changed |= std::exchange(tileable_[state], false);
      }
}

StateOp Tileability::tiledOperand(Value operand) {
  auto use = operand.getDefiningOp<zero::UseOp>();
  if (!use)
    return {};
  auto state = symbols_.lookupNearestSymbolFrom<StateOp>(use, use.getStateAttr());
  return isTileable(state) ? state : StateOp();
}

FailureOr<StateOp> Tileability::tiledState(nn::CallOp call) {
  StateOp first;
  for (Value operand : call.getOperands()) {
    StateOp state = tiledOperand(operand);
    if (first && state && first.getTile() != state.getTile())
      return call.emitOpError("takes tiles of ")
             << first.getName() << " and " << state.getName() << ", which are not cut alike";
    if (!first)
      first = state;
  }
  return first;
}

bool Tileability::isCutInDepth(nn::CallOp call) {
  nn::KernelOp kernel = call.getKernel(symbols_);
  for (auto [i, operand] : llvm::enumerate(call.getInputs()))
    if (kernel.getArgAttr(i, nn::depthTiledAttrName) && tiledOperand(operand))
      return true;
  return false;
}

StateOp Tileability::groupOf(StateOp state) {
  return cast<StateOp>(groups_.getLeaderValue(state));
}

SmallVector<StateOp> Tileability::groupMembers(StateOp state) {
  SmallVector<StateOp> members;
  for (Operation *member : groups_.members(state.getOperation()))
    members.push_back(cast<StateOp>(member));
  return members;
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
      if (!regex.match(state.getName()) || !tileability.isTileable(state))
        continue;
      matched = true;
      // What one call takes is cut alike, as a parameter and what its optimizer keeps are.
      SmallVector<StateOp> group = tileability.groupMembers(state);
      int64_t grain = 1;
      for (StateOp member : group)
        grain = std::lcm(grain, member.getTileGrain());
      for (StateOp member : group)
        if (done.insert(member).second)
          member.setTile(std::min<int64_t>(llvm::alignTo(units, grain), member.getUnitCount()));
    }
    if (!matched)
      return module.emitError("tile rule ") << rule << ": no state that kernels can take by parts matches " << pattern
                                            << " with its whole name";
  }
  return success();
}
