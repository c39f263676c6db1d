#include "spillway/Conversion/NNToVector/ElementaryFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include <bit>
#include <limits>

using namespace mlir;
using namespace spillway;

namespace {

/// Arithmetic on scalars or vectors of one float type, with its integers of the same width.
class Numbers {
public:
  Numbers(ImplicitLocOpBuilder &builder, Type type) : b(builder), type(type) {
    Type integer = b.getIntegerType(getElementTypeOrSelf(type).getIntOrFloatBitWidth());
    integers = shaped(integer);
  }

  bool isDouble() const { return getElementTypeOrSelf(type).isF64(); }
  Type shaped(Type element) const {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? VectorType::get(vector.getShape(), element) : element;
  }

  Value c(double value) { return splat(type, b.getFloatAttr(getElementTypeOrSelf(type), value)); }
  Value ci(int64_t value) {
    return splat(integers, b.getIntegerAttr(getElementTypeOrSelf(integers), value));
  }

  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, x, y); }
  Value neg(Value x) { return arith::NegFOp::create(b, x); }
  Value fma(Value x, Value y, Value z) { return math::FmaOp::create(b, x, y, z); }
  Value abs(Value x) { return math::AbsFOp::create(b, x); }
  Value sqrt(Value x) { return math::SqrtOp::create(b, x); }
  Value trunc(Value x) { return math::TruncOp::create(b, x); }
  Value copySign(Value magnitude, Value sign) {
    return math::CopySignOp::create(b, magnitude, sign);
  }
  /// NaN where x is.
  Value clamp(Value x, double low, double high) {
    return arith::MaximumFOp::create(b, arith::MinimumFOp::create(b, x, c(high)), c(low));
  }
  Value select(Value condition, Value yes, Value no) {
    return arith::SelectOp::create(b, condition, yes, no);
  }
  Value less(Value x, Value y) { return compare(arith::CmpFPredicate::OLT, x, y); }
  Value equal(Value x, Value y) { return compare(arith::CmpFPredicate::OEQ, x, y); }
  Value unequal(Value x, Value y) { return compare(arith::CmpFPredicate::UNE, x, y); }
  Value both(Value x, Value y) { return arith::AndIOp::create(b, x, y); }

  Value bits(Value x) { return arith::BitcastOp::create(b, integers, x); }
  Value fromBits(Value x) { return arith::BitcastOp::create(b, type, x); }
  Value addI(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value subI(Value x, Value y) { return arith::SubIOp::create(b, x, y); }
  Value mulI(Value x, Value y) { return arith::MulIOp::create(b, x, y); }
  Value andI(Value x, Value y) { return arith::AndIOp::create(b, x, y); }
  Value orI(Value x, Value y) { return arith::OrIOp::create(b, x, y); }
  Value shl(Value x, Value y) { return arith::ShLIOp::create(b, x, y); }
  Value shr(Value x, Value y) { return arith::ShRUIOp::create(b, x, y); }
  Value sar(Value x, Value y) { return arith::ShRSIOp::create(b, x, y); }
  Value isOdd(Value x) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, andI(x, ci(1)), ci(0));
  }

  /// x^0 .. x^n by Horner's rule: the first coefficient is that of x^0.
  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value result = c(coefficients.back());
    for (double coefficient : llvm::reverse(coefficients.drop_back()))
      result = fma(result, x, c(coefficient));
    return result;
  }

  /// A small integer near x, as float and integer; unspecified bits where x is NaN or large.
  std::pair<Value, Value> nearest(Value x) {
    Value shifted = add(x, c(shifter()));
    return {sub(shifted, c(shifter())), subI(bits(shifted), ci(shifterBits()))};
  }
  /// A small integer as a float.
  Value toFloat(Value integer) {
    return sub(fromBits(addI(integer, ci(shifterBits()))), c(shifter()));
  }
  /// 2^n for n in the exponent range of normal numbers.
  Value power2(Value n) {
    return fromBits(shl(addI(n, ci(isDouble() ? 1023 : 127)), ci(mantissaBits())));
  }
  int64_t mantissaBits() const { return isDouble() ? 52 : 23; }

  ImplicitLocOpBuilder &b;
  Type type, integers;

private:
  /// 1.5 * 2^mantissaBits: what is added to it is rounded to an integer in its low bits.
  double shifter() const { return isDouble() ? 0x1.8p52 : 0x1.8p23; }
  int64_t shifterBits() const {
    return isDouble() ? std::bit_cast<int64_t>(0x1.8p52) : std::bit_cast<int32_t>(0x1.8p23f);
  }
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) {
    return arith::CmpFOp::create(b, predicate, x, y);
  }
  Value splat(Type type, TypedAttr value) {
    if (auto vector = dyn_cast<VectorType>(type))
      value = DenseElementsAttr::get(vector, Attribute(value));
    return arith::ConstantOp::create(b, value);
  }
};

