// Operators that combine the elements of windows, or of regions.

#include "lib/Conversion/OnnxToNN/Indices.h"
#include "lib/Conversion/OnnxToNN/Windows.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace spillway;

namespace {

using Kind = nn::ReductionKind;
using Order = Emitter::Order;

FailureOr<SlidingWindows> readPool(Node &node) {
  auto kernel = node.intsAttr("kernel_shape");
  if (!kernel)
    return node.error() << "the attribute kernel_shape is required";
  return readWindows(node, node.in(0), *kernel, node.attr("ceil_mode", int64_t{0}) != 0);
}

/// The dimensions of windowElements() inside of a window.
SmallVector<int64_t> places(const SlidingWindows &sliding) {
  auto dims = static_cast<int64_t>(sliding.dims());
  return llvm::to_vector(llvm::seq<int64_t>(2, 2 + dims));
}

/// `x`, one element a window, for each element of windowElements().
Tensor forPlaces(Emitter &emit, const SlidingWindows &sliding, Tensor x) {
  Shape shape(x.shape().take_front(2));
  SmallVector<int64_t> dims{0, 1};
  llvm::append_range(shape, sliding.kernel);
  for (size_t d = 0; d < sliding.dims(); ++d) {
    shape.push_back(sliding.windows[d]);
    dims.push_back(static_cast<int64_t>(2 + sliding.dims() + d));
  }
  return emit.broadcastInDims(x, dims, shape);
}

/// Below or equal to all elements of a type.
Tensor lowest(Emitter &emit, DataType type) {
  if (isFloat(type))
    return emit.splat(type, {}, -std::numeric_limits<double>::infinity());
  if (isUnsigned(type))
    return emit.splatInt(type, {}, 0);
  return emit.splatInt(type, {}, static_cast<int64_t>(~uint64_t{0} << (byteWidth(type) * 8 - 1)));
}

//===----------------------------------------------------------------------===//
// MaxPool
//===----------------------------------------------------------------------===//

/// Row-major positions in a tensor of this shape.
Tensor positions(Emitter &emit, ArrayRef<int64_t> shape) {
  return emit.reshape(emit.iota(DataType::i64, {*elementCount(shape)}, 0), shape);
}

/// The same elements' positions where the dimensions behind the channels are in column-major order.
Tensor columnMajor(Emitter &emit, Tensor position, ArrayRef<int64_t> image) {
  int64_t area = 1, before = 1;
  for (int64_t size : image.drop_front(2))
    area *= size;
  if (area == 0)
    return position;
  auto part = [&](Tensor x, int64_t by, int64_t size) {
    Tensor quotient = emit.div(x, emit.splatInt(x.type, x.shape(), by));
    return emit.rem(quotient, emit.splatInt(x.type, x.shape(), size));
  };
  Tensor result = emit.sub(position, part(position, 1, area));
  int64_t behind = area;
  for (int64_t size : image.drop_front(2)) {
    behind /= size;
    Tensor index = part(position, behind, size);
    result = emit.add(result, emit.mul(index, emit.splatInt(index.type, index.shape(), before)));
    before *= size;
  }
  return result;
}

LogicalResult convertMaxPool(Node &node) {
  auto sliding = readPool(node);
  bool columns = node.attr("storage_order", int64_t{0}) != 0;
  if (failed(sliding))
    return failure();
  Emitter &emit = node.emit;
  Tensor x = node.in(0);
  Tensor elements = windowElements(emit, *sliding, x, lowest(emit, x.type));
  Tensor y = emit.reduce(Kind::max, elements, places(*sliding), /*keep=*/false);
  node.set(0, y);
  if (!node.wants(1))
    return success();
  // The first element of a window, in row-major order, that is its maximum.
  Tensor none = emit.splatInt(DataType::i64, {}, std::numeric_limits<int64_t>::max());
  Tensor at = windowElements(emit, *sliding, positions(emit, x.shape()), none);
  Tensor isMaximum = emit.compare(Order::equal, elements, forPlaces(emit, *sliding, y));
  if (isFloat(x.type))
    isMaximum = emit.logicalOr(isMaximum, emit.isNaN(elements));
  Tensor candidates = emit.select(isMaximum, at, emit.broadcast(none, at.shape()));
  Tensor first = emit.reduce(Kind::min, candidates, places(*sliding), /*keep=*/false);
  node.set(1, columns ? columnMajor(emit, first, x.shape()) : first);
  return success();
}

/// Elements go where they were found in a larger image, of zeros else. An output_shape adds places
/// behind those that the attributes give: the indices do not count them.
LogicalResult convertMaxUnpool(Node &node) {
  Emitter &emit = node.emit;
  Tensor x = node.in(0), indices = node.in(1);
  auto kernel = node.intsAttr("kernel_shape");
  if (!kernel)
    return node.error() << "the attribute kernel_shape is required";
  auto steps = readSteps(node, x, *kernel);
  if (failed(steps))
    return failure();
  if (indices.type != DataType::i64 || indices.shape() != x.shape())
    return node.error() << "the indices " << indices.tensorType()
                        << " must be i64, one for each element of " << x.tensorType();
  Shape image(x.shape().take_front(2));
  for (size_t d = 0; d < steps->dims(); ++d)
    image.push_back((x.size(static_cast<int64_t>(d) + 2) - 1) * steps->strides[d] +
                    steps->kernel[d] - steps->low[d] - steps->high[d]);
  Shape shape = image;
  if (node.has(2)) {
    auto given = node.ints(2, "the output's shape");
    if (failed(given))
      return failure();
    shape = *given;
  }
  bool fits = shape.size() == image.size();
  for (size_t d = 0; fits && d < shape.size(); ++d)
    fits = d < 2 ? shape[d] == image[d] : shape[d] >= image[d];
  auto count = elementCount(image);
  if (!fits || !count || !elementCount(shape)) {
    auto error = node.error();
    error << "the result cannot have the shape [";
    llvm::interleaveComma(shape, error);
    error << "] where the input is " << x.tensorType();
    return error;
  }
  if (failed(knownIndices(node, indices, *count)))
    return failure();
  Tensor zeros = emit.splat(x.type, {*count}, 0);
  Tensor places = emit.reshape(indices, {x.count(), 1}), flat = emit.reshape(x, {x.count()});
  Tensor y{
      emit.create<nn::ScatterOp>(nn::ScatterKind::replace, zeros.value, places.value, flat.value),
      x.type};
  return node.result(
      padTo(emit, emit.reshape(y, image), Shape(x.rank(), 0), shape, emit.splat(x.type, {}, 0)));
}

//===----------------------------------------------------------------------===//
// Averages and norms
//===----------------------------------------------------------------------===//

/// Along one dimension; their counts are held while the node is converted.
constexpr int64_t maxCountedWindows = int64_t{1} << 24;

/// How many elements each window counts, at least one, as a tensor of the windows' sizes.
Tensor counts(Emitter &emit, const SlidingWindows &sliding, ArrayRef<int64_t> sizes,
              bool withPadding) {
  Tensor product = emit.splat(DataType::f32, sliding.windows, 1);
  for (size_t d = 0; d < sliding.dims(); ++d) {
    int64_t begin = withPadding ? -sliding.low[d] : 0;
    int64_t end = sizes[d] + (withPadding ? sliding.high[d] : 0);
    SmallVector<int64_t> count(sliding.windows[d], 0);
    for (auto [window, number] : llvm::enumerate(count)) {
      int64_t first = static_cast<int64_t>(window) * sliding.strides[d] - sliding.low[d];
      int64_t step = sliding.dilations[d];
      // Places k with begin <= first + k * step < end.
      int64_t from = first >= begin ? 0 : (begin - first + step - 1) / step;
      int64_t to = first >= end ? 0 : std::min(sliding.kernel[d], (end - first + step - 1) / step);
      number = std::max<int64_t>(1, to - from);
    }
    Tensor factor = emit.cast(emit.vector(DataType::i64, count), DataType::f32);
    product =
        emit.mul(product, emit.broadcastInDims(factor, {static_cast<int64_t>(d)}, sliding.windows));
  }
  return product;
}

LogicalResult convertAveragePool(Node &node) {
  auto sliding = readPool(node);
  bool withPadding = node.attr("count_include_pad", int64_t{0}) != 0;
  if (failed(sliding))
    return failure();
  for (int64_t windows : sliding->windows)
    if (windows > maxCountedWindows)
      return node.error() << windows << " windows along one dimension are not supported";
  Emitter &emit = node.emit;
  Tensor x = node.in(0);
  SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(2, x.rank()));
  return node.result(emit.inComputeType(x, [&](Tensor wide) {
    Tensor elements = windowElements(emit, *sliding, wide, emit.splat(wide.type, {}, 0));
    Tensor sum = emit.reduce(Kind::sum, elements, places(*sliding), /*keep=*/false);
    Tensor count = counts(emit, *sliding, x.shape().drop_front(2), withPadding);
    return emit.div(sum, emit.broadcastInDims(emit.cast(count, wide.type), dims, sum.shape()));
  }));
}

