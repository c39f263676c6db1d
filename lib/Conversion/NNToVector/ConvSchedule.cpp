// One convolution with its epilogue. Units are panels of filters, for all windows or for a block of
// them.
//
// An element's chain of fused multiply-adds runs over depth in ascending order in one
// lane of one accumulator, in the schedule of single channels too; between blocks of depth the
// accumulator rests in scratch. So the cuts of a plan, and the units of a call, change no bit.

#include "WindowRows.h"
#include "spillway/Conversion/NNToVector/Epilogue.h"
#include "spillway/Conversion/NNToVector/KernelSchedule.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::kernels;

namespace {

class PackedConvEmitter {
public:
  PackedConvEmitter(KernelBuilder &kernel, nn::ConvOp conv, const Epilogue &epilogue);
  void emit();

private:
  struct Range {
    Value from, to;
  };
  /// A block of windows while it is emitted: its first image, row and column, and how many of
  /// the last two it has.
  struct Block {
    Value image, row, column, rows, columns;
  };

  /// Calls `body` for each of `count` parts of `size` indices that `range` has indices of, with
  /// those.
  void forParts(Range range, int64_t size, int64_t count,
                llvm::function_ref<void(Value part, Range inPart)> body);
  void forGroups(Range panels, llvm::function_ref<void(Value group, Range panels)> body) {
    forParts(panels, shape().filterPanels(), shape().groups, body);
  }
  Block blockAt(Value linear);
  void emitBlock(Value group, Value block, Range panels);
  void emitGroup(Value group, const Block &block, Range panels);
  void pack(Value group, const Block &block, Value depth);
  void packRow(const Block &block, Value image, ArrayRef<Value> place, Value row, Value channel,
               Value at);
  void packFilter(Value filter, int64_t filters, Value depth);
  void multiplyPanel(Value group, const Block &block, Range range, Value panel, Value depth);
  void continueTile(int64_t lanes, int64_t firstRow, int64_t rows, Value windows,
                    Value accumulatorsAt, Value weights, Value depth);
  void clear(Range range, Value panel);
  void emitEpilogue(Value group, const Block &block, Range range, Value panel);
  void emitRuns(Value group, const Block &block, Value filter, Value accumulatorsAt, int64_t rows,
                int64_t columns);
  void emitVector(const Block &block, Value image, Value filter, Value position, Value at,
                  int64_t active);

  const ConvShape &shape() const { return plan.shape; }
  Value constant(int64_t value) { return kernel.constantIndex(value); }
  Value firstAccumulator(Range range, Value panel) {
    return math.mul(math.sub(panel, range.from), panelWidth * plan.accumulatorStride());
  }
  Value blockDepth(Value depth) {
    return math.min(constant(plan.blockDepth), math.sub(constant(shape().depth()), depth));
  }
  Value packedAt(Value depth) {
    return plan.packsOnce ? math.mul(depth, plan.packedStride()) : constant(0);
  }
  void forDepthBlocks(llvm::function_ref<void(Value depth)> body) {
    if (shape().depth() > 0)
      kernel.loop(0, shape().depth(), plan.blockDepth, body);
  }
  VectorType lanesType(Type element) const { return VectorType::get({panelWidth}, element); }

  KernelBuilder &kernel;
  ImplicitLocOpBuilder &b;
  ScalarMath math;
  nn::ConvOp conv;
  const Epilogue &epilogue;
  PackedConvPlan plan;
  WindowRows rows;
  /// Of the filter's argument, where it is stored in panels.
  Value firstPanel;
  Value packed, packedFilter, accumulators;
};

Value imageOf(KernelBuilder &kernel, nn::ConvOp conv) {
  return kernel.argument(cast<BlockArgument>(conv.getInput()).getArgNumber());
}

WindowRows packedRows(KernelBuilder &kernel, nn::ConvOp conv, const PackedConvPlan &plan) {
  const ConvShape &shape = plan.shape;
  int64_t stride = shape.strides.back(), low = shape.low.back();
  int64_t highest = (plan.columnBlocks - 1) * plan.blockColumns * stride +
                    (shape.kernel.back() - 1) * shape.dilations.back() - low;
  return WindowRows(kernel, imageOf(kernel, conv), shape.sizes.back(), plan.blockColumns, stride,
                    -low, highest);
}

} // namespace