/// Whether a condition holds in some lane.
Value anyLane(Numbers &f, Value condition) {
  if (!isa<VectorType>(condition.getType()))
    return condition;
  return vector::ReductionOp::create(f.b, vector::CombiningKind::OR, condition);
}

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double quietNaN = std::numeric_limits<double>::quiet_NaN();

//===----------------------------------------------------------------------===//
// Exponentials
//===----------------------------------------------------------------------===//

/// e^x = 2^n * (1 + tail): |x - n ln 2| <= ln 2 / 2.
struct ReducedExp {
  /// n.
  Value exponent;
  /// e^(x - n ln 2) - 1.
  Value tail;
};

/// e^r - 1 for |r| <= ln 2 / 2.
Value expTail(Numbers &f, Value r) {
  if (!f.isDouble()) {
    // (e^r - 1 - r) / r^2 interpolated at Chebyshev points.
    Value p = f.polynomial(r, {0.500000001346, 0.166666666816, 0.041666465006, 0.00833331093445,
                               0.0013933641032, 0.000198909808698});
    return f.fma(f.mul(r, r), p, r);
  }
  // Taylor, to r^13 / 13!.
  double coefficients[12], factorial = 1;
  for (int i = 0; i < 12; ++i) {
    factorial *= i + 2;
    coefficients[i] = 1 / factorial;
  }
  return f.fma(f.mul(r, r), f.polynomial(r, coefficients), r);
}

/// x must lie where n is a small integer.
ReducedExp reduceExp(Numbers &f, Value x) {
  auto [n, exponent] = f.nearest(f.mul(x, f.c(0x1.71547652b82fep0)));
  Value minusN = f.neg(n);
  // ln 2 in two parts.
  Value r = f.fma(minusN, f.c(f.isDouble() ? 0x1.62e42fefa39efp-1 : 0x1.62e43p-1), x);
  r = f.fma(minusN, f.c(f.isDouble() ? 0x1.abc9e3b39803fp-56 : -0x1.05c61p-29), r);
  return {exponent, expTail(f, r)};
}

/// 2^exponent * (1 + tail), which may be denormal: in two factors.
Value scaleExp(Numbers &f, const ReducedExp &reduced) {
  Value first = f.sar(reduced.exponent, f.ci(1));
  Value scale = f.power2(first), rest = f.power2(f.subI(reduced.exponent, first));
  return f.mul(f.fma(scale, reduced.tail, scale), rest);
}

// Arguments are clamped to where the result is infinite or zero already.

Value exp(Numbers &f, Value x) {
  Value inside = f.isDouble() ? f.clamp(x, -746, 710) : f.clamp(x, -104, 89);
  return scaleExp(f, reduceExp(f, inside));
}

Value exp2(Numbers &f, Value x) {
  Value inside = f.clamp(x, -1076, 1025);
  auto [n, exponent] = f.nearest(inside);
  Value r = f.mul(f.sub(inside, n), f.c(0x1.62e42fefa39efp-1));
  return scaleExp(f, {exponent, expTail(f, r)});
}

Value expm1(Numbers &f, Value x) {
  Value inside = f.isDouble() ? f.clamp(x, -40, 710) : f.clamp(x, -20, 89);
  ReducedExp reduced = reduceExp(f, inside);
  // Half of it: 2^(n - 1) is finite.
  Value scale = f.power2(f.subI(reduced.exponent, f.ci(1)));
  Value half = f.fma(scale, reduced.tail, f.sub(scale, f.c(0.5)));
  Value tiny = f.less(f.abs(x), f.c(f.isDouble() ? 0x1p-54 : 0x1p-25));
  return f.select(tiny, x, f.add(half, half));
}

//===----------------------------------------------------------------------===//
// Logarithms, after fdlibm (Sun Microsystems): f64 only
//===----------------------------------------------------------------------===//

constexpr double ln2High = 6.93147180369123816490e-01, ln2Low = 1.90821492927058770002e-10;

/// log(1 + f) - f + f^2 / 2 for 1 + f between sqrt(1/2) and sqrt(2).
Value logTail(Numbers &f, Value x) {
  Value s = f.div(x, f.add(x, f.c(2)));
  Value z = f.mul(s, s);
  Value r = f.mul(z, f.polynomial(z, {6.666666666666735130e-01, 3.999999999940941908e-01,
                                      2.857142874366239149e-01, 2.222219843214978396e-01,
                                      1.818357216161805012e-01, 1.531383769920937332e-01,
                                      1.479819860511658591e-01}));
  return f.mul(s, f.fma(f.mul(x, x), f.c(0.5), r));
}

