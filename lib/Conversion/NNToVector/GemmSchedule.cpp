// One matrix product with its epilogue. Units are panels of result columns.
//
// An element's chain of fused multiply-adds, or of dot products of pairs, runs over depth in ascending order in one
// lane of one accumulator; between blocks of depth the accumulator rests in scratch, and
// between calls that each have a tile of the right operand's depth in the result.
// So the cuts of GemmPlan, the units and the part of a call, and tiles change no bit.

#include "spillway/Conversion/NNToVector/Epilogue.h"
#include "spillway/Conversion/NNToVector/GemmPlan.h"
#include "spillway/Conversion/NNToVector/KernelSchedule.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::kernels;

namespace {

constexpr int64_t cacheLineBytes = 64;

class GemmEmitter {
public:
  GemmEmitter(KernelBuilder &kernel, nn::MatmulOp matmul, const Epilogue &epilogue)
      : kernel(kernel), b(kernel.builder()), matmul(matmul), epilogue(epilogue),
        plan(matmul, kernel.target()), panels(columnPanels(matmul)) {}

  void emit();

private:
  /// A range of rows, panels or depth while it is emitted.
  struct Range {
    Value from, to;
  };

  /// The tiles of this part of the rows, and how they are cut into blocks.
  void divideTiles();
  void emitBatch(Value batch, Range panels);
  void emitGroup(Value batch, Range tiles, Range panels);
  void packLhs(Value batch, Range tiles, Value depth);
  void packTile(Value batch, Value row, Value to, int64_t rows, Value depth);
  /// Of a left operand whose rows lie side by side: the rows of a tile at `count` indices of depth.
  void packColumns(Value batch, Value row, Value to, int64_t rows, Value k, int64_t count);
  void packRhs(Value batch, Value panel, Value depth);
  /// 16 elements of the right operand at an index of depth: `k` and `plus`.
  Value pullRhsRow(Value batch, Value column, int64_t columns, Value k, int64_t plus = 0);
  void prefetchRhs(Value batch, Range panels, Value panel, Value depth, Range tiles, Value tile);
  void multiplyPanel(Value batch, Range tiles, Range panels, Value panel, Value depth);
  /// Gives 16 packed elements of the right operand; `k` counts them from the
  /// beginning of the block of depth.
  using RhsRow = llvm::function_ref<Value(Value k)>;
  void continueTile(int64_t rows, Value lhs, Value accumulators, Value depth, RhsRow rhsRow);
  /// Sets the accumulators of a panel in a group to zero.
  void clear(Range panels, Value panel);
  Value firstAccumulator(Range panels, Value panel);
  /// Calls `body` for each row of a panel's accumulators; `at` is where it lies.
  void forAccumulators(Value batch, Range tiles, Range panels, Value panel,
                       llvm::function_ref<void(Value row, Value column, int64_t columns, Value at)> body);
  /// What the call before has left in the result, as accumulators; and the other way.
  void loadPartial(Value batch, Range tiles, Range panels, Value panel);
  void storePartial(Value batch, Range tiles, Range panels, Value panel);
  /// Of the product.
  ElementIndex elementIndex(IndexMath &math, Value batch, Value row, Value column);
  void emitEpilogue(Value batch, Range tiles, Range panels, Value panel);
  void emitEpilogueRow(Value batch, Value row, Value column, int64_t columns, Value accumulator);

  Value constant(int64_t value) { return kernel.constantIndex(value); }
  Value add(Value lhs, Value rhs) { return arith::AddIOp::create(b, lhs, rhs); }
  Value add(Value lhs, int64_t rhs) { return rhs == 0 ? lhs : add(lhs, constant(rhs)); }
  Value sub(Value lhs, Value rhs) { return arith::SubIOp::create(b, lhs, rhs); }
  Value mul(Value lhs, int64_t rhs) {
    return rhs == 1 ? lhs : arith::MulIOp::create(b, lhs, constant(rhs));
  }
  Value min(Value lhs, Value rhs) { return arith::MinSIOp::create(b, lhs, rhs); }
  Value max(Value lhs, Value rhs) { return arith::MaxSIOp::create(b, lhs, rhs); }