/// The p-th root of the sum of p-th powers.
template <typename Sum> Tensor powerNorm(Emitter &emit, Tensor x, double p, Sum sum) {
  return emit.inComputeType(x, [&](Tensor wide) {
    if (p == 1)
      return sum(Kind::l1, wide);
    if (p == 2)
      return emit.unary<math::SqrtOp>(sum(Kind::sum_square, wide));
    Tensor total = sum(Kind::sum, emit.pow(emit.abs(wide), emit.like(wide, p)));
    return emit.pow(total, emit.like(total, 1 / p));
  });
}

FailureOr<double> readPower(Node &node) {
  auto p = static_cast<double>(node.attr("p", int64_t{2}));
  if (p == 0)
    return node.error() << "p must not be zero";
  return p;
}

LogicalResult convertLpPool(Node &node) {
  auto sliding = readPool(node);
  auto p = readPower(node);
  if (failed(sliding) || failed(p))
    return failure();
  Emitter &emit = node.emit;
  return node.result(powerNorm(emit, node.in(0), *p, [&](Kind kind, Tensor x) {
    Tensor elements = windowElements(emit, *sliding, x, emit.splat(x.type, {}, 0));
    return emit.reduce(kind, elements, places(*sliding), /*keep=*/false);
  }));
}

//===----------------------------------------------------------------------===//
// Whole images
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<int64_t>> imageDims(Node &node) {
  if (node.in(0).rank() < 3)
    return node.error() << "the input must have batch, channels and one dimension or more, not "
                        << node.in(0).tensorType();
  return llvm::to_vector(llvm::seq<int64_t>(2, node.in(0).rank()));
}

