#include "spillway/Conversion/NNToVector/LegalizeNumbers.h"

#include "spillway/Conversion/NNToVector/ElementaryFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/X86Vector/X86VectorDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace spillway;

namespace {

bool isSmallFloat(Type type) { return isa<Float16Type, BFloat16Type>(getElementTypeOrSelf(type)); }

/// `element` in the shape of `like`.
Type shaped(Type like, Type element) {
  auto vector = dyn_cast<VectorType>(like);
  return vector ? VectorType::get(vector.getShape(), element) : element;
}

//===----------------------------------------------------------------------===//
// Conversions of small floats
//===----------------------------------------------------------------------===//

class Numbers {
public:
  explicit Numbers(Operation *op) : b(op->getLoc(), op) {}

  Value integer(Type type, int64_t value) {
    TypedAttr attr = b.getIntegerAttr(getElementTypeOrSelf(type), value);
    if (auto vector = dyn_cast<VectorType>(type))
      attr = DenseElementsAttr::get(vector, Attribute(attr));
    return arith::ConstantOp::create(b, attr);
  }

  Value number(Type type, double value) {
    TypedAttr attr = b.getFloatAttr(getElementTypeOrSelf(type), value);
    if (auto vector = dyn_cast<VectorType>(type))
      attr = DenseElementsAttr::get(vector, Attribute(attr));
    return arith::ConstantOp::create(b, attr);
  }

  /// bf16, f16 or f32 to f32 or f64. Exact.
  Value extend(Value value, Type to) {
    Type from = value.getType();
    if (getElementTypeOrSelf(from).isBF16()) {
      Type half = shaped(from, b.getI16Type()), word = shaped(from, b.getI32Type());
      Value bits = arith::ExtUIOp::create(b, word, arith::BitcastOp::create(b, half, value));
      value = arith::BitcastOp::create(b, shaped(from, b.getF32Type()),
                                       arith::ShLIOp::create(b, bits, integer(word, 16)));
    }
    return value.getType() == to ? value : arith::ExtFOp::create(b, to, value);
  }

  /// f32 or f64 to bf16 or f16, rounded once to nearest even.
  Value truncate(Value value, Type to) {
    if (getElementTypeOrSelf(value.getType()).isF64())
      value = roundToOdd(value);
    if (!getElementTypeOrSelf(to).isBF16())
      return arith::TruncFOp::create(b, to, value);
    Type word = shaped(to, b.getI32Type()), half = shaped(to, b.getI16Type());
    Value bits = arith::BitcastOp::create(b, word, value);
    Value high = arith::ShRUIOp::create(b, bits, integer(word, 16));
    Value odd = arith::AndIOp::create(b, high, integer(word, 1));
    Value bias = arith::AddIOp::create(b, odd, integer(word, 0x7fff));
    Value rounded =
        arith::ShRUIOp::create(b, arith::AddIOp::create(b, bits, bias), integer(word, 16));
    Value quiet = arith::OrIOp::create(b, high, integer(word, 0x40));
    Value nan = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, value, value);
    Value chosen = arith::SelectOp::create(b, nan, quiet, rounded);
    return arith::BitcastOp::create(b, to, arith::TruncIOp::create(b, half, chosen));
  }

  /// An i64 as one that an f64 holds and that rounds to bf16 as it does: from 2^53 on, the 11 lowest bits
  /// are left out, and the one above them is set where they were not zero.
  Value narrowed(Value value, bool isUnsigned) {
    Type type = value.getType();
    Value lowest = arith::AndIOp::create(b, value, integer(type, 0x7ff));
    Value inexact = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, lowest, integer(type, 0));
    Value high = arith::SubIOp::create(b, value, lowest);
    Value odd = arith::OrIOp::create(b, high, integer(type, 0x800));
    Value rounded = arith::SelectOp::create(b, inexact, odd, high);
    int64_t limit = int64_t(1) << 53;
    Value distance = isUnsigned ? value : arith::AddIOp::create(b, value, integer(type, limit));
    Value isLarge = arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, distance,
                                          integer(type, isUnsigned ? limit : 2 * limit));
    return arith::SelectOp::create(b, isLarge, rounded, value);
  }

  ImplicitLocOpBuilder b;

