// Products of small blocks that stay in registers, and the packing of their operands.
// The schedules that contract are made of them.
#pragma once

#include "spillway/Conversion/NNToVector/KernelBuilder.h"

namespace spillway::kernels {

/// Element type in which a contraction of `element` is accumulated: f32 for f16 and
/// bf16, else `element` itself.
mlir::Type accumulatorType(mlir::Type element);
/// `element`, a scalar or vector, as an accumulator's element type.
mlir::Value toAccumulator(mlir::ImplicitLocOpBuilder &builder, mlir::Value element);

/// Rows and columns of the blocks that transposeBlock() takes.
inline constexpr int64_t transposeSize = 8;
/// The columns of the 8 x 8 block whose rows are given, in order. Rows and columns are
/// vector<8 x element>; rows not given are zero.
llvm::SmallVector<mlir::Value> transposeBlock(mlir::ImplicitLocOpBuilder &builder,
                                              llvm::ArrayRef<mlir::Value> rows);

/// Rows cut into tiles as equal as can be: `tallCount` of `tallRows` rows, then the rest of
/// one row less. No tile has more than `maxRows` rows.
struct RowTiles {
  RowTiles(int64_t rows, int64_t maxRows);

  int64_t rows, count, tallRows, tallCount;

  /// The rows of a tile, rounded up to whole blocks that transposeBlock() gives.
  int64_t alignedStride() const;
  mlir::Value firstRow(KernelBuilder &kernel, mlir::Value tile) const;
  /// Loops over the tiles [from, to); `body` is called for each height.
  void forEach(KernelBuilder &kernel, mlir::Value from, mlir::Value to,
               llvm::function_ref<void(mlir::Value tile, int64_t rows)> body) const;
};

/// Rows of a tile of 16 columns whose accumulators fill the registers, one row of the
/// right operand and broadcasts beside them.
int64_t registerRows(mlir::Type accumulator, const CpuTarget &target);

/// Whether products of these operands take two indices of depth at a time on a target: pairs of bf16, each one i32 with the lower
/// index in its lower half.
bool multipliesPairs(mlir::Type lhs, mlir::Type rhs, const CpuTarget &target);

/// Continues the chains of `accumulators` (vector<16 x accumulator>, one a row) over k in
/// [0, depth), ascending: acc[row] = fma(lhs(k, row), rhs(k), acc[row]), with a product and
/// a sum for integers. `lhs` gives scalars, `rhs` vectors, of accumulator type, or of i32 for accumulators of f32: pairs of bf16, whose
/// products are added one after the other (VDPBF16PS of Intel's Software Developer's Manual: to nearest, denormals are zero).
/// `unrolled` says that depth is a multiple of depthUnroll.
inline constexpr int64_t depthUnroll = 4;
void multiplyTile(KernelBuilder &kernel, llvm::MutableArrayRef<mlir::Value> accumulators,
                  mlir::Value depth, bool unrolled,
                  llvm::function_ref<mlir::Value(mlir::Value k, int64_t row)> lhs,
                  llvm::function_ref<mlir::Value(mlir::Value k)> rhs);

/// Calls `body` for the indices of the block of depth that begins with `from`, in steps of `step`;
/// `active` of them lie inside the whole `depth`. `from` is a multiple of `step`, and so is `block` where there is more
/// than one block. Where a `limit` is given, the block ends there; it is a multiple of `step` or the whole depth.
void forDepth(KernelBuilder &kernel, mlir::Value from, int64_t block, int64_t depth, mlir::Value limit,
              int64_t step, llvm::function_ref<void(mlir::Value k, int64_t active)> body);

/// Calls `body` with the first column of a panel (of 16 columns) and their number: 16, or
/// the rest in the last one.
void forColumns(KernelBuilder &kernel, mlir::Value panel, int64_t columns,
                llvm::function_ref<void(mlir::Value column, int64_t count)> body);

} // namespace spillway::kernels
