#include "spillway/Conversion/NNToVector/ConvPlan.h"

#include "runtime/device/KernelAbi.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::kernels;

namespace {

/// With the depth below, a packed block of f32 takes a quarter of a MiB.
constexpr int64_t maxBlockWindows = 256;
/// A block of a panel of filters takes half of a 32 KiB L1 in f32.
constexpr int64_t maxBlockDepth = 128;
/// The accumulators of a group take as much as a packed block.
constexpr int64_t maxGroupPanels = 16;
constexpr int64_t maxPackedBytes = 1 << 20;
/// Filters from here on are worth being fetched in tiles.
constexpr int64_t tiledFilterBytes = 1 << 20;
/// Units that occupy several threads evenly. For them blocks of windows get smaller, down to this.
constexpr int64_t enoughUnits = 8;
constexpr int64_t minBlockWindows = 64;
/// A slab of one channel stays in L2.
constexpr int64_t maxSlabBytes = 64 << 10;
constexpr int64_t cacheLine = 64;

int64_t areaBytes(int64_t elements, Type element) {
  return llvm::alignTo(elements * nn::elementBytes(element), cacheLine);
}

/// How many of `count` rows of `length` windows a block takes, as equal as can be: so many that the
/// blocks take few vectors in all, which may be half ones. No block has more than `maxWindows`
/// windows, unless it is one row.
int64_t rowsPerBlock(int64_t count, int64_t length, int64_t maxWindows) {
  int64_t most = std::clamp<int64_t>(maxWindows / length, 1, count);
  int64_t least = llvm::divideCeil(count, most);
  auto rows = [&](int64_t blocks) { return llvm::divideCeil(count, blocks); };
  auto vectors = [&](int64_t blocks) {
    return blocks * llvm::divideCeil(rows(blocks) * length, panelWidth / 2);
  };
  int64_t best = least;
  for (; most >= 1; --most) {
    // The fewest blocks with so many rows.
    int64_t blocks = llvm::divideCeil(count, most);
    if (blocks > 2 * least)
      break;
    if (vectors(blocks) < vectors(best))
      best = blocks;
  }
  return rows(best);
}

bool isPointwise(nn::ConvOp conv) {
  ArrayRef<int64_t> input = conv.getInput().getType().getShape().drop_front(2);
  ArrayRef<int64_t> filter = conv.getFilter().getType().getShape().drop_front(2);
  ArrayRef<int64_t> result = cast<RankedTensorType>(conv.getType()).getShape().drop_front(2);
  auto isOne = [](int64_t value) { return value == 1; };
  auto isZero = [](int64_t value) { return value == 0; };
  return input == result && llvm::all_of(filter, isOne) && llvm::all_of(conv.getStrides(), isOne) &&
         llvm::all_of(conv.getLow(), isZero);
}

nn::PanelsAttr filterPanelsAttr(nn::ConvOp conv) {
  auto argument = dyn_cast<BlockArgument>(conv.getFilter());
  auto kernel = conv->getParentOfType<nn::KernelOp>();
  return argument && kernel
             ? kernel.getArgAttrOfType<nn::PanelsAttr>(argument.getArgNumber(), nn::layoutAttrName)
             : nn::PanelsAttr();
}

} // namespace

ConvShape::ConvShape(nn::ConvOp conv)
    : groups(conv.getGroups()), sizes(conv.getInput().getType().getShape().drop_front(2)),
      kernel(conv.getFilter().getType().getShape().drop_front(2)),
      windows(cast<RankedTensorType>(conv.getType()).getShape().drop_front(2)),
      strides(conv.getStrides()), dilations(conv.getDilations()), low(conv.getLow()),
      filterElement(conv.getFilter().getType().getElementType()),
      resultElement(cast<RankedTensorType>(conv.getType()).getElementType()),
      accumulator(accumulatorType(filterElement)) {
  images = conv.getInput().getType().getDimSize(0);
  filters = conv.getFilter().getType().getDimSize(0) / groups;
  channels = conv.getFilter().getType().getDimSize(1);
  if (isPointwise(conv)) {
    sizes = windows = {ShapedType::getNumElements(sizes)};
    kernel = strides = dilations = {1};
    low = {0};
  }
}

int64_t ConvShape::area() const { return ShapedType::getNumElements(sizes); }
int64_t ConvShape::places() const { return ShapedType::getNumElements(kernel); }
int64_t ConvShape::rowCount() const { return ShapedType::getNumElements(ArrayRef(windows).drop_back()); }
int64_t ConvShape::filterPanels() const { return llvm::divideCeil(filters, panelWidth); }
bool ConvShape::fillsPanels() const { return groups == 1 || filters % panelWidth == 0; }

PackedConvPlan::PackedConvPlan(nn::ConvOp conv) : shape(conv) {
  unitsArePanels = nn::tensorBytes(conv.getFilter().getType()) >= tiledFilterBytes;
  cutWindows(maxBlockWindows);
  for (int64_t most = maxBlockWindows / 2;
       !unitsArePanels && units() < enoughUnits && most >= minBlockWindows; most /= 2)
    cutWindows(most);
  unitsArePanels |= blocks() == 1;

  blockDepth = std::min(shape.depth(), maxBlockDepth);
  groupPanels = std::min(shape.filterPanels(), maxGroupPanels);
  packsOnce =
      shape.filterPanels() <= maxGroupPanels
          ? shape.depth() <= maxBlockDepth
          : shape.depth() * packedStride() * nn::elementBytes(shape.accumulator) <= maxPackedBytes;
  storedInPanels = static_cast<bool>(filterPanelsAttr(conv));
  packsFilter = !storedInPanels || !shape.fillsPanels() || shape.filterElement != shape.accumulator;
}

