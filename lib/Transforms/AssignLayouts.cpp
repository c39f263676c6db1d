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

struct AssignLayouts : public spillway::impl::NNAssignLayoutsPassBase<AssignLayouts> {
  void runOnOperation() override {
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
