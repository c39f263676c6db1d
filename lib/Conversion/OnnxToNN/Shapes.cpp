// Operators on shapes and operators that make tensors out of them.

#include "spillway/Conversion/OnnxToNN/Node.h"

#include <cmath>

using namespace mlir;
using namespace spillway;

namespace {

LogicalResult convertShape(Node &node) {
  ArrayRef<int64_t> shape = node.in(0).shape();
  int64_t rank = node.in(0).rank();
  auto clamped = [&](int64_t index) {
    return std::clamp<int64_t>(index < 0 ? index + rank : index, 0, rank);
  };
  int64_t start = clamped(node.attr("start", int64_t{0}));
  int64_t end = clamped(node.attr("end", rank));
  return node.result(
      node.emit.vector(DataType::i64, shape.slice(start, std::max<int64_t>(end - start, 0))));
}

LogicalResult convertSize(Node &node) {
  return node.result(node.emit.splatInt(DataType::i64, {}, node.in(0).count()));
}

LogicalResult convertConstantOfShape(Node &node) {
  auto shape = node.ints(0, "the shape");
  if (failed(shape))
    return failure();
  if (llvm::any_of(*shape, [](int64_t size) { return size < 0; }) || !elementCount(*shape))
    return node.error() << "the shape holds a negative size or is too large";
  Emitter &emit = node.emit;
  if (!node.hasAttr("value"))
    return node.result(emit.splat(DataType::f32, *shape, 0));
  auto value = node.tensorAttr("value");
  if (failed(value))
    return failure();
  if (value->count() != 1)
    return node.error() << "the value must have one element";
  return node.result(emit.broadcast(emit.reshape(*value, {}), *shape));
}

/// Also of the lowest integer, which has no negation.
uint64_t magnitude(int64_t value) {
  auto bits = static_cast<uint64_t>(value);
  return value < 0 ? -bits : bits;
}

LogicalResult convertRange(Node &node) {
  if (failed(node.sameTypes({0, 1, 2})))
    return failure();
  Emitter &emit = node.emit;
  DataType type = node.in(0).type;
  int64_t count;
  if (isFloat(type)) {
    auto start = node.floatScalar(0, "start"), limit = node.floatScalar(1, "limit"),
         delta = node.floatScalar(2, "delta");
    if (failed(start) || failed(limit) || failed(delta))
      return failure();
    double steps = std::ceil((*limit - *start) / *delta);
    if (!(std::abs(steps) < 9e18))
      return node.error() << "start, limit and delta give no number of elements";
    count = std::max<int64_t>(static_cast<int64_t>(steps), 0);
  } else {
    auto start = node.intScalar(0, "start"), limit = node.intScalar(1, "limit"),
         delta = node.intScalar(2, "delta");
    if (failed(start) || failed(limit) || failed(delta))
      return failure();
    int64_t distance;
    if (*delta == 0 || llvm::SubOverflow(*limit, *start, distance))
      return node.error() << "start, limit and delta give no number of elements";
    bool isEmpty = distance == 0 || (distance > 0) != (*delta > 0);
    count = isEmpty ? 0 : static_cast<int64_t>(llvm::divideCeil(magnitude(distance), magnitude(*delta)));
  }
  if (!elementCount({count}))
    return node.error() << "the result is too large";
  auto stretch = [&](unsigned i) {
    return emit.broadcast(emit.reshape(node.in(i), {}), {count});
  };
  Tensor steps = emit.mul(emit.iota(type, {count}, 0), stretch(2));
  return node.result(emit.add(steps, stretch(0)));
}

LogicalResult convertTrilu(Node &node) {
  bool upper = node.attr("upper", int64_t{1}) != 0;
  Tensor x = node.in(0);
  if (x.rank() < 2)
    return node.error() << "the input must have two dimensions or more";
  Emitter &emit = node.emit;
  int64_t rows = x.size(x.rank() - 2), columns = x.size(x.rank() - 1);
  Tensor k = emit.splatInt(DataType::i64, {}, 0);
  if (node.has(1)) {
    if (!isInteger(node.in(1).type) || node.in(1).count() != 1)
      return node.error() << "k must be one integer, not " << node.in(1).tensorType();
    // Beyond the matrix every diagonal is alike.
    k = emit.cast(emit.reshape(node.in(1), {}), DataType::i64);
    k = emit.max(emit.min(k, emit.splatInt(k.type, {}, columns)), emit.splatInt(k.type, {}, -rows));
  }
  Shape matrix{rows, columns};
  Tensor row = emit.iota(DataType::i64, matrix, 0), column = emit.iota(DataType::i64, matrix, 1);
  Tensor diagonal = emit.add(row, emit.broadcast(k, matrix));
  Tensor keeps = emit.compare(
      upper ? Emitter::Order::greaterOrEqual : Emitter::Order::lessOrEqual, column, diagonal);
  return node.result(emit.select(emit.broadcast(keeps, x.shape()), x, emit.like(x, 0)));
}

LogicalResult convertEyeLike(Node &node) {
  Tensor x = node.in(0);
  DataType type = x.type;
  if (node.hasAttr("dtype")) {
    auto given = node.typeAttr("dtype");
    if (failed(given))
      return failure();
    type = *given;
  }
  int64_t k = node.attr("k", int64_t{0});
  if (x.rank() != 2)
    return node.error() << "the input must have two dimensions";
  k = std::clamp(k, -x.size(0), x.size(1));
  Emitter &emit = node.emit;
  Tensor row = emit.iota(DataType::i64, x.shape(), 0);
  Tensor column = emit.iota(DataType::i64, x.shape(), 1);
  Tensor diagonal = emit.add(row, emit.splatInt(DataType::i64, x.shape(), k));
  return node.result(emit.cast(emit.compare(Emitter::Order::equal, column, diagonal), type));
}

LogicalResult convertOneHot(Node &node) {
  Emitter &emit = node.emit;
  auto depth = node.intScalar(1, "the depth");
  if (failed(depth))
    return failure();
  Tensor indices = node.in(0), values = node.in(2);
  auto axis = node.axis(node.attr("axis", int64_t{-1}), indices.rank() + 1);
  if (failed(axis))
    return failure();
  if (*depth < 0 || values.rank() != 1 || values.size(0) != 2)
    return node.error() << "the depth must not be negative, and values must be [off, on]";
  Shape shape(indices.shape());
  shape.insert(shape.begin() + *axis, *depth);
  if (!elementCount(shape))
    return node.error() << "the result is too large";
  SmallVector<int64_t> dims;
  for (int64_t d = 0; d < indices.rank(); ++d)
    dims.push_back(d < *axis ? d : d + 1);
  Tensor index = emit.cast(indices, DataType::i64);
  Tensor wrapped = emit.add(index, emit.likeInt(index, *depth));
  index = emit.select(emit.compare(Emitter::Order::less, index, emit.like(index, 0)), wrapped,
                      index);
  Tensor isHot = emit.compare(Emitter::Order::equal, emit.broadcastInDims(index, dims, shape),
                              emit.iota(DataType::i64, shape, *axis));
  auto value = [&](int64_t i) {
    return emit.broadcast(emit.reshape(emit.sliceDim(values, 0, i, 1), {}), shape);
  };
  return node.result(emit.select(isHot, value(1), value(0)));
}

} // namespace

void spillway::addShapes(OperatorTable &table) {
  table.add({
      {"ConstantOfShape", 9, convertConstantOfShape, 1, 1, 1, TypeClass::integers},
      {"EyeLike", 9, convertEyeLike, 1, 1},
      {"OneHot", 9, convertOneHot, 3, 3, 1, TypeClass::numeric,
       "the depth must be known at compile time"},
      {"Range", 11, convertRange, 3, 3, 1, TypeClass::numeric,
       "the operands must be known at compile time"},
      {"Shape", 1, convertShape, 1, 1},
      {"Size", 1, convertSize, 1, 1},
      {"Trilu", 14, convertTrilu, 1, 2},
  });
}
