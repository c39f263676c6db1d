#include "lib/Conversion/OnnxToNN/KnownValues.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace spillway;

Value KnownValues::fold(Operation *op) {
  Value result = op->getResult(0);
  auto type = cast<RankedTensorType>(result.getType());
  if (type.getNumElements() > maxElements)
    return result;
  SmallVector<TensorValue> operands, results;
  for (Value operand : op->getOperands()) {
    const TensorValue *known = lookup(operand);
    if (!known)
      return result;
    operands.push_back(*known);
  }
  std::string reason;
  if (failed(evaluate(op, operands, results, reason)))
    return result;
  DenseElementsAttr attr;
  if (nn::tensorBytes(type) <= maxAttributeBytes)
    attr = results.front().toAttr();
  else if (DenseElementsAttr all = results.front().toAttr(); all.isSplat())
    attr = all;
  if (attr) {
    OpBuilder builder(op);
    result = arith::ConstantOp::create(builder, op->getLoc(), attr);
    op->erase();
  }
  record(result, std::move(results.front()));
  return result;
}

Value KnownValues::materialize(OpBuilder &builder, Location location, DenseElementsAttr value) {
  Value result = arith::ConstantOp::create(builder, location, value);
  if (value.getNumElements() <= maxElements)
    if (auto tensor = TensorValue::fromAttr(value); succeeded(tensor))
      record(result, *tensor);
  return result;
}

const TensorValue *KnownValues::lookup(Value value) const {
  auto found = tensors.find(value);
  return found == tensors.end() ? nullptr : &found->second;
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
  Type element = tensor.getElementType();
  if (element.isF32())
    return toIntegers<float>(tensor);
  if (element.isF64())
    return toIntegers<double>(tensor);
  switch (nn::elementBytes(element)) {
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

double spillway::asDouble(const TensorValue &tensor, bool isUnsigned) {
  Type element = tensor.getElementType();
  if (!isa<FloatType>(element))
    return static_cast<double>(asIntegers(tensor, isUnsigned).front());
  APFloat value = *tensor.toAttr().value_begin<APFloat>();
  bool losesInfo;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
  return value.convertToDouble();
}
