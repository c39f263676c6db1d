// Operations of arith and math on tensors.

#include "Elements.h"
#include "Evaluators.h"
#include "Numbers.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cstring>

using namespace mlir;
using namespace spillway;

namespace {

/// One elementwise operation at work. Results have the shape of the operands.
class Elementwise {
public:
  Elementwise(Operation *op, ArrayRef<TensorValue> operands)
      : operands(operands), type(cast<RankedTensorType>(op->getResult(0).getType())) {}

  /// `function` of one, two or three floats, in f32 (f64 for f64), rounded once.
  template <typename Function> TensorValue floats(Function function) const {
    return operandElement().isF64() ? floatsIn<double>(function) : floatsIn<float>(function);
  }
  /// `function` of one or two floats in a type with room to spare, rounded once.
  template <typename Function> TensorValue elementary(Function function) const {
    return operandElement().isF64() ? floatsIn<double, long double>(function)
                                    : floatsIn<float, double>(function);
  }
  /// A truth value of one or two floats.
  template <typename Function> TensorValue test(Function function) const {
    return toIntegers<double>(loadAll<double>(), function);
  }
  /// `function` of sign-extended integers; the low bits stay.
  template <typename Function> TensorValue integers(Function function) const {
    return toIntegers<int64_t>(llvm::map_to_vector<3>(operands, loadSigned), function);
  }
  template <typename Function> TensorValue unsignedIntegers(Function function) const {
    return toIntegers<uint64_t>(llvm::map_to_vector<3>(operands, loadUnsigned), function);
  }
  template <typename From> TensorValue integersToFloats(const std::vector<From> &from) const {
    return storeFloats(type, ArrayRef<long double>(std::vector<long double>(from.begin(), from.end())));
  }
  TensorValue floatsToFloats() const {
    return storeFloats(type, ArrayRef<double>(loadFloats<double>(operands[0])));
  }

  Type operandElement() const { return operands[0].getElementType(); }
  unsigned width() const { return operandElement().getIntOrFloatBitWidth(); }
  RankedTensorType resultType() const { return type; }
  const TensorValue &operand(size_t i) const { return operands[i]; }

private:
  template <typename T> SmallVector<std::vector<T>, 3> loadAll() const {
    return llvm::map_to_vector<3>(operands, [](const TensorValue &t) { return loadFloats<T>(t); });
  }

  template <typename From, typename To, typename Function>
  static std::vector<To> apply(ArrayRef<std::vector<From>> inputs, Function function) {
    using Wide = std::conditional_t<std::is_floating_point_v<To>, To, From>;
    auto at = [&](size_t operand, size_t i) { return static_cast<Wide>(inputs[operand][i]); };
    std::vector<To> results(inputs[0].size());
    for (size_t i = 0; i < results.size(); ++i) {
      if constexpr (std::is_invocable_v<Function, Wide>)
        results[i] = static_cast<To>(function(at(0, i)));
      else if constexpr (std::is_invocable_v<Function, Wide, Wide>)
        results[i] = static_cast<To>(function(at(0, i), at(1, i)));
      else
        results[i] = static_cast<To>(function(at(0, i), at(1, i), at(2, i)));
    }
    return results;
  }

  template <typename From, typename In = From, typename Function>
  TensorValue floatsIn(Function function) const {
    return storeFloats(type, ArrayRef<In>(apply<From, In>(ArrayRef<std::vector<From>>(loadAll<From>()), function)));
  }
  template <typename From, typename Function>
  TensorValue toIntegers(ArrayRef<std::vector<From>> inputs, Function function) const {
    return storeIntegers(type, apply<From, int64_t>(inputs, function));
  }

  ArrayRef<TensorValue> operands;
  RankedTensorType type;
};

bool compare(arith::CmpFPredicate predicate, double a, double b) {
  using P = arith::CmpFPredicate;
  bool unordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case P::AlwaysFalse:
    return false;
  case P::OEQ:
    return a == b;
  case P::OGT:
    return a > b;
  case P::OGE:
    return a >= b;
  case P::OLT:
    return a < b;
  case P::OLE:
    return a <= b;
  case P::ONE:
    return !unordered && a != b;
  case P::ORD:
    return !unordered;
  case P::UEQ:
    return unordered || a == b;
  case P::UGT:
    return unordered || a > b;
  case P::UGE:
    return unordered || a >= b;
  case P::ULT:
    return unordered || a < b;
  case P::ULE:
    return unordered || a <= b;
  case P::UNE:
    return a != b;
  case P::UNO:
    return unordered;
  case P::AlwaysTrue:
    return true;
  }
  llvm_unreachable("no such predicate");
}

