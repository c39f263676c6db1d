// Operators that read images at computed coordinates.

#include "spillway/Conversion/OnnxToNN/Node.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace spillway;

namespace {

using Kind = nn::ReductionKind;
using Order = Emitter::Order;

/// A number beside tensors: `like` and the arithmetic on it.
Tensor addTo(Emitter &emit, Tensor x, double value) { return emit.add(x, emit.like(x, value)); }
Tensor times(Emitter &emit, Tensor x, double value) { return emit.mul(x, emit.like(x, value)); }

Tensor clampTo(Emitter &emit, Tensor x, double low, double high) {
  return emit.min(emit.max(x, emit.like(x, low)), emit.like(x, high));
}

/// low <= x <= high.
Tensor isWithin(Emitter &emit, Tensor x, double low, double high) {
  return emit.logicalAnd(emit.compare(Order::greaterOrEqual, x, emit.like(x, low)),
                         emit.compare(Order::lessOrEqual, x, emit.like(x, high)));
}

/// Elements [n, point..., channels] of `image` [n, channels, size...], where `indices` (i64, inside
/// of their dimension) are one tensor [n, point...] per dimension.
Tensor elementsAt(Emitter &emit, Tensor image, ArrayRef<Tensor> indices) {
  SmallVector<int64_t> channelsLast{0};
  for (int64_t d = 2; d < image.rank(); ++d)
    channelsLast.push_back(d);
  channelsLast.push_back(1);
  SmallVector<Tensor> columns;
  Shape column(indices.front().shape());
  column.push_back(1);
  for (Tensor index : indices)
    columns.push_back(emit.reshape(index, column));
  Tensor tuples = emit.concat(columns, static_cast<int64_t>(column.size()) - 1);
  Shape shape(indices.front().shape());
  shape.push_back(image.size(1));
  Tensor data = emit.transpose(image, channelsLast);
  return image.moved(emit.create<nn::GatherNDOp>(emit.typeOf(image.type, shape), data.value,
                                                 tuples.value, /*batch_dims=*/1));
}

//===----------------------------------------------------------------------===//
// GridSample
//===----------------------------------------------------------------------===//

enum class Padding { zeros, border, reflection };

struct GridSampler {
  Emitter &emit;
  Tensor image;
  Padding padding;
  bool alignCorners;

  double lastOf(size_t d) const {
    return static_cast<double>(image.size(static_cast<int64_t>(d) + 2) - 1);
  }
  /// The borders that coordinates are reflected at.
  double lowest() const { return alignCorners ? 0 : -0.5; }
  double highest(size_t d) const { return alignCorners ? lastOf(d) : lastOf(d) + 0.5; }

  Tensor reflect(Tensor x, size_t d) const {
    double low = lowest(), high = highest(d), range = high - low;
    if (range <= 0)
      return emit.like(x, low);
    // How far beyond a border, in ranges; every second one is turned.
    Tensor below = emit.compare(Order::less, x, emit.like(x, low));
    Tensor distance = emit.select(below, emit.sub(emit.like(x, low), x), addTo(emit, x, -high));
    Tensor turns = emit.unary<math::FloorOp>(emit.div(distance, emit.like(distance, range)));
    Tensor rest = emit.sub(distance, times(emit, turns, range));
    Tensor half = times(emit, turns, 0.5);
    Tensor isEven = emit.compare(Order::equal, emit.unary<math::FloorOp>(half), half);
    Tensor fromLow = addTo(emit, rest, low), fromHigh = emit.sub(emit.like(rest, high), rest);
    Tensor beyondLow = emit.select(isEven, fromLow, fromHigh);
    Tensor beyondHigh = emit.select(isEven, fromHigh, fromLow);
    Tensor reflected = emit.select(below, beyondLow, beyondHigh);
    return emit.select(isWithin(emit, x, low, high), x, reflected);
  }

  /// From [-1, 1] to positions.
  Tensor position(Tensor x, size_t d) const {
    double last = lastOf(d);
    return alignCorners
               ? times(emit, addTo(emit, x, 1), last / 2)
               : times(emit, addTo(emit, times(emit, addTo(emit, x, 1), last + 1), -1), 0.5);
  }

