// Softmax and the norms.

#include "spillway/Conversion/OnnxToNN/Node.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace spillway;

namespace {

template <typename Op> Tensor alongDim(Emitter &emit, Tensor x, int64_t dim) {
  return {emit.create<Op>(x.value, dim), x.type};
}

template <typename Op> LogicalResult convertAlongAxis(Node &node) {
  Tensor x = node.in(0);
  auto axis = node.axis(node.attr("axis", int64_t{-1}), x.rank());
  if (failed(axis))
    return failure();
  return node.result(alongDim<Op>(node.emit, x, *axis));
}

template <typename Op> LogicalResult convertFlattened(Node &node) {
  return convertAsMatrix(
      node, [](Emitter &emit, Tensor x) { return alongDim<Op>(emit, x, x.rank() - 1); });
}

/// A norm's node: what LayerNormalization and RMSNormalization have in common.
struct Norm {
  Tensor x, scale;
  std::optional<Tensor> bias;
  int64_t axis;
  double epsilon;
  /// The type of the statistics.
  DataType stash;

  /// The normalised dimensions.
  SmallVector<int64_t> dims() const { return llvm::to_vector(llvm::seq(axis, x.rank())); }
};

FailureOr<Norm> readNorm(Node &node) {
  Norm norm{node.in(0), node.in(1), node.optional(2), 0, node.attr("epsilon", 1e-5), DataType::f32};
  auto axis = node.axis(node.attr("axis", int64_t{-1}), norm.x.rank());
  if (failed(axis))
    return failure();
  norm.axis = *axis;
  if (node.hasAttr("stash_type")) {
    auto stash = node.typeAttr("stash_type");
    if (failed(stash))
      return failure();
    norm.stash = *stash;
  }
  if (!isFloat(norm.stash))
    return node.error() << "stash_type must be a floating-point type";
  if (norm.x.type == DataType::f64)
    norm.stash = DataType::f64;
  SmallVector<Tensor> parameters{norm.scale};
  if (norm.bias)
    parameters.push_back(*norm.bias);
  for (Tensor parameter : parameters) {
    auto shape = broadcastShapes(norm.x.shape(), parameter.shape());
    if (!shape || *shape != Shape(norm.x.shape()))
      return node.error() << "scale or bias " << parameter.tensorType()
                          << " does not broadcast to " << norm.x.tensorType();
  }
  return norm;
}

/// A parameter with the shape of the normalised dimensions; nothing where it
/// differs from row to row.
std::optional<Tensor> rowParameter(Emitter &emit, const Norm &norm, Tensor parameter) {
  ArrayRef<int64_t> row = norm.x.shape().drop_front(norm.axis);
  ArrayRef<int64_t> shape = parameter.shape();
  while (shape.size() > row.size()) {
    if (shape.front() != 1)
      return std::nullopt;
    shape = shape.drop_front();
  }
  return emit.broadcast(emit.reshape(parameter, shape), row);
}

/// 1 / sqrt(mean of squares + epsilon), the reduced dimensions kept with size one.
Tensor inverseRoot(Emitter &emit, const Norm &norm, Tensor centred) {
  Tensor mean = emit.reduce(nn::ReductionKind::mean, emit.mul(centred, centred), norm.dims(), true);
  Tensor root = emit.unary<math::SqrtOp>(emit.add(mean, emit.like(mean, norm.epsilon)));
  return emit.div(emit.like(root, 1), root);
}

/// `centred` * `inverse` in the scale's type, scaled and moved.
Tensor scaleRows(Emitter &emit, const Norm &norm, Tensor centred, Tensor inverse) {
  ArrayRef<int64_t> shape = norm.x.shape();
  Tensor y = emit.cast(emit.mul(centred, emit.broadcast(inverse, shape)), norm.scale.type);
  y = emit.mul(y, emit.broadcast(norm.scale, shape));
  return norm.bias ? emit.add(y, emit.broadcast(*norm.bias, shape)) : y;
}

/// Whether nn's norms compute this one: their statistics are in f32 (f64 for f64).
bool hasPlainTypes(const Norm &norm) {
  DataType statistics = norm.x.type == DataType::f64 ? DataType::f64 : DataType::f32;
  return norm.scale.type == norm.x.type && (!norm.bias || norm.bias->type == norm.x.type) &&
         norm.stash == statistics;
}

LogicalResult convertLayerNormalization(Node &node) {
  auto norm = readNorm(node);
  if (failed(norm))
    return failure();
  if (failed(node.sameTypes({0, 1})) || (norm->bias && failed(node.sameTypes({0, 2}))))
    return failure();
  Emitter &emit = node.emit;
  auto scale = rowParameter(emit, *norm, norm->scale);
  auto bias = norm->bias ? rowParameter(emit, *norm, *norm->bias) : std::nullopt;
  bool isPlain = hasPlainTypes(*norm) && scale && (bias || !norm->bias);
  if (isPlain)
    node.set(0, Tensor{emit.create<nn::LayerNormOp>(
                           norm->x.value, scale->value, bias ? bias->value : Value(), norm->axis,
                           APFloat(static_cast<float>(norm->epsilon))),
                       norm->x.type});
  if (isPlain && !node.wants(1) && !node.wants(2))
    return success();
  Tensor x = emit.cast(norm->x, norm->stash);
  Tensor mean = emit.reduce(nn::ReductionKind::mean, x, norm->dims(), true);
  Tensor centred = emit.sub(x, emit.broadcast(mean, x.shape()));
  Tensor inverse = inverseRoot(emit, *norm, centred);
  if (!isPlain)
    node.set(0, scaleRows(emit, *norm, centred, inverse));
  node.set(1, mean);
  node.set(2, inverse);
  return success();
}

LogicalResult convertRmsNormalization(Node &node) {
  auto norm = readNorm(node);
  if (failed(norm))
    return failure();
  if (!isFloat(norm->scale.type))
    return node.error() << "the scale must be of a floating-point type";
  Emitter &emit = node.emit;
  auto scale = rowParameter(emit, *norm, norm->scale);
  if (hasPlainTypes(*norm) && scale)
    return node.result({emit.create<nn::RmsNormOp>(norm->x.value, scale->value, norm->axis,
                                                   APFloat(static_cast<float>(norm->epsilon))),
                        norm->x.type});
  Tensor x = emit.cast(norm->x, norm->stash);
  return node.result(scaleRows(emit, *norm, x, inverseRoot(emit, *norm, x)));
}

} // namespace

void spillway::addNormalizations(OperatorTable &table) {
  constexpr auto floats = TypeClass::floats;
  table.add({
      {"LayerNormalization", 17, convertLayerNormalization, 2, 3, 3, floats},
      {"LogSoftmax", 1, convertFlattened<nn::LogSoftmaxOp>, 1, 1, 1, floats},
      {"LogSoftmax", 13, convertAlongAxis<nn::LogSoftmaxOp>, 1, 1, 1, floats},
      {"RMSNormalization", 23, convertRmsNormalization, 2, 2, 1, floats},
      {"Softmax", 1, convertFlattened<nn::SoftmaxOp>, 1, 1, 1, floats},
      {"Softmax", 13, convertAlongAxis<nn::SoftmaxOp>, 1, 1, 1, floats},
  });
}
