#include "spillway/Conversion/NNToVector/ColumnRuns.h"

#include "runtime/device/KernelAbi.h"

#include "llvm/ADT/SetVector.h"

#include <numeric>

using namespace mlir;
using namespace spillway;
using namespace spillway::kernels;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Dimensions [begin, end) of a tensor.
struct DimRange {
  unsigned begin, end;
  bool contains(int64_t dim) const { return begin <= dim && dim < end; }
};

/// The dimensions whose indices are the columns.
std::optional<DimRange> columnDims(const ColumnRun &run, ArrayRef<int64_t> shape) {
  auto end = static_cast<unsigned>(shape.size());
  for (int64_t inner = 1; inner != run.inner; inner *= shape[end])
    if (end-- == 0)
      return std::nullopt;
  unsigned begin = end;
  for (int64_t count = 1; count != run.count; count *= shape[begin])
    if (begin-- == 0)
      return std::nullopt;
  return DimRange{begin, end};
}

/// The run of an operand whose dimensions are, in their order, the dimensions `dims` of the result, the columns
/// being dimensions `columns` there.
std::optional<ColumnRun> throughDims(ColumnRun run, DimRange columns, ArrayRef<int64_t> resultShape,
                                     ArrayRef<int64_t> dims, ArrayRef<int64_t> operandShape) {
  int64_t expected = columns.begin, last = -1;
  for (auto [i, dim] : llvm::enumerate(dims)) {
    if (!columns.contains(dim))
      continue;
    if (dim != expected || operandShape[i] != resultShape[dim] || (last >= 0 && last + 1 != static_cast<int64_t>(i)))
      return std::nullopt;
    ++expected;
    last = i;
  }
  if (expected != columns.end)
    return std::nullopt;
  run.inner = ShapedType::getNumElements(operandShape.drop_front(last + 1));
  return run;
}

/// The columns of operand `number` of `op`, where those of the result are `run`.
std::optional<ColumnRun> ofOperand(Operation *op, unsigned number, ColumnRun run) {
  ArrayRef<int64_t> to = typeOf(op->getResult(0)).getShape();
  ArrayRef<int64_t> from = typeOf(op->getOperand(number)).getShape();
  if (isa<nn::ReshapeOp>(op) || (OpTrait::hasElementwiseMappableTraits(op) && from == to))
    return run;
  if (auto unpack = dyn_cast<nn::UnpackOp>(op)) {
    int64_t perByte = 8 / unpack.getBits();
    if (run.inner % perByte == 0)
      return ColumnRun{run.count, run.inner / perByte, run.perElement};
    if (run.inner == 1 && run.count % perByte == 0)
      return ColumnRun{run.count / perByte, 1, run.perElement * perByte};
    return std::nullopt;
  }
  std::optional<DimRange> columns = columnDims(run, to);
  if (!columns)
    return std::nullopt;
  SmallVector<int64_t> dims(from.size());
  if (auto broadcast = dyn_cast<nn::BroadcastOp>(op)) {
    llvm::copy(broadcast.getDims(), dims.begin());
  } else if (auto transpose = dyn_cast<nn::TransposeOp>(op)) {
    for (auto [dim, operandDim] : llvm::enumerate(transpose.getPerm()))
      dims[operandDim] = dim;
  } else if (auto slice = dyn_cast<nn::SliceOp>(op)) {
    for (unsigned dim = columns->begin; dim < columns->end; ++dim)
      if (slice.getOffsets()[dim] != 0 || slice.getStrides()[dim] != 1)
        return std::nullopt;
    std::iota(dims.begin(), dims.end(), 0);
  } else {
    return std::nullopt;
  }
  return throughDims(run, *columns, to, dims, from);
}

/// Everything that `value` is computed from in its block.
llvm::SetVector<Operation *> chainOf(Value value) {
  llvm::SetVector<Operation *> chain;
  auto add = [&](Value operand) {
    if (Operation *op = operand.getDefiningOp(); op && op->getNumOperands() != 0)
      chain.insert(op);
  };
  add(value);
  for (size_t i = 0; i < chain.size(); ++i)
    llvm::for_each(chain[i]->getOperands(), add);
  return chain;
}

} // namespace

ColumnRuns kernels::columnRuns(nn::MatmulOp matmul) {
  Value rhs = matmul.getRhs();
  bool isBatched = typeOf(rhs).getRank() > 2;
  llvm::SetVector<Operation *> chain = chainOf(rhs);
  SmallVector<Operation *> order(chain.begin(), chain.end());
  llvm::sort(order, [](Operation *a, Operation *b) { return b->isBeforeInBlock(a); });

  // What every reader agrees on.
  ColumnRuns runs;
  auto read = [&](Value value, std::optional<ColumnRun> run) {
    auto [it, isNew] = runs.try_emplace(value, run);
    if (it->second != run)
      it->second = std::nullopt;
  };
  auto isReadElsewhere = [&](Value value) {
    return llvm::any_of(value.getUses(), [&](OpOperand &use) {
      return !chain.contains(use.getOwner()) && &use != &matmul.getRhsMutable();
    });
  };
  int64_t columns = matmul.getN(), inner = matmul.getTransposeRhs() ? matmul.getK() : 1;
  read(rhs, isBatched ? std::nullopt : std::optional(ColumnRun{columns, inner}));
  for (Operation *op : order) {
    Value result = op->getResult(0);
    std::optional<ColumnRun> run = isReadElsewhere(result) ? std::nullopt : runs.lookup(result);
    for (OpOperand &operand : op->getOpOperands())
      read(operand.get(), run ? ofOperand(op, operand.getOperandNumber(), *run) : std::nullopt);
  }
  for (Operation *op : order)
    runs.erase(op->getResult(0));
  for (auto &[value, run] : runs)
    if (isReadElsewhere(value))
      run = std::nullopt;
  return runs;
}

bool kernels::areUnits(nn::PanelsAttr panels, const ColumnRun &run, RankedTensorType type) {
  int64_t dim = panels.getDim();
  int64_t inner = dim == 0 ? nn::panelDepth(type, 0) : 1;
  return panels.getWidth() * run.perElement == panelWidth && type.getDimSize(dim) == run.count && inner == run.inner;
}

std::optional<ColumnUnits> kernels::columnUnits(const ColumnRun &run, RankedTensorType type) {
  if (panelWidth % run.perElement != 0 || type.getRank() == 0 || type.getNumElements() == 0)
    return std::nullopt;
  int64_t width = panelWidth / run.perElement;
  if (type.getNumElements() == run.count * run.inner) {
    int64_t rowElements = nn::panelDepth(type, 0);
    if (width * run.inner % rowElements != 0)
      return std::nullopt;
    return ColumnUnits{{}, width * run.inner / rowElements};
  }
  auto panels = nn::PanelsAttr::get(type.getContext(), 1, width);
  if (type.getRank() != 2 || !areUnits(panels, run, type))
    return std::nullopt;
  return ColumnUnits{panels, 0};
}
