// Losses that are operators.

#include "lib/Conversion/OnnxToNN/Indices.h"
#include "spillway/Conversion/OnnxToNN/ClassLabels.h"
#include "spillway/Conversion/OnnxToNN/Passes.h"

using namespace mlir;
using namespace spillway;

namespace {

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
  int64_t ignoredClass = node.attr("ignore_index", int64_t{0});
  markClasses(labels.value, scores.size(1), ignoredClass);
  if (node.hasAttr("ignore_index")) {
    Tensor ignored = emit.splatInt(labels.type, labels.shape(), ignoredClass);
    Tensor isIgnored = emit.compare(Emitter::Order::equal, labels, ignored);
    labels = emit.select(isIgnored, emit.like(labels, 0), labels);
    counts = emit.cast(emit.logicalNot(isIgnored), scores.type);
  }
  if (failed(knownIndices(node, labels, scores.size(1))))
    return failure();
  Tensor loss = negatedPick(emit, scores, labels, 1);
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

Tensor spillway::negatedPick(Emitter &emit, Tensor logs, Tensor labels, int64_t dim) {
  Shape column(labels.shape());
  column.insert(column.begin() + dim, 1);
  Tensor picked{emit.create<nn::GatherElementsOp>(emit.typeOf(logs.type, column), logs.value,
                                                  emit.reshape(labels, column).value, dim),
                logs.type};
  return emit.neg(emit.reshape(picked, labels.shape()));
}

/// Where a slice begins along dimension 1, if it is all from there on.
static std::optional<int64_t> beginOf(nn::SliceOp slice) {
  RankedTensorType from = slice.getOperand().getType(), to = slice.getType();
  if (from.getRank() < 2 || llvm::any_of(slice.getStrides(), [](int64_t stride) { return stride != 1; }))
    return std::nullopt;
  for (int64_t d = 0; d < from.getRank(); ++d)
    if (to.getDimSize(d) != from.getDimSize(d) - (d == 1 ? slice.getOffsets()[1] : 0))
      return std::nullopt;
  return slice.getOffsets()[1];
}

void spillway::markClasses(Value labels, int64_t count, int64_t ignored, int64_t first) {
  while (Operation *op = labels.getDefiningOp()) {
    bool mayMove = first == 0 && isa<nn::ReshapeOp>(op);
    if (auto slice = dyn_cast<nn::SliceOp>(op)) {
      std::optional<int64_t> begin = beginOf(slice);
      if (!begin)
        return;
      first += *begin;
    } else if (!mayMove && !isa<arith::ExtSIOp, arith::TruncIOp>(op)) {
      return;
    }
    labels = op->getOperand(0);
  }
  auto argument = cast<BlockArgument>(labels);
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  if (!function)
    return;
  Builder builder(function.getContext());
  auto known = function.getArgAttrOfType<DenseI64ArrayAttr>(argument.getArgNumber(), classesAttrName);
  auto said = builder.getDenseI64ArrayAttr({count, ignored, first});
  function.setArgAttr(argument.getArgNumber(), classesAttrName,
                      !known || known == said ? said : builder.getDenseI64ArrayAttr({}));
}

void spillway::addLosses(OperatorTable &table) {
  constexpr auto floats = TypeClass::floats;
  table.add({
      {"NegativeLogLikelihoodLoss", 12, convertNegativeLogLikelihood, 2, 3, 1, floats},
      {"SoftmaxCrossEntropyLoss", 12, convertSoftmaxCrossEntropy, 2, 3, 2, floats},
  });
}