  const GemmShape &shape() const { return plan.shape; }
  VectorType panelType(Type element) const { return VectorType::get({panelWidth}, element); }
  /// Calls `body` with the first index of each block of depth.
  void forDepthBlocks(llvm::function_ref<void(Value depth)> body);
  /// Where the block of depth that begins with `depth` lies in packedLhs.
  Value packedBlock(Value depth);
  /// Indices of depth in the block that begins with `depth`, and the packed elements that they take.
  Value blockDepth(Value depth);
  Value packedDepth(Value depth);
  /// Which of the packed elements in the block that begins with `depth` index `k` begins.
  Value packedIndex(Value k, Value depth) {
    Value index = sub(k, depth);
    return plan.depthPerElement == 1 ? index : arith::DivUIOp::create(b, index, constant(plan.depthPerElement));
  }
  /// Packed elements of `count` operand elements side by side along depth.
  Value packAlongDepth(Value elements, int64_t count);
  /// A vector of packed elements that begin with the first of `count` indices of depth; `elements` gives a vector of operand
  /// elements for one of them, counted from there.
  Value packAcrossDepth(int64_t count, llvm::function_ref<Value(int64_t)> elements);
  /// Steps of depth in which packing goes on, and the packed elements that `count` indices take.
  int64_t transposedDepth() const { return transposeSize * plan.depthPerElement; }
  int64_t packedCount(int64_t count) const { return llvm::divideCeil(count, plan.depthPerElement); }
  Value firstRow(Value tile) { return plan.tiles.firstRow(kernel, tile); }
  /// Calls `body` for the indices of depth in the block from `depth` in steps of `step`; `active`
  /// of them lie inside the operand.
  void forDepth(Value depth, int64_t step, llvm::function_ref<void(Value k, int64_t active)> body) {
    kernels::forDepth(kernel, depth, plan.blockDepth, shape().depth, depthTo, step, body);
  }
  ElementIndex batchIndex(IndexMath &math, Value batch, RankedTensorType type);
  /// Of an element of the right operand.
  ElementIndex rhsIndex(IndexMath &math, Value batch, LaneIndex k, LaneIndex column);
  void store(Value vector, Value memref, Value at) {
    vector::StoreOp::create(b, vector, memref, at);
  }

  KernelBuilder &kernel;
  ImplicitLocOpBuilder &b;
  nn::MatmulOp matmul;
  const Epilogue &epilogue;
  GemmPlan plan;
  /// The right operand's argument where it is stored in panels of columns, and the first one there.
  std::optional<unsigned> panels;
  Value firstPanel;
  /// The depth that the tile of the right operand has, where tiles of it may stand for it; else null.
  Value depthFrom, depthTo;
  Value packedLhs, packedRhs, accumulators;
  Range ownTiles;
  Value tilesPerBlock;
};

} // namespace

void GemmEmitter::emit() {
  auto area = [&](int64_t offset, int64_t elements, Type element) {
    return kernel.scratch(offset, MemRefType::get({elements}, element));
  };
  packedLhs = area(0, plan.packedLhsElements, plan.packedElement);
  packedRhs = area(plan.packedLhsBytes(), plan.packedRhsElements(), plan.packedElement);
  accumulators = area(plan.packedLhsBytes() + plan.packedRhsBytes(), plan.accumulatorElements(), plan.accumulator);

  if (panels) {
    firstPanel = kernel.origin(*panels);
    kernel.setFirstUnit(*panels, firstPanel);
  }
  if (std::optional<unsigned> tiled = depthTiled(matmul)) {
    depthFrom = mul(kernel.origin(*tiled), panelWidth);
    kernel.setFacts(depthFrom, {panelWidth, shape().depth});
    Value end = mul(add(kernel.origin(*tiled), kernel.heldUnits(*tiled)), panelWidth);
    depthTo = min(end, constant(shape().depth));
    kernel.setFacts(depthTo, {1, shape().depth + 1});
  }

  divideTiles();
  if (!shape().batchedRhs) {
    kernel.loop(0, shape().batches, 1, [&](Value batch) {
      emitBatch(batch, {kernel.begin(), kernel.end()});
    });
    return;
  }
  Value panels = constant(shape().panels());
  Value from = arith::DivUIOp::create(b, kernel.begin(), panels);
  Value to = arith::CeilDivUIOp::create(b, kernel.end(), panels);
  kernel.setFacts(to, {1, shape().batches});
  kernel.loop(from, to, 1, [&](Value batch) {
    Value first = mul(batch, shape().panels());
    emitBatch(batch, {max(sub(kernel.begin(), first), constant(0)),
                      min(sub(kernel.end(), first), panels)});
  });
}

