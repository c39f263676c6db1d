// Steps of optimizers, as the domain of training has them.

#include "spillway/Conversion/OnnxToNN/Node.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace spillway;

namespace {

constexpr llvm::StringLiteral trainingDomain = "ai.onnx.preview.training";

/// What a step is made of: a learning rate, how many steps there were, and `groups` tensors of each
/// kind: parameters, gradients, then states.
struct Step {
  Node &node;
  int64_t groups, count;

  /// The i-th of a kind.
  Tensor at(int64_t kind, int64_t i) const {
    return node.in(static_cast<unsigned>(2 + kind * count + i));
  }
  /// Outputs have the order of inputs without gradients.
  void set(int64_t kind, int64_t i, Tensor value) {
    node.set(static_cast<unsigned>(kind * count + i), value);
  }
  /// A scalar of the node in the type and shape of a tensor.
  Tensor spread(Tensor scalar, Tensor like) const {
    Emitter &emit = node.emit;
    return emit.broadcast(emit.reshape(emit.cast(scalar, like.type), {}), like.shape());
  }
  /// Whether this is not the first step.
  Tensor hasHistory(Tensor like) const {
    Emitter &emit = node.emit;
    Tensor steps = spread(node.in(1), Tensor{like.value, DataType::i64}), zero = emit.like(steps, 0);
    return emit.compare(Emitter::Order::greater, steps, zero);
  }
};

FailureOr<Step> readStep(Node &node, int64_t groups) {
  int64_t tensors = static_cast<int64_t>(node.numInputs()) - 2;
  if (tensors <= 0 || tensors % groups != 0)
    return node.error() << "after the rate and the count of steps there must be " << groups
                        << " tensors for each parameter, not " << tensors << " together";
  if (node.in(0).count() != 1 || node.in(1).count() != 1 || !isFloat(node.in(0).type) ||
      !isInteger(node.in(1).type))
    return node.error() << "the rate must be one number, and the count of steps one integer";
  Step step{node, groups, tensors / groups};
  for (int64_t i = 0; i < step.count; ++i)
    for (int64_t kind = 0; kind < groups; ++kind)
      if (step.at(kind, i).value.getType() != step.at(0, i).value.getType() ||
          !isFloat(step.at(kind, i).type))
        return node.error() << "parameter " << i << " is " << step.at(0, i).tensorType()
                            << ", but its tensor of kind " << kind << " is "
                            << step.at(kind, i).tensorType();
  return step;
}

Tensor scaled(Emitter &emit, Tensor x, double factor) {
  return factor == 1 ? x : emit.mul(x, emit.like(x, factor));
}

/// The gradient with that of the norm's penalty.
Tensor regularized(Emitter &emit, Tensor x, Tensor gradient, double norm) {
  return norm == 0 ? gradient : emit.add(scaled(emit, x, norm), gradient);
}

LogicalResult convertAdagrad(Node &node) {
  double decay = node.attr("decay_factor", 0.0), epsilon = node.attr("epsilon", 1e-6);
  double norm = node.attr("norm_coefficient", 0.0);
  auto step = readStep(node, 3);
  if (failed(step))
    return failure();
  Emitter &emit = node.emit;
  for (int64_t i = 0; i < step->count; ++i) {
    Tensor x = step->at(0, i), gradient = regularized(emit, x, step->at(1, i), norm);
    Tensor squares = emit.add(step->at(2, i), emit.mul(gradient, gradient));
    Tensor steps = step->spread(node.in(1), x);
    Tensor rate = emit.div(step->spread(node.in(0), x),
                           emit.add(emit.like(x, 1), scaled(emit, steps, decay)));
    Tensor root = emit.add(emit.unary<math::SqrtOp>(squares), emit.like(x, epsilon));
    step->set(0, i, emit.sub(x, emit.div(emit.mul(rate, gradient), root)));
    step->set(1, i, squares);
  }
  return success();
}

LogicalResult convertAdam(Node &node) {
  double alpha = node.attr("alpha", 0.9), beta = node.attr("beta", 0.999);
  double epsilon = node.attr("epsilon", 1e-6), norm = node.attr("norm_coefficient", 0.0);
  double normPost = node.attr("norm_coefficient_post", 0.0);
  auto step = readStep(node, 4);
  if (failed(step))
    return failure();
  Emitter &emit = node.emit;
  for (int64_t i = 0; i < step->count; ++i) {
    Tensor x = step->at(0, i), gradient = regularized(emit, x, step->at(1, i), norm);
    Tensor mean = emit.add(scaled(emit, step->at(2, i), alpha), scaled(emit, gradient, 1 - alpha));
    Tensor square = emit.mul(gradient, gradient);
    Tensor variance = emit.add(scaled(emit, step->at(3, i), beta), scaled(emit, square, 1 - beta));
    // Both averages begin at zero, which the rate makes good.
    Tensor steps = step->spread(node.in(1), x), rate = step->spread(node.in(0), x);
    auto lacks = [&](double factor) {
      return emit.sub(emit.like(x, 1), emit.pow(emit.like(x, factor), steps));
    };
    Tensor corrected = emit.div(emit.mul(rate, emit.unary<math::SqrtOp>(lacks(beta))), lacks(alpha));
    rate = emit.select(step->hasHistory(x), corrected, rate);
    Tensor root = emit.add(emit.unary<math::SqrtOp>(variance), emit.like(x, epsilon));
    Tensor moved = emit.sub(x, emit.div(emit.mul(rate, mean), root));
    step->set(0, i, scaled(emit, moved, 1 - normPost));
    step->set(1, i, mean);
    step->set(2, i, variance);
  }
  return success();
}

LogicalResult convertMomentum(Node &node) {
  for (StringRef required : {"alpha", "beta", "norm_coefficient", "mode"})
    if (!node.hasAttr(required))
      return node.error() << "the attribute " << required << " is required";
  double alpha = node.attr("alpha", 0.0), beta = node.attr("beta", 0.0);
  double norm = node.attr("norm_coefficient", 0.0);
  StringRef mode = node.attr("mode", StringRef());
  if (mode != "standard" && mode != "nesterov")
    return node.error() << "unknown mode '" << mode << "'";
  auto step = readStep(node, 3);
  if (failed(step))
    return failure();
  Emitter &emit = node.emit;
  for (int64_t i = 0; i < step->count; ++i) {
    Tensor x = step->at(0, i), gradient = regularized(emit, x, step->at(1, i), norm);
    Tensor share = emit.select(step->hasHistory(x), emit.like(x, beta), emit.like(x, 1));
    Tensor momentum = emit.add(scaled(emit, step->at(2, i), alpha), emit.mul(share, gradient));
    Tensor direction =
        mode == "nesterov" ? emit.add(gradient, scaled(emit, momentum, alpha)) : momentum;
    step->set(0, i, emit.sub(x, emit.mul(step->spread(node.in(0), x), direction)));
    step->set(1, i, momentum);
  }
  return success();
}

} // namespace

void spillway::addOptimizers(OperatorTable &table) {
  table.add({
      {"Adagrad", 1, convertAdagrad, 3, anyNumber, anyNumber, TypeClass::floats, "", trainingDomain},
      {"Adam", 1, convertAdam, 3, anyNumber, anyNumber, TypeClass::floats, "", trainingDomain},
      {"Momentum", 1, convertMomentum, 3, anyNumber, anyNumber, TypeClass::floats, "", trainingDomain},
  });
}