/// u = 2^k * m with m between sqrt(1/2) and sqrt(2), for positive normal u: k and m.
std::pair<Value, Value> splitExponent(Numbers &f, Value u) {
  constexpr int64_t one = 0x3ff0000000000000, rootHalf = 0x3fe6a09e00000000;
  Value shifted = f.addI(f.bits(u), f.ci(one - rootHalf));
  Value k = f.subI(f.shr(shifted, f.ci(52)), f.ci(1023));
  Value m = f.addI(f.andI(shifted, f.ci(0x000fffffffffffff)), f.ci(rootHalf));
  return {k, f.fromBits(m)};
}

/// What log and log1p give for arguments (x of log) that have no or no finite logarithm.
Value logSpecials(Numbers &f, Value result, Value x) {
  result = f.select(f.equal(x, f.c(infinity)), x, result);
  result = f.select(f.equal(x, f.c(0)), f.c(-infinity), result);
  return f.select(f.less(x, f.c(0)), f.c(quietNaN), f.select(f.unequal(x, x), x, result));
}

Value log(Numbers &f, Value x) {
  Value small = f.less(x, f.c(0x1p-1022));
  auto [k, m] = splitExponent(f, f.select(small, f.mul(x, f.c(0x1p54)), x));
  Value exponent = f.toFloat(k);
  exponent = f.select(small, f.sub(exponent, f.c(54)), exponent);
  Value part = f.sub(m, f.c(1));
  Value half = f.mul(f.mul(part, part), f.c(0.5));
  Value low = f.fma(exponent, f.c(ln2Low), logTail(f, part));
  Value result = f.fma(exponent, f.c(ln2High), f.add(f.sub(low, half), part));
  return logSpecials(f, result, x);
}

Value log1p(Numbers &f, Value x) {
  Value u = f.add(x, f.c(1));
  auto [k, m] = splitExponent(f, u);
  Value exponent = f.toFloat(k);
  // What u lost, as a part of log u.
  Value large = f.less(f.c(1), x);
  Value lost = f.select(large, f.sub(f.c(1), f.sub(u, x)), f.sub(x, f.sub(u, f.c(1))));
  Value correction = f.div(lost, u);
  // Near zero x itself is the part.
  Value near = f.equal(exponent, f.c(0));
  Value part = f.select(near, x, f.sub(m, f.c(1)));
  correction = f.select(near, f.c(0), correction);
  Value half = f.mul(f.mul(part, part), f.c(0.5));
  Value low = f.add(f.fma(exponent, f.c(ln2Low), correction), logTail(f, part));
  Value result = f.fma(exponent, f.c(ln2High), f.add(f.sub(low, half), part));
  result = logSpecials(f, result, u);
  return f.select(f.less(f.abs(x), f.c(0x1p-54)), x, result);
}

//===----------------------------------------------------------------------===//
// Hyperbolic functions
//===----------------------------------------------------------------------===//

Value tanh(Numbers &f, Value x) {
  // t / (t + 2) with t = e^(2|x|) - 1, by its negative argument, which does not overflow.
  Value t = expm1(f, f.mul(f.abs(x), f.c(-2)));
  Value result = f.div(f.neg(t), f.add(t, f.c(2)));
  return f.copySign(result, x);
}

/// The polynomial is cephes'.
Value tanhSingle(Numbers &f, Value x) {
  Value square = f.mul(x, x);
  Value p = f.polynomial(square, {-3.33332819422e-1, 1.33314422036e-1, -5.37397155531e-2,
                                  2.06390887954e-2, -5.70498872745e-3});
  Value small = f.fma(f.mul(p, square), x, x);
  Value magnitude = f.abs(x);
  Value e = exp(f, f.add(magnitude, magnitude));
  Value large = f.sub(f.c(1), f.div(f.c(2), f.add(e, f.c(1))));
  // The small branch makes a zero of -0.
  return f.copySign(f.select(f.less(magnitude, f.c(0.625)), small, large), x);
}

Value sinh(Numbers &f, Value x) {
  Value magnitude = f.abs(x);
  Value t = expm1(f, magnitude);
  Value small = f.mul(f.add(t, f.div(t, f.add(t, f.c(1)))), f.c(0.5));
  Value root = exp(f, f.mul(magnitude, f.c(0.5)));
  Value large = f.mul(f.mul(root, f.c(0.5)), root);
  return f.copySign(f.select(f.less(magnitude, f.c(22)), small, large), x);
}

Value cosh(Numbers &f, Value x) {
  Value root = exp(f, f.mul(f.abs(x), f.c(0.5)));
  Value half = f.mul(f.mul(root, f.c(0.5)), root);
  return f.add(half, f.div(f.c(0.25), half));
}