template <Kind kind> LogicalResult convertGlobalPool(Node &node) {
  auto dims = imageDims(node);
  if (failed(dims))
    return failure();
  return node.result(node.emit.reduce(kind, node.in(0), *dims, /*keep=*/true));
}

LogicalResult convertGlobalLpPool(Node &node) {
  auto dims = imageDims(node);
  auto p = readPower(node);
  if (failed(dims) || failed(p))
    return failure();
  return node.result(powerNorm(node.emit, node.in(0), *p, [&](Kind kind, Tensor x) {
    return node.emit.reduce(kind, x, *dims, /*keep=*/true);
  }));
}

//===----------------------------------------------------------------------===//
// MaxRoiPool
//===----------------------------------------------------------------------===//

/// The largest elements of `x` along `dim` in each bin of each region: [regions, ..., bins, ...].
/// `from` and `to` [regions] bound the regions, both ends included.
Tensor maximumOfBins(Emitter &emit, Tensor x, int64_t dim, Tensor from, Tensor to, int64_t bins) {
  int64_t regions = from.size(0), size = x.size(dim);
  Shape table{regions, bins};
  auto perRegion = [&](Tensor value) { return emit.broadcastInDims(value, {0}, table); };
  // A region has one element at least.
  Tensor length = emit.add(emit.sub(to, from), emit.like(from, 1));
  length = emit.max(length, emit.like(length, 1));
  Tensor binSize = emit.div(emit.cast(length, DataType::f32),
                            emit.splat(DataType::f32, length.shape(), static_cast<double>(bins)));
  Tensor bin = emit.iota(DataType::f32, table, 1);
  auto bound = [&](Tensor at) {
    Tensor position = emit.add(emit.cast(at, DataType::i64), perRegion(from));
    position = emit.max(position, emit.like(position, 0));
    return emit.min(position, emit.like(position, static_cast<double>(size)));
  };
  Tensor begin = bound(emit.unary<math::FloorOp>(emit.mul(bin, perRegion(binSize))));
  Tensor end = bound(
      emit.unary<math::CeilOp>(emit.mul(emit.add(bin, emit.like(bin, 1)), perRegion(binSize))));

  // [regions, before, bins, size, behind]
  Shape shape(x.shape());
  shape.insert(shape.begin() + dim, bins);
  SmallVector<int64_t> dims;
  for (int64_t d = 0; d < x.rank(); ++d)
    dims.push_back(d < dim ? d : d + 1);
  Tensor elements = emit.broadcastInDims(x, dims, shape);
  Tensor position = emit.iota(DataType::i64, shape, dim + 1);
  auto perBin = [&](Tensor value) { return emit.broadcastInDims(value, {0, dim}, shape); };
  Tensor inside = emit.logicalAnd(emit.compare(Order::greaterOrEqual, position, perBin(begin)),
                                  emit.compare(Order::less, position, perBin(end)));
  Tensor none = emit.broadcast(lowest(emit, x.type), shape);
  return emit.reduce(Kind::max, emit.select(inside, elements, none), {dim + 1}, /*keep=*/false);
}