PackedConvEmitter::PackedConvEmitter(KernelBuilder &kernel, nn::ConvOp conv,
                                     const Epilogue &epilogue)
    : kernel(kernel), b(kernel.builder()), math(kernel), conv(conv), epilogue(epilogue), plan(conv),
      rows(packedRows(kernel, conv, plan)) {
  auto area = [&](int64_t offset, int64_t elements) {
    return kernel.scratch(offset, MemRefType::get({elements}, shape().accumulator));
  };
  packed = area(0, plan.packedElements());
  packedFilter = area(plan.packedBytes(), plan.filterElements());
  accumulators = area(plan.packedBytes() + plan.filterBytes(), plan.accumulatorElements());
  if (plan.storedInPanels) {
    unsigned filter = cast<BlockArgument>(conv.getFilter()).getArgNumber();
    firstPanel = kernel.origin(filter);
    kernel.setFirstUnit(filter, firstPanel);
  }
}

void PackedConvEmitter::emit() {
  Range units{kernel.begin(), kernel.end()};
  if (plan.unitsArePanels) {
    forGroups(units, [&](Value group, Range panels) {
      kernel.loop(0, plan.blocks(), 1, [&](Value block) { emitBlock(group, block, panels); });
    });
    return;
  }
  forParts(units, plan.panels(), plan.blocks(), [&](Value block, Range panels) {
    forGroups(panels, [&](Value group, Range ofGroup) { emitBlock(group, block, ofGroup); });
  });
}

void PackedConvEmitter::forParts(Range range, int64_t size, int64_t count,
                                 function_ref<void(Value, Range)> body) {
  if (count == 1)
    return body(constant(0), range);
  Value from = arith::DivUIOp::create(b, range.from, constant(size));
  Value to = arith::CeilDivUIOp::create(b, range.to, constant(size));
  kernel.setFacts(to, {1, count});
  kernel.loop(from, to, 1, [&](Value part) {
    Value first = math.mul(part, size);
    body(part, {math.max(math.sub(range.from, first), constant(0)),
                math.min(math.sub(range.to, first), constant(size))});
  });
}

PackedConvEmitter::Block PackedConvEmitter::blockAt(Value linear) {
  SmallVector<Value> index = math.delinearize(
      linear, {shape().images / plan.blockImages, plan.rowBlocks, plan.columnBlocks});
  Block block{math.mul(index[0], plan.blockImages),
              math.mul(index[1], plan.blockRows),
              math.mul(index[2], plan.blockColumns),
              {},
              {}};
  block.rows =
      math.min(constant(plan.blockRows), math.sub(constant(shape().rowCount()), block.row));
  block.columns =
      math.min(constant(plan.blockColumns), math.sub(constant(shape().rowLength()), block.column));
  return block;
}

void PackedConvEmitter::emitBlock(Value group, Value linear, Range panels) {
  Block block = blockAt(linear);
  if (plan.packsOnce)
    forDepthBlocks([&](Value depth) { pack(group, block, depth); });
  kernel.loop(panels.from, panels.to, plan.groupPanels, [&](Value panel) {
    emitGroup(group, block, {panel, math.min(math.add(panel, plan.groupPanels), panels.to)});
  });
}

