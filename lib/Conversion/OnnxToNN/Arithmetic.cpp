// Arithmetic and elementary functions, element by element.

#include "spillway/Conversion/OnnxToNN/Node.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace spillway;

namespace {

using BinaryMethod = Tensor (Emitter::*)(Tensor, Tensor);
using UnaryMethod = Tensor (Emitter::*)(Tensor);

template <BinaryMethod method> LogicalResult convertBinary(Node &node) {
  auto inputs = node.broadcastInputs();
  if (failed(inputs))
    return failure();
  return node.result((node.emit.*method)((*inputs)[0], (*inputs)[1]));
}

template <UnaryMethod method> LogicalResult convertUnary(Node &node) {
  return node.result((node.emit.*method)(node.in(0)));
}

template <typename Op> LogicalResult convertFunction(Node &node) {
  return node.result(node.emit.unary<Op>(node.in(0)));
}

LogicalResult convertReciprocal(Node &node) {
  return node.result(node.emit.div(node.emit.like(node.in(0), 1), node.in(0)));
}

LogicalResult convertSign(Node &node) {
  Emitter &emit = node.emit;
  Tensor x = node.in(0), zero = emit.like(x, 0);
  // NaN and the sign of zero stay, and the slope at zero is zero.
  Tensor level = isFloat(x.type) ? emit.mul(x, zero) : zero;
  Tensor sign = emit.select(emit.compare(Emitter::Order::greater, x, zero), emit.like(x, 1), level);
  if (isUnsigned(x.type))
    return node.result(sign);
  return node.result(
      emit.select(emit.compare(Emitter::Order::less, x, zero), emit.like(x, -1), sign));
}

/// Python's modulo: the result has the sign of the divisor.
Tensor floorMod(Emitter &emit, Tensor a, Tensor b) {
  Tensor rest = emit.rem(a, b);
  if (isUnsigned(a.type))
    return rest;
  Tensor zero = emit.like(a, 0);
  auto isNegative = [&](Tensor x) { return emit.compare(Emitter::Order::less, x, zero); };
  Tensor isZero = emit.compare(Emitter::Order::equal, rest, zero);
  Tensor corrects = emit.logicalAnd(emit.logicalXor(isNegative(rest), isNegative(b)),
                                    emit.logicalNot(isZero));
  return emit.select(corrects, emit.add(rest, b), rest);
}

LogicalResult convertMod(Node &node) {
  bool truncates = node.attr("fmod", int64_t{0}) != 0;
  auto inputs = node.broadcastInputs();
  if (failed(inputs))
    return failure();
  if (!truncates && isFloat(node.in(0).type))
    return node.error() << "floating-point operands need fmod = 1";
  Emitter &emit = node.emit;
  Tensor a = (*inputs)[0], b = (*inputs)[1];
  return node.result(truncates ? emit.rem(a, b) : floorMod(emit, a, b));
}

/// Shifts by the width and more give zero.
template <typename Shift> Tensor shifted(Emitter &emit, Tensor x, Tensor count) {
  Tensor width = emit.splatInt(x.type, x.shape(), static_cast<int64_t>(byteWidth(x.type)) * 8);
  Tensor fits = emit.compare(Emitter::Order::less, count, width);
  Tensor zero = emit.like(x, 0), safe = emit.select(fits, count, zero);
  return emit.select(fits, {emit.create<Shift>(x.value, safe.value), x.type}, zero);
}

LogicalResult convertBitShift(Node &node) {
  StringRef direction = node.attr("direction", StringRef(""));
  if (direction != "LEFT" && direction != "RIGHT")
    return node.error() << "the direction must be LEFT or RIGHT, not '" << direction << "'";
  auto inputs = node.broadcastInputs();
  if (failed(inputs))
    return failure();
  if (!isUnsigned(node.in(0).type))
    return node.error() << "operands must be unsigned, not " << name(node.in(0).type);
  Tensor x = (*inputs)[0], count = (*inputs)[1];
  return node.result(direction == "LEFT" ? shifted<arith::ShLIOp>(node.emit, x, count)
                                         : shifted<arith::ShRUIOp>(node.emit, x, count));
}

/// Exact in the base's type, wrapping around as its multiplication does.
Tensor integerPower(Emitter &emit, Tensor base, Tensor exponent) {
  using Order = Emitter::Order;
  Tensor zero = emit.like(exponent, 0), one = emit.like(exponent, 1);
  Tensor result = emit.like(base, 1), square = base, rest = exponent;
  int64_t bits = isUnsigned(exponent.type) ? 0 : 1;
  bits = static_cast<int64_t>(byteWidth(exponent.type)) * 8 - bits;
  if (auto value = emit.known(exponent)) {
    int64_t used = 0;
    for (int64_t element : asIntegers(*value, isUnsigned(exponent.type)))
      if (element > 0)
        used = std::max<int64_t>(used, llvm::Log2_64(static_cast<uint64_t>(element)) + 1);
    bits = std::min(bits, used);
  }
  for (int64_t bit = 0; bit < bits; ++bit) {
    Tensor isSet = emit.compare(Order::equal, emit.logicalAnd(rest, one), one);
    result = emit.select(isSet, emit.mul(result, square), result);
    if (bit + 1 == bits)
      break;
    square = emit.mul(square, square);
    rest = emit.div(rest, emit.splatInt(rest.type, rest.shape(), 2));
  }
  if (isUnsigned(exponent.type))
    return result;
  // One over a power: the reciprocal of 1 and of -1 is itself, any other truncates to zero.
  Tensor isOne = emit.compare(Order::equal, base, emit.like(base, 1));
  Tensor isNegative = emit.compare(Order::less, exponent, zero);
  Tensor small = emit.select(isOne, base, emit.like(base, 0));
  if (!isUnsigned(base.type)) {
    Tensor isOdd = emit.compare(Order::equal, emit.logicalAnd(exponent, one), one);
    Tensor minusOne = emit.like(base, -1);
    Tensor power = emit.select(isOdd, minusOne, emit.like(base, 1));
    small = emit.select(emit.compare(Order::equal, base, minusOne), power, small);
  }
  return emit.select(isNegative, small, result);
}

/// A whole number to a power in f64, which the caller truncates: where the exact result is whole, an
/// error of rounding must not take it below.
Tensor wholePower(Emitter &emit, Tensor base, Tensor exponent) {
  using Order = Emitter::Order;
  Tensor power = emit.pow(base, exponent);
  Tensor isWhole = emit.logicalAnd(
      emit.compare(Order::equal, exponent, emit.unary<math::FloorOp>(exponent)),
      emit.compare(Order::greaterOrEqual, exponent, emit.like(exponent, 0)));
  return emit.select(isWhole, emit.unary<math::RoundEvenOp>(power), power);
}

LogicalResult convertPow(Node &node) {
  auto inputs = node.broadcastPair();
  if (failed(inputs))
    return failure();
  Emitter &emit = node.emit;
  Tensor base = (*inputs)[0], exponent = (*inputs)[1];
  if (exponent.type == DataType::boolean)
    return node.error() << "the exponent must be a number";
  if (isFloat(base.type))
    return node.result(emit.pow(base, emit.cast(exponent, base.type)));
  if (isFloat(exponent.type)) {
    return node.result(emit.cast(wholePower(emit, emit.cast(base, DataType::f64),
                                            emit.cast(exponent, DataType::f64)),
                                 base.type));
  }
  return node.result(integerPower(emit, base, exponent));
}

template <BinaryMethod method, bool isMean> LogicalResult convertVariadic(Node &node) {
  auto inputs = node.broadcastInputs();
  if (failed(inputs))
    return failure();
  Emitter &emit = node.emit;
  Tensor result = inputs->front();
  for (Tensor input : llvm::drop_begin(*inputs))
    result = (emit.*method)(result, input);
  if (isMean && inputs->size() > 1)
    result = emit.div(result, emit.like(result, static_cast<double>(inputs->size())));
  return node.result(result);
}

} // namespace

