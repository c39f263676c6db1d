// One attention. A unit is a block of query rows of one head of one batch.
//
// A block of rows runs over blocks of keys in ascending order with a running maximum and
// sum per row: scores never leave a block of rows x keys in scratch. For a row, with the
// scores s of a block (-inf where the query does not see the key):
//
//   m' = max(m, max(s)), r = m' (0 where m' = -inf), a = exp(m - r), p = exp(s - r)
//   l' = l * a + sum(p),  o' = o * a + p x value
//
// and o / l in the end (Milakov and Gimelshein, arXiv 1805.02867; Dao et al.,
// arXiv 2205.14135). Blocks are the same for every cut of units.

#include "spillway/Conversion/NNToVector/Epilogue.h"
#include "spillway/Conversion/NNToVector/KernelSchedule.h"
#include "spillway/Conversion/NNToVector/RegisterTile.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::kernels;

namespace {

constexpr int64_t maxQueryBlock = 64;
/// Keys of a block: four panels.
constexpr int64_t keyBlock = 64;
/// Rows of scores are read side by side: their distance is no power of two.
constexpr int64_t scoreStride = keyBlock + 8;
constexpr int64_t cacheLineBytes = 64;

struct AttentionPlan {
  AttentionPlan(nn::AttentionOp attention, const CpuTarget &target);

  int64_t batches, heads, keyHeads, queries, keys, depth, valueDepth;
  Type accumulator;
  /// Query rows of a unit; the last block of a head computes its last row again instead
  /// of rows that are not there.
  int64_t queryBlocks, blockRows;
  RowTiles tiles;

  int64_t units() const { return batches * heads * queryBlocks; }
  int64_t valuePanels() const { return llvm::divideCeil(valueDepth, panelWidth); }
  /// Elements of the areas of scratch.
  int64_t queryElements() const { return tiles.count * depth * tiles.alignedStride(); }
  int64_t keyElements() const { return keyBlock * depth; }
  int64_t scoreElements() const { return blockRows * scoreStride; }
  int64_t outputElements() const { return blockRows * valuePanels() * panelWidth; }
  int64_t rowElements() const { return blockRows; }
  int64_t bytes(int64_t elements) const {
    return llvm::alignTo(elements * nn::elementBytes(accumulator), cacheLineBytes);
  }
  int64_t scratchBytes() const {
    return bytes(queryElements()) + bytes(keyElements()) + bytes(scoreElements()) +
           bytes(outputElements()) + 2 * bytes(rowElements());
  }
};

class AttentionEmitter {
public:
  AttentionEmitter(KernelBuilder &kernel, nn::AttentionOp attention, const Epilogue &epilogue)
      : kernel(kernel), b(kernel.builder()), attention(attention), epilogue(epilogue),
        plan(attention, kernel.target()) {}

  void emit();

private:
  /// What a unit computes.
  struct Unit {
    Value batch, head, keyHead, firstQuery;
  };

  void emitUnit(const Unit &unit);
  void packQuery(const Unit &unit);
  void initialize();
  Value seenKeys(const Unit &unit);
  void emitKeyBlock(const Unit &unit, Value firstKey);
  void packKeys(const Unit &unit, Value firstKey, Value panel);
  void computeScores(Value panel);
  void normalizeRow(const Unit &unit, Value firstKey, Value panels, Value row);
  Value maskedScore(const Unit &unit, Value key, int64_t count, Value row, Value score);
  void addValues(const Unit &unit, Value firstKey, Value keyCount);
  void storeRow(const Unit &unit, Value row);

  Value constant(int64_t value) { return kernel.constantIndex(value); }
  Value add(Value lhs, Value rhs) { return arith::AddIOp::create(b, lhs, rhs); }
  Value add(Value lhs, int64_t rhs) { return add(lhs, constant(rhs)); }
  Value sub(Value lhs, Value rhs) { return arith::SubIOp::create(b, lhs, rhs); }
  Value mul(Value lhs, int64_t rhs) { return arith::MulIOp::create(b, lhs, constant(rhs)); }
  Value min(Value lhs, Value rhs) { return arith::MinSIOp::create(b, lhs, rhs); }
  Value max(Value lhs, Value rhs) { return arith::MaxSIOp::create(b, lhs, rhs); }