Value asinh(Numbers &f, Value x) {
  Value magnitude = f.abs(x);
  Value square = f.mul(magnitude, magnitude);
  Value root = f.sqrt(f.add(square, f.c(1)));
  Value small = log1p(f, f.add(magnitude, f.div(square, f.add(root, f.c(1)))));
  Value large = f.add(log(f, magnitude), f.c(0x1.62e42fefa39efp-1));
  return f.copySign(f.select(f.less(magnitude, f.c(0x1p28)), small, large), x);
}

Value acosh(Numbers &f, Value x) {
  Value t = f.sub(x, f.c(1));
  Value small = log1p(f, f.add(t, f.sqrt(f.fma(t, t, f.add(t, t)))));
  Value large = f.add(log(f, x), f.c(0x1.62e42fefa39efp-1));
  Value result = f.select(f.less(f.c(0x1p28), x), large, small);
  return f.select(f.less(x, f.c(1)), f.c(quietNaN), result);
}

Value atanh(Numbers &f, Value x) {
  Value magnitude = f.abs(x);
  Value ratio = f.div(f.add(magnitude, magnitude), f.sub(f.c(1), magnitude));
  return f.copySign(f.mul(log1p(f, ratio), f.c(0.5)), x);
}

//===----------------------------------------------------------------------===//
// Error function
//===----------------------------------------------------------------------===//

/// e^(x^2) erfc(x) for x in [0.45, 28], by interpolation in (x - 4) / (x + 4).
Value scaledErfc(Numbers &f, Value x) {
  Value sum = f.add(x, f.c(4));
  Value u = f.div(f.sub(x, f.c(4)), sum);
  Value p = f.polynomial(
      u, {1.09599566100049112,      -0.976548729080881955,     0.773208702265236586,
          -0.540853831313239091,    0.330851587878050277,      -0.174010937239819937,
          0.0763815149082342705,    -0.0263700533417293499,    0.00611205567091084847,
          -0.000280958857136585911, -0.000455052808577172967,  0.000176812796561783659,
          -3.63454045479927195e-6,  -0.0000188608901912214285, 4.69238671741008118e-6,
          1.42435777696906976e-6,   -8.42081090606714833e-7,   -7.59220541705594253e-8,
          1.19064479281110877e-7,   1.25175291012669904e-9,    -1.19953461430265754e-8});
  return f.div(p, sum);
}

/// erf(x) / x - 2 / sqrt(pi), as a multiple of x^2: Taylor, for |x| <= 1.
Value erfSeries(Numbers &f, Value square) {
  double coefficients[19], factorial = 1;
  for (int n = 1; n < 20; ++n) {
    factorial *= n;
    coefficients[n - 1] = (n % 2 ? -1 : 1) * 1.12837916709551257390 / (factorial * (2 * n + 1));
  }
  return f.mul(square, f.polynomial(square, coefficients));
}

Value erf(Numbers &f, Value x) {
  Value magnitude = f.clamp(f.abs(x), 0, 6.2);
  Value square = f.mul(magnitude, magnitude);
  Value small =
      f.fma(f.abs(x), f.c(0.12837916709551257390), f.fma(f.abs(x), erfSeries(f, square), f.abs(x)));
  Value tail = f.mul(exp(f, f.neg(square)), scaledErfc(f, magnitude));
  Value result = f.select(f.less(magnitude, f.c(1)), small, f.sub(f.c(1), tail));
  return f.copySign(result, x);
}

Value erfc(Numbers &f, Value x) {
  Value magnitude = f.clamp(f.abs(x), 0, 28), square = f.mul(magnitude, magnitude);
  Value small =
      f.sub(f.c(1), f.fma(x, f.c(1.12837916709551257390), f.mul(x, erfSeries(f, square))));
  Value tail = f.mul(exp(f, f.neg(square)), scaledErfc(f, magnitude));
  Value large = f.select(f.less(x, f.c(0)), f.sub(f.c(2), tail), tail);
  return f.select(f.less(magnitude, f.c(0.5)), small, large);
}

/// The polynomials are N. Juffa's.
Value erfSingle(Numbers &f, Value x) {
  Value t = f.clamp(f.abs(x), 0, 4), s = f.mul(t, t);
  Value r = f.fma(f.c(-1.72853470e-5), t, f.c(3.83197126e-4));
  Value u = f.fma(f.c(-3.88396438e-3), t, f.c(2.42546219e-2));
  r = f.fma(r, s, u);
  for (double coefficient : {-1.06777877e-1, -6.34846687e-1, -1.28717512e-1})
    r = f.fma(r, t, f.c(coefficient));
  r = f.fma(r, t, f.neg(t));
  Value large = f.copySign(f.sub(f.c(1), exp(f, r)), x);
  Value small = f.polynomial(s, {1.28379166e-1, -3.76125336e-1, 1.12819925e-1, -2.67681349e-2,
                                 4.99119423e-3, -5.96761703e-4});
  small = f.fma(small, x, x);
  return f.select(f.less(f.c(0.927734375), t), large, small);
}

