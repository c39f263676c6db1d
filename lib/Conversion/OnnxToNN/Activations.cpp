// Activation functions. f16 and bf16 are computed in f32 and rounded once.

#include "spillway/Conversion/OnnxToNN/Activations.h"
#include "spillway/Conversion/OnnxToNN/Node.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <numbers>

using namespace mlir;
using namespace spillway;

namespace {

using Order = Emitter::Order;

/// `function(emit, x)` of the first input in its compute type.
template <typename Function> LogicalResult convertActivation(Node &node, Function function) {
  Emitter &emit = node.emit;
  return node.result(
      emit.inComputeType(node.in(0), [&](Tensor x) { return function(emit, x); }));
}

Tensor scaled(Emitter &emit, Tensor x, double factor) { return emit.mul(x, emit.like(x, factor)); }

/// `a` where x is above zero, else `b`; NaN counts as not above.
Tensor whereAboveZero(Emitter &emit, Tensor x, Tensor a, Tensor b) {
  return emit.select(emit.compare(Order::greater, x, emit.like(x, 0)), a, b);
}

Tensor expMinusOne(Emitter &emit, Tensor x) { return emit.unary<math::ExpM1Op>(x); }

Tensor geluErf(Emitter &emit, Tensor x) {
  Tensor erf = emit.unary<math::ErfOp>(scaled(emit, x, std::numbers::sqrt2 / 2));
  return emit.mul(scaled(emit, x, 0.5), emit.add(emit.like(x, 1), erf));
}

Tensor geluTanh(Emitter &emit, Tensor x) {
  Tensor cube = emit.mul(emit.mul(x, x), x);
  Tensor inner = emit.add(x, scaled(emit, cube, 0.044715));
  Tensor tanh = emit.unary<math::TanhOp>(
      scaled(emit, inner, std::numbers::sqrt2 * std::numbers::inv_sqrtpi));
  return emit.mul(scaled(emit, x, 0.5), emit.add(emit.like(x, 1), tanh));
}

LogicalResult convertGelu(Node &node) {
  StringRef kind = node.attr("approximate", StringRef("none"));
  if (kind == "none")
    return convertActivation(node, geluErf);
  if (kind == "tanh")
    return convertActivation(node, geluTanh);
  return node.error() << "unknown approximation '" << kind << "'; there are 'none' and 'tanh'";
}

/// The input with a row added to it, where there is one.
FailureOr<Tensor> withBias(Node &node) {
  Tensor x = node.in(0);
  auto bias = node.optional(1);
  if (!bias)
    return x;
  if (failed(node.sameTypes({0, 1})))
    return failure();
  if (x.rank() < 1 || Shape(bias->shape()) != Shape{x.shape().back()})
    return node.error() << "bias " << bias->tensorType() << " does not fit the rows of "
                        << x.tensorType();
  return node.emit.add(x, node.emit.broadcast(*bias, x.shape()));
}

template <Tensor gelu(Emitter &, Tensor)> LogicalResult convertBiasGelu(Node &node) {
  auto x = withBias(node);
  if (failed(x))
    return failure();
  return node.result(
      node.emit.inComputeType(*x, [&](Tensor wide) { return gelu(node.emit, wide); }));
}

LogicalResult convertRelu(Node &node) {
  return node.result(node.emit.max(node.in(0), node.emit.like(node.in(0), 0)));
}

LogicalResult convertSigmoid(Node &node) { return node.result(node.emit.sigmoid(node.in(0))); }

LogicalResult convertLeakyRelu(Node &node) {
  double alpha = node.attr("alpha", 0.01);
  return convertActivation(node, [=](Emitter &emit, Tensor x) {
    return leakyRelu(emit, x, alpha);
  });
}

LogicalResult convertPRelu(Node &node) {
  if (failed(node.sameTypes({0, 1})))
    return failure();
  Emitter &emit = node.emit;
  Tensor x = node.in(0), slope = node.in(1);
  if (node.version() < 7 && slope.rank() == 1 && x.rank() > 2) { // one for each channel
    Shape shape(x.rank() - 1, 1);
    shape.front() = slope.size(0);
    slope = emit.reshape(slope, shape);
  }
  auto shape = broadcastShapes(x.shape(), slope.shape());
  if (!shape || *shape != Shape(x.shape()))
    return node.error() << "the slope must broadcast to the input's shape";
  slope = emit.broadcast(slope, x.shape());
  return node.result(
      emit.select(emit.compare(Order::less, x, emit.like(x, 0)), emit.mul(x, slope), x));
}

LogicalResult convertElu(Node &node) {
  double alpha = node.attr("alpha", 1.0);
  return convertActivation(node, [=](Emitter &emit, Tensor x) {
    return elu(emit, x, alpha);
  });
}

LogicalResult convertCelu(Node &node) {
  double alpha = node.attr("alpha", 1.0);
  if (alpha == 0)
    return node.error() << "alpha must not be zero";
  return convertActivation(node, [=](Emitter &emit, Tensor x) {
    Tensor curve = scaled(emit, expMinusOne(emit, emit.div(x, emit.like(x, alpha))), alpha);
    return whereAboveZero(emit, x, x, curve);
  });
}

LogicalResult convertSelu(Node &node) {
  double alpha = node.attr("alpha", 1.67326319217681884765625);
  double gamma = node.attr("gamma", 1.05070102214813232421875);
  return convertActivation(node, [=](Emitter &emit, Tensor x) {
    Tensor curve = scaled(emit, expMinusOne(emit, x), alpha);
    return scaled(emit, whereAboveZero(emit, x, x, curve), gamma);
  });
}

LogicalResult convertSoftplus(Node &node) { return convertActivation(node, softplus); }

LogicalResult convertSoftsign(Node &node) {
  return convertActivation(node, softsign);
}

LogicalResult convertMish(Node &node) {
  return convertActivation(node, [](Emitter &emit, Tensor x) {
    return emit.mul(x, emit.unary<math::TanhOp>(softplus(emit, x)));
  });
}

/// x * sigmoid(alpha * x).
LogicalResult convertScaledSwish(Node &node, double alpha) {
  return convertActivation(node, [=](Emitter &emit, Tensor x) {
    return emit.mul(x, emit.sigmoid(alpha == 1 ? x : scaled(emit, x, alpha)));
  });
}

LogicalResult convertSwish(Node &node) {
  return convertScaledSwish(node, node.attr("alpha", 1.0));
}

LogicalResult convertQuickGelu(Node &node) {
  return convertScaledSwish(node, node.attr("alpha", 1.702));
}

LogicalResult convertHardSigmoid(Node &node) {
  double alpha = node.attr("alpha", 0.2), beta = node.attr("beta", 0.5);
  return convertActivation(
      node, [=](Emitter &emit, Tensor x) { return hardSigmoid(emit, x, alpha, beta); });
}

LogicalResult convertHardSwish(Node &node) {
  return convertActivation(node, [](Emitter &emit, Tensor x) {
    return emit.mul(x, hardSigmoid(emit, x, 1.0 / 6, 0.5));
  });
}

LogicalResult convertThresholdedRelu(Node &node) {
  double alpha = node.attr("alpha", 1.0);
  return convertActivation(node, [=](Emitter &emit, Tensor x) {
    return thresholdedRelu(emit, x, alpha);
  });
}

LogicalResult convertShrink(Node &node) {
  double bias = node.attr("bias", 0.0), lambd = node.attr("lambd", 0.5);
  Emitter &emit = node.emit;
  DataType type = node.in(0).type;
  // Neither attribute need be an integer where the input holds some.
  Tensor x = isFloat(type) ? node.in(0) : emit.cast(node.in(0), DataType::f64);
  Tensor offset = emit.like(x, bias);
  Tensor below = emit.select(emit.compare(Order::less, x, emit.like(x, -lambd)),
                             emit.add(x, offset), emit.like(x, 0));
  Tensor result = emit.select(emit.compare(Order::greater, x, emit.like(x, lambd)),
                              emit.sub(x, offset), below);
  return node.result(emit.cast(result, type));
}

LogicalResult convertClipAttributes(Node &node) {
  Emitter &emit = node.emit;
  Tensor x = node.in(0);
  bool hasMin = node.hasAttr("min"), hasMax = node.hasAttr("max");
  double low = node.attr("min", 0.0), high = node.attr("max", 0.0);
  if (hasMin)
    x = emit.max(x, emit.like(x, low));
  if (hasMax)
    x = emit.min(x, emit.like(x, high));
  return node.result(x);
}

LogicalResult convertClip(Node &node) {
  Emitter &emit = node.emit;
  Tensor x = node.in(0);
  for (unsigned i : {1u, 2u}) {
    if (!node.has(i))
      continue;
    if (failed(node.sameTypes({0, i})))
      return failure();
    if (node.in(i).count() != 1)
      return node.error() << "min and max must be scalars";
    Tensor bound = emit.broadcast(emit.reshape(node.in(i), {}), x.shape());
    x = i == 1 ? emit.max(x, bound) : emit.min(x, bound);
  }
  return node.result(x);
}

} // namespace

