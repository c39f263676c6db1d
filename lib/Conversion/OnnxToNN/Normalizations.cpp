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
  /// The type that statistics are computed in, and the one that outputs of them have.
  DataType stash, given;

  /// The normalised dimensions.
  SmallVector<int64_t> dims() const { return llvm::to_vector(llvm::seq(axis, x.rank())); }
};

FailureOr<Norm> readNorm(Node &node) {
  Norm norm{node.in(0), node.in(1), node.optional(2), 0, node.attr("epsilon", 1e-5), DataType::f32, DataType::f32};
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
  norm.given = norm.stash;
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

/// Outputs 1 and 2 are the mean and 1 / the deviation, where they are wanted.
LogicalResult emitLayerNorm(Node &node, const Norm &norm) {
  Emitter &emit = node.emit;
  auto scale = rowParameter(emit, norm, norm.scale);
  auto bias = norm.bias ? rowParameter(emit, norm, *norm.bias) : std::nullopt;
  bool isPlain = hasPlainTypes(norm) && scale && (bias || !norm.bias);
  if (isPlain)
    node.set(0, Tensor{emit.create<nn::LayerNormOp>(
                           norm.x.value, scale->value, bias ? bias->value : Value(), norm.axis,
                           APFloat(static_cast<float>(norm.epsilon))),
                       norm.x.type});
  if (isPlain && !node.wants(1) && !node.wants(2))
    return success();
  Tensor x = emit.cast(norm.x, norm.stash);
  Tensor mean = emit.reduce(nn::ReductionKind::mean, x, norm.dims(), true);
  Tensor centred = emit.sub(x, emit.broadcast(mean, x.shape()));
  Tensor inverse = inverseRoot(emit, norm, centred);
  if (!isPlain)
    node.set(0, scaleRows(emit, norm, centred, inverse));
  node.set(1, emit.cast(mean, norm.given));
  node.set(2, emit.cast(inverse, norm.given));
  return success();
}

LogicalResult convertLayerNormalization(Node &node) {
  auto norm = readNorm(node);
  if (failed(norm))
    return failure();
  if (failed(node.sameTypes({0, 1})) || (norm->bias && failed(node.sameTypes({0, 2}))))
    return failure();
  return emitLayerNorm(node, *norm);
}

/// Output 0 is the result, output `inverse` 1 / RMS, where it is wanted.
LogicalResult emitRmsNorm(Node &node, const Norm &norm, unsigned inverse) {
  if (!isFloat(norm.scale.type))
    return node.error() << "the scale must be of a floating-point type";
  Emitter &emit = node.emit;
  auto scale = rowParameter(emit, norm, norm.scale);
  bool isPlain = hasPlainTypes(norm) && scale;
  if (isPlain)
    node.set(0, Tensor{emit.create<nn::RmsNormOp>(norm.x.value, scale->value, norm.axis,
                                                  APFloat(static_cast<float>(norm.epsilon))),
                       norm.x.type});
  if (isPlain && !node.wants(inverse))
    return success();
  Tensor x = emit.cast(norm.x, norm.stash);
  Tensor root = inverseRoot(emit, norm, x);
  if (!isPlain)
    node.set(0, scaleRows(emit, norm, x, root));
  node.set(inverse, emit.cast(root, norm.given));
  return success();
}

LogicalResult convertRmsNormalization(Node &node) {
  auto norm = readNorm(node);
  return failed(norm) ? failure() : emitRmsNorm(node, *norm, 1);
}

//===----------------------------------------------------------------------===//
// Norms of a sum, as ONNX Runtime's transformer optimisers write them
//===----------------------------------------------------------------------===//

/// Checks that a parameter is a row of the last dimension, of x's type.
LogicalResult checkRow(Node &node, unsigned input, Tensor x) {
  if (!node.has(input))
    return success();
  if (Shape(node.in(input).shape()) != Shape{x.shape().back()} || node.in(input).type != x.type)
    return node.error() << "input " << input << " " << node.in(input).tensorType()
                        << " must be a row of " << x.tensorType();
  return success();
}

/// The norm over the last dimension of `x`, scaled by the input `scale` and moved by the input
/// `bias`; outputs 1 and 2 are the mean and 1 / the deviation.
LogicalResult normaliseRows(Node &node, Tensor x, unsigned scale, std::optional<unsigned> bias,
                            double epsilon) {
  if (failed(checkRow(node, scale, x)) || (bias && failed(checkRow(node, *bias, x))))
    return failure();
  DataType stash = x.type == DataType::f64 ? DataType::f64 : DataType::f32;
  Norm norm{x,           node.in(scale), bias ? node.optional(*bias) : std::nullopt,
            x.rank() - 1, epsilon,        stash, stash};
  return bias ? emitLayerNorm(node, norm) : emitRmsNorm(node, norm, 2);
}

/// Inputs: x, skip, scale, then the norm's bias where it has one, and the sum's bias.
template <bool isRms> LogicalResult convertSkipNormalization(Node &node) {
  Emitter &emit = node.emit;
  Tensor x = node.in(0), skip = node.in(1);
  if (failed(node.sameTypes({0, 1})))
    return failure();
  auto shape = broadcastShapes(x.shape(), skip.shape());
  if (x.rank() < 2 || !shape || *shape != Shape(x.shape()))
    return node.error() << "skip " << skip.tensorType() << " does not broadcast to "
                        << x.tensorType();
  unsigned sumBias = isRms ? 3 : 4;
  if (failed(checkRow(node, sumBias, x)))
    return failure();
  Tensor sum = emit.add(x, emit.broadcast(skip, x.shape()));
  if (auto bias = node.optional(sumBias))
    sum = emit.add(sum, emit.broadcast(*bias, x.shape()));
  node.set(3, sum);
  return normaliseRows(node, sum, 2, isRms ? std::nullopt : std::optional(3u),
                       node.attr("epsilon", 1e-5));
}

/// One table's rows at `ids`.
FailureOr<Tensor> embeddingRows(Node &node, unsigned table, Tensor ids) {
  Tensor rows = node.in(table);
  if (rows.rank() != 2 || (ids.type != DataType::i32 && ids.type != DataType::i64))
    return node.error() << "input " << table << " must be a table of rows, and its ids i32 or i64";
  return node.emit.gather(rows, ids, 0);
}

/// Inputs: ids, segment ids, tables of words, positions and segments, scale, bias, mask, positions.
LogicalResult convertEmbedLayerNormalization(Node &node) {
  Emitter &emit = node.emit;
  Tensor ids = node.in(0);
  for (unsigned i : {2u, 3u, 5u, 6u})
    if (!node.has(i))
      return node.error() << "input " << i << " is required";
  if (ids.rank() != 2 || node.has(1) != node.has(4))
    return node.error() << "input_ids must be [batch, length], and segments come with their table";
  Shape shape(ids.shape());
  Tensor position = emit.iota(DataType::i64, {1, shape[1]}, 1);
  if (auto given = node.optional(8))
    position = *given;
  auto covered = broadcastShapes(position.shape(), shape);
  if (position.rank() != 2 || !covered || *covered != shape ||
      (node.has(1) && Shape(node.in(1).shape()) != shape))
    return node.error() << "position_ids or segment_ids do not fit the ids " << ids.tensorType();
  auto words = embeddingRows(node, 2, ids), places = embeddingRows(node, 3, position);
  if (failed(words) || failed(places))
    return failure();
  SmallVector<Tensor> parts{*words, *places};
  if (node.has(1)) {
    auto segments = embeddingRows(node, 4, node.in(1));
    if (failed(segments))
      return failure();
    parts.push_back(*segments);
  }
  for (Tensor part : parts)
    if (part.type != words->type || part.shape().back() != words->shape().back())
      return node.error() << "the tables must hold rows of one size and type";
  Tensor sum = *words;
  for (Tensor part : llvm::drop_begin(parts))
    sum = emit.add(sum, emit.broadcast(part, sum.shape()));

  Tensor counts = emit.splatInt(DataType::i32, {shape[0]}, 0);
  if (auto mask = node.optional(7)) {
    if (mask->type != DataType::i32 || Shape(mask->shape()) != shape)
      return node.error() << "the mask must be i32 of the ids' shape, not " << mask->tensorType();
    Tensor isOne = emit.compare(Emitter::Order::equal, *mask, emit.like(*mask, 1));
    counts = emit.reduce(nn::ReductionKind::sum, emit.cast(isOne, DataType::i32), {1}, false);
  }
  node.ignoreAttr("mask_index_type");
  double epsilon = node.attr("epsilon", 1e-12);
  if (failed(normaliseRows(node, sum, 5, 6u, epsilon)))
    return failure();
  node.set(1, counts);
  node.set(2, sum);
  return success();
}

} // namespace