private:
  /// f64 to f32 such that rounding once more to a shorter type gives what rounding once
  /// would have given: inexact results get an odd mantissa.
  Value roundToOdd(Value value) {
    Type wide = value.getType(), word = shaped(wide, b.getI32Type());
    Type single = shaped(wide, b.getF32Type());
    Value nearest = arith::TruncFOp::create(b, single, value);
    Value back = arith::ExtFOp::create(b, wide, nearest);
    Value away = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, math::AbsFOp::create(b, back),
                                       math::AbsFOp::create(b, value));
    Value bits = arith::BitcastOp::create(b, word, nearest);
    Value towardsZero =
        arith::SelectOp::create(b, away, arith::SubIOp::create(b, bits, integer(word, 1)), bits);
    Value odd = arith::OrIOp::create(b, towardsZero, integer(word, 1));
    Value inexact = arith::CmpFOp::create(b, arith::CmpFPredicate::ONE, back, value);
    return arith::BitcastOp::create(b, single, arith::SelectOp::create(b, inexact, odd, bits));
  }
};

void replace(Operation *op, Value value) {
  op->getResult(0).replaceAllUsesWith(value);
  op->erase();
}

/// Computes an operation on f16 or bf16 in f32 (conversions of integers to bf16 in f64, which holds
/// what their rounding depends on).
void widen(Operation *op) {
  Numbers numbers(op);
  Type result = op->getResult(0).getType();
  if (isa<arith::ExtFOp>(op))
    return replace(op, numbers.extend(op->getOperand(0), result));
  if (isa<arith::TruncFOp>(op)) {
    Value value = op->getOperand(0);
    if (isSmallFloat(value.getType()))
      value = numbers.extend(value, shaped(result, numbers.b.getF32Type()));
    return replace(op, numbers.truncate(value, result));
  }
  bool fromInteger = isa<arith::SIToFPOp, arith::UIToFPOp>(op);
  Type wide = fromInteger && getElementTypeOrSelf(result).isBF16() ? Type(numbers.b.getF64Type())
                                                                   : Type(numbers.b.getF32Type());
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    if (isSmallFloat(operand.getType()))
      operand = numbers.extend(operand, shaped(operand.getType(), wide));
    else if (wide.isF64() && getElementTypeOrSelf(operand).isInteger(64))
      operand = numbers.narrowed(operand, isa<arith::UIToFPOp>(op));
    operands.push_back(operand);
  }
  Type computed = isSmallFloat(result) ? shaped(result, wide) : result;
  Operation *clone = Operation::create(op->getLoc(), op->getName(), TypeRange(computed), operands,
                                       op->getDiscardableAttrDictionary(),
                                       op->getPropertiesStorage(), BlockRange(), 0u);
  Value value = numbers.b.insert(clone)->getResult(0);
  replace(op, computed == result ? value : numbers.truncate(value, result));
}

bool movesBits(Operation *op) {
  return isa<arith::ConstantOp, arith::BitcastOp, arith::SelectOp, arith::NegFOp, math::AbsFOp,
             math::CopySignOp>(op);
}

bool computesSmallFloats(Operation *op) {
  return OpTrait::hasElementwiseMappableTraits(op) && op->getNumResults() == 1 && !movesBits(op) &&
         (llvm::any_of(op->getOperandTypes(), isSmallFloat) ||
          isSmallFloat(op->getResult(0).getType()));
}

//===----------------------------------------------------------------------===//
// bf16 as bits
//===----------------------------------------------------------------------===//

// Scalars of bf16 that are only moved (out of a masked load, into a vector) still pass
// through f32 and a library call in LLVM. Once nothing computes with bf16, all that
// moves it moves i16.

bool isBF16(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return (shaped ? shaped.getElementType() : type).isBF16();
}

Type asBits(Type type) {
  Type bits = IntegerType::get(type.getContext(), 16);
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped ? Type(shaped.clone(bits)) : bits;
}

bool changesSignOfBF16(Operation *op) {
  return isa<arith::NegFOp, math::AbsFOp, math::CopySignOp>(op) &&
         isBF16(op->getResult(0).getType());
}

void changeSign(Operation *op) {
  Numbers numbers(op);
  ImplicitLocOpBuilder &b = numbers.b;
  Type type = op->getResult(0).getType(), bits = asBits(type);
  Value sign = numbers.integer(bits, -0x8000), rest = numbers.integer(bits, 0x7fff);
  auto operand = [&](unsigned i) -> Value {
    return arith::BitcastOp::create(b, bits, op->getOperand(i));
  };
  Value result;
  if (isa<arith::NegFOp>(op))
    result = arith::XOrIOp::create(b, operand(0), sign);
  else
    result = arith::AndIOp::create(b, operand(0), rest);
  if (isa<math::CopySignOp>(op))
    result = arith::OrIOp::create(b, result, arith::AndIOp::create(b, operand(1), sign));
  replace(op, arith::BitcastOp::create(b, type, result));
}

