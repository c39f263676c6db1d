// Operators that pick elements by index.

#include "lib/Conversion/OnnxToNN/Indices.h"

using namespace mlir;
using namespace spillway;

LogicalResult spillway::checkIndexType(Node &node, Tensor indices) {
  if (indices.type != DataType::i64 && indices.type != DataType::i32)
    return node.error() << "indices must be i64 or i32, not " << name(indices.type);
  return success();
}

FailureOr<std::optional<SmallVector<int64_t>>>
spillway::knownIndices(Node &node, Tensor indices, ArrayRef<int64_t> sizes) {
  std::optional<TensorValue> known = node.emit.known(indices);
  if (!known)
    return std::optional<SmallVector<int64_t>>();
  SmallVector<int64_t> values = asIntegers(*known, false);
  for (auto [i, value] : llvm::enumerate(values)) {
    int64_t size = sizes[i % sizes.size()];
    if (value < -size || value >= size)
      return node.error() << "index " << value << " lies outside a dimension of size " << size;
    if (value < 0)
      value += size;
  }
  return std::optional(values);
}

FailureOr<Tensor> spillway::within(Node &node, Tensor integers, int64_t low, int64_t high, StringRef what) {
  Emitter &emit = node.emit;
  if (auto known = emit.known(integers)) {
    for (int64_t value : asIntegers(*known, isUnsigned(integers.type)))
      if (value < low || value > high)
        return node.error() << what << " must be from " << low << " to " << high << ", not " << value;
    return integers;
  }
  // Picked from all that are allowed.
  Tensor wide = emit.cast(integers, DataType::i64);
  Tensor place = emit.sub(wide, emit.likeInt(wide, low)), count = emit.likeInt(wide, high - low + 1);
  place = emit.select(emit.compare(Emitter::Order::less, place, emit.like(place, 0)), count, place);
  Tensor allowed = emit.iota(DataType::i64, {high - low + 1}, 0);
  Tensor picked = emit.add(emit.gather(allowed, place, 0), emit.likeInt(wide, low));
  return emit.cast(picked, integers.type);
}

namespace {

/// The common difference of an arithmetic sequence (1 for one element), but zero.
std::optional<int64_t> strideOf(ArrayRef<int64_t> values) {
  if (values.size() < 2)
    return 1;
  int64_t stride = values[1] - values[0];
  for (size_t i = 1; i < values.size(); ++i)
    if (values[i] - values[i - 1] != stride)
      return std::nullopt;
  return stride == 0 ? std::nullopt : std::optional(stride);
}

LogicalResult convertGather(Node &node) {
  Tensor data = node.in(0), indices = node.in(1);
  auto axis = node.axis(node.attr("axis", int64_t{0}), data.rank());
  if (failed(axis) || failed(checkIndexType(node, indices)))
    return failure();
  if (data.size(*axis) == 0 && indices.count() != 0)
    return node.error() << "nothing to pick from along an axis of size 0";
  Emitter &emit = node.emit;
  Shape shape(data.shape().take_front(*axis));
  llvm::append_range(shape, indices.shape());
  llvm::append_range(shape, data.shape().drop_front(*axis + 1));
  if (!elementCount(shape))
    return node.error() << "the result is too large";

  auto known = knownIndices(node, indices, data.size(*axis));
  if (failed(known))
    return failure();
  if (*known && !(*known)->empty())
    if (auto stride = strideOf(**known)) {
      Shape offsets(data.rank(), 0), sizes(data.shape()), strides(data.rank(), 1);
      offsets[*axis] = (*known)->front();
      sizes[*axis] = indices.count();
      strides[*axis] = *stride;
      return node.result(emit.reshape(emit.slice(data, offsets, sizes, strides), shape));
    }
  return node.result(emit.gather(data, indices, *axis));
}

LogicalResult convertGatherElements(Node &node) {
  Tensor data = node.in(0), indices = node.in(1);
  auto axis = node.axis(node.attr("axis", int64_t{0}), data.rank());
  if (failed(axis) || failed(checkIndexType(node, indices)))
    return failure();
  bool fits = data.rank() == indices.rank();
  for (int64_t d = 0; fits && d < data.rank(); ++d)
    fits = d == *axis || indices.size(d) <= data.size(d);
  if (!fits)
    return node.error() << "indices " << indices.tensorType() << " do not fit data "
                        << data.tensorType();
  if (data.size(*axis) == 0 && indices.count() != 0)
    return node.error() << "nothing to pick from along an axis of size 0";
  if (failed(knownIndices(node, indices, data.size(*axis))))
    return failure();
  Emitter &emit = node.emit;
  return node.result(data.moved(emit.create<nn::GatherElementsOp>(
      emit.typeOf(data.type, indices.shape()), data.value, indices.value, *axis)));
}

LogicalResult convertGatherND(Node &node) {
  Tensor data = node.in(0), indices = node.in(1);
  int64_t batch = node.attr("batch_dims", int64_t{0});
  if (failed(checkIndexType(node, indices)))
    return failure();
  if (batch < 0 || batch >= std::min(data.rank(), indices.rank()) ||
      data.shape().take_front(batch) != indices.shape().take_front(batch) ||
      batch + indices.shape().back() > data.rank() || indices.shape().back() < 1)
    return node.error() << "batch_dims = " << batch << ", data " << data.tensorType()
                        << " and indices " << indices.tensorType() << " do not fit together";
  Emitter &emit = node.emit;
  Shape shape(indices.shape().drop_back());
  llvm::append_range(shape, data.shape().drop_front(batch + indices.shape().back()));
  if (!elementCount(shape))
    return node.error() << "the result is too large";
  if (failed(knownIndices(node, indices, data.shape().slice(batch, indices.shape().back()))))
    return failure();
  return node.result(data.moved(emit.create<nn::GatherNDOp>(emit.typeOf(data.type, shape), data.value,
                                                            indices.value, batch)));
}

/// The first elements along the time axis, as many as each batch says, in reverse order.
LogicalResult convertReverseSequence(Node &node) {
  Tensor x = node.in(0), lengths = node.in(1);
  auto batch = node.axis(node.attr("batch_axis", int64_t{1}), x.rank());
  auto time = node.axis(node.attr("time_axis", int64_t{0}), x.rank());
  if (failed(batch) || failed(time) || failed(checkIndexType(node, lengths)))
    return failure();
  if (*batch == *time || lengths.rank() != 1 || lengths.size(0) != x.size(*batch))
    return node.error() << "there must be one length for each of the " << x.size(*batch)
                        << " batches, along another axis than time";
  Emitter &emit = node.emit;
  auto counts = within(node, lengths, 0, x.size(*time), "sequence_lens");
  if (failed(counts))
    return failure();
  Tensor length =
      emit.broadcastInDims(emit.cast(*counts, DataType::i64), {*batch}, x.shape());
  Tensor position = emit.iota(DataType::i64, x.shape(), *time);
  Tensor mirrored = emit.sub(emit.sub(length, emit.like(length, 1)), position);
  Tensor source = emit.select(emit.compare(Emitter::Order::less, position, length), mirrored, position);
  return node.result(
      x.moved(emit.create<nn::GatherElementsOp>(x.tensorType(), x.value, source.value, *time)));
}

} // namespace

void spillway::addIndexing(OperatorTable &table) {
  table.add({
      {"Gather", 1, convertGather, 2, 2},
      {"GatherElements", 11, convertGatherElements, 2, 2},
      {"GatherND", 11, convertGatherND, 2, 2},
      {"ReverseSequence", 10, convertReverseSequence, 2, 2},
  });
}