  VectorType panelType() const { return VectorType::get({panelWidth}, plan.accumulator); }
  Value number(double value) {
    return arith::ConstantOp::create(b, b.getFloatAttr(plan.accumulator, value));
  }
  Value spread(Value scalar) {
    auto type = VectorType::get({panelWidth}, scalar.getType());
    return vector::BroadcastOp::create(b, type, scalar);
  }
  Value lowest() { return number(-std::numeric_limits<double>::infinity()); }
  Value load(Value memref, Value at) {
    return vector::LoadOp::create(b, panelType(), memref, at);
  }
  void store(Value vector, Value memref, Value at) {
    vector::StoreOp::create(b, vector, memref, at);
  }
  /// A row of the output that counts from the block, as a query of the head.
  Value query(const Unit &unit, Value row) {
    Value index = min(add(unit.firstQuery, row), constant(plan.queries - 1));
    kernel.setFacts(index, {1, plan.queries});
    return index;
  }
  /// 16 lanes in one, by halves.
  Value sum(Value vector);

  KernelBuilder &kernel;
  ImplicitLocOpBuilder &b;
  nn::AttentionOp attention;
  const Epilogue &epilogue;
  AttentionPlan plan;
  /// Scratch: packed tiles of queries [tile][depth][row]; panels of keys [panel][depth][key];
  /// scores and then weights [row][key]; output [row][column]; maximum and sum [row].
  Value packedQuery, packedKeys, scores, output, maxima, sums;
};

int64_t dim(Value tensor, int64_t i) {
  return cast<RankedTensorType>(tensor.getType()).getDimSize(i);
}

} // namespace

AttentionPlan::AttentionPlan(nn::AttentionOp attention, const CpuTarget &target)
    : batches(dim(attention.getQuery(), 0)), heads(dim(attention.getQuery(), 1)),
      keyHeads(dim(attention.getKey(), 1)), queries(dim(attention.getQuery(), 2)),
      keys(dim(attention.getKey(), 2)), depth(dim(attention.getQuery(), 3)),
      valueDepth(dim(attention.getValue(), 3)),
      accumulator(accumulatorType(getElementTypeOrSelf(attention.getQuery()))),
      queryBlocks(llvm::divideCeil(queries, maxQueryBlock)),
      blockRows(llvm::divideCeil(queries, std::max<int64_t>(1, queryBlocks))),
      tiles(blockRows, registerRows(accumulator, target)) {}

void AttentionEmitter::emit() {
  int64_t offset = 0;
  auto area = [&](int64_t elements) {
    Value memref = kernel.scratch(offset, MemRefType::get({elements}, plan.accumulator));
    offset += plan.bytes(elements);
    return memref;
  };
  packedQuery = area(plan.queryElements());
  packedKeys = area(plan.keyElements());
  scores = area(plan.scoreElements());
  output = area(plan.outputElements());
  maxima = area(plan.rowElements());
  sums = area(plan.rowElements());

  auto split = [&](Value value, int64_t by, int64_t bound) {
    Value quotient = arith::DivUIOp::create(b, value, constant(by));
    Value remainder = arith::RemUIOp::create(b, value, constant(by));
    kernel.setFacts(quotient, {1, bound});
    kernel.setFacts(remainder, {1, by});
    return std::pair(quotient, remainder);
  };
  kernel.loop(kernel.begin(), kernel.end(), 1, [&](Value index) {
    auto [line, block] = split(index, plan.queryBlocks, plan.batches * plan.heads);
    Unit unit;
    std::tie(unit.batch, unit.head) = split(line, plan.heads, plan.batches);
    unit.keyHead = split(unit.head, plan.heads / plan.keyHeads, plan.keyHeads).first;
    unit.firstQuery = mul(block, plan.blockRows);
    emitUnit(unit);
  });
}

