// The discipline of handles: taken once, released once, never used after.

#include "dialects/Zero/Zero.h"

using namespace mlir;
using namespace spillway::zero;

namespace {

/// Every use of a handle, and of every view of it.
void collectUses(Value handle, SmallVectorImpl<Operation *> &uses) {
  for (Operation *user : handle.getUsers()) {
    if (isa<ReleaseOp>(user))
      continue;
    uses.push_back(user);
    if (auto view = dyn_cast<ViewOp>(user))
      llvm::append_range(uses, view.getResult().getUsers());
  }
}

LogicalResult verifyHandle(Value handle) {
  Operation *definition = handle.getDefiningOp();
  ReleaseOp release;
  for (Operation *user : handle.getUsers()) {
    auto candidate = dyn_cast<ReleaseOp>(user);
    if (!candidate)
      continue;
    if (release)
      return candidate.emitOpError("handle released a second time");
    release = candidate;
  }
  if (!release)
    return definition->emitOpError("handle is never released");
  if (release->getBlock() != definition->getBlock())
    return release.emitOpError("handle released in another block than it was taken in");
  SmallVector<Operation *> uses;
  collectUses(handle, uses);
  for (Operation *use : uses) {
    Operation *inBlock = definition->getBlock()->findAncestorOpInBlock(*use);
    if (!inBlock || release->isBeforeInBlock(inBlock))
      return use->emitOpError("used after the release of its handle");
  }
  return success();
}

} // namespace

FetchOp spillway::zero::fetchOf(Value handle) {
  while (Operation *definition = handle.getDefiningOp()) {
    if (!isa<MoveOp, GatherOp>(definition))
      return dyn_cast<FetchOp>(definition);
    handle = definition->getOperand(0);
  }
  return {};
}

LogicalResult spillway::zero::verifyHandles(FunctionOpInterface function) {
  bool valid = true;
  function->walk([&](Operation *op) {
    for (Value result : op->getResults())
      if (isa<HandleType>(result.getType()))
        valid &= succeeded(verifyHandle(result));
  });
  return success(valid);
}
