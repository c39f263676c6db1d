#include "spillway/Conversion/OnnxToNN/KnownValues.h"

#include "spillway/Conversion/OnnxToNN/Tensor.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace spillway;

namespace {

/// The elements of a constant that is small enough to be computed with; null for other values.
DenseElementsAttr knownConstant(Value value) {
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : nullptr;
  auto count = elements ? elementCount(elements.getType().getShape()) : std::nullopt;
  return count && *count <= KnownValues::maxElements ? elements : nullptr;
}

} // namespace

Value KnownValues::fold(Operation *op) {
  Value result = op->getResult(0);
  auto type = cast<RankedTensorType>(result.getType());
  auto count = elementCount(type.getShape());
  // The work of these is not bounded by the sizes of their operands and result.
  if (!count || *count > maxElements || isa<nn::AttentionOp, nn::ConvOp>(op) ||
      !llvm::all_of(op->getOperands(), [&](Value operand) { return isKnown(operand); }))
    return result;
  SmallVector<TensorValue> operands, results;
  for (Value operand : op->getOperands())
    operands.push_back(*lookup(operand));
  std::string reason;
  if (failed(evaluate(op, operands, results, reason)))
    return result;
  TensorValue &value = results.front();
  int64_t bytes = nn::tensorBytes(type);
  if (bytes <= maxAttributeBytes || value.isSplat()) {
    OpBuilder builder(op);
    result = arith::ConstantOp::create(builder, op->getLoc(), value.toAttr());
    op->erase();
  } else if (reserve(bytes)) {
    record(result, std::move(value));
  }
  return result;
}

bool KnownValues::reserve(int64_t bytes) {
  if (bytes > maxHeldBytes - heldBytes)
    return false;
  heldBytes += bytes;
  return true;
}

bool KnownValues::isKnown(Value value) const {
  return tensors.contains(value) || knownConstant(value);
}

std::optional<TensorValue> KnownValues::lookup(Value value) const {
  if (auto found = tensors.find(value); found != tensors.end())
    return found->second;
  auto elements = knownConstant(value);
  auto tensor = elements ? TensorValue::fromAttr(elements) : FailureOr<TensorValue>();
  return failed(tensor) ? std::nullopt : std::optional(*std::move(tensor));
}

DenseElementsAttr spillway::splatConstant(Value value) {
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : nullptr;
  return elements && elements.isSplat() ? elements : nullptr;
}

namespace {

template <typename T> SmallVector<int64_t> toIntegers(const TensorValue &tensor) {
  SmallVector<int64_t> values;
  for (T element : tensor.get<T>())
    values.push_back(static_cast<int64_t>(element));
  return values;
}

} // namespace

SmallVector<int64_t> spillway::asIntegers(const TensorValue &tensor, bool isUnsigned) {
  assert(!isa<FloatType>(tensor.getElementType()) && "floats are no integers");
  switch (nn::elementBytes(tensor.getElementType())) {
  case 1:
    return isUnsigned ? toIntegers<uint8_t>(tensor) : toIntegers<int8_t>(tensor);
  case 2:
    return isUnsigned ? toIntegers<uint16_t>(tensor) : toIntegers<int16_t>(tensor);
  case 4:
    return isUnsigned ? toIntegers<uint32_t>(tensor) : toIntegers<int32_t>(tensor);
  default:
    return toIntegers<int64_t>(tensor);
  }
}

std::vector<long double> spillway::asNumbers(const TensorValue &tensor, bool isUnsigned) {
  std::vector<long double> numbers;
  if (!isa<FloatType>(tensor.getElementType())) {
    for (int64_t value : asIntegers(tensor, isUnsigned))
      numbers.push_back(isUnsigned ? static_cast<long double>(static_cast<uint64_t>(value))
                                   : static_cast<long double>(value));
    return numbers;
  }
  for (APFloat value : tensor.toAttr().getValues<APFloat>()) {
    bool losesInfo;
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
    numbers.push_back(value.convertToDouble());
  }
  return numbers;
}

double spillway::asDouble(const TensorValue &tensor, bool isUnsigned) {
  return static_cast<double>(asNumbers(tensor, isUnsigned).front());
}
