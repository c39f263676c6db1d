// Operators of training, in their inference form, and losses.

#include "spillway/Conversion/OnnxToNN/Node.h"

using namespace mlir;
using namespace spillway;

namespace {

LogicalResult convertDropout(Node &node) {
  Emitter &emit = node.emit;
  node.ignoreAttr("seed");
  node.ignoreAttr("ratio");
  if (node.has(2)) {
    auto training = node.intScalar(2, "training_mode");
    if (failed(training))
      return failure();
    double ratio = 0.5;
    if (node.has(1)) {
      auto given = node.floatScalar(1, "the ratio");
      if (failed(given))
        return failure();
      ratio = *given;
    }
    if (*training != 0 && ratio != 0)
      return node.error() << "converts in inference form only";
  }
  Tensor x = node.in(0);
  node.set(0, x);
  if (node.wants(1)) // before opset 10 the mask had the input's type
    node.set(1, emit.splatInt(node.version() < 10 ? x.type : DataType::boolean, x.shape(), 1));
  return success();
}

enum class Reduction { none, sum, mean };

/// The loss of log-probabilities [n, classes, ...] at labels [n, ...].
LogicalResult lossOf(Node &node, Tensor logProbabilities) {
  Emitter &emit = node.emit;
  Tensor labels = node.in(1);
  auto weights = node.optional(2);
  StringRef reductionName = node.attr("reduction", StringRef("mean"));
  auto reduction = llvm::StringSwitch<std::optional<Reduction>>(reductionName)
                       .Case("none", Reduction::none)
                       .Case("sum", Reduction::sum)
                       .Case("mean", Reduction::mean)
                       .Default(std::nullopt);
  if (!reduction)
    return node.error() << "unknown reduction '" << reductionName << "'";
  if (labels.type != DataType::i64 && labels.type != DataType::i32)
    return node.error() << "labels must be i64 or i32, not " << name(labels.type);
  Tensor scores = logProbabilities;
  Shape expected(scores.shape());
  if (scores.rank() < 2)
    return node.error() << "scores must have two dimensions or more";
  expected.erase(expected.begin() + 1);
  if (Shape(labels.shape()) != expected)
    return node.error() << "labels " << labels.tensorType() << " do not fit scores "
                        << scores.tensorType();
  if (weights && (weights->rank() != 1 || weights->size(0) != scores.size(1) ||
                  weights->type != scores.type))
    return node.error() << "there must be one weight per class, of the scores' type";

  std::optional<Tensor> counts;
  if (node.hasAttr("ignore_index")) {
    Tensor ignored =
        emit.splatInt(labels.type, labels.shape(), node.attr("ignore_index", int64_t{0}));
    Tensor isIgnored = emit.compare(Emitter::Order::equal, labels, ignored);
    labels = emit.select(isIgnored, emit.like(labels, 0), labels);
    counts = emit.cast(emit.logicalNot(isIgnored), scores.type);
  }
  Shape column(labels.shape());
  column.insert(column.begin() + 1, 1);
  Tensor picked{emit.create<nn::GatherElementsOp>(emit.typeOf(scores.type, column), scores.value,
                                                  emit.reshape(labels, column).value, 1),
                scores.type};
  Tensor loss = emit.neg(emit.reshape(picked, labels.shape()));
  if (weights) {
    Tensor weight = emit.gather(*weights, labels, 0);
    counts = counts ? emit.mul(*counts, weight) : weight;
  }
  if (counts) // where nothing counts, an infinite loss does not either
    loss = emit.select(emit.compare(Emitter::Order::equal, *counts, emit.like(*counts, 0)),
                       emit.like(loss, 0), emit.mul(loss, *counts));
  if (*reduction == Reduction::none)
    return node.result(loss);
  SmallVector<int64_t> all = allDims(loss.rank());
  if (*reduction == Reduction::mean && !counts)
    return node.result(emit.reduce(nn::ReductionKind::mean, loss, all, false));
  Tensor total = emit.reduce(nn::ReductionKind::sum, loss, all, false);
  if (*reduction == Reduction::sum)
    return node.result(total);
  return node.result(
      emit.div(total, emit.reduce(nn::ReductionKind::sum, *counts, all, false)));
}

LogicalResult convertNegativeLogLikelihood(Node &node) { return lossOf(node, node.in(0)); }

LogicalResult convertSoftmaxCrossEntropy(Node &node) {
  Tensor scores = node.in(0);
  if (scores.rank() < 2)
    return node.error() << "scores must have two dimensions or more";
  Tensor logProbabilities{node.emit.create<nn::LogSoftmaxOp>(scores.value, 1), scores.type};
  node.set(1, logProbabilities);
  return lossOf(node, logProbabilities);
}

} // namespace

void spillway::addTraining(OperatorTable &table) {
  constexpr auto floats = TypeClass::floats;
  table.add({
      {"Dropout", 7, convertDropout, 1, 1, 2, floats},
      {"Dropout", 12, convertDropout, 1, 3, 2, floats, "inference form only"},
      {"NegativeLogLikelihoodLoss", 12, convertNegativeLogLikelihood, 2, 3, 1, floats},
      {"SoftmaxCrossEntropyLoss", 12, convertSoftmaxCrossEntropy, 2, 3, 2, floats},
  });
}