  /// What padding makes of a coordinate before its neighbours are found.
  Tensor padded(Tensor x, size_t d) const {
    if (padding == Padding::border)
      return emit.select(isWithin(emit, x, lowest(), highest(d)), x,
                         clampTo(emit, x, 0, lastOf(d)));
    return padding == Padding::reflection ? reflect(x, d) : x;
  }

  /// Elements at whole coordinates: zeros outside, or what padding puts there.
  Tensor at(ArrayRef<Tensor> coordinates) const {
    SmallVector<Tensor> indices;
    Tensor inside;
    for (auto [d, coordinate] : llvm::enumerate(coordinates)) {
      Tensor x = padding == Padding::reflection ? reflect(coordinate, d) : coordinate;
      if (padding == Padding::zeros) {
        Tensor in = isWithin(emit, x, 0, lastOf(d));
        inside = d == 0 ? in : emit.logicalAnd(inside, in);
      }
      indices.push_back(emit.cast(clampTo(emit, x, 0, lastOf(d)), DataType::i64));
    }
    Tensor elements = elementsAt(emit, image, indices);
    if (padding != Padding::zeros)
      return elements;
    return emit.select(forChannels(inside, elements), elements, emit.like(elements, 0));
  }

  /// A tensor [n, point...] for each of `elements` [n, point..., channels].
  Tensor forChannels(Tensor x, Tensor elements) const {
    return emit.broadcastInDims(x, allDims(x.rank()), elements.shape());
  }

  /// The sum over neighbours, whose `offsets` and `weights` along each dimension are given.
  Tensor sum(ArrayRef<Tensor> bases, ArrayRef<int64_t> offsets,
             ArrayRef<SmallVector<Tensor>> weights) const {
    Tensor total;
    size_t count = offsets.size(), all = 1;
    for (size_t d = 0; d < bases.size(); ++d)
      all *= count;
    for (size_t linear = 0; linear < all; ++linear) {
      SmallVector<Tensor> coordinates(bases);
      Tensor weight;
      size_t rest = linear;
      for (size_t d = bases.size(); d-- > 0; rest /= count) {
        coordinates[d] = addTo(emit, bases[d], static_cast<double>(offsets[rest % count]));
        Tensor factor = weights[d][rest % count];
        weight = weight.value ? emit.mul(weight, factor) : factor;
      }
      Tensor elements = emit.cast(at(coordinates), weight.type);
      Tensor part = emit.mul(elements, forChannels(weight, elements));
      total = linear == 0 ? part : emit.add(total, part);
    }
    return total;
  }

  Tensor linear(ArrayRef<Tensor> coordinates) const {
    SmallVector<Tensor> bases;
    SmallVector<SmallVector<Tensor>> weights;
    for (Tensor x : coordinates) {
      bases.push_back(emit.unary<math::FloorOp>(x));
      Tensor rest = emit.sub(x, bases.back());
      weights.push_back({emit.sub(emit.like(rest, 1), rest), rest});
    }
    return sum(bases, {0, 1}, weights);
  }