void spillway::addNormalizations(OperatorTable &table) {
  constexpr auto floats = TypeClass::floats;
  table.add({
      {"LayerNormalization", 17, convertLayerNormalization, 2, 3, 3, floats},
      {"LogSoftmax", 1, convertFlattened<nn::LogSoftmaxOp>, 1, 1, 1, floats},
      {"LogSoftmax", 13, convertAlongAxis<nn::LogSoftmaxOp>, 1, 1, 1, floats},
      {"RMSNormalization", 23, convertRmsNormalization, 2, 2, 1, floats},
      {"SimplifiedLayerNormalization", 1, convertRmsNormalization, 2, 2, 2, floats},
      {"Softmax", 1, convertFlattened<nn::SoftmaxOp>, 1, 1, 1, floats},
      {"Softmax", 13, convertAlongAxis<nn::SoftmaxOp>, 1, 1, 1, floats},
      {"EmbedLayerNormalization", 1, convertEmbedLayerNormalization, 1, 9, 3,
       TypeClass::integers, "", microsoft},
      {"SimplifiedLayerNormalization", 1, convertRmsNormalization, 2, 2, 2, floats, "", microsoft},
      {"SkipLayerNormalization", 1, convertSkipNormalization<false>, 3, 5, 4, floats, "",
       microsoft},
      {"SkipSimplifiedLayerNormalization", 1, convertSkipNormalization<true>, 3, 4, 4, floats, "",
       microsoft},
  });
}