bool compare(arith::CmpIPredicate predicate, int64_t a, int64_t b) {
  using P = arith::CmpIPredicate;
  // Sign extension keeps the order of unsigned numbers of one width.
  auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  switch (predicate) {
  case P::eq:
    return a == b;
  case P::ne:
    return a != b;
  case P::slt:
    return a < b;
  case P::sle:
    return a <= b;
  case P::sgt:
    return a > b;
  case P::sge:
    return a >= b;
  case P::ult:
    return ua < ub;
  case P::ule:
    return ua <= ub;
  case P::ugt:
    return ua > ub;
  case P::uge:
    return ua >= ub;
  }
  llvm_unreachable("no such predicate");
}

/// Truncates toward zero into [low, high]; a NaN gives 0.
template <typename Integer> int64_t saturate(double value, Integer low, Integer high) {
  double whole = std::trunc(value);
  if (std::isnan(whole))
    return 0;
  if (whole <= static_cast<double>(low))
    return static_cast<int64_t>(low);
  // The bound itself may round up, to a value that no longer fits.
  if (whole >= static_cast<double>(high))
    return static_cast<int64_t>(high);
  return static_cast<int64_t>(static_cast<Integer>(whole));
}

TensorValue select(const TensorValue &condition, const TensorValue &whenTrue,
                  const TensorValue &whenFalse) {
  TensorValue result(whenTrue.getType());
  size_t width = nn::elementBytes(whenTrue.getElementType());
  char *to = result.getMutableBytes().data();
  for (auto [i, chosen] : llvm::enumerate(condition.getBytes()))
    std::memcpy(to + i * width, (chosen ? whenTrue : whenFalse).getBytes().data() + i * width, width);
  return result;
}

/// Quotient and remainder by zero are zero; the lowest number divided by -1 wraps
/// around to itself.
TensorValue divide(const Elementwise &work, Operation *op) {
  auto signedOf = [&](auto function) {
    return work.integers([=](int64_t a, int64_t b) { return b == 0 ? 0 : function(a, b); });
  };
  auto unsignedOf = [&](auto function) {
    return work.unsignedIntegers([=](uint64_t a, uint64_t b) { return b == 0 ? 0 : function(a, b); });
  };
  if (isa<arith::DivSIOp>(op))
    return signedOf([](int64_t a, int64_t b) {
      return b == -1 ? static_cast<int64_t>(-static_cast<uint64_t>(a)) : a / b;
    });
  if (isa<arith::RemSIOp>(op))
    return signedOf([](int64_t a, int64_t b) { return b == -1 ? 0 : a % b; });
  if (isa<arith::DivUIOp>(op))
    return unsignedOf([](uint64_t a, uint64_t b) { return a / b; });
  return unsignedOf([](uint64_t a, uint64_t b) { return a % b; });
}

FailureOr<TensorValue> shift(const Elementwise &work, Operation *op, std::string &reason) {
  uint64_t width = work.width();
  if (llvm::any_of(loadUnsigned(work.operand(1)), [&](uint64_t count) { return count >= width; })) {
    reason = "shift by the width of the integers or more";
    return failure();
  }
  return TypeSwitch<Operation *, FailureOr<TensorValue>>(op)
      .Case([&](arith::ShLIOp) {
        return work.unsignedIntegers([](uint64_t a, uint64_t count) { return a << count; });
      })
      .Case([&](arith::ShRUIOp) {
        return work.unsignedIntegers([](uint64_t a, uint64_t count) { return a >> count; });
      })
      .Case([&](arith::ShRSIOp) {
        return work.integers([](int64_t a, int64_t count) { return a >> count; });
      });
}

using Dispatch = TypeSwitch<Operation *, FailureOr<TensorValue>>;

