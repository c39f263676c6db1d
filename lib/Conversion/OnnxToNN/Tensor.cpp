#include "spillway/Conversion/OnnxToNN/Tensor.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

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

DenseElementsAttr spillway::signlessElements(DenseElementsAttr elements) {
  Type element = elements.getElementType();
  if (isa<FloatType>(element) || element.isSignlessInteger())
    return elements;
  return elements.bitcast(IntegerType::get(element.getContext(), element.getIntOrFloatBitWidth()));
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
