// A tensor's value in the compiler's memory.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include <memory>
#include <random>
#include <vector>

namespace spillway {

/// Elements in row-major order, each of `nn::elementBytes` bytes, little-endian; an
/// i1 is the byte 0 or 1. Copies share their bytes until one of them is written.
/// Not thread safe where copies share bytes.
class TensorValue {
public:
  TensorValue() = default;
  /// All bytes zero. `type` is static, of integers or floats of at most 64 bits.
  explicit TensorValue(mlir::RankedTensorType type);
  /// The same bytes under a type of the same number of bytes.
  TensorValue as(mlir::RankedTensorType type) const;

  /// The elements of a dense or resource attribute. Failure for any other kind of
  /// elements, or for types that no value has.
  static mlir::FailureOr<TensorValue> fromAttr(mlir::ElementsAttr attr);
  /// A splat where all elements have the same bits.
  mlir::DenseElementsAttr toAttr() const;
  /// Whether there is an element and all have its bits.
  bool isSplat() const;

  mlir::RankedTensorType getType() const { return type; }
  llvm::ArrayRef<int64_t> getShape() const { return type.getShape(); }
  mlir::Type getElementType() const { return type.getElementType(); }
  int64_t getNumElements() const { return type.getNumElements(); }

  llvm::ArrayRef<char> getBytes() const { return *bytes; }
  /// Valid until the next copy of this tensor is written.
  llvm::MutableArrayRef<char> getMutableBytes();

  /// The elements as `T`, which has the element's size.
  template <typename T> llvm::ArrayRef<T> get() const {
    return llvm::ArrayRef<T>(reinterpret_cast<const T *>(bytes->data()), bytes->size() / sizeof(T));
  }
  template <typename T> llvm::MutableArrayRef<T> getMutable() {
    llvm::MutableArrayRef<char> raw = getMutableBytes();
    return llvm::MutableArrayRef<T>(reinterpret_cast<T *>(raw.data()), raw.size() / sizeof(T));
  }

  /// Overwrites the elements with uniform random values of [low, high] (integers:
  /// both ends included; i1: ignores the range). The same generator state gives the
  /// same elements on every machine.
  void fillUniform(std::mt19937_64 &generator, double low, double high);

private:
  mlir::RankedTensorType type;
  std::shared_ptr<std::vector<char>> bytes;
};

} // namespace spillway