void PackedConvEmitter::emitGroup(Value group, const Block &block, Range panels) {
  auto forPanels = [&](llvm::function_ref<void(Value panel)> body) {
    kernel.loop(panels.from, panels.to, 1, body);
  };
  if (shape().depth() == 0)
    return forPanels([&](Value panel) {
      clear(panels, panel);
      emitEpilogue(group, block, panels, panel);
    });
  int64_t lastDepth = (shape().depth() - 1) / plan.blockDepth * plan.blockDepth;
  forDepthBlocks([&](Value depth) {
    if (!plan.packsOnce)
      pack(group, block, depth);
    auto atDepth = [&](int64_t k, auto body) {
      kernel.when(arith::CmpIOp::create(b, arith::CmpIPredicate::eq, depth, constant(k)), body);
    };
    forPanels([&](Value panel) {
      if (!plan.isOneDepthBlock())
        atDepth(0, [&] { clear(panels, panel); });
      multiplyPanel(group, block, panels, panel, depth);
      atDepth(lastDepth, [&] { emitEpilogue(group, block, panels, panel); });
    });
  });
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

void PackedConvEmitter::pack(Value group, const Block &block, Value depth) {
  Value end = math.add(depth, blockDepth(depth));
  SmallVector<int64_t> places{shape().channels};
  llvm::append_range(places, shape().kernel);
  kernel.loop(depth, end, 1, [&](Value k) {
    SmallVector<Value> place = math.delinearize(k, places);
    Value at = math.mul(plan.packsOnce ? k : math.sub(k, depth), plan.packedStride());
    kernel.loop(0, plan.blockImages, 1, [&](Value inBlock) {
      Value image = math.add(block.image, inBlock);
      Value channel =
          math.add(math.mul(math.add(math.mul(image, shape().groups), group), shape().channels),
                   place.front());
      Value imageAt = math.add(at, math.mul(inBlock, plan.blockRows * plan.blockColumns));
      kernel.loop(constant(0), block.rows, 1, [&](Value row) {
        packRow(block, image, ArrayRef(place).drop_front(), row, channel,
                math.add(imageAt, math.mul(row, plan.blockColumns)));
      });
    });
  });
}

void PackedConvEmitter::packRow(const Block &block, Value image, ArrayRef<Value> place, Value row,
                                Value channel, Value at) {
  size_t last = shape().windows.size() - 1;
  SmallVector<Value> positions;
  if (last > 0)
    positions = math.delinearize(math.add(block.row, row), ArrayRef(shape().windows).drop_back());
  auto position = [&](Value window, size_t d) {
    return math.add(
        math.add(math.mul(window, shape().strides[d]), math.mul(place[d], shape().dilations[d])),
        -shape().low[d]);
  };
  for (auto [d, each] : llvm::enumerate(positions))
    each = position(each, d);
  ArrayRef<int64_t> sizes = ArrayRef(shape().sizes).drop_back();
  Value from = math.add(math.mul(channel, shape().area()),
                        math.mul(math.linearize(positions, sizes), shape().sizes[last]));
  math.either(
      math.areInside(positions, sizes),
      [&] { rows.copy(from, position(block.column, last), packed, at); },
      [&] { rows.clear(packed, at); });
}

void PackedConvEmitter::packFilter(Value first, int64_t filters, Value depth) {
  ArrayRef<int64_t> sizes = conv.getFilter().getType().getShape();
  auto at = [&](Value k, int64_t row) {
    return math.add(math.mul(math.sub(k, depth), panelWidth), row);
  };
  auto pull = [&](ElementEmitter &emitter, LaneIndex filter, LaneIndex k) {
    ElementIndex index{filter};
    llvm::append_range(index, emitter.indices().delinearize(k, sizes.drop_front()));
    return toAccumulator(b, emitter.emit(conv.getFilter(), index));
  };
  if (plan.storedInPanels && shape().fillsPanels())
    return forDepth(kernel, depth, plan.blockDepth, shape().depth(), /*limit=*/Value(), 1, [&](Value k, int64_t) {
      ElementEmitter emitter(kernel, panelWidth, filters);
      vector::StoreOp::create(b, pull(emitter, LaneIndex(first, 1), LaneIndex(k)), packedFilter,
                              at(k, 0));
    });
  forDepth(kernel, depth, plan.blockDepth, shape().depth(), /*limit=*/Value(), transposeSize,
           [&](Value k, int64_t active) {
             ElementEmitter emitter(kernel, transposeSize, active);
             for (int64_t row = 0; row < filters; row += transposeSize) {
               SmallVector<Value> block;
               for (int64_t i = row; i < std::min(filters, row + transposeSize); ++i)
                 block.push_back(
                     pull(emitter, emitter.indices().add(LaneIndex(first), i), LaneIndex(k, 1)));
               for (auto [i, column] : llvm::enumerate(transposeBlock(b, block)))
                 if (static_cast<int64_t>(i) < active)
                   vector::StoreOp::create(b, column, packedFilter,
                                           math.add(at(k, row), i * panelWidth));
             }
           });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

void PackedConvEmitter::multiplyPanel(Value group, const Block &block, Range range, Value panel,
                                      Value depth) {
  Value panelAt = firstAccumulator(range, panel);
  Value windows = arith::MulIOp::create(b, math.mul(block.rows, plan.blockImages), block.columns);
  forColumns(kernel, panel, shape().filters, [&](Value column, int64_t filters) {
    Value weights = constant(0);
    if (plan.packsFilter) {
      packFilter(math.add(math.mul(group, shape().filters), column), filters, depth);
    } else {
      Value stored = math.sub(math.add(math.mul(group, shape().filterPanels()), panel), firstPanel);
      weights = math.mul(math.add(math.mul(stored, shape().depth()), depth), panelWidth);
    }
    auto multiply = [&](Value window, int64_t lanes) {
      // Vectors of half the lanes leave registers for twice the rows.
      int64_t most = registerRows(shape().accumulator, kernel.target()) * (panelWidth / lanes);
      RowTiles tiles(filters, std::min(most, panelWidth));
      Value windowsAt = math.add(packedAt(depth), window);
      int64_t row = 0;
      for (int64_t tile = 0; tile < tiles.count; ++tile) {
        int64_t rowsOfTile = tile < tiles.tallCount ? tiles.tallRows : tiles.tallRows - 1;
        continueTile(lanes, row, rowsOfTile, windowsAt, math.add(panelAt, window), weights, depth);
        row += rowsOfTile;
      }
    };
    if (!plan.mayEndInHalf()) {
      kernel.loop(constant(0), windows, panelWidth,
                  [&](Value window) { multiply(window, panelWidth); });
      return;
    }
    // Up to half a vector that is left is computed as one.
    constexpr int64_t half = panelWidth / 2;
    Value whole = math.mul(
        arith::DivUIOp::create(b, math.add(windows, half - 1), constant(panelWidth)), panelWidth);
    kernel.loop(constant(0), whole, panelWidth,
                [&](Value window) { multiply(window, panelWidth); });
    kernel.when(arith::CmpIOp::create(b, arith::CmpIPredicate::slt, whole, windows),
                [&] { multiply(whole, half); });
  });
}

void PackedConvEmitter::continueTile(int64_t lanes, int64_t firstRow, int64_t rowCount,
                                     Value windows, Value accumulatorsAt, Value weights,
                                     Value depth) {
  auto accumulatorAt = [&](int64_t row) {
    return math.add(accumulatorsAt, (firstRow + row) * plan.accumulatorStride());
  };
  SmallVector<Value> carried;
  auto type = VectorType::get({lanes}, shape().accumulator);
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type));
  for (int64_t row = 0; row < rowCount; ++row)
    carried.push_back(plan.isOneDepthBlock()
                          ? zero
                          : vector::LoadOp::create(b, type, accumulators, accumulatorAt(row)));
  Value filter = plan.packsFilter
                     ? packedFilter
                     : kernel.argument(cast<BlockArgument>(conv.getFilter()).getArgNumber());
  auto weight = [&](Value k, int64_t row) -> Value {
    Value at = math.add(math.add(weights, math.mul(k, panelWidth)), firstRow + row);
    return memref::LoadOp::create(b, filter, at);
  };
  auto elements = [&](Value k) -> Value {
    return vector::LoadOp::create(b, type, packed,
                                  math.add(windows, math.mul(k, plan.packedStride())));
  };
  multiplyTile(kernel, carried, blockDepth(depth), shape().depth() % depthUnroll == 0, weight,
               elements);
  for (int64_t row = 0; row < rowCount; ++row)
    vector::StoreOp::create(b, carried[row], accumulators, accumulatorAt(row));
}