  Tensor cubic(ArrayRef<Tensor> coordinates) const {
    constexpr double a = -0.75;
    SmallVector<Tensor> bases;
    SmallVector<SmallVector<Tensor>> weights;
    for (Tensor x : coordinates) {
      bases.push_back(emit.unary<math::FloorOp>(x));
      Tensor rest = emit.sub(x, bases.back()), other = emit.sub(emit.like(rest, 1), rest);
      // Of elements at most one away, and between one and two.
      auto near = [&](Tensor t) {
        Tensor inner = addTo(emit, times(emit, t, a + 2), -(a + 3));
        return addTo(emit, emit.mul(emit.mul(inner, t), t), 1);
      };
      auto far = [&](Tensor t) {
        Tensor u = addTo(emit, t, 1);
        Tensor inner = addTo(emit, emit.mul(addTo(emit, times(emit, u, a), -5 * a), u), 8 * a);
        return addTo(emit, emit.mul(inner, u), -4 * a);
      };
      weights.push_back({far(rest), near(rest), near(other), far(other)});
    }
    return sum(bases, {-1, 0, 1, 2}, weights);
  }
};

LogicalResult convertGridSample(Node &node) {
  Tensor x = node.in(0), grid = node.in(1);
  StringRef mode = node.attr("mode", StringRef(node.version() < 20 ? "bilinear" : "linear"));
  StringRef padding = node.attr("padding_mode", StringRef("zeros"));
  bool alignCorners = node.attr("align_corners", int64_t{0}) != 0;
  int64_t dims = x.rank() - 2;
  if (dims < 1 || grid.rank() != x.rank() || grid.size(0) != x.size(0) ||
      grid.size(grid.rank() - 1) != dims || !isFloat(grid.type))
    return node.error() << "the grid " << grid.tensorType() << " does not fit " << x.tensorType();
  bool isNearest = mode == "nearest", isCubic = mode == "bicubic" || mode == "cubic";
  if (!isNearest && !isCubic && mode != "bilinear" && mode != "linear")
    return node.error() << "unknown mode '" << mode << "'";
  // 4^3 neighbours, or 2^6.
  if (dims > (isCubic ? 3 : 6))
    return node.error() << mode << " sampling of " << dims << " dimensions is not supported";
  if (padding != "zeros" && padding != "border" && padding != "reflection")
    return node.error() << "unknown padding_mode '" << padding << "'";
  Emitter &emit = node.emit;
  Shape shape(x.shape().take_front(2)), points(grid.shape().drop_back());
  llvm::append_range(shape, ArrayRef<int64_t>(points).drop_front());
  auto count = elementCount(shape);
  if (!count)
    return node.error() << "the result is too large";
  if (x.count() == 0 && *count > 0)
    return node.error() << "there is nothing to sample in " << x.tensorType();
  if (*count == 0)
    return node.result(emit.splat(x.type, shape, 0));
  GridSampler sampler{emit, x,
                      padding == "zeros"    ? Padding::zeros
                      : padding == "border" ? Padding::border
                                            : Padding::reflection,
                      alignCorners};
  DataType compute =
      grid.type == DataType::f64 || x.type == DataType::f64 ? DataType::f64 : DataType::f32;
  SmallVector<Tensor> coordinates;
  for (int64_t d = 0; d < dims; ++d) {
    // The last coordinate belongs to the first dimension.
    Tensor column = emit.reshape(emit.sliceDim(grid, grid.rank() - 1, dims - 1 - d, 1), points);
    Tensor position = sampler.position(emit.cast(column, compute), d);
    if (isNearest)
      position = emit.unary<math::RoundEvenOp>(position);
    coordinates.push_back(sampler.padded(position, d));
  }
  Tensor y = isNearest
                 ? sampler.at(llvm::map_to_vector(
                       coordinates, [&](Tensor t) { return emit.unary<math::RoundEvenOp>(t); }))
             : isCubic ? sampler.cubic(coordinates)
                       : sampler.linear(coordinates);
  SmallVector<int64_t> channelsFirst{0, y.rank() - 1};
  for (int64_t d = 1; d < y.rank() - 1; ++d)
    channelsFirst.push_back(d);
  return node.result(emit.cast(emit.transpose(y, channelsFirst), x.type));
}

LogicalResult convertAffineGrid(Node &node) {
  Tensor theta = node.in(0);
  auto size = node.ints(1, "the size");
  bool alignCorners = node.attr("align_corners", int64_t{0}) != 0;
  if (failed(size))
    return failure();
  auto dims = static_cast<int64_t>(size->size()) - 2;
  if ((dims != 2 && dims != 3) || !elementCount(*size) ||
      theta.shape() != ArrayRef<int64_t>({(*size)[0], dims, dims + 1}))
    return node.error() << "theta " << theta.tensorType() << " does not fit a size of " << dims + 2
                        << " dimensions";
  Emitter &emit = node.emit;
  // [n, size..., dims]
  Shape shape{(*size)[0]};
  shape.append(size->begin() + 2, size->end());
  shape.push_back(dims);
  DataType compute = theta.type == DataType::f64 ? DataType::f64 : DataType::f32;
  auto column = [&](int64_t i) {
    Tensor each = emit.reshape(emit.sliceDim(emit.cast(theta, compute), 2, i, 1), {shape[0], dims});
    return emit.broadcastInDims(each, {0, dims + 1}, shape);
  };
  Tensor grid = column(dims);
  for (int64_t i = dims - 1; i >= 0; --i) {
    // The first coordinate belongs to the last dimension.
    int64_t dim = dims - i, count = shape[dim];
    Tensor index = emit.iota(compute, shape, dim);
    double step = alignCorners ? (count > 1 ? 2.0 / static_cast<double>(count - 1) : 0)
                               : 2.0 / static_cast<double>(std::max<int64_t>(1, count));
    Tensor position = addTo(emit, times(emit, index, step), alignCorners ? -1 : step / 2 - 1);
    grid = emit.add(grid, emit.mul(column(i), position));
  }
  return node.result(emit.cast(grid, theta.type));
}

//===----------------------------------------------------------------------===//
// RoiAlign
//===----------------------------------------------------------------------===//

/// Samples along one dimension of all regions, [regions, bins, samples].
struct RoiSamples {
  /// The elements before and behind a sample, and their weights (zero outside of the image).
  Tensor low, high, lowWeight, highWeight;