// Into as even blocks as can be, of at most those that the plan has room for.
void GemmEmitter::divideTiles() {
  if (shape().mostParts() == 1) {
    ownTiles = {constant(0), constant(plan.tiles.count)};
    tilesPerBlock = constant(plan.tilesPerBlock);
    return;
  }
  auto firstTile = [&](Value part) -> Value {
    return arith::DivUIOp::create(b, mul(part, plan.tiles.count), kernel.parts());
  };
  ownTiles = {firstTile(kernel.part()), firstTile(add(kernel.part(), 1))};
  Value count = sub(ownTiles.to, ownTiles.from);
  Value blocks = max(arith::CeilDivUIOp::create(b, count, constant(plan.tilesPerBlock)), constant(1));
  tilesPerBlock = max(arith::CeilDivUIOp::create(b, count, blocks), constant(1));
}

void GemmEmitter::emitBatch(Value batch, Range panels) {
  kernel.loop(ownTiles.from, ownTiles.to, tilesPerBlock, [&](Value tile) {
    Range tiles{tile, min(add(tile, tilesPerBlock), ownTiles.to)};
    if (plan.packsLhsOnce)
      forDepthBlocks([&](Value depth) { packLhs(batch, tiles, depth); });
    kernel.loop(panels.from, panels.to, plan.groupPanels, [&](Value panel) {
      emitGroup(batch, tiles, {panel, min(add(panel, plan.groupPanels), panels.to)});
    });
  });
}

void GemmEmitter::emitGroup(Value batch, Range tiles, Range panels) {
  auto forPanels = [&](llvm::function_ref<void(Value panel)> body) {
    kernel.loop(panels.from, panels.to, 1, body);
  };
  if (shape().depth == 0)
    return forPanels([&](Value panel) {
      clear(panels, panel);
      emitEpilogue(batch, tiles, panels, panel);
    });
  auto compare = [&](arith::CmpIPredicate predicate, Value lhs, Value rhs) -> Value {
    return arith::CmpIOp::create(b, predicate, lhs, rhs);
  };
  auto both = [&](Value lhs, Value rhs) -> Value { return arith::AndIOp::create(b, lhs, rhs); };
  forDepthBlocks([&](Value depth) {
    if (!plan.packsLhsOnce)
      packLhs(batch, tiles, depth);
    Value whole = constant(shape().depth), end = add(depth, plan.blockDepth);
    forPanels([&](Value panel) {
      kernel.when(compare(arith::CmpIPredicate::eq, depth, constant(0)), [&] { clear(panels, panel); });
      if (depthFrom)
        kernel.when(both(compare(arith::CmpIPredicate::eq, depth, depthFrom),
                         compare(arith::CmpIPredicate::ne, depth, constant(0))),
                    [&] { loadPartial(batch, tiles, panels, panel); });
      multiplyPanel(batch, tiles, panels, panel, depth);
      Value isLast = compare(arith::CmpIPredicate::sge, end, depthTo ? depthTo : whole);
      if (!depthTo)
        return kernel.when(isLast, [&] { emitEpilogue(batch, tiles, panels, panel); });
      kernel.when(both(isLast, compare(arith::CmpIPredicate::eq, depthTo, whole)),
                  [&] { emitEpilogue(batch, tiles, panels, panel); });
      kernel.when(both(isLast, compare(arith::CmpIPredicate::ne, depthTo, whole)),
                  [&] { storePartial(batch, tiles, panels, panel); });
    });
  });
}

