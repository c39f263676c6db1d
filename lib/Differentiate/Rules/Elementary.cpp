// Elementary functions.

#include "lib/Differentiate/Rules/Rule.h"

#include <numbers>

using namespace mlir;
using namespace spillway;
using namespace spillway::derivatives;
using P = arith::CmpFPredicate;

/// A function of one operand x with result y: the cotangent is multiplied with `slope`(b, x, y).
template <typename Op, auto slope> void chain(Op op, Cotangents &c) {
  RuleBuilder b(c, op);
  c.add(op.getOperand(), b.mul(c.of(op), slope(b, op.getOperand(), op.getResult())));
}

/// The same with a slope that divides.
template <typename Op, auto inverse> void chainInverse(Op op, Cotangents &c) {
  RuleBuilder b(c, op);
  c.add(op.getOperand(), b.div(c.of(op), inverse(b, op.getOperand(), op.getResult())));
}

/// A step: flat wherever it has a derivative.
template <typename Op> void flat(Op, Cotangents &) {}

static Value square(RuleBuilder &b, Value a) { return b.mul(a, a); }

static Value ofExp(RuleBuilder &, Value, Value y) { return y; }
static Value ofExp2(RuleBuilder &b, Value, Value y) { return b.mul(y, std::numbers::ln2); }
static Value ofExpM1(RuleBuilder &b, Value, Value y) { return b.add(y, b.like(y, 1)); }
static Value identity(RuleBuilder &, Value x, Value) { return x; }
static Value ofLog1p(RuleBuilder &b, Value x, Value) { return b.add(x, b.like(x, 1)); }
static Value ofLog2(RuleBuilder &b, Value x, Value) { return b.mul(x, std::numbers::ln2); }
static Value ofLog10(RuleBuilder &b, Value x, Value) { return b.mul(x, std::numbers::ln10); }
static Value ofSqrt(RuleBuilder &b, Value, Value y) { return b.mul(y, 2); }
static Value ofRsqrt(RuleBuilder &b, Value, Value y) { return b.mul(b.mul(square(b, y), y), -0.5); }
static Value ofTanh(RuleBuilder &b, Value, Value y) { return b.sub(b.like(y, 1), square(b, y)); }
static Value ofErf(RuleBuilder &b, Value x, Value) {
  Value bell = b.create<math::ExpOp>(b.neg(square(b, x)));
  return b.mul(bell, 2 * std::numbers::inv_sqrtpi);
}
static Value ofErfc(RuleBuilder &b, Value x, Value y) { return b.neg(ofErf(b, x, y)); }
static Value ofSin(RuleBuilder &b, Value x, Value) { return b.create<math::CosOp>(x); }
static Value ofCos(RuleBuilder &b, Value x, Value) { return b.neg(b.create<math::SinOp>(x)); }
static Value ofTan(RuleBuilder &b, Value, Value y) { return b.add(square(b, y), b.like(y, 1)); }
static Value ofAtan(RuleBuilder &b, Value x, Value) { return b.add(square(b, x), b.like(x, 1)); }
static Value ofAsin(RuleBuilder &b, Value x, Value) {
  return b.create<math::SqrtOp>(b.sub(b.like(x, 1), square(b, x)));
}
static Value ofAcos(RuleBuilder &b, Value x, Value y) { return b.neg(ofAsin(b, x, y)); }
static Value ofSinh(RuleBuilder &b, Value x, Value) { return b.create<math::CoshOp>(x); }
static Value ofCosh(RuleBuilder &b, Value x, Value) { return b.create<math::SinhOp>(x); }
static Value ofAsinh(RuleBuilder &b, Value x, Value) {
  return b.create<math::SqrtOp>(b.add(square(b, x), b.like(x, 1)));
}
static Value ofAcosh(RuleBuilder &b, Value x, Value) {
  return b.create<math::SqrtOp>(b.sub(square(b, x), b.like(x, 1)));
}
static Value ofAtanh(RuleBuilder &b, Value x, Value) { return b.sub(b.like(x, 1), square(b, x)); }
static Value ofAbs(RuleBuilder &b, Value x, Value) { return b.sign(x); }