Tensor spillway::softplus(Emitter &emit, Tensor x) {
  // max(x, 0) + log(1 + exp(-|x|)), where the slope at 0 is 1/2 whatever that of max is there.
  Tensor above = emit.max(x, emit.like(x, 0)), minusSize = emit.sub(x, emit.add(above, above));
  return emit.add(above, emit.unary<math::Log1pOp>(emit.unary<math::ExpOp>(minusSize)));
}

Tensor spillway::softsign(Emitter &emit, Tensor x) {
  return emit.div(x, emit.add(emit.like(x, 1), emit.abs(x)));
}

Tensor spillway::hardSigmoid(Emitter &emit, Tensor x, double alpha, double beta) {
  Tensor line = emit.add(scaled(emit, x, alpha), emit.like(x, beta));
  return emit.max(emit.like(x, 0), emit.min(emit.like(x, 1), line));
}

Tensor spillway::leakyRelu(Emitter &emit, Tensor x, double alpha) {
  return emit.select(emit.compare(Order::less, x, emit.like(x, 0)), scaled(emit, x, alpha), x);
}

Tensor spillway::elu(Emitter &emit, Tensor x, double alpha) {
  return whereAboveZero(emit, x, x, scaled(emit, expMinusOne(emit, x), alpha));
}

Tensor spillway::thresholdedRelu(Emitter &emit, Tensor x, double alpha) {
  return emit.select(emit.compare(Order::greater, x, emit.like(x, alpha)), x, emit.like(x, 0));
}

