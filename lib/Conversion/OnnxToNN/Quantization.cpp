// Integers that stand for numbers: real = (integer - zero point) * scale.

#include "lib/Conversion/OnnxToNN/Quantization.h"
#include "lib/Conversion/OnnxToNN/Products.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace spillway;

namespace {

using Order = Emitter::Order;

/// Which elements of a tensor share a scale.
struct Granularity {
  int64_t axis = 0;
  /// Elements along the axis that share one; 0 where all do, or each has its own.
  int64_t block = 0;
};

/// One element of a scale or zero point for each element of `shape`.
FailureOr<Tensor> spread(Node &node, unsigned input, ArrayRef<int64_t> shape, Granularity along) {
  Emitter &emit = node.emit;
  Tensor x = node.in(input);
  auto rank = static_cast<int64_t>(shape.size());
  auto misfit = [&]() -> FailureOr<Tensor> {
    auto error = node.error();
    error << "input " << input << " " << x.tensorType() << " does not fit " << rank
          << " dimensions quantised along axis " << along.axis;
    if (along.block)
      error << " in blocks of " << along.block;
    return failure();
  };
  if (!along.block && x.count() == 1 && x.rank() <= 1)
    return emit.broadcast(emit.reshape(x, {}), shape);
  auto axis = node.axis(along.axis, rank);
  if (failed(axis))
    return failure();
  int64_t size = shape[*axis];
  if (!along.block) {
    if (Shape(x.shape()) != Shape{size})
      return misfit();
    return emit.broadcastInDims(x, {*axis}, shape);
  }
  Shape blocks(shape);
  blocks[*axis] = llvm::divideCeil(size, along.block);
  if (Shape(x.shape()) != blocks)
    return misfit();
  Shape repeated(blocks), whole(blocks), dims = allDims(rank + 1);
  repeated.insert(repeated.begin() + *axis + 1, along.block);
  whole[*axis] *= along.block;
  dims.erase(dims.begin() + *axis + 1);
  if (!elementCount(whole))
    return node.error() << "block_size " << along.block << " is too large";
  Tensor all = emit.reshape(emit.broadcastInDims(x, dims, repeated), whole);
  return emit.sliceDim(all, *axis, 0, size);
}

} // namespace

bool spillway::isZero(Emitter &emit, Tensor x) {
  auto value = emit.known(x);
  return value && llvm::all_of(value->getBytes(), [](char byte) { return byte == 0; });
}

namespace {

/// Integers less their zero point, in f32.
Tensor centred(Emitter &emit, Tensor x, std::optional<Tensor> zero) {
  if (zero)
    x = emit.sub(emit.cast(x, DataType::i32), emit.cast(*zero, DataType::i32));
  return emit.cast(x, DataType::f32);
}

} // namespace

Tensor spillway::toLevels(Emitter &emit, Tensor x, std::optional<Tensor> zero, Levels levels) {
  x = emit.unary<math::RoundEvenOp>(x);
  if (zero)
    x = emit.add(x, emit.cast(*zero, DataType::f32));
  x = emit.min(emit.max(x, emit.like(x, levels.lowest())), emit.like(x, levels.highest()));
  Tensor result = emit.cast(x, levels.type);
  result.bits = levels.bits;
  return result;
}

namespace {

FailureOr<Granularity> readGranularity(Node &node) {
  Granularity along{node.attr("axis", int64_t{1}), node.attr("block_size", int64_t{0})};
  if (along.block < 0)
    return node.error() << "block_size must not be negative";
  return along;
}

/// The scale and the zero point (inputs `scale` and the one after it), one for each element of x.
struct Parameters {
  Tensor scale;
  std::optional<Tensor> zero;
};

FailureOr<Parameters> readParameters(Node &node, Tensor x, unsigned scale, Granularity along) {
  if (!isFloat(node.in(scale).type))
    return node.error() << "the scale (input " << scale << ") must be a floating-point tensor";
  auto scales = spread(node, scale, x.shape(), along);
  if (failed(scales))
    return failure();
  Parameters parameters{*scales, std::nullopt};
  if (!node.has(scale + 1) || isZero(node.emit, node.in(scale + 1)))
    return parameters;
  auto zeros = spread(node, scale + 1, x.shape(), along);
  if (failed(zeros))
    return failure();
  parameters.zero = *zeros;
  return parameters;
}

Tensor dequantize(Emitter &emit, Tensor x, const Parameters &parameters) {
  return emit.mul(centred(emit, x, parameters.zero), emit.cast(parameters.scale, DataType::f32));
}

Tensor quantize(Emitter &emit, Tensor x, const Parameters &parameters, Levels levels) {
  Tensor quotient =
      emit.div(emit.cast(x, DataType::f32), emit.cast(parameters.scale, DataType::f32));
  return toLevels(emit, quotient, parameters.zero, levels);
}

} // namespace

