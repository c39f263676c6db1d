// How a matrix product is cut into register tiles, cache blocks and units. Pure
// arithmetic: no code is made here.
#pragma once

#include "spillway/Conversion/NNToVector/RegisterTile.h"

namespace spillway::kernels {

/// A product seen as `batches` products [rows, depth] x [depth, columns]. Leading
/// dimensions of the left operand are rows where one right operand serves them all.
struct GemmShape {
  explicit GemmShape(nn::MatmulOp matmul);

  int64_t rows, columns, depth;
  int64_t batches;
  /// Each batch has its own right operand; units then run over batches too.
  bool batchedRhs;

  /// Panels of columns of one batch, and units of the launch space.
  int64_t panels() const;
  int64_t units() const { return panels() * (batchedRhs ? batches : 1); }
  /// Parts into which rows may be divided at most; on one right operand alone.
  int64_t mostParts() const;
  bool isEmpty() const { return rows == 0 || columns == 0 || batches == 0; }
};

/// The nest of loops of a part of the rows, outermost first: blocks of tiles of rows, groups of panels,
/// blocks of depth; inside, for each panel each tile of rows continues its accumulators,
/// which lie in scratch, over the depth of the block. After the last block of depth
/// each panel goes through the epilogue. The left operand is packed for each block of
/// rows or, where it is deep, for each group and block of depth.
/// No number of it depends on the range of units.
struct GemmPlan {
  GemmPlan(nn::MatmulOp matmul, const CpuTarget &target);

  GemmShape shape;
  mlir::Type rhsElement, accumulator;
  /// Packed operands have elements of the accumulator's type; or pairs of two indices of depth (see multipliesPairs), the last
  /// of which has a zero where the depth is odd.
  mlir::Type packedElement;
  int64_t depthPerElement;

  RowTiles tiles;
  /// At most.
  int64_t tilesPerBlock;
  /// Panels in a group, indices of depth in a block (a multiple of 8 packed elements where there is
  /// more than one block).
  int64_t groupPanels, blockDepth;
  /// All the depth of a block of rows is packed before its first group.
  bool packsLhsOnce;
  int64_t packedLhsElements;
  /// Elements of the right operand lie side by side along depth, not along columns.
  bool rhsAlongDepth;
  /// The right operand is copied, block by block, into panels of packed elements:
  /// it is not stored so, and more than one tile reads it, or it cannot be read in place.
  bool packsRhs;
  /// What comes next of the right operand is fetched ahead: panels of columns, or what is packed from an argument larger than
  /// what stays in a cache.
  bool prefetchesRhs;

  int64_t blockRows() const { return tilesPerBlock * tiles.tallRows; }
  /// Of a block.
  int64_t packedDepth() const { return llvm::divideCeil(blockDepth, depthPerElement); }
  /// Elements from one packed element of depth to the next in a packed tile.
  int64_t packedStride() const;
  int64_t packedTileElements() const;
  /// Of a block of rows and depth.
  int64_t packedBlockElements() const { return tilesPerBlock * packedTileElements(); }
  int64_t packedRhsElements() const;
  int64_t accumulatorElements() const;
  /// Bytes of the three areas of scratch, each a multiple of 64, in this order.
  int64_t packedLhsBytes() const;
  int64_t packedRhsBytes() const;
  int64_t accumulatorBytes() const;
  int64_t scratchBytes() const { return packedLhsBytes() + packedRhsBytes() + accumulatorBytes(); }
};

/// The kernel's argument that is the right operand of a matmul, where it is stored in panels
/// of the result's columns.
std::optional<unsigned> columnPanels(nn::MatmulOp matmul);
/// The kernel's argument that is the right operand of a matmul, where tiles of its depth may stand for it.
std::optional<unsigned> depthTiled(nn::MatmulOp matmul);
/// Whether they may in a kernel with these results: where the right operand is stored in panels of depth, and the
/// first result can hold accumulators of each element meanwhile.
bool takesDepthTiles(nn::KernelOp kernel, nn::MatmulOp matmul);

} // namespace spillway::kernels