static void power(math::PowFOp op, Cotangents &c) {
  RuleBuilder b(c, op);
  Value base = op.getLhs(), exponent = op.getRhs(), zero = b.like(base, 0);
  if (c.needs(base)) {
    Value lower = b.create<math::PowFOp>(base, b.sub(exponent, b.like(exponent, 1)));
    Value slope = b.mul(exponent, lower);
    Value constant = b.compare(P::OEQ, exponent, zero);
    c.add(base, b.select(constant, zero, b.mul(c.of(op), slope)));
  }
  if (c.needs(exponent)) {
    // 0^y is flat in y > 0, where log(0) * 0 would be NaN.
    Value isZero = b.create<arith::AndIOp>(b.compare(P::OEQ, base, zero),
                                           b.compare(P::OGE, exponent, zero));
    Value log = b.create<math::LogOp>(b.select(isZero, b.like(base, 1), base));
    c.add(exponent, b.mul(c.of(op), b.mul(op.getResult(), log)));
  }
}

static void arcTangent2(math::Atan2Op op, Cotangents &c) {
  RuleBuilder b(c, op);
  Value y = op.getLhs(), x = op.getRhs();
  Value share = b.div(c.of(op), b.add(square(b, x), square(b, y)));
  if (c.needs(y))
    c.add(y, b.mul(share, x));
  if (c.needs(x))
    c.add(x, b.neg(b.mul(share, y)));
}

static void multiplyAdd(math::FmaOp op, Cotangents &c) {
  RuleBuilder b(c, op);
  if (c.needs(op.getA()))
    c.add(op.getA(), b.mul(c.of(op), op.getB()));
  if (c.needs(op.getB()))
    c.add(op.getB(), b.mul(c.of(op), op.getA()));
  c.add(op.getC(), c.of(op));
}

/// |x| with the sign of another.
static void copySign(math::CopySignOp op, Cotangents &c) {
  RuleBuilder b(c, op);
  if (!c.needs(op.getLhs()))
    return;
  Value sign = b.create<math::CopySignOp>(b.sign(op.getLhs()), b.mul(b.sign(op.getLhs()), op.getRhs()));
  c.add(op.getLhs(), b.mul(c.of(op), sign));
}

void derivatives::attachElementary(MLIRContext *context) {
  attach<math::ExpOp, chain<math::ExpOp, ofExp>>(context);
  attach<math::Exp2Op, chain<math::Exp2Op, ofExp2>>(context);
  attach<math::ExpM1Op, chain<math::ExpM1Op, ofExpM1>>(context);
  attach<math::LogOp, chainInverse<math::LogOp, identity>>(context);
  attach<math::Log1pOp, chainInverse<math::Log1pOp, ofLog1p>>(context);
  attach<math::Log2Op, chainInverse<math::Log2Op, ofLog2>>(context);
  attach<math::Log10Op, chainInverse<math::Log10Op, ofLog10>>(context);
  attach<math::SqrtOp, chainInverse<math::SqrtOp, ofSqrt>>(context);
  attach<math::RsqrtOp, chain<math::RsqrtOp, ofRsqrt>>(context);
  attach<math::TanhOp, chain<math::TanhOp, ofTanh>>(context);
  attach<math::ErfOp, chain<math::ErfOp, ofErf>>(context);
  attach<math::ErfcOp, chain<math::ErfcOp, ofErfc>>(context);
  attach<math::SinOp, chain<math::SinOp, ofSin>>(context);
  attach<math::CosOp, chain<math::CosOp, ofCos>>(context);
  attach<math::TanOp, chain<math::TanOp, ofTan>>(context);
  attach<math::AtanOp, chainInverse<math::AtanOp, ofAtan>>(context);
  attach<math::AsinOp, chainInverse<math::AsinOp, ofAsin>>(context);
  attach<math::AcosOp, chainInverse<math::AcosOp, ofAcos>>(context);
  attach<math::SinhOp, chain<math::SinhOp, ofSinh>>(context);
  attach<math::CoshOp, chain<math::CoshOp, ofCosh>>(context);
  attach<math::AsinhOp, chainInverse<math::AsinhOp, ofAsinh>>(context);
  attach<math::AcoshOp, chainInverse<math::AcoshOp, ofAcosh>>(context);
  attach<math::AtanhOp, chainInverse<math::AtanhOp, ofAtanh>>(context);
  attach<math::AbsFOp, chain<math::AbsFOp, ofAbs>>(context);
  attach<math::FloorOp, flat<math::FloorOp>>(context);
  attach<math::CeilOp, flat<math::CeilOp>>(context);
  attach<math::RoundOp, flat<math::RoundOp>>(context);
  attach<math::RoundEvenOp, flat<math::RoundEvenOp>>(context);
  attach<math::TruncOp, flat<math::TruncOp>>(context);
  attach<math::PowFOp, power>(context);
  attach<math::Atan2Op, arcTangent2>(context);
  attach<math::FmaOp, multiplyAdd>(context);
  attach<math::CopySignOp, copySign>(context);
}
