// Fourier transforms and what goes with them. A transform is a matrix product in f64.

#include "spillway/Conversion/OnnxToNN/Node.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace spillway;

namespace {

using Order = Emitter::Order;

struct Fourier {
  int64_t length;
  bool inverse, onesided;

  int64_t bins() const { return onesided ? length / 2 + 1 : length; }
};

Tensor product(Emitter &emit, Tensor lhs, Tensor rhs) {
  return {emit.create<nn::MatmulOp>(emit.typeOf(lhs.type, {lhs.size(0), rhs.size(1)}), lhs.value,
                                    rhs.value, false, false),
          lhs.type};
}

/// 2 pi i j / length, i being the index along dimension 0 of [length, bins] and j along the other.
Tensor angles(Emitter &emit, const Fourier &fourier) {
  Shape shape{fourier.length, fourier.bins()};
  Tensor turns = emit.mul(emit.iota(DataType::i64, shape, 0), emit.iota(DataType::i64, shape, 1));
  turns = emit.rem(turns, emit.likeInt(turns, fourier.length));
  Tensor exact = emit.cast(turns, DataType::f64);
  return emit.mul(exact, emit.like(exact, 2 * std::numbers::pi / static_cast<double>(fourier.length)));
}

/// Of [..., length, parts], a real part and perhaps an imaginary one, to [..., bins, 2].
Tensor transform(Emitter &emit, Tensor x, const Fourier &fourier) {
  int64_t parts = x.shape().back(), rows = *elementCount(x.shape().drop_back(2));
  Shape matrix{rows, fourier.length};
  Tensor exact = emit.cast(x, DataType::f64);
  auto part = [&](int64_t i) {
    return emit.reshape(emit.sliceDim(exact, exact.rank() - 1, i, 1), matrix);
  };
  Tensor angle = angles(emit, fourier);
  Tensor cosine = emit.unary<math::CosOp>(angle), sine = emit.unary<math::SinOp>(angle);
  if (!fourier.inverse)
    sine = emit.neg(sine);
  Tensor real = product(emit, part(0), cosine), imaginary = product(emit, part(0), sine);
  if (parts == 2) {
    real = emit.sub(real, product(emit, part(1), sine));
    imaginary = emit.add(imaginary, product(emit, part(1), cosine));
  }
  Shape single{rows, fourier.bins(), 1};
  Tensor result = emit.concat({emit.reshape(real, single), emit.reshape(imaginary, single)}, 2);
  if (fourier.inverse)
    result = emit.div(result, emit.like(result, static_cast<double>(fourier.length)));
  Shape shape(x.shape());
  shape[x.rank() - 2] = fourier.bins();
  shape[x.rank() - 1] = 2;
  return emit.cast(emit.reshape(result, shape), x.type);
}

/// What has the first bins of a spectrum, length / 2 + 1 of them, whose others are their
/// conjugates: of
/// [..., bins, parts] to the real [..., length, 1].
Tensor inverseOfHalf(Emitter &emit, Tensor x, int64_t length) {
  Fourier fourier{length, /*inverse=*/true, /*onesided=*/true};
  int64_t bins = fourier.bins(), rows = *elementCount(x.shape().drop_back(2));
  Tensor exact = emit.cast(x, DataType::f64);
  auto part = [&](int64_t i) {
    return emit.reshape(emit.sliceDim(exact, exact.rank() - 1, i, 1), {rows, bins});
  };
  // The first bin, and the last one of an even length, have no conjugate beside them.
  Tensor angle = emit.transpose(angles(emit, fourier), {1, 0});
  Tensor bin = emit.iota(DataType::i64, angle.shape(), 0);
  Tensor isAlone = emit.compare(Order::equal, bin, emit.like(bin, 0));
  if (length % 2 == 0)
    isAlone = emit.logicalOr(
        isAlone, emit.compare(Order::equal, bin, emit.splatInt(bin.type, bin.shape(), length / 2)));
  Tensor count = emit.select(isAlone, emit.like(angle, 1), emit.like(angle, 2));
  auto weighted = [&](Tensor wave) { return emit.mul(count, wave); };
  Tensor y = product(emit, part(0), weighted(emit.unary<math::CosOp>(angle)));
  if (x.shape().back() == 2)
    y = emit.sub(y, product(emit, part(1), weighted(emit.unary<math::SinOp>(angle))));
  y = emit.div(y, emit.like(y, static_cast<double>(length)));
  Shape shape(x.shape());
  shape[x.rank() - 2] = length;
  shape[x.rank() - 1] = 1;
  return emit.cast(emit.reshape(y, shape), x.type);
}

/// The first `length` elements along a dimension, zeros where there are fewer.
Tensor fitted(Emitter &emit, Tensor x, int64_t dim, int64_t length) {
  if (x.size(dim) >= length)
    return emit.sliceDim(x, dim, 0, length);
  Shape missing(x.shape());
  missing[dim] = length - x.size(dim);
  return emit.concat({x, emit.splat(x.type, missing, 0)}, dim);
}

LogicalResult convertDFT(Node &node) {
  Tensor x = node.in(0);
  bool inverse = node.attr("inverse", int64_t{0}) != 0;
  bool onesided = node.attr("onesided", int64_t{0}) != 0;
  if (x.rank() < 2 || (x.shape().back() != 1 && x.shape().back() != 2))
    return node.error() << "the last dimension of " << x.tensorType()
                        << " must hold a real part, or a real and an imaginary one";
  auto given = node.version() < 20 ? FailureOr<int64_t>(node.attr("axis", int64_t{1}))
               : node.has(2)       ? node.intScalar(2, "the axis")
                                   : FailureOr<int64_t>(-2);
  auto axis = failed(given) ? given : node.axis(*given, x.rank());
  if (failed(axis))
    return failure();
  if (*axis == x.rank() - 1)
    return node.error() << "axis " << *axis << " holds the parts of a number";
  auto length = node.has(1) ? node.intScalar(1, "the length of the transform")
                            : FailureOr<int64_t>(inverse && onesided ? 2 * (x.size(*axis) - 1)
                                                                     : x.size(*axis));
  if (failed(length))
    return failure();
  Shape lines(x.shape());
  lines[*axis] = *length;
  if (*length < 1 || !elementCount({*length, *length}) || !elementCount(lines))
    return node.error() << "a transform cannot have the length " << *length;
  Emitter &emit = node.emit;
  SmallVector<int64_t> perm = allDims(x.rank()), back(x.rank());
  std::rotate(perm.begin() + *axis, perm.begin() + *axis + 1, perm.end() - 1);
  for (auto [i, dim] : llvm::enumerate(perm))
    back[dim] = static_cast<int64_t>(i);
  Fourier fourier{*length, inverse, onesided};
  int64_t taken = inverse ? fourier.bins() : *length;
  Tensor fit = fitted(emit, emit.transpose(x, perm), x.rank() - 2, taken);
  Tensor y =
      inverse && onesided ? inverseOfHalf(emit, fit, *length) : transform(emit, fit, fourier);
  return node.result(emit.transpose(y, back));
}

LogicalResult convertSTFT(Node &node) {
  Tensor signal = node.in(0);
  bool onesided = node.attr("onesided", int64_t{1}) != 0;
  Emitter &emit = node.emit;
  if (signal.rank() == 2)
    signal = emit.reshape(signal, {signal.size(0), signal.size(1), 1});
  if (signal.rank() != 3 || (signal.size(2) != 1 && signal.size(2) != 2))
    return node.error() << "the signal must be [batch, length, 1 or 2], not "
                        << node.in(0).tensorType();
  if (onesided && signal.size(2) == 2)
    return node.error() << "the transform of a complex signal has two sides";
  auto step = node.intScalar(1, "the step of frames");
  auto window = node.optional(2);
  if (window && (window->rank() != 1 || failed(node.sameTypes({0, 2}))))
    return node.error() << "the window must be a list of numbers of the signal's type";
  if (!window && !node.has(3))
    return node.error() << "either the window or the length of frames must be given";
  auto length = node.has(3) ? node.intScalar(3, "the length of frames")
                            : FailureOr<int64_t>(window->size(0));
  if (failed(step) || failed(length))
    return failure();
  if (*step < 1 || *length < 1 || *length > signal.size(1) || (window && window->size(0) != *length))
    return node.error() << "frames of " << *length << " elements, " << *step
                        << " apart, do not fit the signal or the window";
  int64_t count = (signal.size(1) - *length) / *step + 1;
  if (!elementCount({*length, *length}) || !elementCount({signal.size(0), count, *length, 2}))
    return node.error() << count << " frames of " << *length << " elements are too many";
  Shape frames{count, *length};
  Tensor start = emit.iota(DataType::i64, frames, 0);
  Tensor position = emit.add(emit.mul(start, emit.likeInt(start, *step)),
                             emit.iota(DataType::i64, frames, 1));
  Tensor cut = emit.gather(signal, position, 1);
  if (window)
    cut = emit.mul(cut, emit.broadcastInDims(*window, {2}, cut.shape()));
  return node.result(transform(emit, cut, {*length, /*inverse=*/false, onesided}));
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

FailureOr<DataType> outputType(Node &node) {
  return node.hasAttr("output_datatype") ? node.typeAttr("output_datatype")
                                         : FailureOr<DataType>(DataType::f32);
}

/// The sum of `factors`[i] * cos(2 pi i x), where x runs from 0 to 1.
LogicalResult convertWindow(Node &node, ArrayRef<double> factors) {
  bool periodic = node.attr("periodic", int64_t{1}) != 0;
  auto size = node.intScalar(0, "the size");
  auto type = outputType(node);
  if (failed(size) || failed(type))
    return failure();
  if (*size < 0 || !elementCount({*size}))
    return node.error() << "a window cannot have " << *size << " elements";
  Emitter &emit = node.emit;
  Tensor position = emit.iota(DataType::f64, {*size}, 0), window = emit.like(position, factors[0]);
  double period = static_cast<double>(std::max<int64_t>(periodic ? *size : *size - 1, 1));
  for (auto [i, factor] : llvm::enumerate(factors.drop_front())) {
    double step = 2 * std::numbers::pi * static_cast<double>(i + 1) / period;
    Tensor wave = emit.unary<math::CosOp>(emit.mul(position, emit.like(position, step)));
    window = emit.add(window, emit.mul(wave, emit.like(wave, factor)));
  }
  return node.result(emit.cast(window, *type));
}

LogicalResult convertBlackmanWindow(Node &node) { return convertWindow(node, {0.42, -0.5, 0.08}); }
LogicalResult convertHammingWindow(Node &node) {
  return convertWindow(node, {25.0 / 46, -21.0 / 46});
}
LogicalResult convertHannWindow(Node &node) { return convertWindow(node, {0.5, -0.5}); }

//===----------------------------------------------------------------------===//
// Mel weights
//===----------------------------------------------------------------------===//

/// No model has more.
constexpr int64_t maxMelBins = 1 << 16;

/// The spectrogram bins where triangles begin, one further on their centres, one further their ends.
SmallVector<int64_t> melEdges(int64_t bins, int64_t length, double rate, double low, double high) {
  auto toMel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  double step = (toMel(high) - toMel(low)) / static_cast<double>(bins + 2);
  SmallVector<int64_t> edges;
  for (int64_t i = 0; i < bins + 2; ++i) {
    double hertz = 700 * (std::pow(10, (static_cast<double>(i) * step + toMel(low)) / 2595) - 1);
    edges.push_back(static_cast<int64_t>(std::floor(static_cast<double>(length + 1) * hertz / rate)));
  }
  return edges;
}

LogicalResult convertMelWeightMatrix(Node &node) {
  auto bins = node.intScalar(0, "the number of mel bins"), length = node.intScalar(1, "the length"),
       rate = node.intScalar(2, "the sample rate");
  auto low = node.floatScalar(3, "the lower edge"), high = node.floatScalar(4, "the upper edge");
  auto type = outputType(node);
  if (failed(bins) || failed(length) || failed(rate) || failed(low) || failed(high) || failed(type))
    return failure();
  int64_t rows = *length / 2 + 1;
  double lastEdge = static_cast<double>(*length) * *high / static_cast<double>(*rate);
  if (*bins < 1 || *bins > maxMelBins || *length < 1 || *rate < 1 || !(*low >= 0) || !(*high >= *low) ||
      !(lastEdge <= maxElementCount) || !elementCount({rows, *bins}))
    return node.error() << "has no triangles for " << *bins << " bins from " << *low << " to " << *high
                        << " hertz of " << *rate << " and a length of " << *length;
  Emitter &emit = node.emit;
  SmallVector<int64_t> edges = melEdges(*bins, *length, static_cast<double>(*rate), *low, *high);
  Shape shape{rows, *bins};
  Tensor all = emit.vector(DataType::i64, edges);
  auto edge = [&](int64_t first) {
    return emit.broadcast(emit.sliceDim(all, 0, first, *bins), shape);
  };
  Tensor begin = edge(0), centre = edge(1), end = edge(2);
  Tensor row = emit.iota(DataType::i64, shape, 0);
  auto ratio = [&](Tensor part, Tensor whole) {
    return emit.div(emit.cast(part, DataType::f64), emit.cast(whole, DataType::f64));
  };
  auto within = [&](Tensor from, Order order, Tensor to) {
    return emit.logicalAnd(emit.compare(Order::lessOrEqual, from, row), emit.compare(order, row, to));
  };
  Tensor zero = emit.splat(DataType::f64, shape, 0), one = emit.like(zero, 1);
  Tensor isSharp = emit.compare(Order::equal, begin, centre);
  Tensor rising = emit.select(isSharp, one, ratio(emit.sub(row, begin), emit.sub(centre, begin)));
  Tensor falling = ratio(emit.sub(end, row), emit.sub(end, centre));
  Tensor weights = emit.select(within(begin, Order::lessOrEqual, centre), rising, zero);
  weights = emit.select(within(centre, Order::less, end), falling, weights);
  return node.result(emit.cast(weights, *type));
}

} // namespace

void spillway::addSignals(OperatorTable &table) {
  constexpr auto integers = TypeClass::integers, floats = TypeClass::floats;
  constexpr llvm::StringLiteral size = "the size must be known at compile time";
  constexpr llvm::StringLiteral lengths = "lengths must be known at compile time";
  table.add({
      {"BlackmanWindow", 17, convertBlackmanWindow, 1, 1, 1, integers, size},
      {"DFT", 17, convertDFT, 1, 2, 1, floats, lengths},
      {"DFT", 20, convertDFT, 1, 3, 1, floats, "lengths and axes must be known at compile time"},
      {"HammingWindow", 17, convertHammingWindow, 1, 1, 1, integers, size},
      {"HannWindow", 17, convertHannWindow, 1, 1, 1, integers, size},
      {"MelWeightMatrix", 17, convertMelWeightMatrix, 5, 5, 1, integers,
       "the operands must be known at compile time"},
      {"STFT", 17, convertSTFT, 2, 4, 1, floats, lengths},
  });
}
