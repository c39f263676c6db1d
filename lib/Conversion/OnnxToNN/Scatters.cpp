// Operators that write elements at indices.

#include "lib/Conversion/OnnxToNN/Indices.h"

using namespace mlir;
using namespace spillway;

namespace {

using Order = Emitter::Order;

/// The kind that the attribute `reduction` names.
FailureOr<nn::ScatterKind> kindOf(Node &node) {
  StringRef reduction = node.attr("reduction", StringRef("none"));
  auto kind = llvm::StringSwitch<std::optional<nn::ScatterKind>>(reduction)
                  .Case("none", nn::ScatterKind::replace)
                  .Case("add", nn::ScatterKind::add)
                  .Case("mul", nn::ScatterKind::mul)
                  .Case("max", nn::ScatterKind::max)
                  .Case("min", nn::ScatterKind::min)
                  .Default(std::nullopt);
  if (!kind)
    return node.error() << "unknown reduction '" << reduction << "'";
  if (*kind != nn::ScatterKind::replace && node.in(0).type == DataType::boolean)
    return node.error() << "booleans cannot be combined";
  return *kind;
}

/// Updates of `data` at index tuples, which have been checked.
Tensor scatter(Emitter &emit, nn::ScatterKind kind, Tensor data, Tensor tuples, Tensor updates) {
  auto make = [&](Tensor data, Tensor updates) {
    return data.moved(emit.create<nn::ScatterOp>(kind, data.value, tuples.value, updates.value));
  };
  bool ordered = kind == nn::ScatterKind::max || kind == nn::ScatterKind::min;
  if (!ordered || !isUnsigned(data.type))
    return make(data, updates);
  return emit.asUnsigned(make(emit.inSignedOrder(data), emit.inSignedOrder(updates)), data.type);
}

LogicalResult checkUpdates(Node &node, ArrayRef<int64_t> expected) {
  Tensor data = node.in(0), indices = node.in(1), updates = node.in(2);
  if (failed(checkIndexType(node, indices)) || failed(node.sameTypes({0, 2})))
    return failure();
  if (updates.shape() != expected)
    return node.error() << "updates " << updates.tensorType() << " do not fit indices "
                        << indices.tensorType() << " into " << data.tensorType();
  return success();
}

LogicalResult convertScatterND(Node &node) {
  auto kind = kindOf(node);
  if (failed(kind))
    return failure();
  Tensor data = node.in(0), indices = node.in(1);
  if (indices.rank() < 1 || indices.shape().back() < 1 || indices.shape().back() > data.rank())
    return node.error() << "index tuples of " << indices.tensorType() << " do not address "
                        << data.tensorType();
  Shape expected(indices.shape().drop_back());
  llvm::append_range(expected, data.shape().drop_front(indices.shape().back()));
  if (failed(checkUpdates(node, expected)) ||
      failed(knownIndices(node, indices, data.shape().take_front(indices.shape().back()))))
    return failure();
  return node.result(scatter(node.emit, *kind, data, indices, node.in(2)));
}

LogicalResult convertScatterElements(Node &node) {
  auto kind = kindOf(node);
  Tensor data = node.in(0), indices = node.in(1);
  auto axis = node.axis(node.attr("axis", int64_t{0}), data.rank());
  if (failed(kind) || failed(axis) || failed(checkUpdates(node, indices.shape())))
    return failure();
  bool fits = data.rank() == indices.rank();
  for (int64_t d = 0; fits && d < data.rank(); ++d)
    fits = d == *axis || indices.size(d) <= data.size(d);
  if (!fits)
    return node.error() << "indices " << indices.tensorType() << " do not fit data "
                        << data.tensorType();
  if (failed(knownIndices(node, indices, data.size(*axis))))
    return failure();
  // The tuple of an update is its own position, but along the axis.
  Emitter &emit = node.emit;
  if (!llvm::all_of(indices.shape(), llvm::isInt<32>))
    indices = emit.cast(indices, DataType::i64);
  Shape single(indices.shape());
  single.push_back(1);
  SmallVector<Tensor> tuple;
  for (int64_t d = 0; d < data.rank(); ++d)
    tuple.push_back(d == *axis ? emit.reshape(indices, single)
                               : emit.iota(indices.type, single, d));
  return node.result(
      scatter(emit, *kind, data, emit.concat(tuple, indices.rank()), node.in(2)));
}

/// A run of rows of a cache is replaced, beginning where each batch says.
LogicalResult convertTensorScatter(Node &node) {
  Tensor cache = node.in(0), update = node.in(1);
  StringRef mode = node.attr("mode", StringRef("linear"));
  auto axis = node.axis(node.attr("axis", int64_t{-2}), cache.rank());
  if (failed(axis) || failed(node.sameTypes({0, 1})))
    return failure();
  if (mode != "linear" && mode != "circular")
    return node.error() << "unknown mode '" << mode << "'";
  Shape expected(cache.shape());
  if (update.rank() == cache.rank())
    expected[*axis] = update.size(*axis);
  if (*axis == 0 || Shape(update.shape()) != expected || update.size(*axis) > cache.size(*axis))
    return node.error() << "the update " << update.tensorType() << " does not fit the cache "
                        << cache.tensorType() << " along axis " << *axis;
  if (update.size(*axis) == 0 || cache.count() == 0)
    return node.result(cache);
  Emitter &emit = node.emit;
  Tensor position = emit.iota(DataType::i64, cache.shape(), *axis);
  if (auto starts = node.optional(2)) {
    if (!isInteger(starts->type) || starts->rank() != 1 || starts->size(0) != cache.size(0))
      return node.error() << "there must be one write index for each batch, not "
                          << starts->tensorType();
    Tensor first = *starts;
    if (mode == "linear") {
      auto allowed = within(node, first, 0, cache.size(*axis) - update.size(*axis), "write_indices");
      if (failed(allowed))
        return failure();
      first = *allowed;
    }
    position = emit.sub(position, emit.broadcastInDims(emit.cast(first, DataType::i64), {0}, cache.shape()));
  }
  if (mode == "circular") {
    Tensor size = emit.likeInt(position, cache.size(*axis));
    Tensor rest = emit.rem(position, size);
    position = emit.select(emit.compare(Order::less, rest, emit.like(rest, 0)),
                           emit.add(rest, size), rest);
  }
  Tensor first = emit.like(position, 0);
  Tensor last = emit.likeInt(position, update.size(*axis) - 1);
  Tensor inside = emit.logicalAnd(emit.compare(Order::greaterOrEqual, position, first),
                                  emit.compare(Order::lessOrEqual, position, last));
  Tensor source = emit.min(emit.max(position, first), last);
  Tensor moved = update.moved(
      emit.create<nn::GatherElementsOp>(cache.tensorType(), update.value, source.value, *axis));
  return node.result(emit.select(inside, moved, cache));
}

} // namespace

void spillway::addScatters(OperatorTable &table) {
  table.add({
      {"Scatter", 9, convertScatterElements, 3, 3},
      {"ScatterElements", 11, convertScatterElements, 3, 3},
      {"ScatterND", 11, convertScatterND, 3, 3},
      {"TensorScatter", 24, convertTensorScatter, 2, 3},
  });
}
