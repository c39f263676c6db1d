// Values that are known at compile time: what shape arithmetic is made of.
#pragma once

#include "spillway/Interpreter/Interpreter.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace spillway {

/// Evaluates operations whose operands are known, through the reference
/// interpreter. A result of at most `maxAttributeBytes`, or with equal elements,
/// becomes an arith.constant; a larger one keeps its operation beside its value.
/// Results of more than `maxElements` are left alone, and so are larger ones than attributes once they
/// take `maxHeldBytes` together, so that folding never makes memory grow with sizes that a model
/// computes.
class KnownValues {
public:
  static constexpr int64_t maxElements = 64 << 10;
  static constexpr int64_t maxAttributeBytes = 1 << 10;
  static constexpr int64_t maxHeldBytes = 64 << 20;

  /// The value that stands for the single result of `op`, which was just created;
  /// `op` is erased where a constant takes its place.
  mlir::Value fold(mlir::Operation *op);
  /// Whether new bytes may be held to the end; where they may, they count.
  bool reserve(int64_t bytes);
  /// Says what a value holds that is no constant. Its bytes have been reserved.
  void record(mlir::Value value, TensorValue tensor) { tensors[value] = std::move(tensor); }

  /// Constants, and what was recorded or folded.
  bool isKnown(mlir::Value value) const;
  /// Nothing where the value is not known.
  std::optional<TensorValue> lookup(mlir::Value value) const;

private:
  llvm::DenseMap<mlir::Value, TensorValue> tensors;
  int64_t heldBytes = 0;
};

/// The element that all elements equal, of a constant.
mlir::DenseElementsAttr splatConstant(mlir::Value value);

/// Integers and booleans as int64_t (unsigned ones where `isUnsigned`).
llvm::SmallVector<int64_t> asIntegers(const TensorValue &tensor, bool isUnsigned);
/// All numbers of any type, exact: the elements of x86's extended precision hold them.
std::vector<long double> asNumbers(const TensorValue &tensor, bool isUnsigned);
/// A tensor of one element as a double.
double asDouble(const TensorValue &tensor, bool isUnsigned);

} // namespace spillway