//===----------------------------------------------------------------------===//
// Trigonometric functions
//===----------------------------------------------------------------------===//

/// x = n pi/2 + high + low, |high| <= pi/4. The low bits of n are the quadrant.
struct ReducedAngle {
  Value quadrant, high, low;
};

/// pi/2 in three parts, for |x| up to 2^30.
ReducedAngle reduceAngle(Numbers &f, Value x) {
  auto [n, quadrant] = f.nearest(f.mul(x, f.c(0x1.45f306dc9c883p-1)));
  Value minusN = f.neg(n);
  Value first = f.fma(minusN, f.c(0x1.921fb54442d18p0), x);
  Value high = f.fma(minusN, f.c(0x1.1a62633145c07p-54), first);
  Value low = f.fma(minusN, f.c(0x1.1a62633145c07p-54), f.sub(first, high));
  low = f.fma(minusN, f.c(-0x1.f1976b7ed8fbcp-110), low);
  return {quadrant, high, low};
}

/// The same for any finite f32 from 2 on (held in an f64), after Payne and Hanek: a window of
/// the bits of 2/pi times the mantissa, in 32-bit limbs.
ReducedAngle reduceLargeAngle(Numbers &f, Value x) {
  static constexpr int64_t twoOverPi[] = {0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0,
                                          0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561};
  // |x| = mantissa * 2^shift / 2^23 with 24 bits of mantissa and 0 < shift < 128.
  Value magnitude = f.bits(f.abs(x));
  Value shift = f.subI(f.shr(magnitude, f.ci(52)), f.ci(1023));
  Value mantissa = f.orI(f.andI(f.shr(magnitude, f.ci(52 - 23)), f.ci(0x7fffff)), f.ci(0x800000));
  // Bits of 2/pi whose product with the mantissa is below 4: those from weight
  // 2^(24 - shift) on; a leading zero limb stands for what lies before the first bit.
  Value position = f.addI(shift, f.ci(32 - 23 - 2));
  Value limb = f.shr(position, f.ci(5)), offset = f.andI(position, f.ci(31));
  auto word = [&](int ahead) {
    Value result = f.ci(0);
    for (int first = 0; first < 5; ++first) {
      int index = first + ahead - 1;
      Value is = arith::CmpIOp::create(f.b, arith::CmpIPredicate::eq, limb, f.ci(first));
      result = f.select(is, f.ci(index < 0 ? 0 : twoOverPi[index]), result);
    }
    return result;
  };
  Value words[] = {word(0), word(1), word(2), word(3)};
  auto window = [&](int i) {
    Value joined = f.orI(f.shl(words[i], f.ci(32)), words[i + 1]);
    return f.andI(f.shr(joined, f.subI(f.ci(32), offset)), f.ci(0xffffffff));
  };
  // 96 bits of (|x| * 2/pi mod 4) / 4.
  Value low = f.mulI(window(2), mantissa);
  Value middle = f.addI(f.mulI(window(1), mantissa), f.shr(low, f.ci(32)));
  Value high = f.addI(f.mulI(window(0), mantissa), f.shr(middle, f.ci(32)));
  Value fraction = f.orI(f.shl(high, f.ci(32)), f.andI(middle, f.ci(0xffffffff)));
  // Nearest quadrant, and what remains of it in [-1/2, 1/2): 62 bits.
  Value quadrant = f.shr(f.addI(fraction, f.ci(int64_t(1) << 61)), f.ci(62));
  Value rest = f.sar(f.shl(fraction, f.ci(2)), f.ci(2));
  // As a sum of two floats, each exact.
  Value upper = f.toFloat(f.sar(rest, f.ci(31))), lower = f.toFloat(f.andI(rest, f.ci(0x7fffffff)));
  Value part = f.fma(upper, f.c(0x1p-31), f.mul(lower, f.c(0x1p-62)));
  Value angle = f.mul(part, f.c(0x1.921fb54442d18p0));
  // The quadrant and the rest of a negative angle are those of its magnitude, negated.
  Value negative = f.less(x, f.c(0));
  return {f.select(negative, f.subI(f.ci(0), quadrant), quadrant),
          f.select(negative, f.neg(angle), angle), f.c(0)};
}

