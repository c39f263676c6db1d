// Copies rows of an image to where windows read them.
#pragma once

#include "spillway/Conversion/NNToVector/ConvPlan.h"

namespace spillway::kernels {

/// Elements of one row of an image, as accumulators. Those outside of the row are zero.
class WindowRows {
public:
  /// Of `count` elements, `stride` columns apart, that begin at columns from `lowest` to `highest`.
  WindowRows(KernelBuilder &kernel, mlir::Value image, int64_t columns, int64_t count,
             int64_t stride, int64_t lowest, int64_t highest);

  /// Elements that copy() and clear() write at most.
  static int64_t written(int64_t count) { return llvm::alignTo(count, count > 8 ? 16 : 8); }

  /// Copies elements of the row whose column 0 lies at `row`, beginning at column `first`, to
  /// `target` from `at` on. What is written behind them has no meaning.
  void copy(mlir::Value row, mlir::Value first, mlir::Value target, mlir::Value at) const;
  /// Writes zeros instead.
  void clear(mlir::Value target, mlir::Value at) const;

private:
  mlir::Value load(mlir::Value row, mlir::Value first) const;
  mlir::Value loadInside(mlir::Value address) const;
  mlir::Value loadMasked(mlir::Value address, mlir::Value first) const;
  /// Every second element, where the stride is 2, of the vectors that `part` gives at an offset.
  mlir::Value takeStrided(llvm::function_ref<mlir::Value(int64_t offset)> part) const;
  void forVectors(llvm::function_ref<void(mlir::Value offset)> body) const;

  KernelBuilder &kernel;
  mlir::Value image;
  int64_t columns, count, stride, lanes;
  bool alwaysInside;
  mlir::Type position, element;
};

/// Index arithmetic on single values.
class ScalarMath {
public:
  explicit ScalarMath(KernelBuilder &kernel) : kernel(kernel), b(kernel.builder()) {}

  mlir::Value constant(int64_t value) { return kernel.constantIndex(value); }
  mlir::Value add(mlir::Value lhs, mlir::Value rhs);
  mlir::Value add(mlir::Value lhs, int64_t rhs) { return rhs == 0 ? lhs : add(lhs, constant(rhs)); }
  mlir::Value sub(mlir::Value lhs, mlir::Value rhs);
  mlir::Value mul(mlir::Value lhs, int64_t rhs);
  mlir::Value min(mlir::Value lhs, mlir::Value rhs);
  mlir::Value max(mlir::Value lhs, mlir::Value rhs);
  /// The row-major index `linear` into `sizes`.
  llvm::SmallVector<mlir::Value> delinearize(mlir::Value linear, llvm::ArrayRef<int64_t> sizes);
  mlir::Value linearize(llvm::ArrayRef<mlir::Value> index, llvm::ArrayRef<int64_t> sizes);
  /// Whether every position lies in [0, size); null where there is none.
  mlir::Value areInside(llvm::ArrayRef<mlir::Value> positions, llvm::ArrayRef<int64_t> sizes);
  /// if (condition) { yes } else { no }; only `yes` where the condition is null.
  void either(mlir::Value condition, llvm::function_ref<void()> yes, llvm::function_ref<void()> no);

private:
  KernelBuilder &kernel;
  mlir::ImplicitLocOpBuilder &b;
};

/// The code of a convolution of single channels: units [begin, end) of its plan.
class Epilogue;
void emitDepthwiseConv(KernelBuilder &kernel, nn::ConvOp conv, const Epilogue &epilogue);

/// An accumulator as an element of the convolution's result.
mlir::Value fromAccumulator(mlir::ImplicitLocOpBuilder &builder, mlir::Value value,
                            mlir::Type element);

} // namespace spillway::kernels
