// Attention. The probabilities are computed again: the forward half never holds them.

#include "lib/Differentiate/Rules/Rule.h"

#include <limits>

using namespace mlir;
using namespace spillway;
using namespace spillway::derivatives;

namespace {

class AttentionRule {
public:
  AttentionRule(nn::AttentionOp op, Cotangents &c)
      : op(op), c(c), b(c, op), query(b.wide(op.getQuery())), key(b.wide(op.getKey())),
        value(b.wide(op.getValue())) {
    ArrayRef<int64_t> q = shapeOf(query), k = shapeOf(key);
    scoresShape = {q[0], q[1], q[2], k[2]};
    // Query heads that share a key are rows of one product.
    rows = k[1] == 0 ? 0 : q[1] / k[1] * q[2];
  }

  void run() {
    Value scores = maskedScores();
    Value cotangent = b.wide(c.of(op)), share = probabilities(scores);
    Value ofShare = ungroup(b.matmul(group(cotangent), value, false, true), scoresShape);
    Value ofScores = b.mul(share, b.sub(ofShare, b.sumExpanded(b.mul(share, ofShare), 3)));

    if (c.needs(op.getValue()))
      c.add(op.getValue(), b.as(op.getValue(), b.matmul(group(share), group(cotangent), true, false)));
    if (op.getMask() && c.needs(op.getMask()))
      c.add(op.getMask(), b.as(op.getMask(), sumToMask(ofScores)));
    if (capped) {
      Value ratio = b.mul(capped, 1 / op.getSoftcap().convertToFloat());
      ofScores = b.mul(ofScores, b.sub(b.like(ratio, 1), b.mul(ratio, ratio)));
    }
    ofScores = group(b.mul(ofScores, op.getScale().convertToFloat()));
    if (c.needs(op.getQuery()))
      c.add(op.getQuery(), b.as(op.getQuery(), ungroup(b.matmul(ofScores, key, false, false),
                                                       shapeOf(query))));
    if (c.needs(op.getKey()))
      c.add(op.getKey(), b.as(op.getKey(), b.matmul(ofScores, group(query), true, false)));
  }

private:
  /// [b, h, m, x] as [b, hk, h / hk * m, x], and back.
  Value group(Value a) {
    return b.reshape(a, {scoresShape[0], shapeOf(key)[1], rows, shapeOf(a)[3]});
  }
  Value ungroup(Value a, ArrayRef<int64_t> shape) { return b.reshape(a, shape); }

  Value maskedScores() {
    Value scores = ungroup(b.matmul(group(query), key, false, true), scoresShape);
    scores = b.mul(scores, op.getScale().convertToFloat());
    if (float cap = op.getSoftcap().convertToFloat(); cap != 0)
      scores = capped = b.mul(b.create<math::TanhOp>(b.mul(scores, 1 / cap)), cap);
    Value never = b.like(scores, -std::numeric_limits<double>::infinity());
    if (Value mask = op.getMask()) {
      bool keeps = getElementTypeOrSelf(mask).isInteger(1);
      Value all = b.broadcast(keeps ? mask : b.wide(mask), dimensions(0, 4), scoresShape);
      scores = keeps ? b.select(all, scores, never) : b.add(scores, all);
    }
    if (std::optional<int64_t> offset = op.getCausalOffset()) {
      auto type = RankedTensorType::get(scoresShape, IntegerType::get(op.getContext(), 64));
      Value i = b.create<nn::IotaOp>(type, 2), j = b.create<nn::IotaOp>(type, 3);
      Value last = b.create<arith::AddIOp>(
          i, b.create<arith::ConstantOp>(DenseElementsAttr::get(type, *offset)));
      scores = b.select(b.create<arith::CmpIOp>(arith::CmpIPredicate::sle, j, last), scores, never);
    }
    return scores;
  }

  Value probabilities(Value scores) {
    Value share = b.create<nn::SoftmaxOp>(scores, 3);
    if (op.getMaskedRow() == nn::MaskedRow::nan)
      return share;
    Value largest = b.expand(b.reduce(nn::ReductionKind::max, scores, 3), 3, scoresShape);
    Value sees = b.compare(arith::CmpFPredicate::UNE, largest,
                           b.like(largest, -std::numeric_limits<double>::infinity()));
    return b.where(sees, share);
  }

  Value sumToMask(Value a) {
    SmallVector<int64_t> repeated;
    for (int64_t dim = 0; dim < 4; ++dim)
      if (shapeOf(op.getMask())[dim] != scoresShape[dim])
        repeated.push_back(dim);
    return b.reshape(b.sum(a, repeated), shapeOf(op.getMask()));
  }

  nn::AttentionOp op;
  Cotangents &c;
  RuleBuilder b;
  Value query, key, value, capped;
  SmallVector<int64_t> scoresShape;
  int64_t rows;
};

} // namespace

static void attend(nn::AttentionOp op, Cotangents &c) { AttentionRule(op, c).run(); }

void derivatives::attachAttention(MLIRContext *context) {
  attach<nn::AttentionOp, attend>(context);
}