void AttentionEmitter::emitUnit(const Unit &unit) {
  packQuery(unit);
  initialize();
  if (plan.keys > 0)
    kernel.loop(constant(0), seenKeys(unit), keyBlock,
                [&](Value firstKey) { emitKeyBlock(unit, firstKey); });
  Value rows = min(constant(plan.blockRows), sub(constant(plan.queries), unit.firstQuery));
  kernel.loop(constant(0), rows, 1, [&](Value row) { storeRow(unit, row); });
}

void AttentionEmitter::packQuery(const Unit &unit) {
  int64_t stride = plan.tiles.alignedStride();
  int64_t whole = plan.depth / transposeSize * transposeSize, rest = plan.depth - whole;
  plan.tiles.forEach(kernel, constant(0), constant(plan.tiles.count), [&](Value tile,
                                                                          int64_t rows) {
    Value firstRow = plan.tiles.firstRow(kernel, tile);
    auto packBlock = [&](Value k, int64_t active, int64_t first) {
      ElementEmitter emitter(kernel, transposeSize, active);
      SmallVector<Value> block;
      for (int64_t i = first; i < std::min(rows, first + transposeSize); ++i) {
        ElementIndex index{LaneIndex(unit.batch), LaneIndex(unit.head),
                           LaneIndex(query(unit, add(firstRow, i))), LaneIndex(k, 1)};
        block.push_back(toAccumulator(b, emitter.emit(attention.getQuery(), index)));
      }
      Value to = add(mul(add(mul(tile, plan.depth), k), stride), first);
      for (auto [i, column] : llvm::enumerate(transposeBlock(b, block)))
        if (static_cast<int64_t>(i) < active)
          store(column, packedQuery, add(to, i * stride));
    };
    for (int64_t first = 0; first < rows; first += transposeSize) {
      kernel.loop(0, whole, transposeSize,
                  [&](Value k) { packBlock(k, transposeSize, first); });
      if (rest > 0)
        packBlock(constant(whole), rest, first);
    }
  });
}

void AttentionEmitter::initialize() {
  Value zero = spread(number(0));
  kernel.loop(0, plan.outputElements(), panelWidth, [&](Value at) { store(zero, output, at); });
  kernel.loop(0, plan.blockRows, 1, [&](Value row) {
    memref::StoreOp::create(b, lowest(), maxima, row);
    memref::StoreOp::create(b, number(0), sums, row);
  });
}

// Queries see no key from there on.
Value AttentionEmitter::seenKeys(const Unit &unit) {
  Value all = constant(plan.keys);
  std::optional<int64_t> offset = attention.getCausalOffset();
  if (!offset)
    return all;
  Value end = add(unit.firstQuery, plan.blockRows + *offset);
  Value seen = min(max(end, constant(0)), all);
  kernel.setFacts(seen, {1, plan.keys});
  return seen;
}

void AttentionEmitter::emitKeyBlock(const Unit &unit, Value firstKey) {
  Value keyCount = min(constant(keyBlock), sub(constant(plan.keys), firstKey));
  Value panels = arith::CeilDivUIOp::create(b, keyCount, constant(panelWidth));
  kernel.loop(constant(0), panels, 1, [&](Value panel) {
    packKeys(unit, firstKey, panel);
    computeScores(panel);
  });
  kernel.loop(0, plan.blockRows, 1,
              [&](Value row) { normalizeRow(unit, firstKey, panels, row); });
  addValues(unit, firstKey, keyCount);
}

/// A panel of the block of keys that begins with `firstKey`, counted from key 0.
static Value panelOfKeys(KernelBuilder &kernel, Value firstKey, Value panel) {
  ImplicitLocOpBuilder &b = kernel.builder();
  Value before = arith::DivUIOp::create(b, firstKey, kernel.constantIndex(panelWidth));
  return arith::AddIOp::create(b, before, panel);
}

