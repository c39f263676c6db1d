#include "dialects/Zero/Zero.h"
#include "spillway/Transforms/Zero/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace spillway::zero {
#define GEN_PASS_DEF_ZEROPARTITIONPASS
#include "spillway/Transforms/Zero/Passes.h.inc"
} // namespace spillway::zero

using namespace mlir;
using namespace spillway;
using namespace spillway::zero;

namespace {

class Partition : public zero::impl::ZeroPartitionPassBase<Partition> {
public:
  using ZeroPartitionPassBase::ZeroPartitionPassBase;

private:
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (ranks < 1) {
      module.emitError("needs at least one rank, not ") << ranks.getValue();
      return signalPassFailure();
    }
    if (ranks == 1)
      return;
    SymbolTableCollection symbols;
    for (auto function : module.getOps<func::FuncOp>())
      for (auto use : function.getOps<UseOp>()) {
        auto state = symbols.lookupNearestSymbolFrom<StateOp>(use, use.getStateAttr());
        if (state.getPartition() || chunkCount(state) < ranks)
          continue;
        state.setPartition(ranks);
        ++numPartitioned;
      }
  }

  static int64_t chunkCount(StateOp state) {
    return llvm::divideCeil(state.getUnitCount(), state.getChunkUnits());
  }
};

} // namespace
