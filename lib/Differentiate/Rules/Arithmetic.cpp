// Arithmetic on floats. Where a function has no derivative, the value is PyTorch's.

#include "lib/Differentiate/Rules/Rule.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::derivatives;
using P = arith::CmpFPredicate;

static void add(arith::AddFOp op, Cotangents &c) {
  c.add(op.getLhs(), c.of(op));
  c.add(op.getRhs(), c.of(op));
}

static void subtract(arith::SubFOp op, Cotangents &c) {
  RuleBuilder b(c, op);
  c.add(op.getLhs(), c.of(op));
  if (c.needs(op.getRhs()))
    c.add(op.getRhs(), b.neg(c.of(op)));
}

static void multiply(arith::MulFOp op, Cotangents &c) {
  RuleBuilder b(c, op);
  if (c.needs(op.getLhs()))
    c.add(op.getLhs(), b.mul(c.of(op), op.getRhs()));
  if (c.needs(op.getRhs()))
    c.add(op.getRhs(), b.mul(c.of(op), op.getLhs()));
}

static void divide(arith::DivFOp op, Cotangents &c) {
  RuleBuilder b(c, op);
  Value quotient = b.div(c.of(op), op.getRhs());
  c.add(op.getLhs(), quotient);
  if (c.needs(op.getRhs()))
    c.add(op.getRhs(), b.neg(b.mul(quotient, op.getResult())));
}

// x - trunc(x / y) * y
static void truncatedRemainder(arith::RemFOp op, Cotangents &c) {
  RuleBuilder b(c, op);
  c.add(op.getLhs(), c.of(op));
  if (!c.needs(op.getRhs()))
    return;
  Value count = b.create<math::TruncOp>(b.div(op.getLhs(), op.getRhs()));
  c.add(op.getRhs(), b.neg(b.mul(c.of(op), count)));
}

static void negative(arith::NegFOp op, Cotangents &c) {
  c.add(op.getOperand(), RuleBuilder(c, op).neg(c.of(op)));
}

/// The constant that all elements come from; null where there is none.
static DenseElementsAttr constantOf(Value value) {
  while (isa_and_present<nn::BroadcastOp, nn::ReshapeOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  DenseElementsAttr elements;
  return matchPattern(value, m_Constant(&elements)) ? elements : nullptr;
}

static bool isZero(DenseElementsAttr elements) {
  return elements.isSplat() && elements.getSplatValue<APFloat>().isZero();
}

/// The larger operand (the smaller one) takes the cotangent. Equal ones share it; but against a
/// constant the other takes all (clamp), and nothing against zero (relu).
template <typename Op, P chosen> void extremum(Op op, Cotangents &c) {
  RuleBuilder b(c, op);
  Value cotangent = c.of(op);
  for (auto [x, y] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
    if (!c.needs(x))
      continue;
    DenseElementsAttr bound = constantOf(y);
    Value equal = bound ? cotangent : b.mul(cotangent, 0.5);
    if (bound && isZero(bound))
      equal = b.like(cotangent, 0);
    Value otherwise = b.where(b.compare(P::OEQ, x, y), equal);
    c.add(x, b.select(b.compare(chosen, x, y), cotangent, otherwise));
  }
}

static void choose(arith::SelectOp op, Cotangents &c) {
  RuleBuilder b(c, op);
  Value zero = b.like(c.of(op), 0);
  if (c.needs(op.getTrueValue()))
    c.add(op.getTrueValue(), b.select(op.getCondition(), c.of(op), zero));
  if (c.needs(op.getFalseValue()))
    c.add(op.getFalseValue(), b.select(op.getCondition(), zero, c.of(op)));
}

static void widen(arith::ExtFOp op, Cotangents &c) {
  c.add(op.getIn(), RuleBuilder(c, op).create<arith::TruncFOp>(op.getIn().getType(), c.of(op)));
}

static void narrow(arith::TruncFOp op, Cotangents &c) {
  c.add(op.getIn(), RuleBuilder(c, op).create<arith::ExtFOp>(op.getIn().getType(), c.of(op)));
}

void derivatives::attachArithmetic(MLIRContext *context) {
  attach<arith::AddFOp, add>(context);
  attach<arith::SubFOp, subtract>(context);
  attach<arith::MulFOp, multiply>(context);
  attach<arith::DivFOp, divide>(context);
  attach<arith::RemFOp, truncatedRemainder>(context);
  attach<arith::NegFOp, negative>(context);
  attach<arith::MaximumFOp, extremum<arith::MaximumFOp, P::OGT>>(context);
  attach<arith::MinimumFOp, extremum<arith::MinimumFOp, P::OLT>>(context);
  attach<arith::SelectOp, choose>(context);
  attach<arith::ExtFOp, widen>(context);
  attach<arith::TruncFOp, narrow>(context);
}
