// Norms of images: over batches, channels, groups of channels and neighbours.

#include "lib/Conversion/OnnxToNN/Windows.h"
#include "spillway/Conversion/OnnxToNN/NormStatistics.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace spillway;

namespace {

using Kind = nn::ReductionKind;

/// 1 / sqrt(variance + epsilon).
Tensor inverseRoot(Emitter &emit, Tensor variance, double epsilon) {
  Tensor root = emit.unary<math::SqrtOp>(emit.add(variance, emit.like(variance, epsilon)));
  return emit.div(emit.like(root, 1), root);
}

LogicalResult expectVector(Node &node, unsigned i, int64_t size, StringRef what) {
  if (node.in(i).shape() != ArrayRef<int64_t>({size}))
    return node.error() << what << " must have " << size << " elements, not "
                        << node.in(i).tensorType();
  return success();
}

/// The mean of elements that are reduced with `dims` and of their squared distances from it, in the
/// dimensions left.
struct Moments {
  Tensor mean, variance;

  Moments(Emitter &emit, Tensor x, ArrayRef<int64_t> dims)
      : mean(emit.reduce(Kind::mean, x, dims, /*keep=*/true)), variance(mean) {
    Tensor centred = emit.sub(x, emit.broadcast(mean, x.shape()));
    variance = emit.reduce(Kind::mean, emit.mul(centred, centred), dims, /*keep=*/true);
  }
};

/// Dimensions but the channels.
SmallVector<int64_t> besideChannels(Tensor x) {
  SmallVector<int64_t> dims{0};
  for (int64_t d = 2; d < x.rank(); ++d)
    dims.push_back(d);
  return dims;
}

/// Whether a norm, of which the file says that it `trains`, normalises with the statistics of its batch. Inputs 3
/// and 4 are the running ones.
FailureOr<bool> takesBatchStatistics(Node &node, bool trains) {
  NormStatistics *norms = node.norms();
  if (!norms)
    return trains;
  SmallVector<StringRef> names{node.name()};
  unsigned states = 0;
  for (unsigned i = 1; i < 5; ++i) {
    zero::StateOp state = norms->stateOf(node.in(i));
    if (!state)
      continue;
    names.push_back(state.getName());
    if (i < 3)
      continue;
    ++states;
    if (onnx::NodeOp other = node.otherReader(i))
      return node.error() << "its running statistic '" << state.getName() << "' is also read by a "
                          << other.getOpType() << " (exporters merge equal values; --untie '" << state.getName()
                          << "' gives each its own)";
    norms->claim(state);
  }
  if (!norms->trains())
    return trains;
  if (!norms->trains(names))
    return false;
  if (!trains && states != 2)
    return node.error() << "its running statistics are no initializers, so that no training can update them "
                        << "(--eval-norm keeps the norm as it is)";
  return true;
}

/// Moves the running statistic that is input `i`, and output `i - 2`, towards that of the batch. Returns what to
/// normalise with.
Tensor runningStatistic(Node &node, unsigned i, Tensor ofBatch, double momentum) {
  Emitter &emit = node.emit;
  NormStatistics *norms = node.norms();
  bool updates = norms && norms->trains() && norms->stateOf(node.in(i));
  Tensor old = updates ? norms->current(node.in(i)) : node.in(i), wide = emit.cast(old, ofBatch.type);
  Tensor next = emit.add(emit.mul(wide, emit.like(wide, momentum)),
                         emit.mul(ofBatch, emit.like(ofBatch, 1 - momentum)));
  next = emit.cast(next, old.type);
  node.set(i - 2, next);
  if (!updates)
    return ofBatch;
  norms->update(node.in(i), next);
  emit.noteUpdate();
  return emit.select(emit.broadcast(norms->isTraining(), wide.shape()), ofBatch,
                     emit.cast(node.in(i), ofBatch.type));
}

LogicalResult convertBatchNormalization(Node &node) {
  Tensor x = node.in(0);
  double epsilon = node.attr("epsilon", 1e-5), momentum = node.attr("momentum", 0.9);
  bool perElement = node.version() < 9 && node.attr("spatial", int64_t{1}) == 0;
  bool trains = node.version() >= 14 && node.attr("training_mode", int64_t{0}) != 0;
  if (node.version() < 7) {
    node.ignoreAttr("is_test");
    node.ignoreAttr("consumed_inputs");
  }
  if (x.rank() < 1)
    return node.error() << "the input must have one dimension or more";
  // A batch without channels has one.
  Shape channels = perElement     ? Shape(x.shape().drop_front())
                   : x.rank() > 1 ? Shape{x.size(1)}
                                  : Shape{1};
  for (unsigned i = 1; i < 5; ++i)
    if (node.in(i).shape() != ArrayRef<int64_t>(channels) || !isFloat(node.in(i).type))
      return node.error() << "input " << i << " is " << node.in(i).tensorType()
                          << ", which does not fit the channels of " << x.tensorType();
  Emitter &emit = node.emit;
  DataType compute = x.type == DataType::f64 ? DataType::f64 : DataType::f32;
  Tensor wide = emit.cast(x, compute);
  auto spread = [&](Tensor parameter) {
    SmallVector<int64_t> dims;
    for (int64_t d = 0; d < parameter.rank(); ++d)
      dims.push_back(x.rank() > 1 ? d + 1 : 0);
    return emit.broadcastInDims(parameter, dims, x.shape());
  };
  auto parameter = [&](unsigned i) { return emit.cast(node.in(i), compute); };
  auto ofBatch = takesBatchStatistics(node, trains);
  if (failed(ofBatch))
    return failure();
  Tensor mean = parameter(3), variance = parameter(4);
  if (*ofBatch) {
    if (x.rank() < 2)
      return node.error() << "training needs batch and channels, not " << x.tensorType();
    Moments moments(emit, wide, besideChannels(x));
    mean = runningStatistic(node, 3, emit.reshape(moments.mean, channels), momentum);
    variance = runningStatistic(node, 4, emit.reshape(moments.variance, channels), momentum);
  } else if (trains) {
    node.set(1, node.in(3));
    node.set(2, node.in(4));
  }
  Tensor scale = emit.mul(parameter(1), inverseRoot(emit, variance, epsilon));
  Tensor y = emit.mul(emit.sub(wide, spread(mean)), spread(scale));
  node.set(0, emit.cast(emit.add(y, spread(parameter(2))), x.type));
  return success();
}

/// (x - mean) / sqrt(variance + epsilon) over the dimensions from `dim` on.
Tensor normalise(Emitter &emit, Tensor x, int64_t dim, double epsilon) {
  Tensor one = emit.splat(x.type, x.shape().drop_front(dim), 1);
  return {emit.create<nn::LayerNormOp>(x.value, one.value, Value(), dim,
                                       APFloat(static_cast<float>(epsilon))),
          x.type};
}

LogicalResult convertInstanceNormalization(Node &node) {
  Tensor x = node.in(0);
  double epsilon = node.attr("epsilon", 1e-5);
  node.ignoreAttr("consumed_inputs");
  if (x.rank() < 3)
    return node.error() << "the input must have batch, channels and one dimension or more, not "
                        << x.tensorType();
  if (failed(node.sameTypesOfAll()) || failed(expectVector(node, 1, x.size(1), "the scale")) ||
      failed(expectVector(node, 2, x.size(1), "the bias")))
    return failure();
  Emitter &emit = node.emit;
  Tensor y = emit.mul(normalise(emit, x, 2, epsilon), perChannel(emit, node.in(1), x.shape()));
  return node.result(emit.add(y, perChannel(emit, node.in(2), x.shape())));
}

LogicalResult convertGroupNormalization(Node &node) {
  Tensor x = node.in(0);
  double epsilon = node.attr("epsilon", 1e-5);
  int64_t groups = node.attr("num_groups", int64_t{0});
  bool perGroup = node.version() < 21;
  DataType stash = DataType::f32;
  if (node.hasAttr("stash_type")) {
    auto given = node.typeAttr("stash_type");
    if (failed(given))
      return failure();
    stash = *given;
  }
  if (x.rank() < 3 || groups < 1 || x.size(1) % groups != 0)
    return node.error() << groups << " groups do not fit the channels of " << x.tensorType();
  if (!isFloat(stash))
    return node.error() << "stash_type must be a floating-point type";
  int64_t parameters = perGroup ? groups : x.size(1);
  if (failed(node.sameTypesOfAll()) || failed(expectVector(node, 1, parameters, "the scale")) ||
      failed(expectVector(node, 2, parameters, "the bias")))
    return failure();
  Emitter &emit = node.emit;
  Shape grouped{x.size(0), groups, x.size(1) / groups};
  llvm::append_range(grouped, x.shape().drop_front(2));
  // nn's norms have their statistics in f32 or f64.
  bool asStashed = byteWidth(stash) > byteWidth(x.type);
  Tensor wide = asStashed ? emit.cast(x, stash) : x;
  Tensor y = emit.cast(normalise(emit, emit.reshape(wide, grouped), 2, epsilon), x.type);
  if (perGroup) {
    y = emit.mul(y, perChannel(emit, node.in(1), grouped));
    y = emit.add(y, perChannel(emit, node.in(2), grouped));
    return node.result(emit.reshape(y, x.shape()));
  }
  y = emit.mul(emit.reshape(y, x.shape()), perChannel(emit, node.in(1), x.shape()));
  return node.result(emit.add(y, perChannel(emit, node.in(2), x.shape())));
}

LogicalResult convertLRN(Node &node) {
  Tensor x = node.in(0);
  double alpha = node.attr("alpha", 1e-4), beta = node.attr("beta", 0.75),
         bias = node.attr("bias", 1.0);
  int64_t size = node.attr("size", int64_t{0});
  if (x.rank() < 2 || size < 1 || size > maxElementCount / std::max<int64_t>(1, x.count()))
    return node.error() << "size " << size << " does not go with an input " << x.tensorType();
  Emitter &emit = node.emit;
  return node.result(emit.inComputeType(x, [&](Tensor wide) {
    Shape low(x.rank(), 0), padded(x.shape()), shape{x.size(0), size};
    SmallVector<int64_t> ones(x.rank() - 1, 1), inWindow;
    low[1] = (size - 1) / 2;
    padded[1] += size - 1;
    shape.append(x.rank() - 2, 1);
    llvm::append_range(shape, x.shape().drop_front());
    for (int64_t d = 1; d < x.rank(); ++d)
      inWindow.push_back(d);
    Tensor image = padTo(emit, wide, low, padded, emit.splat(wide.type, {}, 0));
    Tensor near{emit.create<nn::WindowsOp>(emit.typeOf(wide.type, shape), image.value, ones, ones),
                wide.type};
    Tensor squares = emit.reduce(Kind::sum_square, near, inWindow, /*keep=*/false);
    Tensor base = emit.add(emit.mul(squares, emit.like(squares, alpha / static_cast<double>(size))),
                           emit.like(squares, bias));
    return emit.div(wide, emit.pow(base, emit.like(base, beta)));
  }));
}

LogicalResult convertLpNormalization(Node &node) {
  Tensor x = node.in(0);
  int64_t p = node.attr("p", int64_t{2});
  auto axis = node.axis(node.attr("axis", int64_t{-1}), x.rank());
  if (failed(axis))
    return failure();
  if (p != 1 && p != 2)
    return node.error() << "p must be 1 or 2, not " << p;
  Emitter &emit = node.emit;
  return node.result(emit.inComputeType(x, [&](Tensor wide) {
    Tensor norm = emit.reduce(p == 1 ? Kind::l1 : Kind::l2, wide, {*axis}, /*keep=*/true);
    // Zeros stay.
    Tensor isZero = emit.compare(Emitter::Order::equal, norm, emit.like(norm, 0));
    norm = emit.select(isZero, emit.like(norm, 1), norm);
    return emit.div(wide, emit.broadcast(norm, wide.shape()));
  }));
}

LogicalResult convertMeanVarianceNormalization(Node &node) {
  Tensor x = node.in(0);
  auto given = node.intsAttr("axes");
  auto axes = node.axes(given ? *given : SmallVector<int64_t>{0, 2, 3}, x.rank());
  if (failed(axes))
    return failure();
  Emitter &emit = node.emit;
  return node.result(emit.inComputeType(x, [&](Tensor wide) {
    Moments moments(emit, wide, *axes);
    Tensor deviation = emit.unary<math::SqrtOp>(moments.variance);
    deviation = emit.add(deviation, emit.like(deviation, 1e-9));
    return emit.div(emit.sub(wide, emit.broadcast(moments.mean, wide.shape())),
                    emit.broadcast(deviation, wide.shape()));
  }));
}

} // namespace

void spillway::addImageNormalizations(OperatorTable &table) {
  constexpr auto floats = TypeClass::floats;
  table.add({
      {"BatchNormalization", 1, convertBatchNormalization, 5, 5, 1, floats},
      {"BatchNormalization", 14, convertBatchNormalization, 5, 5, 3, floats},
      {"GroupNormalization", 18, convertGroupNormalization, 3, 3, 1, floats},
      {"InstanceNormalization", 1, convertInstanceNormalization, 3, 3, 1, floats},
      {"LRN", 1, convertLRN, 1, 1, 1, floats},
      {"LpNormalization", 1, convertLpNormalization, 1, 1, 1, floats},
      {"MeanVarianceNormalization", 9, convertMeanVarianceNormalization, 1, 1, 1, floats},
  });
}
