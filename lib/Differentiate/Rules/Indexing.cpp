// Gathers and scatters: what was read several times collects all its cotangents, in order.

#include "lib/Differentiate/Rules/Rule.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::derivatives;

/// Moves dimensions [from, from + count) to the front, or back there from the front.
static Value moveToFront(RuleBuilder &b, Value a, int64_t from, int64_t count, bool back = false) {
  int64_t rank = shapeOf(a).size();
  SmallVector<int64_t> perm = dimensions(from, from + count);
  perm.append(dimensions(0, from));
  perm.append(dimensions(from + count, rank));
  return from == 0 ? a : b.transpose(a, back ? invertPermutationVector(perm) : ArrayRef(perm));
}

static void gather(nn::GatherOp op, Cotangents &c) {
  RuleBuilder b(c, op);
  int64_t dim = op.getDim();
  SmallVector<int64_t> shape(shapeOf(op.getData()));
  std::rotate(shape.begin(), shape.begin() + dim, shape.begin() + dim + 1);
  Value updates = moveToFront(b, c.of(op), dim, shapeOf(op.getIndices()).size());
  auto type = RankedTensorType::get(shape, op.getType().getElementType());
  c.add(op.getData(), moveToFront(b, b.scatterSlices(type, op.getIndices(), updates), dim, 1, true));
}

/// Index tuples of an element of `shape`: the first `leading` components are its own indices, those behind
/// are `rest`, each [shape..., components] of i64.
static Value tuples(RuleBuilder &b, ArrayRef<int64_t> shape, int64_t leading, ArrayRef<Value> rest) {
  SmallVector<int64_t> column(shape);
  column.push_back(1);
  auto type = RankedTensorType::get(column, b.integer(64));
  SmallVector<Value> components;
  for (int64_t dim = 0; dim < leading; ++dim)
    components.push_back(b.create<nn::IotaOp>(type, dim));
  llvm::append_range(components, rest);
  return b.concat(components, static_cast<int64_t>(shape.size()));
}

/// As i64.
static Value widenIndices(RuleBuilder &b, Value indices) {
  auto type = RankedTensorType::get(shapeOf(indices), b.integer(64));
  return indices.getType() == type ? indices : b.create<arith::ExtSIOp>(type, indices);
}

/// The cotangent of `data`, of which one element was picked along `dim` for each index of the other dimensions: theirs
/// where it was picked, zero elsewhere. Elementwise, so that it is never stored where it is not wanted: a loss picks one
/// of a large vocabulary.
static Value ofPicked(RuleBuilder &b, Value data, int64_t dim, Value indices, Value cotangent) {
  SmallVector<int64_t> shape(shapeOf(data)), others(shape), dims = dimensions(0, dim);
  others.erase(others.begin() + dim);
  dims.append(dimensions(dim + 1, shape.size()));
  Value index = b.reshape(widenIndices(b, indices), others);
  auto constant = [&](int64_t value) {
    auto type = cast<RankedTensorType>(index.getType());
    return b.create<arith::ConstantOp>(DenseElementsAttr::get(type, APInt(64, value, /*isSigned=*/true)));
  };
  Value isNegative = b.create<arith::CmpIOp>(arith::CmpIPredicate::slt, index, constant(0));
  index = b.select(isNegative, b.create<arith::AddIOp>(index, constant(shape[dim])), index);
  Value position = b.create<nn::IotaOp>(RankedTensorType::get(shape, b.integer(64)), dim);
  Value isPicked = b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, position, b.broadcast(index, dims, shape));
  return b.where(isPicked, b.broadcast(b.reshape(cotangent, others), dims, shape));
}

static void gatherElements(nn::GatherElementsOp op, Cotangents &c) {
  RuleBuilder b(c, op);
  ArrayRef<int64_t> shape = shapeOf(op);
  int64_t rank = shape.size(), dim = op.getDim();
  SmallVector<int64_t> picked(shapeOf(op.getData()));
  picked[dim] = 1;
  if (shape == ArrayRef(picked))
    return c.add(op.getData(), ofPicked(b, op.getData(), dim, op.getIndices(), c.of(op)));
  SmallVector<int64_t> column(shape);
  column.push_back(1);
  SmallVector<Value> rest{b.reshape(widenIndices(b, op.getIndices()), column)};
  for (int64_t behind = dim + 1; behind < rank; ++behind)
    rest.push_back(b.create<nn::IotaOp>(RankedTensorType::get(column, b.integer(64)), behind));
  c.add(op.getData(), b.scatter(op.getData().getType(), tuples(b, shape, dim, rest), c.of(op)));
}

static Value tuplesOf(RuleBuilder &b, nn::GatherNDOp op) {
  Value indices = widenIndices(b, op.getIndices());
  ArrayRef<int64_t> shape = shapeOf(indices).drop_back();
  return op.getBatchDims() == 0 ? indices : tuples(b, shape, op.getBatchDims(), indices);
}

static void gatherND(nn::GatherNDOp op, Cotangents &c) {
  RuleBuilder b(c, op);
  int64_t dim = op.getBatchDims();
  auto batch = shapeOf(op.getData()).take_front(dim);
  if (dim + 1 == static_cast<int64_t>(shapeOf(op.getData()).size()) && shapeOf(op.getIndices()).back() == 1 &&
      op.getType().getNumElements() == ShapedType::getNumElements(batch))
    return c.add(op.getData(), ofPicked(b, op.getData(), dim, op.getIndices(), c.of(op)));
  c.add(op.getData(), b.scatter(op.getData().getType(), tuplesOf(b, op), c.of(op)));
}

static void scatter(nn::ScatterOp op, Cotangents &c) {
  RuleBuilder b(c, op);
  bool adds = op.getKind() == nn::ScatterKind::add;
  if (!adds && op.getKind() != nn::ScatterKind::replace)
    return c.reject(op, "a scatter that multiplies or compares has no derivative");
  Value cotangent = c.of(op);
  if (c.needs(op.getUpdates()))
    c.add(op.getUpdates(),
          b.create<nn::GatherNDOp>(op.getUpdates().getType(), cotangent, op.getIndices(), 0));
  if (!c.needs(op.getData()))
    return;
  if (!adds)
    cotangent = b.create<nn::ScatterOp>(nn::ScatterKind::replace, cotangent, op.getIndices(),
                                        b.like(op.getUpdates(), 0));
  c.add(op.getData(), cotangent);
}

void derivatives::attachIndexing(MLIRContext *context) {
  attach<nn::GatherOp, gather>(context);
  attach<nn::GatherElementsOp, gatherElements>(context);
  attach<nn::GatherNDOp, gatherND>(context);
  attach<nn::ScatterOp, scatter>(context);
}