void dispatchFloats(Dispatch &dispatch, const Elementwise &work) {
  dispatch.Case([&](arith::AddFOp) { return work.floats([](auto a, auto b) { return a + b; }); })
      .Case([&](arith::SubFOp) { return work.floats([](auto a, auto b) { return a - b; }); })
      .Case([&](arith::MulFOp) { return work.floats([](auto a, auto b) { return a * b; }); })
      .Case([&](arith::DivFOp) { return work.floats([](auto a, auto b) { return a / b; }); })
      .Case([&](arith::RemFOp) {
        return work.floats([](auto a, auto b) { return std::fmod(a, b); });
      })
      .Case([&](arith::NegFOp) { return work.floats([](auto a) { return -a; }); })
      .Case([&](arith::MaximumFOp) {
        return work.floats([](auto a, auto b) { return maximum(a, b); });
      })
      .Case([&](arith::MinimumFOp) {
        return work.floats([](auto a, auto b) { return minimum(a, b); });
      })
      .Case([&](arith::CmpFOp op) {
        return work.test(
            [&](double a, double b) { return compare(op.getPredicate(), a, b); });
      })
      .Case([&](math::AbsFOp) { return work.floats([](auto a) { return std::fabs(a); }); })
      .Case([&](math::CeilOp) { return work.floats([](auto a) { return std::ceil(a); }); })
      .Case([&](math::FloorOp) { return work.floats([](auto a) { return std::floor(a); }); })
      .Case([&](math::RoundEvenOp) { return work.floats([](auto a) { return std::nearbyint(a); }); })
      .Case([&](math::RoundOp) { return work.floats([](auto a) { return std::round(a); }); })
      .Case([&](math::TruncOp) { return work.floats([](auto a) { return std::trunc(a); }); })
      .Case([&](math::CopySignOp) {
        return work.floats([](auto a, auto b) { return std::copysign(a, b); });
      })
      .Case([&](math::FmaOp) {
        return work.floats([](auto a, auto b, auto c) { return std::fma(a, b, c); });
      })
      .Case([&](math::SqrtOp) { return work.floats([](auto a) { return std::sqrt(a); }); })
      .Case([&](math::IsNaNOp) { return work.test([](double a) { return std::isnan(a); }); })
      .Case([&](math::IsInfOp) { return work.test([](double a) { return std::isinf(a); }); })
      .Case([&](math::IsFiniteOp) { return work.test([](double a) { return std::isfinite(a); }); });
}

void dispatchElementary(Dispatch &dispatch, const Elementwise &work) {
  dispatch
      .Case([&](math::RsqrtOp) {
        return work.elementary([](auto a) { return 1 / std::sqrt(a); });
      })
      .Case([&](math::ExpOp) { return work.elementary([](auto a) { return std::exp(a); }); })
      .Case([&](math::Exp2Op) { return work.elementary([](auto a) { return std::exp2(a); }); })
      .Case([&](math::ExpM1Op) { return work.elementary([](auto a) { return std::expm1(a); }); })
      .Case([&](math::LogOp) { return work.elementary([](auto a) { return std::log(a); }); })
      .Case([&](math::Log2Op) { return work.elementary([](auto a) { return std::log2(a); }); })
      .Case([&](math::Log10Op) { return work.elementary([](auto a) { return std::log10(a); }); })
      .Case([&](math::Log1pOp) { return work.elementary([](auto a) { return std::log1p(a); }); })
      .Case([&](math::TanhOp) { return work.elementary([](auto a) { return std::tanh(a); }); })
      .Case([&](math::ErfOp) { return work.elementary([](auto a) { return std::erf(a); }); })
      .Case([&](math::ErfcOp) { return work.elementary([](auto a) { return std::erfc(a); }); })
      .Case([&](math::SinOp) { return work.elementary([](auto a) { return std::sin(a); }); })
      .Case([&](math::CosOp) { return work.elementary([](auto a) { return std::cos(a); }); })
      .Case([&](math::TanOp) { return work.elementary([](auto a) { return std::tan(a); }); })
      .Case([&](math::AsinOp) { return work.elementary([](auto a) { return std::asin(a); }); })
      .Case([&](math::AcosOp) { return work.elementary([](auto a) { return std::acos(a); }); })
      .Case([&](math::AtanOp) { return work.elementary([](auto a) { return std::atan(a); }); })
      .Case([&](math::SinhOp) { return work.elementary([](auto a) { return std::sinh(a); }); })
      .Case([&](math::CoshOp) { return work.elementary([](auto a) { return std::cosh(a); }); })
      .Case([&](math::AsinhOp) { return work.elementary([](auto a) { return std::asinh(a); }); })
      .Case([&](math::AcoshOp) { return work.elementary([](auto a) { return std::acosh(a); }); })
      .Case([&](math::AtanhOp) { return work.elementary([](auto a) { return std::atanh(a); }); })
      .Case([&](math::Atan2Op) {
        return work.elementary([](auto a, auto b) { return std::atan2(a, b); });
      })
      .Case([&](math::PowFOp) {
        return work.elementary([](auto a, auto b) { return std::pow(a, b); });
      });
}