/// The instruction for products takes them as they are.
bool givesDotOperand(Operation *op) {
  return isa<vector::BitCastOp>(op) && !op->use_empty() &&
         llvm::all_of(op->getUsers(), llvm::IsaPred<x86vector::DotBF16Op>);
}

bool touchesBF16(Operation *op) {
  if (givesDotOperand(op))
    return false;
  auto hasBF16Argument = [](Region &region) {
    return llvm::any_of(region.getBlocks(), [](Block &block) {
      return llvm::any_of(block.getArgumentTypes(), isBF16);
    });
  };
  return llvm::any_of(op->getResultTypes(), isBF16) ||
         (isa<arith::BitcastOp>(op) && isBF16(op->getOperand(0).getType())) ||
         llvm::any_of(op->getRegions(), hasBF16Argument);
}

void moveBits(Operation *op) {
  if (auto global = dyn_cast<memref::GetGlobalOp>(op)) {
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    auto cast = UnrealizedConversionCastOp::create(
        builder, op->getLoc(), TypeRange(asBits(global.getType())), ValueRange(global.getResult()));
    global.getResult().replaceAllUsesExcept(cast.getResult(0), cast);
    return;
  }
  auto retype = [](Value value) {
    if (isBF16(value.getType()))
      value.setType(asBits(value.getType()));
  };
  for (Region &region : op->getRegions())
    for (Block &block : region)
      llvm::for_each(block.getArguments(), retype);
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    Type bits = IntegerType::get(op->getContext(), 16);
    if (auto elements = dyn_cast<DenseElementsAttr>(constant.getValue()))
      constant.setValueAttr(elements.bitcast(bits));
    else
      constant.setValueAttr(
          IntegerAttr::get(bits, cast<FloatAttr>(constant.getValue()).getValue().bitcastToAPInt()));
  }
  llvm::for_each(op->getResults(), retype);
  if (isa<arith::BitcastOp>(op) && op->getOperand(0).getType() == op->getResult(0).getType())
    replace(op, op->getOperand(0));
}

// LLVM joins a scalar's conversions from f64 to f32 and on to f16: that rounds differently and
// calls a library. A conversion with a rounding mode of its own stays.

bool narrowsScalarToF32(Operation *op) {
  return isa<arith::TruncFOp>(op) && op->getOperand(0).getType().isF64() &&
         op->getResult(0).getType().isF32();
}

void roundOnItsOwn(Operation *op) {
  cast<arith::TruncFOp>(op).setRoundingmode(arith::RoundingMode::to_nearest_even);
}

//===----------------------------------------------------------------------===//
// Floats to integers
//===----------------------------------------------------------------------===//

bool isFloatToInteger(Operation *op) { return isa<arith::FPToSIOp, arith::FPToUIOp>(op); }

/// What does not fit becomes the lowest or highest integer, a NaN zero.
void saturate(Operation *op) {
  Numbers numbers(op);
  ImplicitLocOpBuilder &b = numbers.b;
  Value x = op->getOperand(0);
  Type to = op->getResult(0).getType(), from = x.getType();
  bool isSigned = isa<arith::FPToSIOp>(op);
  unsigned width = getElementTypeOrSelf(to).getIntOrFloatBitWidth();
  APInt lowest = isSigned ? APInt::getSignedMinValue(width) : APInt::getZero(width);
  APInt highest = isSigned ? APInt::getSignedMaxValue(width) : APInt::getMaxValue(width);
  double end = std::ldexp(1.0, static_cast<int>(isSigned ? width - 1 : width));
  Value low = numbers.number(from, isSigned ? -end : 0), high = numbers.number(from, end);
  auto compare = [&](arith::CmpFPredicate predicate, Value bound) -> Value {
    return arith::CmpFOp::create(b, predicate, x, bound);
  };
  Value fits = arith::AndIOp::create(b, compare(arith::CmpFPredicate::OGT, low),
                                     compare(arith::CmpFPredicate::OLT, high));
  op->setOperand(0, arith::SelectOp::create(b, fits, x, numbers.number(from, 0)));
  b.setInsertionPointAfter(op);
  Value result = op->getResult(0);
  Value raised = arith::SelectOp::create(b, compare(arith::CmpFPredicate::OLE, low),
                                         numbers.integer(to, lowest.getSExtValue()), result);
  Value saturated = arith::SelectOp::create(b, compare(arith::CmpFPredicate::OGE, high),
                                            numbers.integer(to, highest.getSExtValue()), raised);
  result.replaceAllUsesExcept(saturated, raised.getDefiningOp());
}

//===----------------------------------------------------------------------===//
// Integer division
//===----------------------------------------------------------------------===//