void GemmEmitter::clear(Range range, Value panel) {
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(panelType(plan.accumulator)));
  Value first = firstAccumulator(range, panel);
  kernel.loop(first, add(first, plan.blockRows() * panelWidth), panelWidth,
              [&](Value at) { store(zero, accumulators, at); });
}

Value GemmEmitter::firstAccumulator(Range range, Value panel) {
  return mul(sub(panel, range.from), plan.blockRows() * panelWidth);
}

void GemmEmitter::forDepthBlocks(function_ref<void(Value depth)> body) {
  if (depthFrom)
    kernel.loop(depthFrom, depthTo, plan.blockDepth, body);
  else if (shape().depth > 0)
    kernel.loop(0, shape().depth, plan.blockDepth, body);
}

Value GemmEmitter::packedBlock(Value depth) {
  if (!plan.packsLhsOnce)
    return constant(0);
  Value index = arith::DivUIOp::create(b, depthFrom ? sub(depth, depthFrom) : depth, constant(plan.blockDepth));
  return mul(index, plan.packedBlockElements());
}

Value GemmEmitter::blockDepth(Value depth) {
  if (!depthTo && plan.blockDepth == shape().depth)
    return constant(shape().depth);
  return min(constant(plan.blockDepth), sub(depthTo ? depthTo : constant(shape().depth), depth));
}

Value GemmEmitter::packedDepth(Value depth) {
  Value count = blockDepth(depth);
  return plan.depthPerElement == 1 ? count : arith::CeilDivUIOp::create(b, count, constant(plan.depthPerElement));
}

Value GemmEmitter::packAlongDepth(Value elements, int64_t count) {
  if (plan.depthPerElement == 1)
    return toAccumulator(b, elements);
  auto type = cast<VectorType>(elements.getType());
  if (count % plan.depthPerElement != 0) {
    // Whatever else the lanes hold, zero times it may be no number.
    SmallVector<int64_t> lanes = llvm::to_vector(llvm::seq<int64_t>(type.getNumElements()));
    lanes[count] = type.getNumElements();
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type));
    elements = vector::ShuffleOp::create(b, elements, zero, lanes);
  }
  return vector::BitCastOp::create(b, VectorType::get({type.getNumElements() / 2}, plan.packedElement), elements);
}

Value GemmEmitter::packAcrossDepth(int64_t count, function_ref<Value(int64_t)> elements) {
  Value first = elements(0);
  if (plan.depthPerElement == 1)
    return toAccumulator(b, first);
  auto type = cast<VectorType>(first.getType());
  Value second = count > 1 ? elements(1) : arith::ConstantOp::create(b, b.getZeroAttr(type));
  auto bits = [&](Value value) -> Value {
    return vector::BitCastOp::create(b, VectorType::get(type.getShape(), b.getI16Type()), value);
  };
  Value pairs = vector::InterleaveOp::create(b, bits(first), bits(second));
  return vector::BitCastOp::create(b, VectorType::get(type.getShape(), plan.packedElement), pairs);
}

ElementIndex GemmEmitter::batchIndex(IndexMath &math, Value batch, RankedTensorType type) {
  ArrayRef<int64_t> sizes = type.getShape().drop_back(2);
  return sizes.empty() ? ElementIndex() : math.delinearize(LaneIndex(batch), sizes);
}