void dispatchIntegers(Dispatch &dispatch, const Elementwise &work, std::string &reason) {
  dispatch
      .Case([&](arith::AddIOp) {
        return work.unsignedIntegers([](uint64_t a, uint64_t b) { return a + b; });
      })
      .Case([&](arith::SubIOp) {
        return work.unsignedIntegers([](uint64_t a, uint64_t b) { return a - b; });
      })
      .Case([&](arith::MulIOp) {
        return work.unsignedIntegers([](uint64_t a, uint64_t b) { return a * b; });
      })
      .Case<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(
          [&](Operation *op) { return divide(work, op); })
      .Case<arith::ShLIOp, arith::ShRUIOp, arith::ShRSIOp>(
          [&](Operation *op) { return shift(work, op, reason); })
      .Case([&](arith::MaxSIOp) {
        return work.integers([](int64_t a, int64_t b) { return std::max(a, b); });
      })
      .Case([&](arith::MinSIOp) {
        return work.integers([](int64_t a, int64_t b) { return std::min(a, b); });
      })
      .Case([&](arith::MaxUIOp) {
        return work.unsignedIntegers([](uint64_t a, uint64_t b) { return std::max(a, b); });
      })
      .Case([&](arith::MinUIOp) {
        return work.unsignedIntegers([](uint64_t a, uint64_t b) { return std::min(a, b); });
      })
      .Case([&](arith::CmpIOp op) {
        return work.integers(
            [&](int64_t a, int64_t b) { return compare(op.getPredicate(), a, b); });
      })
      .Case([&](arith::AndIOp) {
        return work.integers([](int64_t a, int64_t b) { return a & b; });
      })
      .Case([&](arith::OrIOp) { return work.integers([](int64_t a, int64_t b) { return a | b; }); })
      .Case([&](arith::XOrIOp) {
        return work.integers([](int64_t a, int64_t b) { return a ^ b; });
      })
      .Case([&](math::AbsIOp) {
        return work.integers([](int64_t a) {
          return a < 0 ? static_cast<int64_t>(-static_cast<uint64_t>(a)) : a;
        });
      });
}

void dispatchCasts(Dispatch &dispatch, const Elementwise &work) {
  unsigned width = work.resultType().getElementTypeBitWidth();
  dispatch
      .Case<arith::ExtFOp, arith::TruncFOp>([&](Operation *) { return work.floatsToFloats(); })
      .Case<arith::ExtSIOp, arith::TruncIOp>(
          [&](Operation *) { return work.integers([](int64_t a) { return a; }); })
      .Case([&](arith::ExtUIOp) { return work.unsignedIntegers([](uint64_t a) { return a; }); })
      .Case([&](arith::SIToFPOp) { return work.integersToFloats(loadSigned(work.operand(0))); })
      .Case([&](arith::UIToFPOp) { return work.integersToFloats(loadUnsigned(work.operand(0))); })
      .Case([&](arith::FPToSIOp) {
        return work.test([=](double a) {
          return saturate<int64_t>(a, llvm::minIntN(width), llvm::maxIntN(width));
        });
      })
      .Case([&](arith::FPToUIOp) {
        return work.test([=](double a) { return saturate<uint64_t>(a, 0, llvm::maxUIntN(width)); });
      })
      .Case([&](arith::BitcastOp) { return work.operand(0).as(work.resultType()); });
}

} // namespace

FailureOr<TensorValue> spillway::evaluateElementwise(Operation *op, ArrayRef<TensorValue> operands,
                                                    std::string &reason) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto elements = dyn_cast<ElementsAttr>(constant.getValue());
    FailureOr<TensorValue> tensor = elements ? TensorValue::fromAttr(elements) : FailureOr<TensorValue>();
    if (failed(tensor))
      reason = "not a constant with elements";
    return tensor;
  }
  if (auto choice = dyn_cast<arith::SelectOp>(op);
      choice && isa<RankedTensorType>(choice.getCondition().getType()))
    return select(operands[0], operands[1], operands[2]);
  auto unknown = [&](Operation *op) -> FailureOr<TensorValue> {
    reason = "no meaning known for " + op->getName().getStringRef().str();
    return failure();
  };
  if (op->getNumResults() != 1 || operands.empty() ||
      !llvm::all_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>))
    return unknown(op);
  Elementwise work(op, operands);
  Dispatch dispatch(op);
  dispatchFloats(dispatch, work);
  dispatchElementary(dispatch, work);
  dispatchIntegers(dispatch, work, reason);
  dispatchCasts(dispatch, work);
  return dispatch.Default(unknown);
}