void AttentionEmitter::packKeys(const Unit &unit, Value firstKey, Value panel) {
  int64_t whole = plan.depth / transposeSize * transposeSize, rest = plan.depth - whole;
  Value to = mul(panel, plan.depth * panelWidth);
  forColumns(kernel, panelOfKeys(kernel, firstKey, panel), plan.keys,
             [&](Value key, int64_t count) {
    auto packBlock = [&](Value k, int64_t active) {
      ElementEmitter emitter(kernel, transposeSize, active);
      for (int64_t first = 0; first < count; first += transposeSize) {
        SmallVector<Value> block;
        for (int64_t i = first; i < std::min(count, first + transposeSize); ++i) {
          ElementIndex index{LaneIndex(unit.batch), LaneIndex(unit.keyHead),
                             emitter.indices().add(LaneIndex(key), i), LaneIndex(k, 1)};
          block.push_back(toAccumulator(b, emitter.emit(attention.getKey(), index)));
        }
        for (auto [i, row] : llvm::enumerate(transposeBlock(b, block)))
          if (static_cast<int64_t>(i) < active)
            store(row, packedKeys,
                  add(add(to, mul(k, panelWidth)), i * panelWidth + first));
      }
    };
    kernel.loop(0, whole, transposeSize, [&](Value k) { packBlock(k, transposeSize); });
    if (rest > 0)
      packBlock(constant(whole), rest);
  });
}

void AttentionEmitter::computeScores(Value panel) {
  int64_t stride = plan.tiles.alignedStride();
  Value keys = mul(panel, plan.depth);
  plan.tiles.forEach(kernel, constant(0), constant(plan.tiles.count), [&](Value tile,
                                                                          int64_t rows) {
    SmallVector<Value> carried(rows, spread(number(0)));
    Value queries = mul(tile, plan.depth);
    multiplyTile(
        kernel, carried, constant(plan.depth), plan.depth % depthUnroll == 0,
        [&](Value k, int64_t row) -> Value {
          return memref::LoadOp::create(b, packedQuery, add(mul(add(queries, k), stride), row));
        },
        [&](Value k) { return load(packedKeys, mul(add(keys, k), panelWidth)); });
    Value to = add(mul(plan.tiles.firstRow(kernel, tile), scoreStride), mul(panel, panelWidth));
    for (int64_t row = 0; row < rows; ++row)
      store(carried[row], scores, add(to, row * scoreStride));
  });
}

Value AttentionEmitter::maskedScore(const Unit &unit, Value key, int64_t count, Value row,
                                    Value score) {
  score = arith::MulFOp::create(b, score, spread(number(attention.getScale().convertToDouble())));
  if (double cap = attention.getSoftcap().convertToDouble(); cap != 0) {
    Value limit = spread(number(cap));
    score = arith::MulFOp::create(
        b, limit, math::TanhOp::create(b, arith::DivFOp::create(b, score, limit)));
  }
  Value hidden = spread(lowest());
  Value queryIndex = query(unit, row);
  if (Value mask = attention.getMask()) {
    ElementEmitter emitter(kernel, panelWidth, count);
    LaneIndex position[] = {LaneIndex(unit.batch), LaneIndex(unit.head), LaneIndex(queryIndex),
                            LaneIndex(key, 1)};
    ElementIndex index;
    for (int64_t i = 0; i < 4; ++i)
      index.push_back(dim(mask, i) == 1 ? LaneIndex() : position[i]);
    Value element = emitter.emit(mask, index);
    if (getElementTypeOrSelf(mask).isInteger(1))
      score = arith::SelectOp::create(b, element, score, hidden);
    else
      score = arith::AddFOp::create(b, score, toAccumulator(b, element));
  }
  // The number of lanes whose key the query sees.
  std::optional<int64_t> offset = attention.getCausalOffset();
  if (!offset && count == panelWidth)
    return score;
  Value seen = constant(count);
  if (offset)
    seen = min(seen, sub(add(queryIndex, *offset + 1), key));
  Value visible = vector::CreateMaskOp::create(
      b, VectorType::get({panelWidth}, b.getI1Type()), max(seen, constant(0)));
  return arith::SelectOp::create(b, visible, score, hidden);
}