void GemmEmitter::packLhs(Value batch, Range tiles, Value depth) {
  Value block = packedBlock(depth);
  auto forTiles = [&](llvm::function_ref<void(Value row, Value to, int64_t rows)> body) {
    plan.tiles.forEach(kernel, tiles.from, tiles.to, [&](Value tile, int64_t rows) {
      body(firstRow(tile), add(block, mul(sub(tile, tiles.from), plan.packedTileElements())), rows);
    });
  };
  if (!matmul.getTransposeLhs())
    return forTiles([&](Value row, Value to, int64_t rows) { packTile(batch, row, to, rows, depth); });
  // A line of memory holds rows of several tiles: all are packed while it is near.
  forDepth(depth, transposedDepth(), [&](Value k, int64_t active) {
    forTiles([&](Value row, Value to, int64_t rows) { packColumns(batch, row, add(to, mul(packedIndex(k, depth), plan.packedStride())), rows, k, active); });
  });
}

void GemmEmitter::packColumns(Value batch, Value row, Value to, int64_t rows, Value k, int64_t count) {
  for (int64_t i = 0; i < packedCount(count); ++i)
    for (int64_t first = 0; first < rows; first += transposeSize) {
      ElementEmitter emitter(kernel, transposeSize, std::min(transposeSize, rows - first));
      int64_t begin = i * plan.depthPerElement;
      Value packed = packAcrossDepth(count - begin, [&](int64_t j) {
        ElementIndex index = batchIndex(emitter.indices(), batch, matmul.getLhs().getType());
        index.push_back(emitter.indices().add(LaneIndex(k), begin + j));
        index.push_back(emitter.indices().add(LaneIndex(row, 1), first));
        return emitter.emit(matmul.getLhs(), index);
      });
      store(packed, packedLhs, add(to, i * plan.packedStride() + first));
    }
}

void GemmEmitter::packTile(Value batch, Value row, Value to, int64_t rows, Value depth) {
  RankedTensorType type = matmul.getLhs().getType();
  for (int64_t first = 0; first < rows; first += transposeSize) {
    int64_t count = std::min(transposeSize, rows - first);
    forDepth(depth, transposedDepth(), [&](Value k, int64_t active) {
      ElementEmitter emitter(kernel, transposedDepth(), active);
      IndexMath &math = emitter.indices();
      // Leading dimensions are rows or the batch: both are a row-major position.
      LaneIndex position = math.add(math.multiply(LaneIndex(batch), shape().rows), LaneIndex(row));
      SmallVector<Value> block;
      for (int64_t i = first; i < first + count; ++i) {
        ElementIndex index = math.delinearize(math.add(position, i), type.getShape().drop_back());
        index.push_back(LaneIndex(k, 1));
        block.push_back(packAlongDepth(emitter.emit(matmul.getLhs(), index), active));
      }
      Value at = add(to, mul(packedIndex(k, depth), plan.packedStride()));
      for (auto [i, column] : llvm::enumerate(transposeBlock(b, block)))
        if (static_cast<int64_t>(i) < packedCount(active))
          store(column, packedLhs, add(at, i * plan.packedStride() + first));
    });
  }
}

ElementIndex GemmEmitter::rhsIndex(IndexMath &math, Value batch, LaneIndex k, LaneIndex column) {
  ElementIndex index = batchIndex(math, batch, matmul.getRhs().getType());
  if (matmul.getTransposeRhs())
    std::swap(k, column);
  index.append({k, column});
  return index;
}

Value GemmEmitter::pullRhsRow(Value batch, Value column, int64_t columns, Value k, int64_t plus) {
  ElementEmitter emitter(kernel, panelWidth, columns);
  IndexMath &math = emitter.indices();
  ElementIndex index = rhsIndex(math, batch, math.add(LaneIndex(k), plus), LaneIndex(column, 1));
  return emitter.emit(matmul.getRhs(), index);
}