bool isDivision(Operation *op) {
  return isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::FloorDivSIOp,
             arith::CeilDivSIOp, arith::CeilDivUIOp>(op);
}

/// Quotient and remainder towards zero that trap for no operands.
std::pair<Value, Value> divideSafely(Numbers &numbers, Value lhs, Value rhs, bool isSigned) {
  ImplicitLocOpBuilder &b = numbers.b;
  Type type = lhs.getType();
  Value zero = numbers.integer(type, 0), one = numbers.integer(type, 1);
  APInt divisor;
  bool constant = matchPattern(rhs, m_ConstantInt(&divisor));
  auto is = [&](int64_t value) -> Value {
    if (constant && divisor != APInt(divisor.getBitWidth(), value, /*isSigned=*/true,
                                     /*implicitTrunc=*/true))
      return {};
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, rhs, numbers.integer(type, value));
  };
  Value byZero = is(0), byMinusOne = isSigned ? is(-1) : Value();
  Value safe = rhs;
  for (Value special : {byZero, byMinusOne})
    if (special)
      safe = arith::SelectOp::create(b, special, one, safe);
  Value quotient = isSigned ? arith::DivSIOp::create(b, lhs, safe).getResult()
                            : arith::DivUIOp::create(b, lhs, safe).getResult();
  Value remainder = isSigned ? arith::RemSIOp::create(b, lhs, safe).getResult()
                             : arith::RemUIOp::create(b, lhs, safe).getResult();
  if (byMinusOne)
    quotient =
        arith::SelectOp::create(b, byMinusOne, arith::SubIOp::create(b, zero, lhs), quotient);
  if (byZero)
    quotient = arith::SelectOp::create(b, byZero, zero, quotient);
  return {quotient, remainder};
}

void makeSafe(Operation *op) {
  Numbers numbers(op);
  ImplicitLocOpBuilder &b = numbers.b;
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  bool isSigned = !isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp>(op);
  auto [quotient, remainder] = divideSafely(numbers, lhs, rhs, isSigned);
  if (isa<arith::DivSIOp, arith::DivUIOp>(op))
    return replace(op, quotient);
  if (isa<arith::RemSIOp, arith::RemUIOp>(op))
    return replace(op, remainder);

  // Rounding away from zero where the exact quotient has that sign.
  Type type = lhs.getType();
  Value zero = numbers.integer(type, 0);
  Value inexact = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, remainder, zero);
  Value adjust = inexact;
  if (isSigned) {
    Value signs = arith::XOrIOp::create(b, remainder, rhs);
    auto predicate =
        isa<arith::FloorDivSIOp>(op) ? arith::CmpIPredicate::slt : arith::CmpIPredicate::sge;
    adjust = arith::AndIOp::create(b, inexact, arith::CmpIOp::create(b, predicate, signs, zero));
  }
  int64_t step = isa<arith::FloorDivSIOp>(op) ? -1 : 1;
  Value moved = arith::AddIOp::create(b, quotient, numbers.integer(type, step));
  replace(op, arith::SelectOp::create(b, adjust, moved, quotient));
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

struct LegalizeNumbers : PassWrapper<LegalizeNumbers, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LegalizeNumbers)

  StringRef getArgument() const override { return "legalize-numbers"; }
  StringRef getDescription() const override {
    return "Rewrites arithmetic that needs a library or traps";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry
        .insert<arith::ArithDialect, math::MathDialect, scf::SCFDialect, vector::VectorDialect>();
  }

  void runOnOperation() override {
    rewrite(computesSmallFloats, widen);
    rewrite(changesSignOfBF16, changeSign);
    rewrite(touchesBF16, moveBits);
    rewrite(isFloatToInteger, saturate);
    rewrite(isDivision, makeSafe);
    rewrite(kernels::isElementaryFunction, [&](Operation *op) {
      ImplicitLocOpBuilder builder(op->getLoc(), op);
      if (Value value = kernels::expandElementaryFunction(builder, op))
        return replace(op, value);
      op->emitOpError("has no code for this machine");
      signalPassFailure();
    });
    rewrite(narrowsScalarToF32, roundOnItsOwn);
  }

private:
  void rewrite(function_ref<bool(Operation *)> applies, function_ref<void(Operation *)> rewrite) {
    SmallVector<Operation *> found;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (applies(op))
        found.push_back(op);
    });
    for (Operation *op : found)
      rewrite(op);
  }
};

} // namespace

std::unique_ptr<Pass> kernels::createLegalizeNumbersPass() {
  return std::make_unique<LegalizeNumbers>();
}

void kernels::registerLegalizeNumbersPass() { PassRegistration<LegalizeNumbers>(); }
