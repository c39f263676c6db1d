#include "dialects/Zero/Zero.h"
#include "spillway/Plan/Tiling.h"
#include "spillway/Transforms/Zero/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/Regex.h"

namespace spillway::zero {
#define GEN_PASS_DEF_ZEROTILEPASS
#include "spillway/Transforms/Zero/Passes.h.inc"
} // namespace spillway::zero

using namespace mlir;
using namespace spillway;
using namespace spillway::zero;

namespace {

class Tile : public zero::impl::ZeroTilePassBase<Tile> {
public:
  using ZeroTilePassBase::ZeroTilePassBase;

private:
  void runOnOperation() override {
    ModuleOp module = getOperation();
    plan::Tileability tileability(module);
    if (failed(plan::applyTileRules(module, tileability, states)))
      return signalPassFailure();
    if (maxBytes)
      for (StateOp state : module.getOps<StateOp>())
        if (!state.getTile() && tileability.isTileable(state))
          if (int64_t units = plan::tileUnitsFor(state, maxBytes); units < state.getUnitCount())
            state.setTile(units);
    for (StateOp state : module.getOps<StateOp>()) {
      if (state.getTileCount() == 1)
        continue;
      ++numStates;
      numTiles += state.getTileCount();
    }
    for (auto function : module.getOps<func::FuncOp>())
      for (auto call : llvm::make_early_inc_range(function.getOps<nn::CallOp>()))
        if (failed(splitCall(call, tileability)))
          return signalPassFailure();
  }

  /// The update that takes a call's results; null where none does.
  static UpdateOp updateOf(nn::CallOp call) {
    return call.getInto().empty() ? UpdateOp() : cast<UpdateOp>(*call.getResult(0).user_begin());
  }

  LogicalResult splitCall(nn::CallOp call, plan::Tileability &tileability) {
    if (call.getUnits())
      return success();
    FailureOr<StateOp> leader = tileability.tiledState(call);
    if (failed(leader))
      return failure();
    if (!*leader || leader->getTileCount() == 1)
      return success();
    OpBuilder builder(call);
    // A call over states updates them tile by tile; others fill one result in turn.
    auto update = updateOf(call);
    bool inDepth = tileability.isCutInDepth(call);
    SmallVector<Value> results;
    if (!update)
      for (Type type : call.getResultTypes()) {
        auto tensor = cast<RankedTensorType>(type);
        results.push_back(tensor::EmptyOp::create(builder, call.getLoc(), tensor.getShape(),
                                                  tensor.getElementType()));
      }
    for (int64_t tile = 0; tile < leader->getTileCount(); ++tile) {
      auto index = builder.getI64IntegerAttr(tile);
      DenseMap<Operation *, Value> tiles;
      auto tileOf = [&](Value operand) -> Value {
        StateOp state = tileability.tiledOperand(operand);
        if (!state)
          return operand;
        Value &made = tiles[state];
        if (!made)
          made = UseOp::create(builder, call.getLoc(), state.getTileType(tile), state.getSymName(), index);
        return made;
      };
      SmallVector<Value> inputs = llvm::map_to_vector(call.getInputs(), tileOf);
      if (update)
        results = llvm::map_to_vector(call.getInto(), tileOf);
      auto [begin, end] = leader->getTileUnits(tile);
      auto part = nn::CallOp::create(builder, call.getLoc(), ValueRange(results).getTypes(),
                                     call.getCallee(), inputs, results,
                                     inDepth ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr({begin, end}));
      results.assign(part.getResults().begin(), part.getResults().end());
      if (update)
        UpdateOp::create(builder, update.getLoc(), update.getStates(), index, results);
    }
    SmallVector<Operation *> uses;
    for (Value operand : call.getOperands())
      if (auto use = operand.getDefiningOp<UseOp>())
        uses.push_back(use);
    if (update)
      update.erase();
    else
      call.replaceAllUsesWith(results);
    call.erase();
    for (Operation *use : llvm::SmallSetVector<Operation *, 4>(uses.begin(), uses.end()))
      if (use->use_empty())
        use->erase();
    return success();
  }
};

} // namespace
