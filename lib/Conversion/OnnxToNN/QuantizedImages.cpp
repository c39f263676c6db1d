// Convolutions and poolings of quantised integers: sums in i32, scaled once.

#include "lib/Conversion/OnnxToNN/Convolutions.h"
#include "lib/Conversion/OnnxToNN/Quantization.h"

using namespace mlir;
using namespace spillway;

namespace {

/// A parameter for each element of `shape`: one for all, or one for each index along `dim`.
FailureOr<Tensor> parameter(Node &node, unsigned input, ArrayRef<int64_t> shape, int64_t dim) {
  Emitter &emit = node.emit;
  Tensor x = node.in(input);
  if (x.count() == 1)
    return emit.broadcast(emit.reshape(x, {}), shape);
  if (x.shape() != ArrayRef<int64_t>({shape[dim]}))
    return node.error() << "input " << input << " " << x.tensorType()
                        << " must have one element or " << shape[dim];
  return emit.broadcastInDims(x, {dim}, shape);
}

/// Integers in i32 less their zero point, which there may be one of for each index along dimension
/// 0 where `perFilter` is set.
FailureOr<Tensor> centred(Node &node, unsigned input, unsigned zero, bool perFilter) {
  Emitter &emit = node.emit;
  Tensor x = node.in(input), wide = emit.cast(x, DataType::i32);
  if (failed(checkIntegers(node, {input})) || failed(checkZeroPoint(node, input, zero)))
    return failure();
  if (!node.has(zero) || isZero(emit, node.in(zero)))
    return wide;
  if (!perFilter && node.in(zero).count() != 1)
    return node.error() << "the zero point (input " << zero << ") must be one integer";
  auto point = parameter(node, zero, x.shape(), 0);
  return failed(point) ? point : emit.sub(wide, emit.cast(*point, DataType::i32));
}

FailureOr<Tensor> integerConvolution(Node &node, unsigned filter, unsigned imageZero,
                                     unsigned filterZero) {
  if (node.in(0).rank() < 3 || node.in(filter).rank() < 3)
    return node.error() << "input " << node.in(0).tensorType() << " and filter "
                        << node.in(filter).tensorType() << " must have three dimensions or more";
  auto image = centred(node, 0, imageZero, /*perFilter=*/false);
  auto weights = centred(node, filter, filterZero, /*perFilter=*/true);
  if (failed(image) || failed(weights))
    return failure();
  return convolution(node, *image, *weights);
}

LogicalResult convertConvInteger(Node &node) {
  auto y = integerConvolution(node, 1, 2, 3);
  return failed(y) ? failure() : node.result(*y);
}

LogicalResult checkScale(Node &node, unsigned input) {
  Tensor scale = node.in(input);
  if (scale.type != DataType::f32)
    return node.error() << "the scale (input " << input << ") must hold f32, not "
                        << name(scale.type);
  return success();
}

/// Sums in i32 times `factor` (f32) as integers with the zero point at an input, where it is given.
LogicalResult finish(Node &node, Tensor sums, Tensor factor, unsigned zero, Levels levels) {
  Emitter &emit = node.emit;
  std::optional<Tensor> point = node.optional(zero);
  if (point && point->count() != 1)
    return node.error() << "the zero point (input " << zero << ") must be one integer";
  if (point)
    point = emit.broadcast(emit.reshape(*point, {}), sums.shape());
  Tensor scaled = emit.mul(emit.cast(sums, DataType::f32), factor);
  return node.result(toLevels(emit, scaled, point, levels));
}

/// Inputs: image, its scale and zero point, filter with the same, scale and zero point of the
/// result, bias.
LogicalResult convertQLinearConv(Node &node) {
  Emitter &emit = node.emit;
  if (failed(checkIntegers(node, {7})) || failed(checkScale(node, 1)) ||
      failed(checkScale(node, 4)) || failed(checkScale(node, 6)))
    return failure();
  for (unsigned i : {1u, 6u})
    if (node.in(i).count() != 1)
      return node.error() << "the scale (input " << i << ") must be one number";
  auto sums = integerConvolution(node, 3, 2, 5);
  if (failed(sums) || failed(sums = withBias(node, *sums, 8)))
    return failure();
  ArrayRef<int64_t> shape = sums->shape();
  auto image = parameter(node, 1, shape, 1), filter = parameter(node, 4, shape, 1),
       result = parameter(node, 6, shape, 1);
  if (failed(image) || failed(filter) || failed(result))
    return failure();
  Tensor factor = emit.div(emit.mul(*image, *filter), *result);
  return finish(node, *sums, factor, 7, levelsOf(node.in(7)));
}

/// Inputs: image, its scale and zero point, scale and zero point of the result.
LogicalResult convertQLinearGlobalAveragePool(Node &node) {
  Emitter &emit = node.emit;
  Tensor x = node.in(0);
  bool channelsLast = node.attr("channels_last", int64_t{0}) != 0;
  if (!node.has(3))
    return node.error() << "the scale of the result (input 3) is required";
  if (failed(checkScale(node, 1)) || failed(checkScale(node, 3)))
    return failure();
  if (x.rank() < 3 || node.in(1).count() != 1 || node.in(3).count() != 1)
    return node.error() << "the input must have batch, channels and one dimension or more, and one "
                           "scale, not "
                        << x.tensorType();
  if (failed(checkZeroPoint(node, 0, 4)))
    return failure();
  auto wide = centred(node, 0, 2, /*perFilter=*/false);
  if (failed(wide))
    return failure();
  int64_t first = channelsLast ? 1 : 2, last = channelsLast ? x.rank() - 1 : x.rank();
  SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(first, last));
  int64_t size = 1;
  for (int64_t dim : dims)
    size *= x.size(dim);
  Tensor sums = emit.reduce(nn::ReductionKind::sum, *wide, dims, /*keep=*/true);
  auto each = [&](unsigned input) {
    return emit.broadcast(emit.reshape(node.in(input), {}), sums.shape());
  };
  Tensor divisor = each(3);
  divisor = emit.mul(divisor, emit.like(divisor, static_cast<double>(size)));
  return finish(node, sums, emit.div(each(1), divisor), 4, levelsOf(x));
}

} // namespace

void spillway::addQuantizedImages(OperatorTable &table) {
  constexpr auto integers = TypeClass::integers;
  table.add({
      {"ConvInteger", 10, convertConvInteger, 2, 4, 1, integers},
      {"QLinearConv", 10, convertQLinearConv, 8, 9, 1, integers},
      {"QLinearGlobalAveragePool", 1, convertQLinearGlobalAveragePool, 2, 5, 1, integers, "",
       microsoft},
  });
}