void GemmEmitter::packRhs(Value batch, Value panel, Value depth) {
  auto at = [&](Value k) { return mul(packedIndex(k, depth), panelWidth); };
  forColumns(kernel, panel, shape().columns, [&](Value column, int64_t columns) {
    if (!plan.rhsAlongDepth) {
      forDepth(depth, plan.depthPerElement, [&](Value k, int64_t active) {
        Value row = packAcrossDepth(active, [&](int64_t i) { return pullRhsRow(batch, column, columns, k, i); });
        store(row, packedRhs, at(k));
      });
      return;
    }
    forDepth(depth, transposedDepth(), [&](Value k, int64_t active) {
      ElementEmitter emitter(kernel, transposedDepth(), active);
      IndexMath &math = emitter.indices();
      for (int64_t first = 0; first < columns; first += transposeSize) {
        SmallVector<Value> block;
        for (int64_t i = first; i < std::min(columns, first + transposeSize); ++i) {
          ElementIndex index = rhsIndex(math, batch, LaneIndex(k, 1), math.add(LaneIndex(column), i));
          block.push_back(packAlongDepth(emitter.emit(matmul.getRhs(), index), active));
        }
        for (auto [i, row] : llvm::enumerate(transposeBlock(b, block)))
          if (static_cast<int64_t>(i) < packedCount(active))
            store(row, packedRhs, add(at(k), i * panelWidth + first));
      }
    });
  });
}

// While tiles of this panel are computed, the block that comes next is on its way to L2: rows of a block that is not
// stored as a panel lie far apart, where no hardware fetches ahead.
void GemmEmitter::prefetchRhs(Value batch, Range range, Value panel, Value depth, Range tiles, Value tile) {
  auto argument = cast<BlockArgument>(matmul.getRhs());
  auto less = [&](Value lhs, Value rhs) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, lhs, rhs);
  };
  auto select = [&](Value condition, Value yes, Value no) -> Value {
    return arith::SelectOp::create(b, condition, yes, no);
  };
  Value nextDepth = add(depth, plan.blockDepth);
  Value inGroup = less(add(panel, 1), range.to);
  Value inDepth = less(nextDepth, depthTo ? depthTo : constant(shape().depth));
  Value nextPanel = select(inGroup, add(panel, 1), select(inDepth, range.from, range.to));
  nextDepth = select(inGroup, depth, select(inDepth, nextDepth, depthFrom ? depthFrom : constant(0)));

  int64_t perLine = cacheLineBytes / nn::elementBytes(plan.rhsElement);
  // A line of a block that is not stored as a panel holds a row of the panel, or part of a column.
  int64_t lines = panels              ? llvm::divideCeil(plan.blockDepth * panelWidth, perLine)
                  : plan.rhsAlongDepth ? llvm::alignTo(plan.blockDepth, panelWidth)
                                       : plan.blockDepth;
  Value linesPerTile = arith::CeilDivUIOp::create(b, constant(lines), sub(tiles.to, tiles.from));
  Value firstLine = arith::MulIOp::create(b, sub(tile, tiles.from), linesPerTile);
  auto prefetch = [&](Value address) {
    Value memref = kernel.argument(argument.getArgNumber());
    Value last = constant(cast<MemRefType>(memref.getType()).getNumElements() - 1);
    memref::PrefetchOp::create(b, memref, ValueRange(min(address, last)), /*isWrite=*/false, /*localityHint=*/2,
                               /*isDataCache=*/true);
  };
  kernel.loop(constant(0), linesPerTile, 1, [&](Value line) {
    line = add(firstLine, line);
    if (panels) {
      Value row = add(mul(sub(nextPanel, firstPanel), shape().depth), nextDepth);
      return prefetch(add(mul(row, panelWidth), mul(line, perLine)));
    }
    Value k = line, column = mul(nextPanel, panelWidth);
    if (plan.rhsAlongDepth) {
      k = mul(arith::DivUIOp::create(b, line, constant(panelWidth)), panelWidth);
      column = add(column, arith::RemUIOp::create(b, line, constant(panelWidth)));
    } else {
      column = add(column, panelWidth - 1);
    }
    auto within = [&](Value index, int64_t size) {
      Value least = min(index, constant(size - 1));
      kernel.setFacts(least, {1, size});
      return LaneIndex(least);
    };
    ElementEmitter emitter(kernel, 1);
    ElementIndex index = rhsIndex(emitter.indices(), batch, within(add(nextDepth, k), shape().depth),
                                  within(column, shape().columns));
    prefetch(emitter.indices().value(emitter.addressOf(argument.getArgNumber(), matmul.getRhs().getType(), index).base));
  });
}

