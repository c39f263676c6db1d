#include "spillway/Transforms/Passes.h"

#include "dialects/Zero/Zero.h"
#include "spillway/Conversion/NNToVector/ConvPlan.h"

namespace spillway {
#define GEN_PASS_DEF_NNASSIGNLAYOUTSPASS
#include "spillway/Transforms/Passes.h.inc"
} // namespace spillway

using namespace mlir;
using namespace spillway;

namespace {

/// Work that wants a state's panels along each of its two dimensions.
using Votes = std::array<double, 2>;

/// Whether every use of a weight is as a filter whose kernel reads panels.
bool isPanelFilter(zero::UseOp use) {
  return llvm::all_of(use->getUses(), [](OpOperand &operand) {
    auto conv = dyn_cast<nn::ConvOp>(operand.getOwner());
    return conv && conv.getFilter() == operand.get() && kernels::wantsFilterPanels(conv);
  });
}

struct AssignLayouts : public spillway::impl::NNAssignLayoutsPassBase<AssignLayouts> {
  void runOnOperation() override {
    llvm::DenseMap<StringAttr, Votes> votes;
    getOperation().walk([&](nn::MatmulOp matmul) {
      auto use = matmul.getRhs().getDefiningOp<zero::UseOp>();
      if (use && matmul.getRhs().getType().getRank() == 2)
        votes[use.getStateAttr().getAttr()][matmul.getTransposeRhs() ? 0 : 1] += matmul.getFlops();
    });
    llvm::DenseMap<StringAttr, bool> filters;
    getOperation().walk([&](zero::UseOp use) {
      auto [known, isNew] = filters.try_emplace(use.getStateAttr().getAttr(), true);
      known->second &= isPanelFilter(use);
    });
    getOperation().walk([&](zero::LookupOp lookup) { filters[lookup.getStateAttr().getAttr()] = false; });
    for (auto state : getOperation().getOps<zero::StateOp>()) {
      if (filters.lookup(state.getSymNameAttr()) && state.getTensorType().getRank() > 2 &&
          state.getTensorType().getNumElements() > 0)
        state.setLayoutAttr(nn::PanelsAttr::get(&getContext(), 0));
      auto vote = votes.find(state.getSymNameAttr());
      if (vote == votes.end() || state.getTensorType().getNumElements() == 0)
        continue;
      int64_t dim = vote->second[1] >= vote->second[0] ? 1 : 0;
      state.setLayoutAttr(nn::PanelsAttr::get(&getContext(), dim));
    }
  }
};

} // namespace