/// Reduced angle of an argument that comes from an f32 or is one of f64.
ReducedAngle reduceAnyAngle(Numbers &f, Value x, bool single) {
  ReducedAngle moderate = reduceAngle(f, x);
  if (!single)
    return moderate;
  Value isLarge = f.less(f.c(0x1p20), f.abs(x));
  auto branch = scf::IfOp::create(f.b, TypeRange{f.integers, f.type, f.type}, anyLane(f, isLarge),
                                  /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(f.b);
    f.b.setInsertionPointToStart(branch.thenBlock());
    ReducedAngle large = reduceLargeAngle(f, x);
    scf::YieldOp::create(f.b, ValueRange{f.select(isLarge, large.quadrant, moderate.quadrant),
                                         f.select(isLarge, large.high, moderate.high),
                                         f.select(isLarge, large.low, moderate.low)});
    f.b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(f.b, ValueRange{moderate.quadrant, moderate.high, moderate.low});
  }
  return {branch.getResult(0), branch.getResult(1), branch.getResult(2)};
}

/// sin and cos on [-pi/4, pi/4]; the polynomials are fdlibm's.
std::pair<Value, Value> sinCosKernel(Numbers &f, const ReducedAngle &angle) {
  Value x = angle.high, z = f.mul(x, x);
  Value s = f.polynomial(z, {-1.66666666666666324348e-01, 8.33333333332248946124e-03,
                             -1.98412698298579493134e-04, 2.75573137070700676789e-06,
                             -2.50507602534068634195e-08, 1.58969099521155010221e-10});
  Value sine = f.add(x, f.fma(f.mul(z, x), s, angle.low));
  Value q = f.polynomial(z, {4.16666666666666019037e-02, -1.38888888888741095749e-03,
                             2.48015872894767294178e-05, -2.75573143513906633035e-07,
                             2.08757232129817482790e-09, -1.13596475577881948265e-11});
  Value half = f.mul(z, f.c(0.5)), one = f.sub(f.c(1), half);
  Value lost = f.sub(f.sub(f.c(1), one), half);
  Value cosine = f.add(one, f.add(lost, f.fma(f.mul(z, z), q, f.neg(f.mul(x, angle.low)))));
  return {sine, cosine};
}

Value finiteOnly(Numbers &f, Value result, Value x) {
  return f.select(f.less(f.abs(x), f.c(infinity)), result, f.c(quietNaN));
}

/// sin(x), or cos(x) as the sine of the next quadrant.
Value sinCos(Numbers &f, Value x, bool cosine, bool single) {
  ReducedAngle angle = reduceAnyAngle(f, x, single);
  auto [s, c] = sinCosKernel(f, angle);
  Value quadrant = cosine ? f.addI(angle.quadrant, f.ci(1)) : angle.quadrant;
  Value result = f.select(f.isOdd(quadrant), c, s);
  result = f.select(f.isOdd(f.shr(quadrant, f.ci(1))), f.neg(result), result);
  if (!cosine)
    result = f.select(f.equal(x, f.c(0)), x, result);
  return finiteOnly(f, result, x);
}

Value tan(Numbers &f, Value x, bool single) {
  ReducedAngle angle = reduceAnyAngle(f, x, single);
  auto [s, c] = sinCosKernel(f, angle);
  Value odd = f.isOdd(angle.quadrant);
  Value result = f.div(f.select(odd, f.neg(c), s), f.select(odd, s, c));
  result = f.select(f.equal(x, f.c(0)), x, result);
  return finiteOnly(f, result, x);
}

/// fdlibm's polynomial, on one eighth of the circle.
Value atan(Numbers &f, Value x) {
  Value magnitude = f.abs(x);
  Value beyond = f.less(f.c(1), magnitude);
  Value inside = f.select(beyond, f.div(f.c(1), magnitude), magnitude);
  Value shifted = f.less(f.c(0.41421356237309503), inside);
  Value t = f.select(shifted, f.div(f.sub(inside, f.c(1)), f.add(inside, f.c(1))), inside);
  Value z = f.mul(t, t);
  Value p = f.polynomial(
      z, {3.33333333333329318027e-01, -1.99999999998764832476e-01, 1.42857142725034663711e-01,
          -1.11111104054623557880e-01, 9.09088713343650656196e-02, -7.69187620504482999495e-02,
          6.66107313738753120669e-02, -5.83357013379057348645e-02, 4.97687799461593236017e-02,
          -3.65315727442169155270e-02, 1.62858201153657823623e-02});
  Value angle = f.sub(t, f.mul(f.mul(t, z), p));
  constexpr double quarter = 0x1.921fb54442d18p-1, quarterLow = 0x1.1a62633145c07p-55;
  angle = f.select(shifted, f.add(f.c(quarter), f.add(angle, f.c(quarterLow))), angle);
  Value rest = f.sub(f.c(2 * quarter), f.sub(angle, f.c(2 * quarterLow)));
  return f.copySign(f.select(beyond, rest, angle), x);
}

Value asin(Numbers &f, Value x) {
  Value root = f.sqrt(f.mul(f.sub(f.c(1), x), f.add(f.c(1), x)));
  return atan(f, f.div(x, root));
}