void PackedConvPlan::cutWindows(int64_t maxWindows) {
  int64_t windows = std::max<int64_t>(1, shape.windowCount());
  blockImages = 1;
  blockRows = std::max<int64_t>(1, shape.rowCount());
  blockColumns = std::max<int64_t>(1, shape.rowLength());
  int64_t rows = blockRows, length = blockColumns;
  if (windows <= maxWindows) {
    for (int64_t images = maxWindows / windows; blockImages == 1 && images > 1; --images)
      if (shape.images > 0 && shape.images % images == 0)
        blockImages = images;
  } else if (length <= maxWindows) {
    blockRows = rowsPerBlock(rows, length, maxWindows);
  } else {
    blockRows = 1;
    blockColumns = rowsPerBlock(length, 1, maxWindows);
  }
  rowBlocks = llvm::divideCeil(rows, blockRows);
  columnBlocks = llvm::divideCeil(length, blockColumns);
}

int64_t PackedConvPlan::units() const { return panels() * (unitsArePanels ? 1 : blocks()); }

bool PackedConvPlan::mayEndInHalf() const {
  auto endsInHalf = [](int64_t windows) {
    int64_t rest = windows % panelWidth;
    return rest > 0 && rest <= panelWidth / 2;
  };
  return endsInHalf(blockWindows()) || endsInHalf(shape.rowCount() % blockRows * blockColumns) ||
         endsInHalf(shape.rowLength() % blockColumns);
}

// An odd number of lines, so that the same windows at neighbouring depths lie in different sets of
// a cache. Rows that are no whole vectors are written over their end.
int64_t PackedConvPlan::packedStride() const {
  return ((llvm::divideCeil(blockWindows(), panelWidth) + 1) | 1) * panelWidth;
}

int64_t PackedConvPlan::accumulatorStride() const {
  return llvm::alignTo(blockWindows(), panelWidth) + panelWidth;
}

int64_t PackedConvPlan::packedElements() const {
  return (packsOnce ? shape.depth() : blockDepth) * packedStride();
}

int64_t PackedConvPlan::packedBytes() const {
  return areaBytes(packedElements(), shape.accumulator);
}
int64_t PackedConvPlan::filterBytes() const {
  return areaBytes(filterElements(), shape.accumulator);
}
int64_t PackedConvPlan::accumulatorBytes() const {
  return areaBytes(accumulatorElements(), shape.accumulator);
}

DepthwiseConvPlan::DepthwiseConvPlan(nn::ConvOp conv) : shape(conv) {
  auto seen = [&](size_t d, int64_t windows) {
    return (windows - 1) * shape.strides[d] + (shape.kernel[d] - 1) * shape.dilations[d] + 1;
  };
  size_t last = shape.windows.size() - 1;
  phaseColumns =
      llvm::divideCeil(std::max<int64_t>(0, seen(last, shape.rowLength())), shape.strides[last]);
  // Vectors are read over the end of a row.
  phaseStride = llvm::alignTo(phaseColumns, panelWidth) + panelWidth;
  slabWindows = shape.windows.front();
  if (last > 0) {
    int64_t rowsBehind = 1;
    for (size_t d = 1; d < last; ++d)
      rowsBehind *= std::max<int64_t>(0, seen(d, shape.windows[d]));
    int64_t indexBytes = rowsBehind * rowStride() * nn::elementBytes(shape.accumulator);
    int64_t rows = maxSlabBytes / std::max<int64_t>(1, indexBytes) - seen(0, 1) + 1;
    int64_t parts =
        llvm::divideCeil(shape.windows.front(), std::max<int64_t>(1, rows / shape.strides.front()));
    slabWindows = llvm::divideCeil(shape.windows.front(), std::max<int64_t>(1, parts));
  }
  slabs = slabWindows == 0 ? 0 : llvm::divideCeil(shape.windows.front(), slabWindows);
  for (size_t d = 0; d < last; ++d)
    slabSizes.push_back(std::max<int64_t>(0, seen(d, d == 0 ? slabWindows : shape.windows[d])));
}

int64_t DepthwiseConvPlan::slabRows() const { return ShapedType::getNumElements(slabSizes); }

int64_t DepthwiseConvPlan::windowStride() const {
  return slabSizes.empty()
             ? 0
             : shape.strides.front() * ShapedType::getNumElements(ArrayRef(slabSizes).drop_front()) * rowStride();
}

bool kernels::wantsFilterPanels(nn::ConvOp conv) {
  ConvShape shape(conv);
  return !shape.isDepthwise() && shape.fillsPanels();
}

bool kernels::tilesFilter(nn::ConvOp conv) {
  PackedConvPlan plan(conv);
  return !plan.shape.isDepthwise() && plan.shape.fillsPanels() && plan.unitsArePanels;
}
