#include "spillway/Transforms/Passes.h"

#include "dialects/Zero/Zero.h"

namespace spillway {
#define GEN_PASS_DEF_NNASSIGNLAYOUTSPASS
#include "spillway/Transforms/Passes.h.inc"
} // namespace spillway

using namespace mlir;
using namespace spillway;

namespace {

/// Work that wants a state's panels along each of its two dimensions.
using Votes = std::array<double, 2>;

/// The one matrix that all uses of a state are reshaped to, where a product reads it; else null.
RankedTensorType matrixOf(ArrayRef<Operation *> users) {
  RankedTensorType matrix;
  bool isFactor = false;
  for (Operation *user : users) {
    if (!isa<zero::UseOp>(user))
      return {};
    for (Operation *reader : user->getUsers()) {
      auto reshape = dyn_cast<nn::ReshapeOp>(reader);
      if (!reshape || reshape.getType().getRank() != 2 || (matrix && matrix != reshape.getType()))
        return {};
      matrix = reshape.getType();
      isFactor |= llvm::any_of(reshape->getUsers(), [&](Operation *product) {
        auto matmul = dyn_cast<nn::MatmulOp>(product);
        return matmul && matmul.getRhs() == reshape.getResult();
      });
    }
  }
  return isFactor ? matrix : RankedTensorType();
}

/// A weight that is read as one matrix alone becomes that matrix, so that products can have it in panels.
void adoptMatrix(zero::StateOp state, ArrayRef<Operation *> users) {
  RankedTensorType matrix = matrixOf(users);
  if (!matrix)
    return;
  state.setType(matrix);
  if (auto elements = dyn_cast<DenseElementsAttr>(state.getSource()))
    state.setSourceAttr(elements.reshape(matrix));
  for (Operation *user : users) {
    user->getResult(0).setType(matrix);
    for (Operation *reader : llvm::make_early_inc_range(user->getUsers())) {
      reader->getResult(0).replaceAllUsesWith(user->getResult(0));
      reader->erase();
    }
  }
}

struct AssignLayouts : public spillway::impl::NNAssignLayoutsPassBase<AssignLayouts> {
  void runOnOperation() override {
    llvm::DenseMap<StringAttr, SmallVector<Operation *>> users;
    getOperation().walk([&](Operation *op) {
      if (isa<zero::UseOp, zero::LookupOp>(op))
        users[op->getAttrOfType<FlatSymbolRefAttr>("state").getAttr()].push_back(op);
    });
    for (auto state : getOperation().getOps<zero::StateOp>())
      adoptMatrix(state, users.lookup(state.getSymNameAttr()));
    llvm::DenseMap<StringAttr, Votes> votes;
    getOperation().walk([&](nn::MatmulOp matmul) {
      auto use = matmul.getRhs().getDefiningOp<zero::UseOp>();
      if (use && matmul.getRhs().getType().getRank() == 2)
        votes[use.getStateAttr().getAttr()][matmul.getTransposeRhs() ? 0 : 1] += matmul.getFlops();
    });
    for (auto state : getOperation().getOps<zero::StateOp>()) {
      auto vote = votes.find(state.getSymNameAttr());
      if (vote == votes.end() || state.getTensorType().getNumElements() == 0)
        continue;
      int64_t dim = vote->second[1] >= vote->second[0] ? 1 : 0;
      state.setLayoutAttr(nn::PanelsAttr::get(&getContext(), dim));
    }
  }
};

} // namespace