Value AttentionEmitter::sum(Value vector) {
  for (int64_t half = panelWidth / 2; half > 0; half /= 2) {
    SmallVector<int64_t> low(half), high(half);
    std::iota(low.begin(), low.end(), 0);
    std::iota(high.begin(), high.end(), half);
    vector = arith::AddFOp::create(b, vector::ShuffleOp::create(b, vector, vector, low),
                                   vector::ShuffleOp::create(b, vector, vector, high));
  }
  return vector::ExtractOp::create(b, vector, 0);
}

void AttentionEmitter::normalizeRow(const Unit &unit, Value firstKey, Value panels, Value row) {
  Value rowScores = mul(row, scoreStride);
  auto overPanels = [&](Value initial, function_ref<Value(Value panel, Value carried)> body) {
    auto loop = scf::ForOp::create(b, constant(0), panels, constant(1), initial);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(b, body(loop.getInductionVar(), loop.getRegionIterArg(0)));
    return loop.getResult(0);
  };

  Value highest = overPanels(spread(lowest()), [&](Value panel, Value carried) -> Value {
    Value at = add(rowScores, mul(panel, panelWidth));
    forColumns(kernel, panelOfKeys(kernel, firstKey, panel), plan.keys,
               [&](Value key, int64_t count) {
      store(maskedScore(unit, key, count, row, load(scores, at)), scores, at);
    });
    return arith::MaximumFOp::create(b, carried, load(scores, at));
  });
  Value before = memref::LoadOp::create(b, maxima, row);
  Value maximum = arith::MaximumFOp::create(
      b, before, vector::ReductionOp::create(b, vector::CombiningKind::MAXIMUMF, highest));
  memref::StoreOp::create(b, maximum, maxima, row);
  Value nothingSeen =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, maximum, lowest());
  Value reference = spread(arith::SelectOp::create(b, nothingSeen, number(0), maximum));

  Value total = overPanels(spread(number(0)), [&](Value panel, Value carried) -> Value {
    Value at = add(rowScores, mul(panel, panelWidth));
    Value weight =
        math::ExpOp::create(b, arith::SubFOp::create(b, load(scores, at), reference));
    store(weight, scores, at);
    return arith::AddFOp::create(b, carried, weight);
  });
  Value decay = math::ExpOp::create(b, arith::SubFOp::create(b, spread(before), reference));
  Value kept = arith::MulFOp::create(b, memref::LoadOp::create(b, sums, row),
                                     vector::ExtractOp::create(b, decay, 0));
  memref::StoreOp::create(b, arith::AddFOp::create(b, kept, sum(total)), sums, row);
  Value rowOutput = mul(row, plan.valuePanels() * panelWidth);
  for (int64_t panel = 0; panel < plan.valuePanels(); ++panel) {
    Value at = add(rowOutput, panel * panelWidth);
    store(arith::MulFOp::create(b, load(output, at), decay), output, at);
  }
}