LogicalResult spillway::checkZeroPoint(Node &node, unsigned x, unsigned zero) {
  return node.has(zero) ? node.sameTypes({x, zero}) : success();
}

LogicalResult spillway::checkIntegers(Node &node, ArrayRef<unsigned> inputs) {
  for (unsigned i : inputs)
    if (node.in(i).type != DataType::u8 && node.in(i).type != DataType::i8)
      return node.error() << "input " << i << " must hold i8 or u8, not " << name(node.in(i).type);
  return success();
}

namespace {

LogicalResult convertDequantizeLinear(Node &node) {
  Emitter &emit = node.emit;
  Tensor x = node.in(0);
  auto along = readGranularity(node);
  if (failed(along) || failed(checkZeroPoint(node, 0, 2)))
    return failure();
  auto parameters = readParameters(node, x, 1, *along);
  if (failed(parameters))
    return failure();
  DataType type = node.in(1).type;
  if (node.attr("output_dtype", int64_t{0}) != 0) {
    auto given = node.typeAttr("output_dtype");
    if (failed(given))
      return failure();
    type = *given;
  }
  return node.result(emit.cast(dequantize(emit, x, *parameters), type));
}

/// The type of a QuantizeLinear's result: that of the zero point, or of the attribute.
FailureOr<Levels> resultLevels(Node &node) {
  int64_t asked = node.attr("output_dtype", int64_t{0});
  std::optional<Levels> named;
  constexpr int64_t uint4 = 21, int4 = 22, uint2 = 25, int2 = 26;
  switch (asked) {
  case 0:
    break;
  case uint4:
    named = Levels{DataType::u8, 4};
    break;
  case int4:
    named = Levels{DataType::i8, 4};
    break;
  case uint2:
    named = Levels{DataType::u8, 2};
    break;
  case int2:
    named = Levels{DataType::i8, 2};
    break;
  default:
    auto type = node.typeAttr("output_dtype");
    if (failed(type))
      return failure();
    if (!isInteger(*type))
      return node.error() << "output_dtype must be an integer type, not " << name(*type);
    named = Levels{*type};
  }
  Levels levels = named.value_or(Levels());
  if (node.has(2)) {
    Levels zero = levelsOf(node.in(2));
    if (named && (zero.type != named->type || zero.bits != named->bits))
      return node.error() << "output_dtype and the zero point differ in type";
    levels = zero;
  }
  if (!isInteger(levels.type))
    return node.error() << "the zero point must be an integer, not " << name(levels.type);
  return levels;
}

LogicalResult convertQuantizeLinear(Node &node) {
  node.ignoreAttr("saturate"); // of 8-bit floats
  node.ignoreAttr("precision");
  auto along = readGranularity(node);
  auto levels = resultLevels(node);
  if (failed(along) || failed(levels))
    return failure();
  auto parameters = readParameters(node, node.in(0), 1, *along);
  if (failed(parameters))
    return failure();
  return node.result(quantize(node.emit, node.in(0), *parameters, *levels));
}

LogicalResult convertDynamicQuantizeLinear(Node &node) {
  Emitter &emit = node.emit;
  Tensor x = node.in(0);
  if (x.type != DataType::f32)
    return node.error() << "the input must hold f32, not " << name(x.type);
  Levels levels;
  SmallVector<int64_t> all = allDims(x.rank());
  Tensor zero = emit.splat(x.type, {}, 0);
  Tensor high = emit.max(emit.reduce(nn::ReductionKind::max, x, all, false), zero);
  Tensor low = emit.min(emit.reduce(nn::ReductionKind::min, x, all, false), zero);
  Tensor scale = emit.div(emit.sub(high, low), emit.splat(x.type, {}, levels.highest()));
  // A tensor of zeros has no range to divide by.
  Tensor isFlat = emit.compare(Order::equal, scale, zero);
  scale = emit.select(isFlat, emit.splat(x.type, {}, 1), scale);
  Tensor point = toLevels(emit, emit.neg(emit.div(low, scale)), std::nullopt, levels);
  Parameters parameters{emit.broadcast(scale, x.shape()), emit.broadcast(point, x.shape())};
  node.set(1, scale);
  node.set(2, point);
  return node.result(quantize(emit, x, parameters, levels));
}

//===----------------------------------------------------------------------===//
// Products of integers
//===----------------------------------------------------------------------===//

/// A factor of integers in i32, less its zero point: one for all, or one for each row (`rows`) or
/// column of its matrices.
FailureOr<Tensor> integerFactor(Node &node, unsigned input, unsigned zero, bool rows) {
  Emitter &emit = node.emit;
  Tensor x = node.in(input), wide = emit.cast(x, DataType::i32);
  if (x.rank() < 1)
    return node.error() << "input " << input << " must have one dimension or more";
  if (!node.has(zero) || isZero(emit, node.in(zero)))
    return wide;
  if (failed(checkZeroPoint(node, input, zero)))
    return failure();
  Tensor point = node.in(zero);
  if (point.count() == 1)
    point = emit.reshape(point, {});
  else if (rows && point.rank() == 1)
    point = emit.reshape(point, {point.size(0), 1});
  auto shape = broadcastShapes(point.shape(), x.shape());
  if (!shape || *shape != Shape(x.shape()))
    return node.error() << "the zero point " << node.in(zero).tensorType() << " does not fit "
                        << x.tensorType();
  return emit.sub(wide, emit.broadcast(emit.cast(point, DataType::i32), x.shape()));
}

LogicalResult convertMatMulInteger(Node &node) {
  if (failed(checkIntegers(node, {0, 1})))
    return failure();
  auto a = integerFactor(node, 0, 2, true), b = integerFactor(node, 1, 3, false);
  if (failed(a) || failed(b))
    return failure();
  auto product = matmul(node, *a, *b);
  return failed(product) ? failure() : node.result(*product);
}

/// The scale that is an input, in the shape of a product: one for all, or one for each row (`rows`) or column.
FailureOr<Tensor> productScale(Node &node, unsigned input, bool rows, Tensor product) {
  Emitter &emit = node.emit;
  Tensor scale = emit.cast(node.in(input), DataType::f32);
  if (scale.count() == 1)
    scale = emit.reshape(scale, {});
  else if (rows && scale.rank() == 1)
    scale = emit.reshape(scale, {scale.size(0), 1});
  auto shape = broadcastShapes(scale.shape(), product.shape());
  if (!shape || *shape != Shape(product.shape()))
    return node.error() << "the scale " << node.in(input).tensorType() << " (input " << input
                        << ") does not fit the product " << product.tensorType();
  return emit.broadcast(scale, product.shape());
}

/// The levels of a product in f32 that has been divided by their scale.
LogicalResult setProductLevels(Node &node, Tensor y, unsigned zeroPoint) {
  if (node.in(zeroPoint).count() != 1)
    return node.error() << "the result's zero point must be a scalar";
  Tensor zero = node.emit.broadcast(node.emit.reshape(node.in(zeroPoint), {}), y.shape());
  return node.result(toLevels(node.emit, y, zero, levelsOf(node.in(zeroPoint))));
}

/// Inputs: a, its scale and zero point, b with the same, scale and zero point of the result.
LogicalResult convertQLinearMatMul(Node &node) {
  Emitter &emit = node.emit;
  if (failed(checkIntegers(node, {0, 3, 7})))
    return failure();
  auto a = integerFactor(node, 0, 2, true), b = integerFactor(node, 3, 5, false);
  if (failed(a) || failed(b))
    return failure();
  auto product = matmul(node, *a, *b);
  if (failed(product))
    return failure();
  Tensor y = emit.cast(*product, DataType::f32);
  for (auto [input, rows] : {std::pair(1u, true), {4u, false}, {6u, false}}) {
    FailureOr<Tensor> scale = productScale(node, input, rows, y);
    if (failed(scale))
      return failure();
    y = input == 6 ? emit.div(y, *scale) : emit.mul(y, *scale);
  }
  return setProductLevels(node, y, 7);
}

/// Inputs: a matrix, its scale and zero point, another with the same, a bias in i32 whose scale is the product of theirs,
/// scale and zero point of the result, without which it is of floats.
LogicalResult convertQGemm(Node &node) {
  Emitter &emit = node.emit;
  bool swapsA = node.attr("transA", int64_t{0}) != 0, swapsB = node.attr("transB", int64_t{0}) != 0;
  float alpha = static_cast<float>(node.attr("alpha", 1.0));
  if (failed(checkIntegers(node, {0, 3})))
    return failure();
  if (node.in(0).rank() != 2 || node.in(3).rank() != 2)
    return node.error() << "A and B must be matrices";
  auto a = integerFactor(node, 0, 2, !swapsA), b = integerFactor(node, 3, 5, swapsB);
  if (failed(a) || failed(b))
    return failure();
  auto turned = [&](Tensor x, bool swaps) { return swaps ? emit.transpose(x, {1, 0}) : x; };
  auto product = matmul(node, turned(*a, swapsA), turned(*b, swapsB));
  if (failed(product))
    return failure();
  if (auto bias = node.optional(6)) {
    auto shape = broadcastShapes(product->shape(), bias->shape());
    if (bias->type != DataType::i32 || !shape || *shape != Shape(product->shape()))
      return node.error() << "C " << bias->tensorType() << " must be of i32, and broadcast to " << product->tensorType();
    product = emit.add(*product, emit.broadcast(*bias, product->shape()));
  }
  Tensor y = emit.cast(*product, DataType::f32);
  y = emit.mul(y, emit.like(y, alpha));
  for (auto [input, rows] : {std::pair(1u, true), {4u, false}}) {
    FailureOr<Tensor> scale = productScale(node, input, rows, y);
    if (failed(scale))
      return failure();
    y = emit.mul(y, *scale);
  }
  if (node.has(7) != node.has(8))
    return node.error() << "scale and zero point of the result come together";
  if (!node.has(7))
    return node.result(y);
  FailureOr<Tensor> scale = productScale(node, 7, false, y);
  if (failed(scale) || failed(checkIntegers(node, {8})))
    return failure();
  return setProductLevels(node, emit.div(y, *scale), 8);
}

/// Inputs: a, its scale and zero point, b with the same, scale and zero point of the result.
template <Tensor (Emitter::*method)(Tensor, Tensor)>
LogicalResult convertQLinearBinary(Node &node) {
  Emitter &emit = node.emit;
  for (unsigned i : {3u, 4u, 6u})
    if (!node.has(i))
      return node.error() << "input " << i << " is required";
  if (failed(checkIntegers(node, {0, 3})) || failed(node.sameTypes({0, 3})))
    return failure();
  auto read = [&](unsigned input) -> FailureOr<Tensor> {
    auto parameters = readParameters(node, node.in(input), input + 1, {});
    if (failed(parameters) || failed(checkZeroPoint(node, input, input + 2)))
      return failure();
    return dequantize(emit, node.in(input), *parameters);
  };
  auto a = read(0), b = read(3);
  if (failed(a) || failed(b))
    return failure();
  auto operands = node.broadcastAll({*a, *b});
  if (failed(operands))
    return failure();
  Tensor result = (emit.*method)((*operands)[0], (*operands)[1]);
  auto parameters = readParameters(node, result, 6, {});
  if (failed(parameters))
    return failure();
  return node.result(quantize(emit, result, *parameters, levelsOf(node.in(0))));
}

//===----------------------------------------------------------------------===//
// Weights in blocks of few bits
//===----------------------------------------------------------------------===//

/// Weights [rows, blocks, block] less their zero points, times their scales: [rows, size] in f32.
/// `zeros` are [rows, blocks], in bytes or floats, or absent: then they are the middle of the
/// range.
Tensor dequantizeRows(Emitter &emit, Tensor weights, Tensor scales, std::optional<Tensor> zeros,
                      int64_t bits, int64_t size) {
  Shape shape(weights.shape());
  auto each = [&](Tensor x) {
    x = emit.reshape(emit.cast(x, DataType::f32), {shape[0], shape[1]});
    return emit.broadcastInDims(x, {0, 1}, shape);
  };
  Tensor x = emit.cast(weights, DataType::f32);
  x = emit.sub(x, zeros ? each(*zeros) : emit.like(x, std::ldexp(1, static_cast<int>(bits) - 1)));
  x = emit.mul(x, each(scales));
  x = emit.reshape(x, {shape[0], shape[1] * shape[2]});
  return emit.sliceDim(x, 1, 0, size);
}

/// Zero points of [rows, blocks], which files hold by rows of whole bytes.
FailureOr<Tensor> unpackZeros(Node &node, Tensor zeros, int64_t rows, int64_t blocks,
                              int64_t bits) {
  Emitter &emit = node.emit;
  if (isFloat(zeros.type) && zeros.count() == rows * blocks)
    return emit.reshape(zeros, {rows, blocks});
  int64_t bytes = llvm::divideCeil(blocks * bits, 8);
  if (zeros.type != DataType::u8 || zeros.count() != rows * bytes)
    return node.error() << "zero points " << zeros.tensorType() << " do not fit " << rows
                        << " rows of " << blocks << " blocks of " << bits << " bits";
  zeros = emit.reshape(zeros, {rows, bytes});
  if (bits < 8)
    zeros = emit.unpack(zeros, bits, false, {rows, bytes * 8 / bits});
  return emit.sliceDim(zeros, 1, 0, blocks);
}

/// Inputs: x, packed weights [N, blocks, bytes], scales, zero points, g_idx, bias.
LogicalResult convertMatMulNBits(Node &node) {
  constexpr int64_t maxSize = int64_t{1} << 30;
  Emitter &emit = node.emit;
  Tensor x = node.in(0), packed = node.in(1), scales = node.in(2);
  int64_t depth = node.attr("K", int64_t{0}), columns = node.attr("N", int64_t{0});
  int64_t bits = node.attr("bits", int64_t{4}), block = node.attr("block_size", int64_t{0});
  node.ignoreAttr("accuracy_level"); // the product is computed in f32
  if (bits != 2 && bits != 4 && bits != 8)
    return node.error() << "bits = " << bits << " is not supported; 2, 4 and 8 are";
  auto isSize = [](int64_t size) { return size >= 1 && size <= maxSize; };
  if (!isSize(depth) || !isSize(columns) || !isSize(block) || block < 16 ||
      !llvm::isPowerOf2_64(static_cast<uint64_t>(block)))
    return node.error() << "K = " << depth << ", N = " << columns << " or block_size = " << block
                        << " is invalid";
  if (node.has(4))
    return node.error() << "g_idx (input 4), which groups weights out of order, is not supported";
  int64_t blocks = llvm::divideCeil(depth, block), bytes = block * bits / 8;
  if (packed.type != DataType::u8 || packed.count() != columns * blocks * bytes)
    return node.error() << "weights " << packed.tensorType() << " must be u8 of " << columns
                        << " x " << blocks << " x " << bytes;
  if (!isFloat(scales.type) || scales.count() != columns * blocks)
    return node.error() << "scales " << scales.tensorType() << " must be " << columns << " x "
                        << blocks;
  std::optional<Tensor> zeros;
  if (node.has(3)) {
    auto unpacked = unpackZeros(node, node.in(3), columns, blocks, bits);
    if (failed(unpacked))
      return failure();
    zeros = *unpacked;
  }
  Tensor weights = emit.reshape(packed, {columns, blocks, bytes});
  if (bits < 8)
    weights = emit.unpack(weights, bits, false, {columns, blocks, block});
  Tensor matrix = dequantizeRows(emit, weights, scales, zeros, bits, depth);
  auto product = matmul(node, emit.cast(x, DataType::f32), emit.transpose(matrix, {1, 0}));
  if (failed(product))
    return failure();
  Tensor y = *product;
  if (auto bias = node.optional(5)) {
    if (Shape(bias->shape()) != Shape{columns} || bias->type != x.type)
      return node.error() << "bias " << bias->tensorType() << " must have " << columns
                          << " elements";
    y = emit.add(y, emit.broadcast(emit.cast(*bias, DataType::f32), y.shape()));
  }
  return node.result(emit.cast(y, x.type));
}

/// Inputs: packed rows, indices, scales, zero points. The rows are read where they lie.
LogicalResult convertGatherBlockQuantized(Node &node) {
  Emitter &emit = node.emit;
  Tensor data = node.in(0), indices = node.in(1), scales = node.in(2);
  int64_t block = node.attr("block_size", int64_t{128}), bits = node.attr("bits", int64_t{4});
  auto gatherAxis = node.axis(node.attr("gather_axis", int64_t{0}), data.rank());
  auto blockAxis = node.axis(node.attr("quantize_axis", int64_t{1}), data.rank());
  if (failed(gatherAxis) || failed(blockAxis))
    return failure();
  if (data.type != DataType::u8 || data.bits || (bits != 4 && bits != 8))
    return node.error() << "only bytes of 4-bit or 8-bit numbers are supported, not "
                        << data.tensorType() << " of " << bits << " bits";
  if (data.rank() != 2 || *gatherAxis != 0 || *blockAxis != 1)
    return node.error() << "only rows of a matrix in blocks along them are supported";
  if (indices.type != DataType::i64 && indices.type != DataType::i32)
    return node.error() << "indices must be i64 or i32, not " << name(indices.type);
  int64_t size = data.size(1) * 8 / bits;
  int64_t blocks = block > 0 ? llvm::divideCeil(size, block) : 0;
  if (block < 1 || blocks * block != size || Shape(scales.shape()) != Shape{data.size(0), blocks})
    return node.error() << "scales " << scales.tensorType() << " do not fit rows of " << size
                        << " in blocks of " << block;
  int64_t count = indices.count();
  Tensor flat = emit.reshape(indices, {count});
  std::optional<Tensor> zeros;
  if (node.has(3)) {
    int64_t bytes = llvm::divideCeil(blocks * bits, 8);
    if (Shape(node.in(3).shape()) != Shape{data.size(0), bytes})
      return node.error() << "zero points " << node.in(3).tensorType() << " do not fit the data";
    auto unpacked = unpackZeros(node, emit.gather(node.in(3), flat, 0), count, blocks, bits);
    if (failed(unpacked))
      return failure();
    zeros = *unpacked;
  }
  Tensor rows = emit.gather(data, flat, 0);
  if (bits < 8)
    rows = emit.unpack(rows, bits, false, {count, size});
  Tensor result = dequantizeRows(emit, emit.reshape(rows, {count, blocks, block}),
                                 emit.gather(scales, flat, 0), zeros, bits, size);
  Shape shape(indices.shape());
  shape.push_back(size);
  return node.result(emit.cast(emit.reshape(result, shape), scales.type));
}

} // namespace