  RoiSamples(Emitter &emit, Tensor begin, Tensor binSize, int64_t bins, int64_t samples,
             int64_t size) {
    Shape shape{begin.size(0), bins, samples};
    auto perRegion = [&](Tensor x) { return emit.broadcastInDims(x, {0}, shape); };
    Tensor bin = emit.iota(begin.type, shape, 1), sample = emit.iota(begin.type, shape, 2);
    Tensor inBin = times(emit, addTo(emit, sample, 0.5), 1.0 / static_cast<double>(samples));
    Tensor x = emit.add(perRegion(begin), emit.mul(emit.add(bin, inBin), perRegion(binSize)));
    Tensor inside = isWithin(emit, x, -1, static_cast<double>(size));
    auto last = static_cast<double>(size - 1);
    x = clampTo(emit, x, 0, last);
    Tensor base = emit.unary<math::FloorOp>(x);
    Tensor rest = emit.sub(x, base), none = emit.like(x, 0);
    low = emit.cast(base, DataType::i64);
    high = emit.cast(clampTo(emit, addTo(emit, base, 1), 0, last), DataType::i64);
    lowWeight = emit.select(inside, emit.sub(emit.like(rest, 1), rest), none);
    highWeight = emit.select(inside, rest, none);
  }
};

LogicalResult convertRoiAlign(Node &node) {
  Tensor x = node.in(0), rois = node.in(1), batch = node.in(2);
  int64_t height = node.attr("output_height", int64_t{1}),
          width = node.attr("output_width", int64_t{1});
  int64_t samples = node.attr("sampling_ratio", int64_t{0});
  double scale = node.attr("spatial_scale", 1.0);
  StringRef mode = node.attr("mode", StringRef("avg"));
  StringRef transformation =
      node.version() >= 16 ? node.attr("coordinate_transformation_mode", StringRef("half_pixel"))
                           : StringRef("output_half_pixel");
  bool halfPixel = transformation == "half_pixel";
  if (!halfPixel && transformation != "output_half_pixel")
    return node.error() << "unknown coordinate_transformation_mode '" << transformation << "'";
  if (mode != "avg" && mode != "max")
    return node.error() << "unknown mode '" << mode << "'";
  if (x.rank() != 4 || rois.rank() != 2 || rois.size(1) != 4 ||
      batch.shape() != ArrayRef<int64_t>({rois.size(0)}) || !isInteger(batch.type) ||
      !isFloat(rois.type))
    return node.error() << "regions " << rois.tensorType() << " and images " << batch.tensorType()
                        << " do not fit " << x.tensorType();
  if (height < 1 || width < 1 || samples < 0 || samples > 1024)
    return node.error() << "the output must have a size, and at most 1024 samples a bin";
  if (samples == 0)
    return node.error() << "a sampling_ratio of zero, which lets the number of samples depend on "
                           "the regions, is "
                           "not supported";
  Emitter &emit = node.emit;
  int64_t regions = rois.size(0);
  Shape shape{regions, x.size(1), height, width};
  if (!elementCount(shape) || !elementCount({regions, height, samples, width, samples}))
    return node.error() << "the result is too large";
  if (*elementCount(shape) == 0)
    return node.result(emit.splat(x.type, shape, 0));
  if (x.count() == 0)
    return node.error() << "there is nothing to sample in " << x.tensorType();
  DataType compute = x.type == DataType::f64 ? DataType::f64 : DataType::f32;
  auto edge = [&](int64_t i) {
    Tensor column = emit.cast(emit.reshape(emit.sliceDim(rois, 1, i, 1), {regions}), compute);
    return addTo(emit, times(emit, column, scale), halfPixel ? -0.5 : 0);
  };
  auto along = [&](int64_t dim, int64_t bins) {
    // Regions are x1, y1, x2, y2.
    int64_t first = dim == 2 ? 1 : 0;
    Tensor begin = edge(first), length = emit.sub(edge(first + 2), begin);
    if (!halfPixel)
      length = emit.max(length, emit.like(length, 1));
    return RoiSamples(emit, begin, times(emit, length, 1.0 / static_cast<double>(bins)), bins,
                      samples, x.size(dim));
  };
  RoiSamples rows = along(2, height), columns = along(3, width);

  // [1, regions, height, samples, width, samples], and the channels behind them.
  Shape points{1, regions, height, samples, width, samples};
  auto ofRows = [&](Tensor t) { return emit.broadcastInDims(t, {1, 2, 3}, points); };
  auto ofColumns = [&](Tensor t) { return emit.broadcastInDims(t, {1, 4, 5}, points); };
  Tensor image = emit.broadcastInDims(emit.cast(batch, DataType::i64), {1}, points);
  // The batch is one more dimension that is looked up.
  Tensor data = emit.reshape(emit.transpose(x, {1, 0, 2, 3}),
                             {1, x.size(1), x.size(0), x.size(2), x.size(3)});
  SmallVector<Tensor> parts;
  for (bool isLow : {true, false})
    for (bool isLeft : {true, false}) {
      Tensor weight = emit.mul(ofRows(isLow ? rows.lowWeight : rows.highWeight),
                               ofColumns(isLeft ? columns.lowWeight : columns.highWeight));
      Tensor elements = emit.cast(elementsAt(emit, data,
                                             {image, ofRows(isLow ? rows.low : rows.high),
                                              ofColumns(isLeft ? columns.low : columns.high)}),
                                  compute);
      parts.push_back(
          emit.mul(elements, emit.broadcastInDims(weight, allDims(6), elements.shape())));
    }
  Tensor y;
  if (mode == "avg") {
    Tensor sum = emit.add(emit.add(parts[0], parts[1]), emit.add(parts[2], parts[3]));
    y = emit.reduce(Kind::mean, sum, {3, 5}, /*keep=*/false);
  } else {
    // The largest of all weighted neighbours.
    Tensor most = emit.max(emit.max(parts[0], parts[1]), emit.max(parts[2], parts[3]));
    y = emit.reduce(Kind::max, most, {3, 5}, /*keep=*/false);
  }
  y = emit.reshape(y, {regions, height, width, x.size(1)});
  return node.result(emit.cast(emit.transpose(y, {0, 3, 1, 2}), x.type));
}

} // namespace

void spillway::addSampling(OperatorTable &table) {
  constexpr auto floats = TypeClass::floats, numeric = TypeClass::numeric;
  table.add({
      {"AffineGrid", 20, convertAffineGrid, 2, 2, 1, floats,
       "the size must be known at compile time"},
      {"GridSample", 16, convertGridSample, 2, 2, 1, numeric,
       "at most 6 dimensions of an image, 3 in the mode cubic"},
      {"RoiAlign", 10, convertRoiAlign, 3, 3, 1, floats, "a sampling_ratio of at least 1"},
  });
}