void AttentionEmitter::addValues(const Unit &unit, Value firstKey, Value keyCount) {
  kernel.loop(0, plan.valuePanels(), 1, [&](Value panel) {
    forColumns(kernel, panel, plan.valueDepth, [&](Value column, int64_t columns) {
      plan.tiles.forEach(kernel, constant(0), constant(plan.tiles.count), [&](Value tile,
                                                                              int64_t rows) {
        Value firstRow = plan.tiles.firstRow(kernel, tile);
        int64_t stride = plan.valuePanels() * panelWidth;
        Value to = add(mul(firstRow, stride), mul(panel, panelWidth));
        SmallVector<Value> carried;
        for (int64_t row = 0; row < rows; ++row)
          carried.push_back(load(output, add(to, row * stride)));
        multiplyTile(
            kernel, carried, keyCount, plan.keys % depthUnroll == 0,
            [&](Value k, int64_t row) -> Value {
              return memref::LoadOp::create(b, scores,
                                            add(mul(add(firstRow, row), scoreStride), k));
            },
            [&](Value k) {
              ElementEmitter emitter(kernel, panelWidth, columns);
              Value key = add(firstKey, k);
              kernel.setFacts(key, {1, plan.keys});
              ElementIndex index{LaneIndex(unit.batch), LaneIndex(unit.keyHead), LaneIndex(key),
                                 LaneIndex(column, 1)};
              return toAccumulator(b, emitter.emit(attention.getValue(), index));
            });
        for (int64_t row = 0; row < rows; ++row)
          store(carried[row], output, add(to, row * stride));
      });
    });
  });
}

void AttentionEmitter::storeRow(const Unit &unit, Value row) {
  Value total = memref::LoadOp::create(b, sums, row);
  Value divisor = spread(total);
  bool emptyIsZero = attention.getMaskedRow() == nn::MaskedRow::zero || plan.keys == 0;
  Value empty = spread(arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, total, number(0)));
  Value rowOutput = mul(row, plan.valuePanels() * panelWidth);
  Type element = attention.getType().getElementType();
  Value queryIndex = add(unit.firstQuery, row);
  kernel.setFacts(queryIndex, {1, plan.queries});
  kernel.loop(0, plan.valuePanels(), 1, [&](Value panel) {
    Value value = load(output, add(rowOutput, mul(panel, panelWidth)));
    Value quotient = arith::DivFOp::create(b, value, divisor);
    if (emptyIsZero)
      quotient = arith::SelectOp::create(b, empty, value, quotient);
    if (element != plan.accumulator)
      quotient = arith::TruncFOp::create(b, VectorType::get({panelWidth}, element), quotient);
    forColumns(kernel, panel, plan.valueDepth, [&](Value column, int64_t columns) {
      ElementEmitter emitter(kernel, panelWidth, columns);
      ElementIndex index{LaneIndex(unit.batch), LaneIndex(unit.head), LaneIndex(queryIndex),
                         LaneIndex(column, 1)};
      epilogue.store(emitter, quotient, index);
    });
  });
}

namespace {

class AttentionSchedule final : public KernelSchedule {
public:
  FailureOr<KernelSpace> space(nn::KernelOp kernel) const override;
  LogicalResult emit(KernelBuilder &kernel) const override;
};

nn::AttentionOp attentionOf(nn::KernelOp kernel) {
  auto found = kernel.getBody().getOps<nn::AttentionOp>();
  return llvm::hasSingleElement(found) ? *found.begin() : nn::AttentionOp();
}

} // namespace

FailureOr<KernelSpace> AttentionSchedule::space(nn::KernelOp kernel) const {
  nn::AttentionOp attention = attentionOf(kernel);
  if (!attention)
    return kernel.emitOpError("must hold one nn.attention");
  if (failed(verifyElements(kernel, attention)) || failed(Epilogue::ofKernel(kernel, attention)))
    return failure();
  int64_t scratch = 0;
  for (CpuLevel level : {CpuLevel::avx2, CpuLevel::avx512, CpuLevel::avx512bf16})
    scratch = std::max(scratch, AttentionPlan(attention, {level}).scratchBytes());
  return KernelSpace{std::max<int64_t>(1, AttentionPlan(attention, {}).units()), scratch};
}

LogicalResult AttentionSchedule::emit(KernelBuilder &kernel) const {
  nn::AttentionOp attention = attentionOf(kernel.kernel());
  FailureOr<Epilogue> epilogue = Epilogue::ofKernel(kernel.kernel(), attention);
  if (attention.getType().getNumElements() > 0)
    AttentionEmitter(kernel, attention, *epilogue).emit();
  return success();
}

const KernelSchedule &kernels::attentionSchedule() {
  static const AttentionSchedule schedule;
  return schedule;
}
