#include "spillway/Support/ElementType.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace spillway;

Type spillway::elementType(MLIRContext *context, DataType type) {
  Builder b(context);
  switch (type) {
  case DataType::f64:
    return b.getF64Type();
  case DataType::f32:
    return b.getF32Type();
  case DataType::f16:
    return b.getF16Type();
  case DataType::bf16:
    return b.getBF16Type();
  case DataType::boolean:
    return b.getI1Type();
  default:
    return b.getIntegerType(static_cast<unsigned>(byteWidth(type) * 8));
  }
}

std::optional<DataType> spillway::dataTypeOf(Type element) {
  if (element.isF32())
    return DataType::f32;
  if (element.isF64())
    return DataType::f64;
  if (element.isF16())
    return DataType::f16;
  if (element.isBF16())
    return DataType::bf16;
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer)
    return std::nullopt;
  bool isUnsigned = integer.isUnsigned();
  switch (integer.getWidth()) {
  case 1:
    return DataType::boolean;
  case 8:
    return isUnsigned ? DataType::u8 : DataType::i8;
  case 16:
    return isUnsigned ? DataType::u16 : DataType::i16;
  case 32:
    return isUnsigned ? DataType::u32 : DataType::i32;
  case 64:
    return isUnsigned ? DataType::u64 : DataType::i64;
  default:
    return std::nullopt;
  }
}

FailureOr<FloatType> spillway::storedTypeOf(MLIRContext *context, StringRef precision) {
  if (precision == "fp32")
    return FloatType();
  if (precision == "bf16")
    return FloatType(BFloat16Type::get(context));
  if (precision == "fp16")
    return FloatType(Float16Type::get(context));
  return failure();
}
