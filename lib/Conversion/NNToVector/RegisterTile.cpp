#include "spillway/Conversion/NNToVector/RegisterTile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/X86Vector/X86VectorDialect.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::kernels;

Type kernels::accumulatorType(Type element) {
  return element.isF16() || element.isBF16() ? Float32Type::get(element.getContext()) : element;
}

Value kernels::toAccumulator(ImplicitLocOpBuilder &builder, Value element) {
  Type from = getElementTypeOrSelf(element), to = accumulatorType(from);
  if (from == to)
    return element;
  if (auto vector = dyn_cast<VectorType>(element.getType()))
    to = VectorType::get(vector.getShape(), to);
  return arith::ExtFOp::create(builder, to, element);
}

// Three rounds of two-operand shuffles. The first two stay inside halves of four, as
// the shuffles of a 256-bit register of f32 do; the last exchanges halves.
SmallVector<Value> kernels::transposeBlock(ImplicitLocOpBuilder &builder, ArrayRef<Value> rows) {
  SmallVector<Value> block(rows);
  if (block.size() < transposeSize)
    block.resize(transposeSize,
                 arith::ConstantOp::create(builder, builder.getZeroAttr(rows.front().getType())));
  auto shuffle = [&](Value lhs, Value rhs, ArrayRef<int64_t> lanes) -> Value {
    return vector::ShuffleOp::create(builder, lhs, rhs, lanes);
  };

  SmallVector<Value> pairs(8), quads(8), columns(8);
  for (int64_t i = 0; i < 8; i += 2) {
    pairs[i] = shuffle(block[i], block[i + 1], {0, 8, 1, 9, 4, 12, 5, 13});
    pairs[i + 1] = shuffle(block[i], block[i + 1], {2, 10, 3, 11, 6, 14, 7, 15});
  }
  for (int64_t half : {0, 4})
    for (int64_t i : {0, 1}) {
      Value lhs = pairs[half + i], rhs = pairs[half + i + 2];
      quads[half + 2 * i] = shuffle(lhs, rhs, {0, 1, 8, 9, 4, 5, 12, 13});
      quads[half + 2 * i + 1] = shuffle(lhs, rhs, {2, 3, 10, 11, 6, 7, 14, 15});
    }
  for (int64_t i = 0; i < 4; ++i) {
    columns[i] = shuffle(quads[i], quads[i + 4], {0, 1, 2, 3, 8, 9, 10, 11});
    columns[i + 4] = shuffle(quads[i], quads[i + 4], {4, 5, 6, 7, 12, 13, 14, 15});
  }
  return columns;
}

RowTiles::RowTiles(int64_t rows, int64_t maxRows)
    : rows(rows), count(std::max<int64_t>(1, llvm::divideCeil(rows, maxRows))),
      tallRows(llvm::divideCeil(rows, count)), tallCount(rows - count * (tallRows - 1)) {}

int64_t RowTiles::alignedStride() const { return llvm::alignTo(tallRows, transposeSize); }

Value RowTiles::firstRow(KernelBuilder &kernel, Value tile) const {
  ImplicitLocOpBuilder &b = kernel.builder();
  Value row = arith::MulIOp::create(b, tile, kernel.constantIndex(tallRows));
  if (tallCount == count)
    return row;
  // Each of the lower tiles before this one has a row less.
  Value lower = arith::SubIOp::create(b, tile, kernel.constantIndex(tallCount));
  return arith::SubIOp::create(b, row, arith::MaxSIOp::create(b, lower, kernel.constantIndex(0)));
}

void RowTiles::forEach(KernelBuilder &kernel, Value from, Value to,
                       function_ref<void(Value, int64_t)> body) const {
  if (tallCount == count) {
    kernel.loop(from, to, 1, [&](Value tile) { body(tile, tallRows); });
    return;
  }
  ImplicitLocOpBuilder &b = kernel.builder();
  Value cut = kernel.constantIndex(tallCount);
  kernel.loop(from, arith::MinSIOp::create(b, to, cut), 1,
              [&](Value tile) { body(tile, tallRows); });
  kernel.loop(arith::MaxSIOp::create(b, from, cut), to, 1,
              [&](Value tile) { body(tile, tallRows - 1); });
}

int64_t kernels::registerRows(Type accumulator, const CpuTarget &target) {
  int64_t bytes = panelWidth * nn::elementBytes(accumulator);
  int64_t perRow = llvm::divideCeil(bytes, target.vectorBytes());
  int64_t rows = (target.vectorRegisters() - perRow - 2) / perRow;
  return std::clamp<int64_t>(rows, 1, target.vectorRegisters() / 2);
}

