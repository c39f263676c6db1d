// Resize and Upsample.

#include "spillway/Conversion/OnnxToNN/Node.h"

#include <cmath>

using namespace mlir;
using namespace spillway;

namespace {

/// Result elements along one dimension are sums of the operand's elements at `places` times
/// `weights`, as many for each.
struct Taps {
  int64_t count = 0;
  SmallVector<int64_t> places;
  SmallVector<double> weights;
  /// Result elements that lie outside of the operand.
  SmallVector<bool> outside;

  /// Whether each result element is the operand's at its index.
  bool isIdentity(int64_t size) const {
    if (count != 1 || static_cast<int64_t>(places.size()) != size ||
        llvm::is_contained(outside, true))
      return false;
    for (auto [i, place] : llvm::enumerate(places))
      if (place != static_cast<int64_t>(i))
        return false;
    return true;
  }
};

enum class Mode { nearest, linear, cubic };

/// What the attributes say, with the defaults of the node's version.
struct Resizing {
  Mode mode = Mode::nearest;
  StringRef coordinates, rounding;
  double cubicA = -0.75, extrapolation = 0;
  bool excludesOutside = false, antialias = false;
  /// Before opset 11 the nearest element was the one before, or the one behind in smaller results.
  bool isOld = false;
};

/// One dimension: from `size` to `result` elements by `scale`, which need not be their quotient.
struct Dimension {
  int64_t size, result;
  double scale;
  /// For tf_crop_and_resize, in parts of the size.
  double begin = 0, end = 1;
};

/// Where result element `i` lies in the operand.
double coordinate(const Resizing &resizing, const Dimension &dimension, int64_t i) {
  auto size = static_cast<double>(dimension.size), result = static_cast<double>(dimension.result);
  auto x = static_cast<double>(i);
  StringRef mode = resizing.coordinates;
  if (mode == "asymmetric")
    return x / dimension.scale;
  // The corner is where the scale puts it, also where that is between result elements.
  if (mode == "align_corners")
    return result <= 1 ? 0 : x * (size - 1) / (dimension.scale * size - 1);
  if (mode == "pytorch_half_pixel" && result <= 1)
    return 0;
  if (mode == "tf_half_pixel_for_nn")
    return (x + 0.5) / dimension.scale;
  if (mode == "tf_crop_and_resize") {
    double span = dimension.end - dimension.begin;
    if (result <= 1)
      return 0.5 * (dimension.begin + dimension.end) * (size - 1);
    return dimension.begin * (size - 1) + x * span * (size - 1) / (result - 1);
  }
  double halfPixel = (x + 0.5) / dimension.scale - 0.5;
  if (mode == "half_pixel_symmetric") {
    double adjustment = result / (dimension.scale * size);
    return size / 2 * (1 - adjustment) + halfPixel;
  }
  return halfPixel;
}

double nearest(const Resizing &resizing, const Dimension &dimension, double x) {
  if (resizing.isOld)
    return dimension.scale < 1 ? std::ceil(x) : std::floor(x);
  if (resizing.rounding == "floor")
    return std::floor(x);
  if (resizing.rounding == "ceil")
    return std::ceil(x);
  return resizing.rounding == "round_prefer_ceil" ? std::floor(x + 0.5) : std::ceil(x - 0.5);
}

/// The weight of an element at a distance, counted in result elements where these are antialiased.
double weightAt(const Resizing &resizing, double distance) {
  double x = std::abs(distance), a = resizing.cubicA;
  if (resizing.mode == Mode::linear)
    return std::max(0.0, 1 - x);
  if (x <= 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/// Taps of all result elements along one dimension; they are held while the node is converted.
constexpr double maxTaps = 1 << 24;

/// How far the taps of a result element reach, in its own distances.
double reachOf(const Resizing &resizing) { return resizing.mode == Mode::cubic ? 2 : 1; }

/// How far operand elements are apart in the distances that weights are for.
double distanceOf(const Resizing &resizing, const Dimension &dimension) {
  return resizing.antialias ? std::min(1.0, dimension.scale) : 1;
}

Taps tapsOf(const Resizing &resizing, const Dimension &dimension) {
  Taps taps;
  auto last = static_cast<double>(dimension.size - 1);
  auto clamped = [&](double x) { return static_cast<int64_t>(!(x > 0) ? 0 : std::min(x, last)); };
  double scale = distanceOf(resizing, dimension), reach = reachOf(resizing);
  int64_t before =
      resizing.mode == Mode::nearest ? 0 : -static_cast<int64_t>(std::floor(-reach / scale) + 1);
  taps.count = resizing.mode == Mode::nearest ? 1 : 2 + 2 * before;
  for (int64_t i = 0; i < dimension.result; ++i) {
    double x = coordinate(resizing, dimension, i);
    taps.outside.push_back(resizing.coordinates == "tf_crop_and_resize" && (x < 0 || x > last));
    if (resizing.mode == Mode::nearest) {
      taps.places.push_back(clamped(nearest(resizing, dimension, x)));
      taps.weights.push_back(1);
      continue;
    }
    double base = std::floor(x), sum = 0;
    size_t first = taps.weights.size();
    for (int64_t tap = 0; tap < taps.count; ++tap) {
      double place = base + static_cast<double>(tap - before);
      bool excluded = resizing.excludesOutside && (place < 0 || place > last);
      taps.places.push_back(clamped(place));
      taps.weights.push_back(excluded ? 0 : weightAt(resizing, (place - x) * scale));
      sum += taps.weights.back();
    }
    if (resizing.excludesOutside || resizing.antialias)
      for (double &weight : MutableArrayRef(taps.weights).drop_front(first))
        weight /= sum;
  }
  return taps;
}

Tensor weightTensor(Emitter &emit, DataType type, ArrayRef<int64_t> shape,
                    ArrayRef<double> values) {
  auto tensor = emit.typeOf(DataType::f64, shape);
  return emit.cast(emit.constant(DataType::f64, DenseElementsAttr::get(tensor, values)), type);
}

/// Few taps are added one by one.
constexpr int64_t maxUnrolledTaps = 4;

Tensor apply(Emitter &emit, Tensor x, int64_t dim, const Taps &taps, double extrapolation) {
  auto results = static_cast<int64_t>(taps.outside.size());
  Shape shape(x.shape());
  shape[dim] = results;
  Tensor y = x;
  if (taps.count == 1) {
    y = emit.gather(x, emit.vector(DataType::i64, taps.places), dim);
  } else if (taps.count <= maxUnrolledTaps) {
    y = emit.splat(x.type, shape, 0);
    for (int64_t tap = 0; tap < taps.count; ++tap) {
      SmallVector<int64_t> places;
      SmallVector<double> weights;
      for (int64_t i = 0; i < results; ++i) {
        places.push_back(taps.places[i * taps.count + tap]);
        weights.push_back(taps.weights[i * taps.count + tap]);
      }
      Tensor weight =
          emit.broadcastInDims(weightTensor(emit, x.type, {results}, weights), {dim}, shape);
      Tensor part = emit.mul(emit.gather(x, emit.vector(DataType::i64, places), dim), weight);
      y = tap == 0 ? part : emit.add(y, part);
    }
  } else {
    Tensor places = emit.reshape(emit.vector(DataType::i64, taps.places), {results, taps.count});
    Tensor parts = emit.gather(x, places, dim);
    Tensor weights = weightTensor(emit, x.type, {results, taps.count}, taps.weights);
    parts = emit.mul(parts, emit.broadcastInDims(weights, {dim, dim + 1}, parts.shape()));
    y = emit.reduce(nn::ReductionKind::sum, parts, {dim + 1}, /*keep=*/false);
  }
  if (!llvm::is_contained(taps.outside, true))
    return y;
  SmallVector<int64_t> outside(taps.outside.begin(), taps.outside.end());
  Tensor mask = emit.cast(emit.vector(DataType::i64, outside), DataType::boolean);
  return emit.select(emit.broadcastInDims(mask, {dim}, shape),
                     emit.splat(y.type, shape, extrapolation), y);
}

/// The numbers of an input, which must be known.
FailureOr<SmallVector<double>> readFloats(Node &node, unsigned i, StringRef what) {
  auto value = node.known(i, what);
  if (failed(value))
    return failure();
  if (!isFloat(node.in(i).type) || node.in(i).rank() != 1)
    return node.error() << what << " must be a list of numbers, not " << node.in(i).tensorType();
  std::vector<long double> numbers = asNumbers(*value, /*isUnsigned=*/false);
  return SmallVector<double>(numbers.begin(), numbers.end());
}

bool isGiven(Node &node, unsigned i) { return node.has(i) && node.in(i).count() > 0; }

LogicalResult resize(Node &node, const Resizing &resizing, ArrayRef<Dimension> dimensions) {
  Emitter &emit = node.emit;
  Tensor x = node.in(0);
  auto stays = [&](const Dimension &dimension) {
    return dimension.size == dimension.result && dimension.scale == 1 &&
           resizing.coordinates != "tf_crop_and_resize";
  };
  Shape shape;
  for (auto [d, dimension] : llvm::enumerate(dimensions)) {
    if (dimension.size == 0 && dimension.result > 0)
      return node.error() << "dimension " << d << " has no elements to be made " << dimension.result
                          << " of";
    double taps = 2 + 2 * reachOf(resizing) / distanceOf(resizing, dimension);
    if (!stays(dimension) && taps * static_cast<double>(dimension.result) > maxTaps)
      return node.error() << "dimension " << d << " depends on too many elements";
    shape.push_back(dimension.result);
  }
  auto count = elementCount(shape);
  if (!count)
    return node.error() << "the result is too large";
  if (*count == 0)
    return node.result(emit.splat(x.type, shape, 0));
  auto resized = [&](Tensor y) {
    for (auto [d, dimension] : llvm::enumerate(dimensions)) {
      if (stays(dimension))
        continue;
      Taps taps = tapsOf(resizing, dimension);
      if (!taps.isIdentity(dimension.size))
        y = apply(emit, y, static_cast<int64_t>(d), taps, resizing.extrapolation);
    }
    return y;
  };
  if (resizing.mode == Mode::nearest)
    return node.result(resized(x));
  if (isFloat(x.type))
    return node.result(emit.inComputeType(x, resized));
  return node.result(emit.cast(resized(emit.cast(x, DataType::f32)), x.type));
}

FailureOr<Mode> readMode(Node &node) {
  StringRef mode = node.attr("mode", StringRef("nearest"));
  if (mode == "nearest")
    return Mode::nearest;
  if (mode == "linear" || mode == "bilinear")
    return Mode::linear;
  if (mode == "cubic" && node.version() >= 11)
    return Mode::cubic;
  return node.error() << "unknown mode '" << mode << "'";
}

FailureOr<SmallVector<Dimension>> scaled(Node &node, ArrayRef<double> scales) {
  Tensor x = node.in(0);
  if (static_cast<int64_t>(scales.size()) != x.rank())
    return node.error() << scales.size() << " scales for " << x.tensorType();
  SmallVector<Dimension> dimensions;
  for (auto [size, scale] : llvm::zip_equal(x.shape(), scales)) {
    double result = std::floor(static_cast<double>(size) * scale);
    if (!(scale > 0) || !(result <= 0x1p40))
      return node.error() << "a scale is " << scale;
    dimensions.push_back({size, static_cast<int64_t>(result), scale});
  }
  return dimensions;
}

/// Upsample, and Resize of opset 10.
LogicalResult resizeOld(Node &node, ArrayRef<double> scales) {
  auto mode = readMode(node);
  auto dimensions = scaled(node, scales);
  if (failed(mode) || failed(dimensions))
    return failure();
  Resizing resizing;
  resizing.mode = *mode;
  resizing.coordinates = "asymmetric";
  resizing.isOld = true;
  return resize(node, resizing, *dimensions);
}

LogicalResult convertOldResize(Node &node) {
  auto scales = readFloats(node, 1, "the scales");
  return failed(scales) ? failure() : resizeOld(node, *scales);
}

LogicalResult convertUpsampleAttribute(Node &node) {
  auto scales = dyn_cast_if_present<DenseF32ArrayAttr>(node.rawAttr("scales"));
  if (!scales)
    return node.error() << "the attribute scales is required";
  return resizeOld(node, SmallVector<double>(scales.asArrayRef()));
}

/// Sizes that the input `sizes` asks for along `axes`.
LogicalResult applySizes(Node &node, ArrayRef<int64_t> axes,
                         SmallVectorImpl<Dimension> &dimensions) {
  auto sizes = node.ints(3, "the sizes");
  if (failed(sizes))
    return failure();
  if (sizes->size() != axes.size())
    return node.error() << sizes->size() << " sizes for " << axes.size() << " dimensions";
  StringRef policy = node.attr("keep_aspect_ratio_policy", StringRef("stretch"));
  bool notLarger = policy == "not_larger", notSmaller = policy == "not_smaller";
  if (!notLarger && !notSmaller && policy != "stretch")
    return node.error() << "unknown keep_aspect_ratio_policy '" << policy << "'";
  std::optional<double> common;
  for (auto [axis, size] : llvm::zip_equal(axes, *sizes)) {
    Dimension &dimension = dimensions[axis];
    if (size < 0 || size > (int64_t{1} << 40))
      return node.error() << "the sizes hold " << size;
    dimension.result = size;
    dimension.scale =
        dimension.size == 0 ? 1 : static_cast<double>(size) / static_cast<double>(dimension.size);
    common = !common     ? dimension.scale
             : notLarger ? std::min(*common, dimension.scale)
                         : std::max(*common, dimension.scale);
  }
  if (notLarger || notSmaller)
    for (int64_t axis : axes) {
      Dimension &dimension = dimensions[axis];
      double result = std::floor(*common * static_cast<double>(dimension.size) + 0.5);
      if (!(result <= 0x1p40))
        return node.error() << "the sizes make dimension " << axis << " one of " << result;
      dimension.scale = *common;
      dimension.result = static_cast<int64_t>(result);
    }
  return success();
}

LogicalResult convertResize(Node &node) {
  Tensor x = node.in(0);
  auto mode = readMode(node);
  Resizing resizing;
  resizing.coordinates = node.attr("coordinate_transformation_mode", StringRef("half_pixel"));
  resizing.rounding = node.attr("nearest_mode", StringRef("round_prefer_floor"));
  resizing.cubicA = node.attr("cubic_coeff_a", -0.75);
  resizing.extrapolation = node.attr("extrapolation_value", 0.0);
  resizing.excludesOutside = node.attr("exclude_outside", int64_t{0}) != 0;
  resizing.antialias = node.version() >= 18 && node.attr("antialias", int64_t{0}) != 0;
  if (failed(mode))
    return failure();
  resizing.mode = *mode;
  constexpr StringLiteral known[] = {
      "half_pixel",           "pytorch_half_pixel", "align_corners",       "asymmetric",
      "tf_half_pixel_for_nn", "tf_crop_and_resize", "half_pixel_symmetric"};
  constexpr StringLiteral roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                         "ceil"};
  if (!llvm::is_contained(known, resizing.coordinates))
    return node.error() << "unknown coordinate_transformation_mode '" << resizing.coordinates
                        << "'";
  if (!llvm::is_contained(roundings, resizing.rounding))
    return node.error() << "unknown nearest_mode '" << resizing.rounding << "'";
  SmallVector<int64_t> axes = allDims(x.rank());
  if (auto given = node.version() >= 18 ? node.intsAttr("axes") : std::nullopt) {
    auto ordered = node.orderedAxes(*given, x.rank());
    if (failed(ordered))
      return failure();
    axes = *ordered;
  }
  SmallVector<Dimension> dimensions;
  for (int64_t size : x.shape())
    dimensions.push_back({size, size, 1});
  if (isGiven(node, 3)) {
    if (failed(applySizes(node, axes, dimensions)))
      return failure();
  } else if (node.has(2)) {
    node.attr("keep_aspect_ratio_policy", StringRef());
    auto scales = readFloats(node, 2, "the scales");
    if (failed(scales))
      return failure();
    if (scales->size() != axes.size())
      return node.error() << scales->size() << " scales for " << axes.size() << " dimensions";
    SmallVector<double> all(x.rank(), 1);
    for (auto [axis, scale] : llvm::zip_equal(axes, *scales))
      all[axis] = scale;
    auto byScale = scaled(node, all);
    if (failed(byScale))
      return failure();
    dimensions = *byScale;
  } else {
    return node.error() << "needs scales or sizes";
  }
  if (resizing.coordinates == "tf_crop_and_resize") {
    if (!isGiven(node, 1))
      return node.error() << "tf_crop_and_resize needs a roi";
    auto roi = readFloats(node, 1, "the roi");
    if (failed(roi))
      return failure();
    if (roi->size() != 2 * axes.size())
      return node.error() << "the roi must have " << 2 * axes.size() << " entries, not "
                          << roi->size();
    for (auto [i, axis] : llvm::enumerate(axes)) {
      dimensions[axis].begin = (*roi)[i];
      dimensions[axis].end = (*roi)[i + axes.size()];
    }
  }
  return resize(node, resizing, dimensions);
}

} // namespace

void spillway::addResizing(OperatorTable &table) {
  constexpr auto numeric = TypeClass::numeric;
  table.add({
      {"Resize", 10, convertOldResize, 2, 2, 1, numeric,
       "the scales must be known at compile time"},
      {"Resize", 11, convertResize, 1, 4, 1, numeric,
       "roi, scales and sizes must be known at compile time"},
      {"Upsample", 7, convertUpsampleAttribute, 1, 1, 1, numeric},
      {"Upsample", 9, convertOldResize, 2, 2, 1, numeric,
       "the scales must be known at compile time"},
  });
}
