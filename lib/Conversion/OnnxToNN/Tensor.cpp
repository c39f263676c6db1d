#include "lib/Conversion/OnnxToNN/Tensor.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace spillway;

bool spillway::isDataType(DataType type) {
  switch (type) {
  case DataType::f32:
  case DataType::u8:
  case DataType::i8:
  case DataType::u16:
  case DataType::i16:
  case DataType::i32:
  case DataType::i64:
  case DataType::boolean:
  case DataType::f16:
  case DataType::f64:
  case DataType::u32:
  case DataType::u64:
  case DataType::bf16:
    return true;
  }
  return false;
}

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

DenseElementsAttr spillway::signlessElements(DenseElementsAttr elements) {
  Type element = elements.getElementType();
  if (isa<FloatType>(element) || element.isSignlessInteger())
    return elements;
  return elements.bitcast(IntegerType::get(element.getContext(), element.getIntOrFloatBitWidth()));
}

std::optional<int64_t> spillway::elementCount(ArrayRef<int64_t> shape) {
  if (llvm::is_contained(shape, 0))
    return 0;
  int64_t count = 1;
  for (int64_t size : shape)
    if (llvm::MulOverflow(count, size, count))
      return std::nullopt;
  return count;
}

SmallVector<int64_t> spillway::allDims(int64_t rank) {
  return llvm::to_vector(llvm::seq<int64_t>(0, rank));
}

std::optional<Shape> spillway::broadcastShapes(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  if (a.size() < b.size())
    std::swap(a, b);
  Shape shape(a);
  for (size_t i = 0; i < b.size(); ++i) {
    int64_t &size = shape[shape.size() - 1 - i];
    int64_t other = b[b.size() - 1 - i];
    if (size == 1)
      size = other;
    else if (other != 1 && other != size)
      return std::nullopt;
  }
  return shape;
}