void spillway::addArithmetic(OperatorTable &table) {
  constexpr auto numeric = TypeClass::numeric, floats = TypeClass::floats;
  table.add({
      {"Abs", 6, convertUnary<&Emitter::abs>, 1, 1, 1, numeric},
      {"Acos", 7, convertFunction<math::AcosOp>, 1, 1, 1, floats},
      {"Acosh", 9, convertFunction<math::AcoshOp>, 1, 1, 1, floats},
      {"Add", 1, convertBinary<&Emitter::add>, 2, 2, 1, numeric},
      {"Asin", 7, convertFunction<math::AsinOp>, 1, 1, 1, floats},
      {"Asinh", 9, convertFunction<math::AsinhOp>, 1, 1, 1, floats},
      {"Atan", 7, convertFunction<math::AtanOp>, 1, 1, 1, floats},
      {"Atanh", 9, convertFunction<math::AtanhOp>, 1, 1, 1, floats},
      {"BitShift", 11, convertBitShift, 2, 2, 1, TypeClass::integers},
      {"BitwiseAnd", 18, convertBinary<&Emitter::logicalAnd>, 2, 2, 1, TypeClass::integers},
      {"BitwiseNot", 18, convertUnary<&Emitter::logicalNot>, 1, 1, 1, TypeClass::integers},
      {"BitwiseOr", 18, convertBinary<&Emitter::logicalOr>, 2, 2, 1, TypeClass::integers},
      {"BitwiseXor", 18, convertBinary<&Emitter::logicalXor>, 2, 2, 1, TypeClass::integers},
      {"Ceil", 6, convertFunction<math::CeilOp>, 1, 1, 1, floats},
      {"Cos", 7, convertFunction<math::CosOp>, 1, 1, 1, floats},
      {"Cosh", 9, convertFunction<math::CoshOp>, 1, 1, 1, floats},
      {"Div", 1, convertBinary<&Emitter::div>, 2, 2, 1, numeric},
      {"Erf", 9, convertFunction<math::ErfOp>, 1, 1, 1, floats},
      {"Exp", 6, convertFunction<math::ExpOp>, 1, 1, 1, floats},
      {"Floor", 6, convertFunction<math::FloorOp>, 1, 1, 1, floats},
      {"Log", 6, convertFunction<math::LogOp>, 1, 1, 1, floats},
      {"Max", 6, convertVariadic<&Emitter::max, false>, 1, anyNumber, 1, numeric},
      {"Mean", 6, convertVariadic<&Emitter::add, true>, 1, anyNumber, 1, floats},
      {"Min", 6, convertVariadic<&Emitter::min, false>, 1, anyNumber, 1, numeric},
      {"Mod", 10, convertMod, 2, 2, 1, numeric},
      {"Mul", 1, convertBinary<&Emitter::mul>, 2, 2, 1, numeric},
      {"Neg", 6, convertUnary<&Emitter::neg>, 1, 1, 1, numeric},
      {"Pow", 1, convertPow, 2, 2, 1, numeric},
      {"Reciprocal", 6, convertReciprocal, 1, 1, 1, floats},
      {"Round", 11, convertFunction<math::RoundEvenOp>, 1, 1, 1, floats},
      {"Sign", 9, convertSign, 1, 1, 1, numeric},
      {"Sin", 7, convertFunction<math::SinOp>, 1, 1, 1, floats},
      {"Sinh", 9, convertFunction<math::SinhOp>, 1, 1, 1, floats},
      {"Sqrt", 6, convertFunction<math::SqrtOp>, 1, 1, 1, floats},
      {"Sub", 1, convertBinary<&Emitter::sub>, 2, 2, 1, numeric},
      {"Sum", 6, convertVariadic<&Emitter::add, false>, 1, anyNumber, 1, floats},
      {"Tan", 7, convertFunction<math::TanOp>, 1, 1, 1, floats},
      {"Tanh", 6, convertFunction<math::TanhOp>, 1, 1, 1, floats},
  });
}