void PackedConvEmitter::clear(Range range, Value panel) {
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(lanesType(shape().accumulator)));
  Value first = firstAccumulator(range, panel);
  kernel.loop(first, math.add(first, panelWidth * plan.accumulatorStride()), panelWidth,
              [&](Value at) { vector::StoreOp::create(b, zero, accumulators, at); });
}

//===----------------------------------------------------------------------===//
// Epilogue
//===----------------------------------------------------------------------===//

void PackedConvEmitter::emitEpilogue(Value group, const Block &block, Range range, Value panel) {
  Value panelAt = firstAccumulator(range, panel);
  int64_t rowRest = shape().rowCount() % plan.blockRows,
          columnRest = shape().rowLength() % plan.blockColumns;
  forColumns(kernel, panel, shape().filters, [&](Value column, int64_t filters) {
    kernel.loop(0, filters, 1, [&](Value row) {
      Value filter = math.add(math.add(math.mul(group, shape().filters), column), row);
      kernel.setFacts(filter, {1, shape().groups * shape().filters});
      Value at = math.add(panelAt, math.mul(row, plan.accumulatorStride()));
      auto runs = [&](int64_t rowCount, int64_t columnCount) {
        emitRuns(group, block, filter, at, rowCount, columnCount);
      };
      // A block has fewer rows or fewer columns, never both.
      Value isWhole;
      if (rowRest)
        isWhole = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, block.rows,
                                        constant(plan.blockRows));
      else if (columnRest)
        isWhole = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, block.columns,
                                        constant(plan.blockColumns));
      math.either(
          isWhole, [&] { runs(plan.blockRows, plan.blockColumns); },
          [&] {
            runs(rowRest ? rowRest : plan.blockRows, rowRest ? plan.blockColumns : columnRest);
          });
    });
  });
}