Value acos(Numbers &f, Value x) {
  Value half = atan(f, f.sqrt(f.div(f.sub(f.c(1), x), f.add(f.c(1), x))));
  return f.add(half, half);
}

Value atan2(Numbers &f, Value y, Value x) {
  // The angle of the first octants, from the smaller over the larger; equal infinities make 1.
  Value absY = f.abs(y), absX = f.abs(x);
  Value ratio = f.div(absY, absX);
  Value same = f.equal(absY, absX);
  ratio = f.select(same, f.select(f.equal(absY, f.c(0)), f.c(0), f.c(1)), ratio);
  Value angle = atan(f, ratio);
  constexpr double pi = 0x1.921fb54442d18p1, piLow = 0x1.1a62633145c07p-53;
  Value signX = f.copySign(f.c(1), x);
  angle = f.select(f.less(signX, f.c(0)), f.sub(f.c(pi), f.sub(angle, f.c(piLow))), angle);
  Value nan = f.add(x, y);
  Value unordered = f.both(f.unequal(nan, nan), f.unequal(absY, absX));
  Value isNaN = arith::OrIOp::create(f.b, f.unequal(x, x), f.unequal(y, y));
  return f.select(f.both(unordered, isNaN), nan, f.copySign(angle, y));
}

//===----------------------------------------------------------------------===//
// Powers
//===----------------------------------------------------------------------===//

/// The value of a constant in all lanes.
std::optional<double> constantValue(Value value) {
  if (auto broadcast = value.getDefiningOp<vector::BroadcastOp>())
    value = broadcast.getSource();
  if (APFloat constant(0.0); matchPattern(value, m_ConstantFloat(&constant))) {
    bool lost;
    constant.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
    return constant.convertToDouble();
  }
  return std::nullopt;
}

Value pow(Numbers &f, Value x, Value y, std::optional<double> constantY) {
  if (constantY == 2)
    return f.mul(x, x);
  if (constantY == 3)
    return f.mul(f.mul(x, x), x);
  Value magnitude = f.abs(x);
  Value result = exp(f, f.mul(y, log(f, magnitude)));
  // 0 * infinity above is 1 by convention.
  Value one = f.c(1), zero = f.c(0);
  result = f.select(f.both(f.equal(magnitude, one), f.equal(y, y)), one, result);

  Value whole = f.equal(f.trunc(y), y);
  Value halfY = f.mul(y, f.c(0.5));
  Value odd = f.both(whole, f.unequal(f.trunc(halfY), halfY));
  Value negative = f.less(f.copySign(one, x), zero);
  result = f.select(f.both(negative, odd), f.neg(result), result);
  Value fractional = f.unequal(f.trunc(y), y);
  Value finite = f.both(f.less(x, zero), f.less(magnitude, f.c(infinity)));
  result = f.select(f.both(finite, fractional), f.c(quietNaN), result);

  result = f.select(f.equal(x, one), one, result);
  return f.select(f.equal(y, zero), one, result);
}

//===----------------------------------------------------------------------===//
// Remainder
//===----------------------------------------------------------------------===//

/// Exponent of a positive float, denormal ones included.
Value exponentOf(Numbers &f, Value x) {
  Value small = f.less(x, f.c(0x1p-1022));
  Value scaled = f.select(small, f.mul(x, f.c(0x1p54)), x);
  Value bias = f.select(small, f.ci(1023 + 54), f.ci(1023));
  return f.subI(f.shr(f.bits(scaled), f.ci(52)), bias);
}

/// x - trunc(x / y) * y, exact, in f64: long division by 27 bits of the quotient at a time.
Value remainder(Numbers &f, Value x, Value y) {
  Value magnitude = f.abs(x), divisor = f.abs(y);
  Value defined = f.both(f.less(magnitude, f.c(infinity)), f.less(f.c(0), divisor));
  Value start = f.select(defined, magnitude, f.c(0));
  divisor = f.select(defined, divisor, f.c(1));
  Value divisorExponent = exponentOf(f, divisor);
  auto isOpen = [&](Value rest) {
    return arith::CmpFOp::create(f.b, arith::CmpFPredicate::OGE, rest, divisor).getResult();
  };
  auto loop = scf::WhileOp::create(
      f.b, TypeRange(f.type), ValueRange(start),
      [&](OpBuilder &, Location, ValueRange carried) {
        scf::ConditionOp::create(f.b, anyLane(f, isOpen(carried[0])), carried);
      },
      [&](OpBuilder &, Location, ValueRange carried) {
        Value rest = carried[0];
        Value distance = f.subI(f.subI(exponentOf(f, rest), divisorExponent), f.ci(27));
        Value shift = arith::MaxSIOp::create(f.b, distance, f.ci(0));
        // No factor leaves the exponents of normal numbers: 2^shift itself may.
        Value scaled = divisor;
        for (int part = 0; part < 3; ++part) {
          Value step = arith::MinSIOp::create(f.b, shift, f.ci(1000));
          scaled = f.mul(scaled, f.power2(step));
          shift = f.subI(shift, step);
        }
        Value next = f.fma(f.neg(f.trunc(f.div(rest, scaled))), scaled, rest);
        // The quotient may have been rounded up to the next integer.
        next = f.select(f.less(next, f.c(0)), f.add(next, scaled), next);
        scf::YieldOp::create(f.b, ValueRange(f.select(isOpen(rest), next, rest)));
      });
  return f.select(defined, f.copySign(loop.getResult(0), x), f.c(quietNaN));
}

