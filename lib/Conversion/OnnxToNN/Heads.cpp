#include "lib/Conversion/OnnxToNN/Heads.h"

#include <limits>

using namespace mlir;
using namespace spillway;

Tensor spillway::splitHeads(Emitter &emit, Tensor x, int64_t heads) {
  Tensor split = emit.reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads});
  return emit.transpose(split, {0, 2, 1, 3});
}

Tensor spillway::mergeHeads(Emitter &emit, Tensor x) {
  Tensor back = emit.transpose(x, {0, 2, 1, 3});
  return emit.reshape(back, {x.size(0), x.size(2), x.size(1) * x.size(3)});
}

void spillway::keepOnly(Emitter &emit, Heads &heads, Tensor keeps) {
  if (heads.keeps) {
    Shape shape = *broadcastShapes(heads.keeps->shape(), keeps.shape());
    keeps = emit.logicalAnd(emit.broadcast(*heads.keeps, shape), emit.broadcast(keeps, shape));
  }
  heads.keeps = keeps;
}

void spillway::addBias(Emitter &emit, Heads &heads, Tensor bias) {
  if (heads.bias) {
    Shape shape = *broadcastShapes(heads.bias->shape(), bias.shape());
    bias = emit.add(emit.broadcast(*heads.bias, shape), emit.broadcast(bias, shape));
  }
  heads.bias = bias;
}

Tensor spillway::positions(Emitter &emit, const Heads &heads, int64_t dim, Shape shape) {
  Tensor index = emit.iota(DataType::i64, shape, dim);
  bool shifts = dim == 2 && heads.past != 0;
  return shifts ? emit.add(index, emit.splatInt(DataType::i64, shape, heads.past)) : index;
}

/// The two masks as the one that nn.attention takes.
static Value joinMasks(Emitter &emit, const Heads &heads) {
  if (!heads.bias)
    return heads.keeps ? heads.keeps->value : Value();
  if (!heads.keeps)
    return heads.bias->value;
  Shape shape = *broadcastShapes(heads.keeps->shape(), heads.bias->shape());
  Tensor bias = emit.broadcast(*heads.bias, shape);
  return emit
      .select(emit.broadcast(*heads.keeps, shape), bias,
              emit.like(bias, -std::numeric_limits<double>::infinity()))
      .value;
}

Tensor spillway::attend(Emitter &emit, const Heads &heads) {
  DataType type = heads.query.type;
  Tensor value = emit.cast(heads.value, type);
  Shape shape{heads.batch(), heads.query.size(1), heads.queries(), value.size(3)};
  Builder b(emit.context());
  // The operation's scale is an f32; what more an f64 has goes into the query.
  Tensor query = heads.query;
  auto scale = static_cast<float>(heads.scale);
  if (type == DataType::f64 && scale != heads.scale) {
    query = emit.mul(query, emit.like(query, heads.scale));
    scale = 1;
  }
  return {emit.create<nn::AttentionOp>(
              emit.typeOf(type, shape), query.value, heads.key.value, value.value,
              joinMasks(emit, heads), b.getF32FloatAttr(scale),
              b.getF32FloatAttr(static_cast<float>(heads.softcap)),
              heads.isCausal ? b.getI64IntegerAttr(heads.past) : IntegerAttr(),
              nn::MaskedRowAttr::get(emit.context(), nn::MaskedRow::zero)),
          type};
}

Tensor spillway::rotate(Emitter &emit, Tensor x, Tensor cosRows, Tensor sinRows, int64_t lengthDim,
                        bool interleaved) {
  int64_t size = x.size(3), half = cosRows.size(2);
  Shape halfShape(x.shape());
  halfShape[3] = half;
  SmallVector<int64_t> dims{0, lengthDim, 3};
  Tensor cos = emit.broadcastInDims(cosRows, dims, halfShape);
  Tensor sin = emit.broadcastInDims(sinRows, dims, halfShape);
  auto part = [&](int64_t begin, int64_t stride) {
    return emit.slice(x, {0, 0, 0, begin}, halfShape, {1, 1, 1, stride});
  };
  Tensor a = interleaved ? part(0, 2) : part(0, 1);
  Tensor b = interleaved ? part(1, 2) : part(half, 1);
  Tensor real = emit.sub(emit.mul(cos, a), emit.mul(sin, b));
  Tensor imaginary = emit.add(emit.mul(sin, a), emit.mul(cos, b));
  Tensor rotated;
  if (interleaved) {
    Shape column(halfShape), whole(halfShape);
    column.push_back(1);
    whole[3] = 2 * half;
    rotated = emit.reshape(
        emit.concat({emit.reshape(real, column), emit.reshape(imaginary, column)}, 4), whole);
  } else {
    rotated = emit.concat({real, imaginary}, 3);
  }
  if (2 * half < size)
    rotated = emit.concat({rotated, emit.sliceDim(x, 3, 2 * half, size - 2 * half)}, 3);
  return rotated;
}
