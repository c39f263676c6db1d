#include "spillway/Transforms/Passes.h"

#include "dialects/Zero/Zero.h"
#include "spillway/Conversion/NNToVector/ColumnRuns.h"
#include "spillway/Conversion/NNToVector/ConvPlan.h"

#include "Groups.h"

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

  /// Whether it is a table of rows that are looked up, large enough to be updated by parts: these are panels.
  bool onlyLookUps(RankedTensorType type) const {
    constexpr int64_t manyRows = 16 * panelWidth;
    return looksUpRows && !hasPlaces && !first && type.getRank() == 2 && type.getDimSize(0) >= manyRows;
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

/// Whether the right operand of a product is computed from fewer bytes, in its kernel.
bool unpacksFactor(nn::MatmulOp matmul) {
  Operation *factor = matmul.getRhs().getDefiningOp();
  return factor && factor->getNumOperands() != 0 && isUnpackedWeight(factor);
}

/// The one shape that all uses of a state are reshaped to, where one of them is among `factors`; else null.
RankedTensorType shapeOf(ArrayRef<Operation *> users, const llvm::DenseSet<Value> &factors) {
  RankedTensorType shape;
  bool isFactor = false;
  for (Operation *user : users) {
    if (!isa<zero::UseOp>(user))
      return {};
    for (Operation *reader : user->getUsers()) {
      auto reshape = dyn_cast<nn::ReshapeOp>(reader);
      if (!reshape || (shape && shape != reshape.getType()))
        return {};
      shape = reshape.getType();
      isFactor |= factors.contains(reshape);
    }
  }
  return isFactor ? shape : RankedTensorType();
}

/// A weight that is read in one shape alone takes it, so that products can have it in panels or by rows.
void adoptShape(zero::StateOp state, ArrayRef<Operation *> users, const llvm::DenseSet<Value> &factors) {
  RankedTensorType shape = shapeOf(users, factors);
  if (!shape)
    return;
  state.setType(shape);
  if (auto elements = dyn_cast<DenseElementsAttr>(state.getSource()))
    state.setSourceAttr(elements.reshape(shape));
  for (Operation *user : users) {
    user->getResult(0).setType(shape);
    for (Operation *reader : llvm::make_early_inc_range(user->getUsers())) {
      reader->getResult(0).replaceAllUsesWith(user->getResult(0));
      reader->erase();
    }
  }
}

struct AssignLayouts : public spillway::impl::NNAssignLayoutsPassBase<AssignLayouts> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    auto users = zero::usersOfStates(getOperation());
    auto stateOf = [&](auto op) { return symbols.lookup<zero::StateOp>(op.getState()); };
    llvm::DenseSet<Value> factors;
    getOperation().walk([&](nn::MatmulOp matmul) {
      if (matmul.getRhs().getType().getRank() == 2)
        factors.insert(matmul.getRhs());
      if (unpacksFactor(matmul))
        for (auto &[source, run] : kernels::columnRuns(matmul))
          for (Operation *reader : source.getUsers())
            factors.insert_range(reader->getResults());
    });
    for (auto state : getOperation().getOps<zero::StateOp>())
      adoptShape(state, users.lookup(state.getSymNameAttr()), factors);

    llvm::DenseMap<zero::StateOp, Readers> readers;
    getOperation().walk([&](nn::MatmulOp matmul) {
      auto use = matmul.getRhs().getDefiningOp<zero::UseOp>();
      if (use && matmul.getRhs().getType().getRank() == 2)
        readers[stateOf(use)].add(matmul);
    });
    getOperation().walk([&](zero::UseOp use) {
      Readers &state = readers[stateOf(use)];
      state.onlyFilters &= isPanelFilter(use);
      state.hasPlaces |= isPlace(use);
    });
    getOperation().walk([&](zero::LookupOp lookup) { readers[stateOf(lookup)].looksUpRows = true; });
    llvm::DenseSet<zero::StateOp> updated;
    getOperation().walk([&](zero::UpdateOp update) {
      for (auto name : update.getStates().getAsRange<FlatSymbolRefAttr>())
        updated.insert(symbols.lookup<zero::StateOp>(name.getAttr()));
    });
    for (auto &[state, read] : readers) {
      std::optional<int64_t> dim = read.panelDim(state.getTensorType());
      if (!dim && updated.contains(state) && read.onlyLookUps(state.getTensorType()))
        dim = 0;
      if (dim)
        state.setLayoutAttr(nn::PanelsAttr::get(&getContext(), *dim, panelWidth));
    }
    getOperation().walk([&](nn::MatmulOp matmul) {
      if (unpacksFactor(matmul))
        cutUnpacked(matmul, symbols, readers);
    });
    getOperation().walk([&](zero::UpdateOp update) { followPanels(update, symbols, readers); });
  }

  /// What is updated element by element with a state in panels lies as it does, where nothing else wants it
  /// otherwise.
  static void followPanels(zero::UpdateOp update, const SymbolTable &symbols,
                           const llvm::DenseMap<zero::StateOp, Readers> &readers) {
    auto states = llvm::map_to_vector(update.getStates().getAsRange<FlatSymbolRefAttr>(), [&](auto name) {
      return symbols.lookup<zero::StateOp>(name.getAttr());
    });
    auto *leader = llvm::find_if(states, [](zero::StateOp state) { return state.getLayout().has_value(); });
    if (leader == states.end())
      return;
    for (zero::StateOp state : states) {
      Readers wishes = readers.lookup(state);
      if (state.getTensorType().getShape() == leader->getTensorType().getShape() && !wishes.first &&
          !wishes.looksUpRows && !wishes.hasPlaces)
        state.setLayoutAttr(leader->getLayoutAttr());
    }
  }

  /// Stores what a product's right operand is unpacked from so that tiles of it can stand for it.
  static void cutUnpacked(nn::MatmulOp matmul, SymbolTable &symbols,
                          const llvm::DenseMap<zero::StateOp, Readers> &readers) {
    SmallVector<zero::StateOp> cut;
    for (auto &[source, run] : kernels::columnRuns(matmul)) {
      auto use = source.getDefiningOp<zero::UseOp>();
      auto state = use ? symbols.lookup<zero::StateOp>(use.getState()) : zero::StateOp();
      if (!state || !run || state.getLayout() || state.getRows())
        continue;
      std::optional<kernels::ColumnUnits> units = kernels::columnUnits(*run, state.getTensorType());
      const Readers &others = readers.find(state)->second;
      if (!units || (units->panels && (others.looksUpRows || others.hasPlaces)))
        continue;
      if (units->panels)
        state.setLayoutAttr(units->panels);
      else
        state.setRows(units->rows);
      cut.push_back(state);
    }
    if (cut.empty())
      return;
    // Tiles are whole blocks of 4096 bytes of each: what has few bytes for each column stays whole where it
    // would make the tiles of the others larger.
    constexpr int64_t smallTile = 8;
    zero::StateOp largest = *llvm::max_element(
        cut, [](auto a, auto b) { return a.getStoredBytes() < b.getStoredBytes(); });
    int64_t most = std::max(largest.getChunkUnits(), smallTile);
    for (zero::StateOp state : cut)
      if (state.getChunkUnits() > most) {
        state.removeLayoutAttr();
        state.removeRowsAttr();
      }
  }
};

} // namespace