//===----------------------------------------------------------------------===//
// By operation
//===----------------------------------------------------------------------===//

/// Functions with code for f32; null for others.
Value expandSingle(Numbers &f, Operation *op) {
  Value x = op->getOperand(0);
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<math::ExpOp>([&](auto) { return exp(f, x); })
      .Case<math::ErfOp>([&](auto) { return erfSingle(f, x); })
      .Case<math::TanhOp>([&](auto) { return tanhSingle(f, x); })
      .Default(Value());
}

/// In f64; `single` says that the operands are f32 extended.
Value expandDouble(Numbers &f, Operation *op, ValueRange operands, bool single) {
  Value x = operands[0];
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<math::ExpOp>([&](auto) { return exp(f, x); })
      .Case<math::Exp2Op>([&](auto) { return exp2(f, x); })
      .Case<math::ExpM1Op>([&](auto) { return expm1(f, x); })
      .Case<math::LogOp>([&](auto) { return log(f, x); })
      .Case<math::Log1pOp>([&](auto) { return log1p(f, x); })
      .Case<math::Log2Op>([&](auto) { return f.mul(log(f, x), f.c(0x1.71547652b82fep0)); })
      .Case<math::Log10Op>([&](auto) { return f.mul(log(f, x), f.c(0x1.bcb7b1526e50ep-2)); })
      .Case<math::TanhOp>([&](auto) { return tanh(f, x); })
      .Case<math::SinhOp>([&](auto) { return sinh(f, x); })
      .Case<math::CoshOp>([&](auto) { return cosh(f, x); })
      .Case<math::AsinhOp>([&](auto) { return asinh(f, x); })
      .Case<math::AcoshOp>([&](auto) { return acosh(f, x); })
      .Case<math::AtanhOp>([&](auto) { return atanh(f, x); })
      .Case<math::ErfOp>([&](auto) { return erf(f, x); })
      .Case<math::ErfcOp>([&](auto) { return erfc(f, x); })
      .Case<math::SinOp>([&](auto) { return sinCos(f, x, /*cosine=*/false, single); })
      .Case<math::CosOp>([&](auto) { return sinCos(f, x, /*cosine=*/true, single); })
      .Case<math::TanOp>([&](auto) { return tan(f, x, single); })
      .Case<math::AtanOp>([&](auto) { return atan(f, x); })
      .Case<math::AsinOp>([&](auto) { return asin(f, x); })
      .Case<math::AcosOp>([&](auto) { return acos(f, x); })
      .Case<math::Atan2Op>([&](auto) { return atan2(f, x, operands[1]); })
      .Case<math::PowFOp>(
          [&](auto) { return pow(f, x, operands[1], constantValue(op->getOperand(1))); })
      .Case<arith::RemFOp>([&](auto) { return remainder(f, x, operands[1]); })
      .Default(Value());
}

} // namespace

bool kernels::isElementaryFunction(Operation *op) {
  if (isa<arith::RemFOp>(op))
    return true;
  return op->getDialect() && isa<math::MathDialect>(op->getDialect()) && op->getNumResults() == 1 &&
         isa<Float32Type, Float64Type>(getElementTypeOrSelf(op->getResult(0))) &&
         !isa<math::AbsFOp, math::CeilOp, math::FloorOp, math::RoundOp, math::RoundEvenOp,
              math::TruncOp, math::CopySignOp, math::SqrtOp, math::RsqrtOp, math::FmaOp>(op);
}

Value kernels::expandElementaryFunction(ImplicitLocOpBuilder &builder, Operation *op) {
  Type type = op->getResult(0).getType();
  Numbers single(builder, type);
  if (single.isDouble())
    return expandDouble(single, op, op->getOperands(), /*single=*/false);
  if (Value value = expandSingle(single, op))
    return value;
  Numbers wide(builder, single.shaped(builder.getF64Type()));
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    if (operand.getType() != type)
      return {};
    operands.push_back(arith::ExtFOp::create(builder, wide.type, operand));
  }
  Value value = expandDouble(wide, op, operands, /*single=*/true);
  return value ? arith::TruncFOp::create(builder, type, value).getResult() : Value();
}
