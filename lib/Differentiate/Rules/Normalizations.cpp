// Normalizations over trailing dimensions. Statistics are computed again.

#include "lib/Differentiate/Rules/Rule.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::derivatives;

namespace {

/// y = n * scale + bias, where n is x, less its mean or not, over the root of its mean square plus epsilon.
template <typename Op> class NormalizationRule {
public:
  NormalizationRule(Op op, Cotangents &c)
      : op(op), c(c), b(c, op), g(b.wide(c.of(op))),
        leading(dimensions(0, op.getDim())), normalized(dimensions(op.getDim(), op.getType().getRank())) {}

  void run(bool centers, Value bias) {
    Value x = b.wide(op.getOperand());
    if (centers)
      x = b.sub(x, b.meanExpanded(x, normalized));
    Value meanSquare = b.reduce(nn::ReductionKind::mean, b.mul(x, x), normalized);
    Value deviation = b.create<math::SqrtOp>(
        b.add(meanSquare, b.like(meanSquare, op.getEpsilon().convertToDouble())));
    Value inverse = b.expand(b.div(b.like(deviation, 1), deviation), normalized, shapeOf(x));
    Value n = b.mul(x, inverse);

    if (c.needs(op.getOperand())) {
      Value scaled = b.mul(g, b.broadcast(b.wide(op.getScale()), normalized, shapeOf(x)));
      Value along = b.mul(n, b.meanExpanded(b.mul(scaled, n), normalized));
      Value across = centers ? b.sub(scaled, b.meanExpanded(scaled, normalized)) : scaled;
      c.add(op.getOperand(), b.as(op, b.mul(inverse, b.sub(across, along))));
    }
    if (c.needs(op.getScale()))
      c.add(op.getScale(), b.as(op, b.sum(b.mul(g, n), leading)));
    if (bias && c.needs(bias))
      c.add(bias, b.as(op, b.sum(g, leading)));
  }

private:
  Op op;
  Cotangents &c;
  RuleBuilder b;
  Value g;
  SmallVector<int64_t> leading, normalized;
};

} // namespace

static void layerNorm(nn::LayerNormOp op, Cotangents &c) {
  NormalizationRule(op, c).run(/*centers=*/true, op.getBias());
}

static void rmsNorm(nn::RmsNormOp op, Cotangents &c) {
  NormalizationRule(op, c).run(/*centers=*/false, Value());
}

void derivatives::attachNormalizations(MLIRContext *context) {
  attach<nn::LayerNormOp, layerNorm>(context);
  attach<nn::RmsNormOp, rmsNorm>(context);
}
