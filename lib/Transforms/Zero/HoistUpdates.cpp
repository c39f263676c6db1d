#include "dialects/Zero/Zero.h"
#include "spillway/Plan/Activations.h"
#include "spillway/Transforms/Zero/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace spillway::zero {
#define GEN_PASS_DEF_ZEROHOISTUPDATESPASS
#include "spillway/Transforms/Zero/Passes.h.inc"
} // namespace spillway::zero

using namespace mlir;
using namespace spillway;
using namespace spillway::zero;

namespace {

bool isScalar(Type type) { return cast<RankedTensorType>(type).getRank() == 0; }

/// The later of two operations of one block; null comes before all.
Operation *later(Operation *a, Operation *b) {
  if (!a || !b)
    return a ? a : b;
  return a->isBeforeInBlock(b) ? b : a;
}

class HoistUpdates : public zero::impl::ZeroHoistUpdatesPassBase<HoistUpdates> {
  void runOnOperation() override {
    auto users = usersOfStates(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (failed(verifyUpdates(cast<FunctionOpInterface>(function.getOperation()))))
        return signalPassFailure();
      Block &block = function.getBody().front();
      for (auto call : llvm::make_early_inc_range(block.getOps<nn::CallOp>()))
        if (call.getInto().empty() && llvm::all_of(call.getResultTypes(), isScalar))
          moveAfter(call, lastDefinition(call), block);
      for (auto update : llvm::make_early_inc_range(block.getOps<UpdateOp>()))
        hoist(update, users, block);
    }
  }

  void hoist(UpdateOp update, const DenseMap<StringAttr, SmallVector<Operation *>> &users, Block &block) {
    auto call = update.getValues().front().getDefiningOp<nn::CallOp>();
    Operation *last = lastDefinition(call);
    for (auto name : update.getStates().getAsRange<FlatSymbolRefAttr>())
      for (Operation *user : users.lookup(name.getAttr()))
        if (user->getBlock() == &block)
          last = later(last, lastReader(user, call));
    if (moveAfter(call, last, block)) {
      update->moveAfter(call);
      ++numHoisted;
    }
  }

  /// The last operation that must stand before a call for its operands to be there; null where none must.
  static Operation *lastDefinition(nn::CallOp call) {
    Operation *last = nullptr;
    for (Value operand : call.getOperands())
      if (Operation *source = plan::sourceOf(operand).getDefiningOp(); source && !isa<UseOp>(source))
        last = later(last, source);
    return last;
  }

  /// The last reader of a state by `user`, a use, a look-up or an update, beside `call`.
  static Operation *lastReader(Operation *user, nn::CallOp call) {
    if (isa<UpdateOp>(user))
      return nullptr;
    if (isa<LookupOp>(user))
      return user;
    Operation *last = nullptr;
    for (Operation *reader : readersOf(cast<UseOp>(user)))
      if (reader != call)
        last = later(last, reader);
    return last;
  }

  /// Moves a call up behind `last`, with the uses and views that it takes; false where it stays.
  static bool moveAfter(nn::CallOp call, Operation *last, Block &block) {
    Operation *before = last ? last->getNextNode() : &block.front();
    if (before == call || call->isBeforeInBlock(before))
      return false;
    call->moveBefore(before);
    for (Value operand : call.getOperands())
      moveViews(operand, call);
    return true;
  }

  static void moveViews(Value value, Operation *before) {
    Operation *view = value.getDefiningOp();
    if (!isa_and_present<nn::ReshapeOp, nn::SliceOp, UseOp>(view) || view->isBeforeInBlock(before))
      return;
    view->moveBefore(before);
    if (!isa<UseOp>(view))
      moveViews(view->getOperand(0), view);
  }
};

} // namespace