LogicalResult convertMaxRoiPool(Node &node) {
  Tensor x = node.in(0), rois = node.in(1);
  auto pooled = node.intsAttr("pooled_shape");
  double scale = node.attr("spatial_scale", 1.0);
  if (failed(node.sameTypes({0, 1})))
    return failure();
  if (!pooled || pooled->size() != 2 || (*pooled)[0] < 1 || (*pooled)[1] < 1)
    return node.error() << "the attribute pooled_shape must hold two sizes";
  if (x.rank() != 4 || rois.rank() != 2 || rois.size(1) != 5)
    return node.error() << "the input must have rank 4 and the regions five columns, not "
                        << x.tensorType() << " and " << rois.tensorType();
  Emitter &emit = node.emit;
  int64_t regions = rois.size(0);
  auto column = [&](int64_t i) { return emit.reshape(emit.sliceDim(rois, 1, i, 1), {regions}); };
  // Halves are rounded away from zero.
  auto coordinate = [&](int64_t i) {
    Tensor scaled = emit.cast(column(i), DataType::f32);
    scaled = emit.mul(scaled, emit.like(scaled, scale));
    Tensor sign = emit.select(emit.compare(Order::less, scaled, emit.like(scaled, 0)),
                              emit.like(scaled, -1), emit.like(scaled, 1));
    Tensor rounded = emit.unary<math::FloorOp>(emit.add(emit.abs(scaled), emit.like(scaled, 0.5)));
    return emit.cast(emit.mul(rounded, sign), DataType::i64);
  };
  Tensor images = emit.gather(x, emit.cast(column(0), DataType::i64), 0);
  Tensor y = maximumOfBins(emit, images, 3, coordinate(1), coordinate(3), (*pooled)[1]);
  y = maximumOfBins(emit, y, 2, coordinate(2), coordinate(4), (*pooled)[0]);
  // A bin without elements gives zero.
  Tensor isEmpty = emit.compare(Order::equal, y, emit.broadcast(lowest(emit, y.type), y.shape()));
  return node.result(emit.select(isEmpty, emit.like(y, 0), y));
}

} // namespace

void spillway::addPooling(OperatorTable &table) {
  constexpr auto floats = TypeClass::floats, numeric = TypeClass::numeric;
  table.add({
      {"AveragePool", 1, convertAveragePool, 1, 1, 1, floats},
      {"GlobalAveragePool", 1, convertGlobalPool<Kind::mean>, 1, 1, 1, floats},
      {"GlobalLpPool", 2, convertGlobalLpPool, 1, 1, 1, floats},
      {"GlobalMaxPool", 1, convertGlobalPool<Kind::max>, 1, 1, 1, floats},
      {"LpPool", 2, convertLpPool, 1, 1, 1, floats},
      {"MaxPool", 1, convertMaxPool, 1, 1, 2, numeric},
      {"MaxUnpool", 9, convertMaxUnpool, 2, 3, 1, floats,
       "the output's shape must be known at compile time"},
      {"MaxRoiPool", 1, convertMaxRoiPool, 2, 2, 1, floats},
  });
}