void spillway::addQuantization(OperatorTable &table) {
  constexpr auto numeric = TypeClass::numeric, floats = TypeClass::floats,
                 integers = TypeClass::integers;
  table.add({
      {"DequantizeLinear", 10, convertDequantizeLinear, 2, 3, 1, integers, "no 8-bit floats"},
      {"DynamicQuantizeLinear", 11, convertDynamicQuantizeLinear, 1, 1, 3, floats},
      {"MatMulInteger", 10, convertMatMulInteger, 2, 4, 1, integers},
      {"QLinearMatMul", 10, convertQLinearMatMul, 8, 8, 1, integers},
      {"QuantizeLinear", 10, convertQuantizeLinear, 2, 3, 1, numeric, "no 8-bit floats"},
      {"DequantizeLinear", 1, convertDequantizeLinear, 2, 3, 1, integers, "no 8-bit floats",
       microsoft},
      {"GatherBlockQuantized", 1, convertGatherBlockQuantized, 3, 4, 1, integers,
       "rows of a matrix of bytes", microsoft},
      {"MatMulNBits", 1, convertMatMulNBits, 3, 6, 1, floats, "no g_idx", microsoft},
      {"QGemm", 1, convertQGemm, 6, 9, 1, integers, "", microsoft},
      {"QLinearAdd", 1, convertQLinearBinary<&Emitter::add>, 2, 8, 1, integers, "", microsoft},
      {"QLinearMul", 1, convertQLinearBinary<&Emitter::mul>, 2, 8, 1, integers, "", microsoft},
      {"QuantizeLinear", 1, convertQuantizeLinear, 2, 3, 1, numeric, "no 8-bit floats", microsoft},
  });
}
