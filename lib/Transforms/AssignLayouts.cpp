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

/// Whether every use of a weight is as a filter whose kernel reads panels.
bool isPanelFilter(zero::UseOp use) {
  return llvm::all_of(use->getUses(), [](OpOperand &operand) {
    auto conv = dyn_cast<nn::ConvOp>(operand.getOwner());
    return conv && conv.getFilter() == operand.get() && kernels::wantsFilterPanels(conv);
  });
}

/// Whether something names bytes of a weight by another shape, or a part of them: these are places between
/// kernels, in row-major order.
bool isPlace(zero::UseOp use) {
  return llvm::any_of(use->getUsers(), llvm::IsaPred<nn::ReshapeOp, nn::SliceOp>);
}

/// What reads a state.
struct Readers {
  /// Work that wants its panels along each of its two dimensions, and what the first such wants.
  std::array<double, 2> work = {0, 0};
  std::optional<int64_t> first;
  bool looksUpRows = false, onlyFilters = true, hasPlaces = false;

  void add(nn::MatmulOp matmul) {
    int64_t dim = matmul.getTransposeRhs() ? 0 : 1;
    work[dim] += matmul.getFlops();
    first = first.value_or(dim);
  }

  std::optional<int64_t> panelDim(RankedTensorType type) const {
    if (type.getNumElements() == 0 || hasPlaces)
      return std::nullopt;
    if (type.getRank() > 2)
      return onlyFilters && !looksUpRows ? std::optional<int64_t>(0) : std::nullopt;
    if (!first)
      return std::nullopt;
    // Rows are read where they lie only in panels along them. At equal work the first reader
    // decides: that of the forward half.
    if (looksUpRows)
      return 0;
    return work[0] == work[1] ? *first : work[1] > work[0];
  }
};

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
    auto users = zero::usersOfStates(getOperation());
    for (auto state : getOperation().getOps<zero::StateOp>())
      adoptMatrix(state, users.lookup(state.getSymNameAttr()));
    llvm::DenseMap<StringAttr, Readers> readers;
    getOperation().walk([&](nn::MatmulOp matmul) {
      auto use = matmul.getRhs().getDefiningOp<zero::UseOp>();
      if (use && matmul.getRhs().getType().getRank() == 2)
        readers[use.getStateAttr().getAttr()].add(matmul);
    });
    getOperation().walk([&](zero::UseOp use) {
      Readers &state = readers[use.getStateAttr().getAttr()];
      state.onlyFilters &= isPanelFilter(use);
      state.hasPlaces |= isPlace(use);
    });
    getOperation().walk([&](zero::LookupOp lookup) {
      readers[lookup.getStateAttr().getAttr()].looksUpRows = true;
    });
    for (auto state : getOperation().getOps<zero::StateOp>())
      if (auto found = readers.find(state.getSymNameAttr()); found != readers.end())
        if (std::optional<int64_t> dim = found->second.panelDim(state.getTensorType()))
          state.setLayoutAttr(nn::PanelsAttr::get(&getContext(), *dim));
    SymbolTable symbols(getOperation());
    getOperation().walk([&](zero::UpdateOp update) { followParameter(update, symbols, readers); });
  }

  /// What is updated element by element with a parameter lies as it does, where nothing else wants it otherwise.
  static void followParameter(zero::UpdateOp update, const SymbolTable &symbols,
                              const llvm::DenseMap<StringAttr, Readers> &readers) {
    zero::StateOp parameter;
    for (auto name : update.getStates().getAsRange<FlatSymbolRefAttr>()) {
      auto state = symbols.lookup<zero::StateOp>(name.getAttr());
      if (!parameter)
        parameter = state;
      Readers wishes = readers.lookup(state.getSymNameAttr());
      if (parameter.getLayout() && state.getTensorType() == parameter.getTensorType() && !wishes.first &&
          !wishes.looksUpRows && !wishes.hasPlaces)
        state.setLayoutAttr(parameter.getLayoutAttr());
    }
  }
};

} // namespace