void GemmEmitter::multiplyPanel(Value batch, Range tiles, Range range, Value panel, Value depth) {
  if (plan.packsRhs)
    packRhs(batch, panel, depth);
  Value panelAccumulators = firstAccumulator(range, panel);

  auto multiply = [&](RhsRow rhsRow) {
    plan.tiles.forEach(kernel, tiles.from, tiles.to, [&](Value tile, int64_t rows) {
      Value tileInBlock = sub(tile, tiles.from);
      if (plan.prefetchesRhs)
        prefetchRhs(batch, range, panel, depth, tiles, tile);
      Value lhs = add(packedBlock(depth), mul(tileInBlock, plan.packedTileElements()));
      Value row = sub(firstRow(tile), firstRow(tiles.from));
      continueTile(rows, lhs, add(panelAccumulators, mul(row, panelWidth)), depth, rhsRow);
    });
  };
  if (plan.packsRhs) {
    multiply([&](Value k) -> Value {
      return vector::LoadOp::create(b, panelType(plan.packedElement), packedRhs, mul(k, panelWidth));
    });
  } else if (panels) {
    Value first = add(mul(sub(panel, firstPanel), shape().depth), depth);
    multiply([&](Value k) -> Value {
      return toAccumulator(b, vector::LoadOp::create(b, panelType(plan.rhsElement),
                                                     kernel.argument(*panels),
                                                     mul(add(first, k), panelWidth)));
    });
  } else {
    forColumns(kernel, panel, shape().columns, [&](Value column, int64_t columns) {
      multiply([&](Value k) -> Value { return toAccumulator(b, pullRhsRow(batch, column, columns, add(depth, k))); });
    });
  }
}

void GemmEmitter::continueTile(int64_t rows, Value lhs, Value at, Value depth, RhsRow rhsRow) {
  auto accumulatorAt = [&](int64_t row) { return add(at, row * panelWidth); };
  SmallVector<Value> carried;
  for (int64_t row = 0; row < rows; ++row)
    carried.push_back(
        vector::LoadOp::create(b, panelType(plan.accumulator), accumulators, accumulatorAt(row)));
  auto lhsElement = [&](Value k, int64_t row) -> Value {
    Value first = add(lhs, mul(k, plan.packedStride()));
    return memref::LoadOp::create(b, packedLhs, add(first, row));
  };
  multiplyTile(kernel, carried, packedDepth(depth), packedCount(shape().depth) % depthUnroll == 0, lhsElement, rhsRow);
  for (int64_t row = 0; row < rows; ++row)
    store(carried[row], accumulators, accumulatorAt(row));
}

void GemmEmitter::forAccumulators(Value batch, Range tiles, Range range, Value panel,
                                  function_ref<void(Value, Value, int64_t, Value)> body) {
  Value from = firstRow(tiles.from), to = firstRow(tiles.to);
  kernel.setFacts(to, {1, shape().rows});
  Value first = firstAccumulator(range, panel);
  forColumns(kernel, panel, shape().columns, [&](Value column, int64_t columns) {
    kernel.loop(from, to, 1, [&](Value row) {
      body(row, column, columns, add(first, mul(sub(row, from), panelWidth)));
    });
  });
}

ElementIndex GemmEmitter::elementIndex(IndexMath &math, Value batch, Value row, Value column) {
  LaneIndex position = math.add(math.multiply(LaneIndex(batch), shape().rows), LaneIndex(row));
  ElementIndex index = math.delinearize(position, matmul.getType().getShape().drop_back());
  index.push_back(LaneIndex(column, 1));
  return index;
}

