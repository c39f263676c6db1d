#include "dialects/Zero/Zero.h"
#include "spillway/Transforms/Zero/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"

namespace spillway::zero {
#define GEN_PASS_DEF_ZERONARROWPASS
#include "spillway/Transforms/Zero/Passes.h.inc"
} // namespace spillway::zero

using namespace mlir;
using namespace spillway;
using namespace spillway::zero;

namespace {

/// Indices [begin, end) of a tensor's row dimension.
struct Rows {
  int64_t begin = 0, end = 0;
};

/// The first dimension of more than one index: a range of it is consecutive bytes. None
/// where there is no such dimension.
std::optional<unsigned> rowDimension(RankedTensorType type) {
  for (unsigned dim = 0; dim < type.getRank(); ++dim)
    if (type.getDimSize(dim) != 1)
      return dim;
  return std::nullopt;
}

std::optional<SmallVector<int64_t>> constantIndices(nn::GatherOp gather) {
  DenseIntElementsAttr elements;
  if (!matchPattern(gather.getIndices(), m_Constant(&elements)) || elements.empty())
    return std::nullopt;
  int64_t size = gather.getData().getType().getDimSize(gather.getDim());
  SmallVector<int64_t> indices;
  for (const APInt &index : elements) {
    indices.push_back(index.getSExtValue() + (index.isNegative() ? size : 0));
    if (indices.back() < 0 || indices.back() >= size)
      return std::nullopt;
  }
  return indices;
}

/// The rows that an operand is read at; all where it is not known.
Rows rowsRead(OpOperand &operand, unsigned dim) {
  if (auto slice = dyn_cast<nn::SliceOp>(operand.getOwner());
      slice && slice.getType().getNumElements() != 0) {
    int64_t first = slice.getOffsets()[dim];
    int64_t last = first + (slice.getType().getDimSize(dim) - 1) * slice.getStrides()[dim];
    return {std::min(first, last), std::max(first, last) + 1};
  }
  if (auto gather = dyn_cast<nn::GatherOp>(operand.getOwner());
      gather && operand.get() == gather.getData() && gather.getDim() == dim)
    if (auto indices = constantIndices(gather))
      return {*llvm::min_element(*indices), *llvm::max_element(*indices) + 1};
  return {0, cast<RankedTensorType>(operand.get().getType()).getDimSize(dim)};
}

/// A read of a state.
struct Read {
  OpOperand *operand;
  Rows rows;
};

/// Lets a read see only the rows from `begin` on, which `narrowed` holds.
void readFrom(OpOperand &operand, Value narrowed, unsigned dim, int64_t begin) {
  OpBuilder builder(operand.getOwner());
  if (auto slice = dyn_cast<nn::SliceOp>(operand.getOwner())) {
    SmallVector<int64_t> offsets(slice.getOffsets());
    offsets[dim] -= begin;
    slice.setOffsets(offsets);
  } else if (auto gather = dyn_cast<nn::GatherOp>(operand.getOwner())) {
    auto type = cast<RankedTensorType>(gather.getIndices().getType());
    SmallVector<int64_t> rows = *constantIndices(gather);
    SmallVector<Attribute> indices;
    for (int64_t row : rows)
      indices.push_back(builder.getIntegerAttr(type.getElementType(), row - begin));
    Value shifted = arith::ConstantOp::create(builder, gather.getLoc(),
                                              DenseElementsAttr::get(type, indices));
    gather.getIndicesMutable().assign(shifted);
  }
  operand.set(narrowed);
}

class Narrow : public zero::impl::ZeroNarrowPassBase<Narrow> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    auto users = usersOfStates(module);
    for (StateOp state : llvm::make_early_inc_range(module.getOps<StateOp>()))
      narrow(state, users.lookup(state.getSymNameAttr()), symbols);
  }

  void narrow(StateOp state, ArrayRef<Operation *> users, SymbolTable &symbols) {
    std::optional<unsigned> dim = rowDimension(state.getTensorType());
    if (!dim || state.getLayout() || state.getTile() || !llvm::all_of(users, llvm::IsaPred<UseOp>))
      return;
    auto file = dyn_cast<FileAttr>(state.getSource());
    if (!(file && !file.getVarint()) && !isa<SplatAttr>(state.getSource()))
      return;
    SmallVector<Read> reads;
    for (Operation *use : users)
      for (OpOperand &operand : use->getUses())
        reads.push_back({&operand, rowsRead(operand, *dim)});
    llvm::sort(reads, [](const Read &a, const Read &b) { return a.rows.begin < b.rows.begin; });

    // Reads that share rows share a state, so that no row is stored twice.
    for (ArrayRef<Read> rest = reads; !rest.empty();) {
      Rows rows = rest.front().rows;
      size_t count = 1;
      for (; count < rest.size() && rest[count].rows.begin < rows.end; ++count)
        rows.end = std::max(rows.end, rest[count].rows.end);
      if (rows.end - rows.begin == state.getTensorType().getDimSize(*dim))
        return;
      StateOp part = makePart(state, *dim, rows, symbols);
      for (const Read &read : rest.take_front(count)) {
        OpBuilder builder(read.operand->getOwner());
        Value use = UseOp::create(builder, read.operand->get().getLoc(), part.getTensorType(),
                                  part.getSymName(), /*tile=*/IntegerAttr());
        readFrom(*read.operand, use, *dim, rows.begin);
      }
      rest = rest.drop_front(count);
      ++numStates;
    }
    for (Operation *use : users)
      use->erase();
    if (!users.empty())
      symbols.erase(state);
  }

  /// A state of those rows alone.
  static StateOp makePart(StateOp state, unsigned dim, Rows rows, SymbolTable &symbols) {
    RankedTensorType type = state.getTensorType();
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = rows.end - rows.begin;
    StateOp part = state.clone();
    part.setType(type.clone(shape));
    std::string range;
    for (unsigned d = 0; d < dim; ++d)
      range += ":,";
    part.setName((state.getName() + "[" + range + Twine(rows.begin) + ":" + Twine(rows.end) + "]").str());
    if (auto file = dyn_cast<FileAttr>(state.getSource())) {
      uint64_t rowBytes = file.getBytes() / type.getDimSize(dim);
      part.setSourceAttr(FileAttr::get(state.getContext(), file.getPath(),
                                       file.getOffset() + rows.begin * rowBytes,
                                       shape[dim] * rowBytes, /*varint=*/false));
    }
    symbols.insert(part, state->getIterator());
    return part;
  }
};

} // namespace