bool kernels::multipliesPairs(Type lhs, Type rhs, const CpuTarget &target) {
  return lhs.isBF16() && rhs.isBF16() && target.hasBf16Dot();
}

static Value multiplyAdd(ImplicitLocOpBuilder &b, Value left, Value right, Value accumulator) {
  left = vector::BroadcastOp::create(b, right.getType(), left);
  Type element = getElementTypeOrSelf(accumulator);
  if (isa<FloatType>(element) && isa<IntegerType>(getElementTypeOrSelf(right))) {
    auto pairs = VectorType::get({2 * panelWidth}, b.getBF16Type());
    // The last operand may be one element of memory for all lanes.
    return x86vector::DotBF16Op::create(b, accumulator.getType(), accumulator, vector::BitCastOp::create(b, pairs, right),
                                        vector::BitCastOp::create(b, pairs, left));
  }
  if (isa<FloatType>(element))
    return math::FmaOp::create(b, left, right, accumulator);
  return arith::AddIOp::create(b, accumulator, arith::MulIOp::create(b, left, right));
}

void kernels::multiplyTile(KernelBuilder &kernel, MutableArrayRef<Value> accumulators, Value depth,
                           bool unrolled, function_ref<Value(Value, int64_t)> lhs,
                           function_ref<Value(Value)> rhs) {
  ImplicitLocOpBuilder &b = kernel.builder();
  auto step = [&](Value k, MutableArrayRef<Value> accumulated) {
    Value right = rhs(k);
    for (auto [row, accumulator] : llvm::enumerate(accumulated))
      accumulator = multiplyAdd(b, lhs(k, row), right, accumulator);
  };
  auto loop = [&](Value from, Value to, int64_t unroll) {
    auto steps =
        scf::ForOp::create(b, from, to, kernel.constantIndex(unroll), ValueRange(accumulators));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(steps.getBody());
    SmallVector<Value> accumulated(steps.getRegionIterArgs());
    for (int64_t i = 0; i < unroll; ++i)
      step(arith::AddIOp::create(b, steps.getInductionVar(), kernel.constantIndex(i)), accumulated);
    scf::YieldOp::create(b, accumulated);
    llvm::copy(steps.getResults(), accumulators.begin());
  };
  Value zero = kernel.constantIndex(0);
  if (unrolled)
    return loop(zero, depth, depthUnroll);
  Value rest = arith::RemUIOp::create(b, depth, kernel.constantIndex(depthUnroll));
  Value whole = arith::SubIOp::create(b, depth, rest);
  loop(zero, whole, depthUnroll);
  loop(whole, depth, 1);
}

void kernels::forDepth(KernelBuilder &kernel, Value from, int64_t block, int64_t depth, Value limit,
                       int64_t step, function_ref<void(Value, int64_t)> body) {
  ImplicitLocOpBuilder &b = kernel.builder();
  int64_t whole = depth / step * step, rest = depth - whole;
  Value end = arith::AddIOp::create(b, from, kernel.constantIndex(block));
  if (limit)
    end = arith::MinSIOp::create(b, end, limit);
  Value to = arith::MinSIOp::create(b, end, kernel.constantIndex(whole));
  if (whole > 0)
    kernel.loop(from, to, step, [&](Value k) {
      kernel.setFacts(k, {step, whole});
      body(k, step);
    });
  if (rest == 0)
    return;
  auto tail = [&] {
    Value k = kernel.constantIndex(whole);
    kernel.setFacts(k, {step, depth});
    body(k, rest);
  };
  if (block == depth && !limit)
    return tail();
  kernel.when(arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, end, kernel.constantIndex(whole)),
              tail);
}

void kernels::forColumns(KernelBuilder &kernel, Value panel, int64_t columns,
                         function_ref<void(Value, int64_t)> body) {
  ImplicitLocOpBuilder &b = kernel.builder();
  Value column = arith::MulIOp::create(b, panel, kernel.constantIndex(panelWidth));
  kernel.setFacts(column, {panelWidth, columns});
  int64_t rest = columns % panelWidth;
  if (rest == 0)
    return body(column, panelWidth);
  if (columns < panelWidth)
    return body(column, rest);
  Value last = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, panel,
                                     kernel.constantIndex(columns / panelWidth));
  auto branch = scf::IfOp::create(b, last, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body(column, rest);
  b.setInsertionPointToStart(branch.elseBlock());
  body(column, panelWidth);
}