// The windows of an image in a block follow each other in the result.
void PackedConvEmitter::emitRuns(Value group, const Block &block, Value filter,
                                 Value accumulatorsAt, int64_t rowCount, int64_t columnCount) {
  int64_t length = rowCount * columnCount, whole = length / panelWidth * panelWidth;
  Value first = math.add(math.mul(block.row, shape().rowLength()), block.column);
  kernel.setFacts(first, {1, shape().windowCount()});
  kernel.loop(0, plan.blockImages, 1, [&](Value inBlock) {
    Value image = math.add(block.image, inBlock);
    kernel.setFacts(image, {1, shape().images});
    Value at = math.add(accumulatorsAt, math.mul(inBlock, length));
    auto vector = [&](Value offset, int64_t active) {
      Value position = math.add(first, offset);
      kernel.setFacts(position, {1, shape().windowCount()});
      emitVector(block, image, filter, position, math.add(at, offset), active);
    };
    if (whole > 0)
      kernel.loop(0, whole, panelWidth, [&](Value offset) { vector(offset, panelWidth); });
    if (whole < length)
      vector(constant(whole), length - whole);
  });
}

void PackedConvEmitter::emitVector(const Block &block, Value image, Value filter, Value position,
                                   Value at, int64_t active) {
  int64_t lanes = active > 8 ? panelWidth : 8;
  Value accumulator =
      vector::LoadOp::create(b, VectorType::get({lanes}, shape().accumulator), accumulators, at);
  ElementEmitter emitter(kernel, lanes, active);
  ElementIndex index{LaneIndex(image), LaneIndex(filter)};
  llvm::append_range(index, emitter.indices().delinearize(
                                LaneIndex(position, 1),
                                cast<RankedTensorType>(conv.getType()).getShape().drop_front(2)));
  epilogue.store(emitter, fromAccumulator(b, accumulator, shape().resultElement), index);
}

namespace {

class ConvSchedule final : public KernelSchedule {
public:
  FailureOr<KernelSpace> space(nn::KernelOp kernel) const override;
  LogicalResult emit(KernelBuilder &kernel) const override;
};

nn::ConvOp convOf(nn::KernelOp kernel) {
  auto convs = kernel.getBody().getOps<nn::ConvOp>();
  return llvm::hasSingleElement(convs) ? *convs.begin() : nn::ConvOp();
}

} // namespace

FailureOr<KernelSpace> ConvSchedule::space(nn::KernelOp kernel) const {
  nn::ConvOp conv = convOf(kernel);
  if (!conv)
    return kernel.emitOpError("must hold one nn.conv");
  if (!isa<BlockArgument>(conv.getInput()))
    return conv.emitOpError("must read its input from an argument of its kernel");
  if (failed(verifyElements(kernel, conv)) || failed(Epilogue::ofKernel(kernel, conv)))
    return failure();
  ConvShape shape(conv);
  if (shape.isEmpty())
    return KernelSpace{1, 0};
  if (shape.isDepthwise()) {
    DepthwiseConvPlan plan(conv);
    return KernelSpace{plan.units(), plan.scratchBytes()};
  }
  PackedConvPlan plan(conv);
  return KernelSpace{plan.units(), plan.scratchBytes()};
}

LogicalResult ConvSchedule::emit(KernelBuilder &kernel) const {
  nn::ConvOp conv = convOf(kernel.kernel());
  FailureOr<Epilogue> epilogue = Epilogue::ofKernel(kernel.kernel(), conv);
  ConvShape shape(conv);
  if (shape.isEmpty())
    return success();
  if (shape.isDepthwise())
    emitDepthwiseConv(kernel, conv, *epilogue);
  else
    PackedConvEmitter(kernel, conv, *epilogue).emit();
  return success();
}

const KernelSchedule &kernels::convSchedule() {
  static const ConvSchedule schedule;
  return schedule;
}