void GemmEmitter::loadPartial(Value batch, Range tiles, Range range, Value panel) {
  forAccumulators(batch, tiles, range, panel, [&](Value row, Value column, int64_t columns, Value at) {
    ElementEmitter emitter(kernel, panelWidth, columns);
    ElementIndex position = epilogue.positionIn(0, emitter, elementIndex(emitter.indices(), batch, row, column));
    store(emitter.spread(emitter.loadResult(0, position)), accumulators, at);
  });
}

void GemmEmitter::storePartial(Value batch, Range tiles, Range range, Value panel) {
  forAccumulators(batch, tiles, range, panel, [&](Value row, Value column, int64_t columns, Value at) {
    ElementEmitter emitter(kernel, panelWidth, columns);
    Value accumulator = vector::LoadOp::create(b, panelType(plan.accumulator), accumulators, at);
    emitter.storeResult(0, epilogue.positionIn(0, emitter, elementIndex(emitter.indices(), batch, row, column)),
                        accumulator);
  });
}

void GemmEmitter::emitEpilogue(Value batch, Range tiles, Range range, Value panel) {
  forAccumulators(batch, tiles, range, panel, [&](Value row, Value column, int64_t columns, Value at) {
    Value accumulator = vector::LoadOp::create(b, panelType(plan.accumulator), accumulators, at);
    emitEpilogueRow(batch, row, column, columns, accumulator);
  });
}

void GemmEmitter::emitEpilogueRow(Value batch, Value row, Value column, int64_t columns,
                                  Value accumulator) {
  Type element = matmul.getType().getElementType();
  if (element != plan.accumulator && isa<FloatType>(plan.accumulator))
    accumulator = arith::TruncFOp::create(b, panelType(element), accumulator);
  else if (element != plan.accumulator)
    accumulator = arith::SIToFPOp::create(b, panelType(element), accumulator);
  ElementEmitter emitter(kernel, panelWidth, columns);
  epilogue.store(emitter, accumulator, elementIndex(emitter.indices(), batch, row, column));
}

namespace {

class GemmSchedule final : public KernelSchedule {
public:
  FailureOr<KernelSpace> space(nn::KernelOp kernel) const override;
  LogicalResult emit(KernelBuilder &kernel) const override;
};

nn::MatmulOp matmulOf(nn::KernelOp kernel) {
  auto matmuls = kernel.getBody().getOps<nn::MatmulOp>();
  return llvm::hasSingleElement(matmuls) ? *matmuls.begin() : nn::MatmulOp();
}

} // namespace

FailureOr<KernelSpace> GemmSchedule::space(nn::KernelOp kernel) const {
  nn::MatmulOp matmul = matmulOf(kernel);
  if (!matmul)
    return kernel.emitOpError("must hold one nn.matmul");
  if (matmul.getLhs().getType().getElementType().isInteger(1))
    return matmul.emitOpError("cannot be computed on i1");
  if (failed(verifyElements(kernel, matmul)) || failed(Epilogue::ofKernel(kernel, matmul)))
    return failure();
  int64_t scratch = 0;
  for (CpuLevel level : {CpuLevel::avx2, CpuLevel::avx512, CpuLevel::avx512bf16})
    scratch = std::max(scratch, GemmPlan(matmul, {level}).scratchBytes());
  GemmShape shape(matmul);
  return KernelSpace{std::max<int64_t>(1, shape.units()), scratch, shape.mostParts()};
}

LogicalResult GemmSchedule::emit(KernelBuilder &kernel) const {
  nn::MatmulOp matmul = matmulOf(kernel.kernel());
  FailureOr<Epilogue> epilogue = Epilogue::ofKernel(kernel.kernel(), matmul);
  if (!GemmShape(matmul).isEmpty())
    GemmEmitter(kernel, matmul, *epilogue).emit();
  return success();
}

const KernelSchedule &kernels::gemmSchedule() {
  static const GemmSchedule schedule;
  return schedule;
}