void spillway::addActivations(OperatorTable &table) {
  constexpr auto numeric = TypeClass::numeric, floats = TypeClass::floats;
  table.add({
      {"Celu", 12, convertCelu, 1, 1, 1, floats},
      {"Clip", 6, convertClipAttributes, 1, 1, 1, floats},
      {"Clip", 11, convertClip, 1, 3, 1, numeric},
      {"Elu", 6, convertElu, 1, 1, 1, floats},
      {"Gelu", 20, convertGelu, 1, 1, 1, floats},
      {"HardSigmoid", 6, convertHardSigmoid, 1, 1, 1, floats},
      {"HardSwish", 14, convertHardSwish, 1, 1, 1, floats},
      {"LeakyRelu", 6, convertLeakyRelu, 1, 1, 1, floats},
      {"Mish", 18, convertMish, 1, 1, 1, floats},
      {"PRelu", 1, convertPRelu, 2, 2, 1, numeric},
      {"Relu", 6, convertRelu, 1, 1, 1, numeric},
      {"Selu", 6, convertSelu, 1, 1, 1, floats},
      {"Shrink", 9, convertShrink, 1, 1, 1, numeric},
      {"Sigmoid", 6, convertSigmoid, 1, 1, 1, floats},
      {"Softplus", 1, convertSoftplus, 1, 1, 1, floats},
      {"Softsign", 1, convertSoftsign, 1, 1, 1, floats},
      {"Swish", 24, convertSwish, 1, 1, 1, floats},
      {"ThresholdedRelu", 10, convertThresholdedRelu, 1, 1, 1, floats},
      {"BiasGelu", 1, convertBiasGelu<geluErf>, 2, 2, 1, floats, "", microsoft},
      {"FastGelu", 1, convertBiasGelu<geluTanh>, 1, 2, 1, floats, "", microsoft},
      {"Gelu", 1, convertBiasGelu<geluErf>, 1, 1, 1, floats, "", microsoft},
      {"QuickGelu", 1, convertQuickGelu, 1, 1, 1, floats, "", microsoft},
  });
}
