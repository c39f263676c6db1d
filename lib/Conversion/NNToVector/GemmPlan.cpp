#include "spillway/Conversion/NNToVector/GemmPlan.h"

#include "runtime/device/KernelAbi.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::kernels;

namespace {

/// Tiles of six rows whose packed block fills about half of a 512 KiB L2. The right operand is read, or packed, once for
/// each block.
constexpr int64_t maxBlockRows = 264, leastBlockRows = 132;
/// Packed elements; a block of a panel takes half of a 32 KiB L1 in f32.
constexpr int64_t maxBlockDepth = 256;
// Blocks of depth but the last, and panels of it, are whole steps of multiplyTile().
static_assert(maxBlockDepth % depthUnroll == 0 && panelWidth % (2 * depthUnroll) == 0);
/// The accumulators of a group take an eighth of L2.
constexpr int64_t maxGroupPanels = 4;
/// Packing the left operand again for each group costs a percent or two of its work.
constexpr int64_t maxRepackedGroupPanels = 32;
/// What is packed once is read from L3, which other threads use as well.
constexpr int64_t maxPackedBytes = 9 << 19;
/// What fits in L2 beside the packed blocks.
constexpr int64_t maxCachedBytes = 128 << 10;
/// Fewer do not repay what is read and packed of the right operand for each part.
constexpr int64_t leastRowsOfPart = 128;
constexpr int64_t cacheLine = 64;

} // namespace

/// The panel layout of a matmul's right operand; null for row-major order.
static nn::PanelsAttr rhsPanels(nn::MatmulOp matmul) {
  auto argument = dyn_cast<BlockArgument>(matmul.getRhs());
  if (!argument)
    return {};
  auto kernel = matmul->getParentOfType<nn::KernelOp>();
  return kernel.getArgAttrOfType<nn::PanelsAttr>(argument.getArgNumber(), nn::layoutAttrName);
}

std::optional<unsigned> kernels::columnPanels(nn::MatmulOp matmul) {
  nn::PanelsAttr panels = rhsPanels(matmul);
  if (!panels || panels.getDim() != (matmul.getTransposeRhs() ? 0 : 1) || panels.getWidth() != panelWidth)
    return std::nullopt;
  return cast<BlockArgument>(matmul.getRhs()).getArgNumber();
}

std::optional<unsigned> kernels::depthTiled(nn::MatmulOp matmul) {
  auto argument = dyn_cast<BlockArgument>(matmul.getRhs());
  auto kernel = matmul->getParentOfType<nn::KernelOp>();
  if (!argument || !kernel.getArgAttr(argument.getArgNumber(), nn::depthTiledAttrName))
    return std::nullopt;
  return argument.getArgNumber();
}

bool kernels::takesDepthTiles(nn::KernelOp kernel, nn::MatmulOp matmul) {
  auto result = cast<RankedTensorType>(kernel.getResultTypes().front());
  return rhsPanels(matmul) && !columnPanels(matmul) && matmul.getRhs().hasOneUse() &&
         matmul.getRhs().getType().getRank() == 2 &&
         result.getElementType() == accumulatorType(matmul.getLhs().getType().getElementType()) &&
         result.getNumElements() == matmul.getType().getNumElements() &&
         !kernel.getResultAttr(0, nn::layoutAttrName);
}

GemmShape::GemmShape(nn::MatmulOp matmul)
    : rows(matmul.getM()), columns(matmul.getN()), depth(matmul.getK()), batches(matmul.getBatch()),
      batchedRhs(matmul.getRhs().getType().getRank() > 2) {
  if (!batchedRhs && !matmul.getTransposeLhs()) {
    rows *= batches;
    batches = 1;
  }
}

int64_t GemmShape::panels() const { return llvm::divideCeil(columns, panelWidth); }

int64_t GemmShape::mostParts() const {
  return batchedRhs ? 1 : std::max<int64_t>(1, rows / leastRowsOfPart);
}

GemmPlan::GemmPlan(nn::MatmulOp matmul, const CpuTarget &target)
    : shape(matmul), rhsElement(matmul.getRhs().getType().getElementType()),
      accumulator(accumulatorType(rhsElement)),
      tiles(shape.rows, registerRows(accumulator, target)) {
  bool columns = columnPanels(matmul).has_value();
  rhsAlongDepth = rhsPanels(matmul) ? !columns : matmul.getTransposeRhs();
  bool stored = columns && rhsElement == accumulator;
  bool readInPlace = tiles.count == 1 && !rhsAlongDepth;
  packsRhs = !stored && !readInPlace;
  bool pairs = packsRhs && multipliesPairs(matmul.getLhs().getType().getElementType(), rhsElement, target);
  packedElement = pairs ? IntegerType::get(matmul.getContext(), 32) : accumulator;
  depthPerElement = pairs ? 2 : 1;
  blockDepth = std::min(shape.depth, maxBlockDepth * depthPerElement);
  int64_t depthBlocks = blockDepth ? llvm::divideCeil(shape.depth, blockDepth) : 0;
  // A deep operand is packed once where that fits for fewer rows.
  int64_t tileBytes = std::max<int64_t>(1, depthBlocks * packedTileElements() * nn::elementBytes(packedElement));
  int64_t fitting = maxPackedBytes / tileBytes * tiles.tallRows;
  int64_t rows = fitting < leastBlockRows ? maxBlockRows : std::min(fitting, maxBlockRows);
  int64_t blocks = llvm::divideCeil(tiles.count * tiles.tallRows, rows);
  tilesPerBlock = llvm::divideCeil(tiles.count, std::max<int64_t>(1, blocks));
  int64_t wholeElements = depthBlocks * packedBlockElements();
  packsLhsOnce = wholeElements * nn::elementBytes(packedElement) <= maxPackedBytes;
  packedLhsElements = packsLhsOnce ? wholeElements : packedBlockElements();
  groupPanels = std::min(packsLhsOnce ? maxGroupPanels : maxRepackedGroupPanels, shape.panels());
  prefetchesRhs = columns || (packsRhs && isa<BlockArgument>(matmul.getRhs()) &&
                              shape.depth * shape.columns * nn::elementBytes(rhsElement) > maxCachedBytes);
}

// Rows are packed as vectors of eight, one index of depth after the other: what one leaves behind its rows, the next
// overwrites.
int64_t GemmPlan::packedStride() const {
  return tiles.tallRows < transposeSize ? tiles.tallRows : tiles.alignedStride();
}

// The last of a tile has room behind it, which also keeps tiles from lying a power of two apart.
int64_t GemmPlan::packedTileElements() const {
  return llvm::alignTo(packedDepth() * packedStride() + transposeSize, panelWidth);
}

int64_t GemmPlan::packedRhsElements() const { return packsRhs ? packedDepth() * panelWidth : 0; }

int64_t GemmPlan::accumulatorElements() const { return groupPanels * blockRows() * panelWidth; }

static int64_t areaBytes(int64_t elements, Type element) {
  return llvm::alignTo(elements * nn::elementBytes(element), cacheLine);
}

int64_t GemmPlan::packedLhsBytes() const { return areaBytes(packedLhsElements, packedElement); }
int64_t GemmPlan::packedRhsBytes() const { return areaBytes(packedRhsElements(), packedElement); }
int64_t GemmPlan::accumulatorBytes() const { return areaBytes(accumulatorElements(), accumulator); }
