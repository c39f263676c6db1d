// How a convolution is cut into blocks of windows, panels of filters and units. Pure
// arithmetic: no code is made here.
#pragma once

#include "spillway/Conversion/NNToVector/RegisterTile.h"

namespace spillway::kernels {

/// The sizes of a convolution. One that only multiplies channels has a single dimension of
/// windows, whatever its operands have.
struct ConvShape {
  explicit ConvShape(nn::ConvOp conv);

  int64_t images, groups;
  /// Of a group.
  int64_t filters, channels;
  /// Per dimension that windows slide along.
  llvm::SmallVector<int64_t> sizes, kernel, windows, strides, dilations, low;
  mlir::Type filterElement, resultElement, accumulator;

  /// Elements of one channel, and places in a window.
  int64_t area() const;
  int64_t places() const;
  int64_t depth() const { return channels * places(); }
  /// Of one image.
  int64_t windowCount() const { return rowCount() * rowLength(); }
  /// Rows of windows: all along the last dimension at one index of the others.
  int64_t rowCount() const;
  int64_t rowLength() const { return windows.back(); }
  int64_t filterPanels() const;
  bool isEmpty() const { return images * groups * filters * windowCount() == 0; }
  /// Each filter sees one channel: there is nothing to share between filters.
  bool isDepthwise() const { return channels == 1 && groups > 1; }
  /// Panels of 16 filters of the whole tensor lie inside groups.
  bool fillsPanels() const;
};

/// A product [filters, depth] x [depth, windows] for each group and block of windows. The
/// elements that windows see are packed: depth by depth, all windows of a block side by side.
///
/// The nest of loops, outermost first: blocks of windows, groups of panels, blocks of depth;
/// inside, for each panel of filters and 16 windows the accumulators, which lie in scratch,
/// continue over the depth of the block. After the last block of depth each panel
/// goes through the epilogue. No number of it depends on the range of units.
struct PackedConvPlan {
  explicit PackedConvPlan(nn::ConvOp conv);

  ConvShape shape;
  /// A block is whole images, else whole rows of one image, else a part of a row. The last
  /// one along a dimension may have fewer rows or columns.
  int64_t blockImages, blockRows, blockColumns;
  int64_t rowBlocks, columnBlocks;
  int64_t blockDepth, groupPanels;
  /// All the depth of a block of windows is packed before its first group of panels.
  bool packsOnce;
  /// Units are panels of filters of all groups, each for all windows, so that the filter streams;
  /// else they are such panels for one block of windows, block by block.
  bool unitsArePanels;
  /// The filter's argument is stored in panels.
  bool storedInPanels;
  /// The filter is copied, block by block, into panels of accumulator type.
  bool packsFilter;

  int64_t blocks() const { return shape.images / blockImages * rowBlocks * columnBlocks; }
  /// Of all groups.
  int64_t panels() const { return shape.groups * shape.filterPanels(); }
  int64_t units() const;
  int64_t blockWindows() const { return blockImages * blockRows * blockColumns; }
  bool isOneDepthBlock() const { return shape.depth() > 0 && shape.depth() == blockDepth; }
  /// Whether the last vector of some block has at most half of its lanes.
  bool mayEndInHalf() const;
  /// Elements from one index of depth to the next in a packed block.
  int64_t packedStride() const;
  /// Elements from one filter's accumulators to the next one's.
  int64_t accumulatorStride() const;
  int64_t packedElements() const;
  int64_t filterElements() const { return packsFilter ? blockDepth * panelWidth : 0; }
  int64_t accumulatorElements() const { return groupPanels * panelWidth * accumulatorStride(); }
  /// Bytes of the three areas of scratch, each a multiple of 64, in this order.
  int64_t packedBytes() const;
  int64_t filterBytes() const;
  int64_t accumulatorBytes() const;
  int64_t scratchBytes() const { return packedBytes() + filterBytes() + accumulatorBytes(); }

private:
  /// Sets the blocks: of `maxWindows` windows at most.
  void cutWindows(int64_t maxWindows);
};

/// A convolution of single channels. A unit is some rows along the first dimension of the windows
/// of one filter. What they see is copied, with its zeros around it and with columns of one
/// remainder by the stride side by side; then all reads are of consecutive elements.
struct DepthwiseConvPlan {
  explicit DepthwiseConvPlan(nn::ConvOp conv);

  ConvShape shape;
  /// Indices of the first dimension of windows in a unit; all where it is the only dimension.
  int64_t slabWindows, slabs;
  /// Positions that a slab sees, per dimension but the last one.
  llvm::SmallVector<int64_t> slabSizes;
  /// Of the last dimension: columns of one remainder, and elements from one such row to the next.
  int64_t phaseColumns, phaseStride;

  int64_t units() const { return shape.images * shape.groups * shape.filters * slabs; }
  int64_t slabRows() const;
  int64_t rowStride() const { return phaseStride * shape.strides.back(); }
  int64_t slabElements() const { return slabRows() * rowStride(); }
  /// Elements of the slab from a window to the one below it, along the first of several dimensions.
  int64_t windowStride() const;
  int64_t scratchBytes() const { return slabElements() * nn::elementBytes(shape.accumulator); }
};

/// Whether a filter that is a whole state should be stored in panels along its first dimension.
bool wantsFilterPanels(nn::ConvOp conv);
/// Whether a range of the kernel's units reads only the matching range of the filter's panels.
bool tilesFilter(nn::ConvOp conv);

} // namespace spillway::kernels
