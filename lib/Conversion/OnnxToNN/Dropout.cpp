// Dropout, which drops elements in a step that trains alone.

#include "spillway/Conversion/OnnxToNN/Dropouts.h"
#include "spillway/Conversion/OnnxToNN/Node.h"

#include <fmt/format.h>

#include <cmath>

using namespace mlir;
using namespace spillway;

namespace {

constexpr int64_t firstOpsetWithInputs = 12;

/// The share of elements that is dropped.
FailureOr<double> readRatio(Node &node) {
  double ratio = 0.5;
  if (node.version() < firstOpsetWithInputs) {
    ratio = node.attr("ratio", ratio);
  } else if (node.has(1)) {
    auto given = node.floatScalar(1, "the ratio");
    if (failed(given))
      return failure();
    ratio = *given;
  }
  if (!(ratio >= 0 && ratio < 1))
    return node.error() << "the ratio must be at least 0 and below 1, not " << fmt::format("{}", ratio);
  return ratio;
}

/// Sets elements of `x` to zero, each with the probability `ratio`, and scales up the others; none where the step
/// evaluates.
LogicalResult dropElements(Node &node, double ratio) {
  constexpr int64_t numberOfWords = int64_t{1} << 32;
  Emitter &emit = node.emit;
  Tensor x = node.in(0), training = node.dropouts()->isTraining();
  if (x.count() > numberOfWords)
    return node.error() << "takes more than 2^32 elements, " << x.tensorType();
  Tensor bits{emit.create<nn::RandomOp>(emit.typeOf(DataType::u32, x.shape()), node.dropouts()->randomKey().value),
              DataType::u32};
  int64_t limit = std::min<int64_t>(std::llround(std::ldexp(ratio, 32)), numberOfWords - 1);
  Tensor isBelow = emit.compare(Emitter::Order::less, bits, emit.splatInt(DataType::u32, x.shape(), limit));
  Tensor drops = emit.logicalAnd(isBelow, emit.broadcast(training, x.shape()));
  Tensor scale = emit.select(training, emit.splat(x.type, {}, 1 / (1 - ratio)), emit.splat(x.type, {}, 1));
  node.set(0, emit.select(drops, emit.like(x, 0), emit.mul(x, emit.broadcast(scale, x.shape()))));
  if (!node.wants(1))
    return success();
  Tensor mask = emit.logicalNot(drops);
  node.set(1, node.version() < 10 ? emit.cast(mask, x.type) : mask);
  return success();
}

LogicalResult convertDropout(Node &node) {
  Emitter &emit = node.emit;
  node.ignoreAttr("seed");
  node.ignoreAttr("ratio");
  Dropouts *dropouts = node.dropouts();
  bool drops = dropouts && dropouts->trains(node.name());
  if (!dropouts && node.has(2)) {
    auto training = node.intScalar(2, "training_mode");
    if (failed(training))
      return failure();
    drops = *training != 0;
  }
  FailureOr<double> ratio = drops ? readRatio(node) : FailureOr<double>(0);
  if (failed(ratio))
    return failure();
  if (*ratio != 0 && dropouts)
    return dropElements(node, *ratio);
  if (*ratio != 0)
    return node.error() << "drops elements only where a model is compiled to be trained";
  Tensor x = node.in(0);
  node.set(0, x);
  if (node.wants(1)) // before opset 10 the mask had the input's type
    node.set(1, emit.splatInt(node.version() < 10 ? x.type : DataType::boolean, x.shape(), 1));
  return success();
}

} // namespace

void spillway::addDropout(OperatorTable &table) {
  constexpr auto floats = TypeClass::floats;
  table.add({
      {"Dropout", 7, convertDropout, 1, 1, 2, floats},
      {"Dropout", 12, convertDropout, 1, 3, 2, floats, "training form only with `compile --train`"},
  });
}
