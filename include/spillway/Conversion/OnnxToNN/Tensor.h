// What an ONNX value has become while its model is converted.
#pragma once

#include "spillway/Support/ElementCount.h"
#include "spillway/Support/ElementType.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

#include <memory>
#include <variant>

namespace spillway {

/// A tensor of the nn dialect with the ONNX element type, which alone tells
/// unsigned integers from signed ones.
struct Tensor {
  mlir::Value value;
  DataType type = DataType::f32;
  /// Bits of the integers, where they have fewer than `type`, which holds them; else 0.
  uint8_t bits = 0;

  mlir::RankedTensorType tensorType() const {
    return llvm::cast<mlir::RankedTensorType>(value.getType());
  }
  llvm::ArrayRef<int64_t> shape() const { return tensorType().getShape(); }
  int64_t rank() const { return tensorType().getRank(); }
  int64_t size(int64_t dim) const { return tensorType().getDimSize(dim); }
  int64_t count() const { return tensorType().getNumElements(); }
  /// A value that holds elements of this tensor, elsewhere.
  Tensor moved(mlir::Value to) const { return {to, type, bits}; }
};

/// Tensors in order, which copies share.
class Sequence {
public:
  Sequence(llvm::SmallVector<Tensor> tensors)
      : tensors(std::make_shared<const llvm::SmallVector<Tensor>>(std::move(tensors))) {}

  llvm::ArrayRef<Tensor> get() const { return *tensors; }

private:
  std::shared_ptr<const llvm::SmallVector<Tensor>> tensors;
};

/// Nothing (an omitted optional, or the result of a node that failed), a tensor,
/// or a sequence whose length is known.
using NodeValue = std::variant<std::monostate, Tensor, Sequence>;

inline bool isFloat(DataType type) {
  return type == DataType::f64 || type == DataType::f32 || type == DataType::f16 ||
         type == DataType::bf16;
}
inline bool isUnsigned(DataType type) {
  return type == DataType::u8 || type == DataType::u16 || type == DataType::u32 ||
         type == DataType::u64 || type == DataType::boolean;
}
inline bool isInteger(DataType type) { return !isFloat(type) && type != DataType::boolean; }

/// Whether the number of an ONNX element type is one that nn has.
bool isDataType(DataType type);
/// Elements of the onnx dialect with nn's element type.
mlir::DenseElementsAttr signlessElements(mlir::DenseElementsAttr elements);

using Shape = llvm::SmallVector<int64_t>;

/// 0, 1, ... up to the rank.
llvm::SmallVector<int64_t> allDims(int64_t rank);

/// numpy's rule: right-aligned, a size of one stretches. Nothing where sizes do
/// not agree.
std::optional<Shape> broadcastShapes(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b);

} // namespace spillway
