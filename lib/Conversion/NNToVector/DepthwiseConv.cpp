// A convolution in which each filter sees one channel. Lanes lie along the last dimension of
// the windows.

#include "WindowRows.h"
#include "spillway/Conversion/NNToVector/Epilogue.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::kernels;

namespace {

/// Windows of up to so many places are code without a loop.
constexpr int64_t maxUnrolledPlaces = 32;
/// Lanes of windows that share each weight that is read, in rows one below the other: their sums
/// leave registers for the weights of 3 x 3 places.
constexpr int64_t lanesAtOnce = 32;

class DepthwiseEmitter {
public:
  DepthwiseEmitter(KernelBuilder &kernel, nn::ConvOp conv, const Epilogue &epilogue)
      : kernel(kernel), b(kernel.builder()), math(kernel), conv(conv), epilogue(epilogue),
        plan(conv),
        slab(kernel.scratch(0, MemRefType::get({plan.slabElements()}, plan.shape.accumulator))) {}

  void emit();

private:
  /// What a unit computes.
  struct Unit {
    Value image, filter, slab;
    /// First index of windows along the first dimension.
    Value first;
  };

  void copySlab(const Unit &unit);
  /// The rows of windows at `row` and, `count` in all, at the next indices of its first dimension.
  void emitRows(const Unit &unit, ArrayRef<Value> row, int64_t count);
  void emitVectors(const Unit &unit, ArrayRef<Value> row, int64_t count, Value column,
                   int64_t active);
  /// The sums of these rows with the products of one place.
  SmallVector<Value> multiply(ValueRange sums, const Unit &unit, ElementEmitter &emitter,
                              ArrayRef<Value> row, Value column, ArrayRef<Value> place);
  void store(Value sum, const Unit &unit, ArrayRef<Value> row, Value column, int64_t active);

  const ConvShape &shape() const { return plan.shape; }
  size_t lastDim() const { return shape().windows.size() - 1; }

  KernelBuilder &kernel;
  ImplicitLocOpBuilder &b;
  ScalarMath math;
  nn::ConvOp conv;
  const Epilogue &epilogue;
  DepthwiseConvPlan plan;
  Value slab;
};

} // namespace

void DepthwiseEmitter::emit() {
  kernel.loop(kernel.begin(), kernel.end(), 1, [&](Value linear) {
    SmallVector<Value> index =
        math.delinearize(linear, {shape().images, shape().groups * shape().filters, plan.slabs});
    kernel.setFacts(index[0], {1, shape().images});
    kernel.setFacts(index[1], {1, shape().groups * shape().filters});
    Unit unit{index[0], index[1], index[2], math.mul(index[2], plan.slabWindows)};
    copySlab(unit);
    if (lastDim() == 0)
      return emitRows(unit, {}, 1);
    Value end =
        math.min(math.add(unit.first, plan.slabWindows), math.constant(shape().windows.front()));
    kernel.setFacts(end, {1, shape().windows.front()});
    ArrayRef<int64_t> behind = ArrayRef(shape().windows).drop_back().drop_front();
    int64_t rows = 1;
    for (int64_t size : behind)
      rows *= size;
    auto emitAt = [&](Value first, int64_t count) {
      kernel.loop(0, rows, 1, [&](Value rest) {
        SmallVector<Value> row{first};
        if (!behind.empty())
          llvm::append_range(row, math.delinearize(rest, behind));
        emitRows(unit, row, count);
      });
    };
    int64_t rowsAtOnce = lanesAtOnce / (shape().rowLength() > 8 ? panelWidth : 8);
    Value rest = arith::RemUIOp::create(b, math.sub(end, unit.first), math.constant(rowsAtOnce));
    Value whole = math.sub(end, rest);
    kernel.setFacts(whole, {1, shape().windows.front()});
    kernel.loop(unit.first, whole, rowsAtOnce, [&](Value first) { emitAt(first, rowsAtOnce); });
    kernel.loop(whole, end, 1, [&](Value first) { emitAt(first, 1); });
  });
}

void DepthwiseEmitter::copySlab(const Unit &unit) {
  size_t last = lastDim();
  int64_t stride = shape().strides[last], low = shape().low[last];
  auto image = cast<BlockArgument>(conv.getInput());
  WindowRows rows(kernel, kernel.argument(image.getArgNumber()), shape().sizes[last],
                  plan.phaseColumns, stride, -low, stride - 1 - low);
  Value channel = math.add(
      math.mul(unit.image, shape().groups),
      shape().filters == 1
          ? unit.filter
          : arith::DivUIOp::create(b, unit.filter, math.constant(shape().filters)).getResult());
  kernel.loop(0, plan.slabRows(), 1, [&](Value row) {
    SmallVector<Value> positions;
    if (last > 0)
      positions = math.delinearize(row, plan.slabSizes);
    for (auto [d, position] : llvm::enumerate(positions)) {
      if (d == 0)
        position = math.add(position, math.mul(unit.first, shape().strides[0]));
      position = math.add(position, -shape().low[d]);
    }
    ArrayRef<int64_t> sizes = ArrayRef(shape().sizes).drop_back();
    Value from = math.add(math.mul(channel, shape().area()),
                          math.mul(math.linearize(positions, sizes), shape().sizes[last]));
    for (int64_t phase = 0; phase < stride; ++phase) {
      Value at = math.add(math.mul(row, plan.rowStride()), phase * plan.phaseStride);
      math.either(
          math.areInside(positions, sizes),
          [&] { rows.copy(from, math.constant(phase - low), slab, at); },
          [&] { rows.clear(slab, at); });
    }
  });
}

void DepthwiseEmitter::emitRows(const Unit &unit, ArrayRef<Value> row, int64_t count) {
  int64_t length = shape().rowLength(), whole = length / panelWidth * panelWidth;
  if (whole > 0)
    kernel.loop(0, whole, panelWidth,
                [&](Value column) { emitVectors(unit, row, count, column, panelWidth); });
  if (whole < length)
    emitVectors(unit, row, count, math.constant(whole), length - whole);
}

void DepthwiseEmitter::emitVectors(const Unit &unit, ArrayRef<Value> row, int64_t count,
                                   Value column, int64_t active) {
  int64_t lanes = active > 8 ? panelWidth : 8;
  auto type = VectorType::get({lanes}, shape().accumulator);
  SmallVector<Value> sums(count, arith::ConstantOp::create(b, b.getZeroAttr(type)));
  int64_t places = shape().places();
  if (places <= maxUnrolledPlaces) {
    ElementEmitter emitter(kernel, lanes, active);
    for (int64_t place = 0; place < places; ++place) {
      SmallVector<Value> index;
      int64_t rest = place;
      for (int64_t size : llvm::reverse(shape().kernel)) {
        index.insert(index.begin(), math.constant(rest % size));
        rest /= size;
      }
      sums = multiply(sums, unit, emitter, row, column, index);
    }
  } else {
    sums = kernel.reduce(0, places, 1, sums, [&](Value place, ValueRange carried) {
      ElementEmitter emitter(kernel, lanes, active);
      return multiply(carried, unit, emitter, row, column, math.delinearize(place, shape().kernel));
    });
  }
  for (auto [i, sum] : llvm::enumerate(sums)) {
    SmallVector<Value> each(row);
    if (i > 0) {
      each.front() = math.add(row.front(), static_cast<int64_t>(i));
      kernel.setFacts(each.front(), {1, shape().windows.front()});
    }
    store(sum, unit, each, column, active);
  }
}

void DepthwiseEmitter::store(Value sum, const Unit &unit, ArrayRef<Value> row, Value column,
                             int64_t active) {
  ElementEmitter emitter(kernel, cast<VectorType>(sum.getType()).getNumElements(), active);
  ElementIndex index{LaneIndex(unit.image), LaneIndex(unit.filter)};
  ArrayRef<int64_t> windows = cast<RankedTensorType>(conv.getType()).getShape().drop_front(2);
  if (windows.size() == shape().windows.size()) {
    for (Value position : row)
      index.push_back(LaneIndex(position));
    index.push_back(LaneIndex(column, 1));
  } else {
    llvm::append_range(index, emitter.indices().delinearize(LaneIndex(column, 1), windows));
  }
  epilogue.store(emitter, fromAccumulator(b, sum, shape().resultElement), index);
}

SmallVector<Value> DepthwiseEmitter::multiply(ValueRange sums, const Unit &unit,
                                              ElementEmitter &emitter, ArrayRef<Value> row,
                                              Value column, ArrayRef<Value> place) {
  size_t last = lastDim();
  SmallVector<Value> positions;
  for (size_t d = 0; d < last; ++d) {
    Value window = d == 0 ? math.sub(row[d], unit.first) : row[d];
    positions.push_back(
        math.add(math.mul(window, shape().strides[d]), math.mul(place[d], shape().dilations[d])));
  }
  // The place's column among those of its remainder.
  Value distance = math.mul(place[last], shape().dilations[last]);
  Value stride = math.constant(shape().strides[last]);
  Value phase = b.createOrFold<arith::RemUIOp>(distance, stride);
  Value offset = b.createOrFold<arith::DivUIOp>(distance, stride);
  Value at = math.add(math.mul(math.linearize(positions, plan.slabSizes), plan.rowStride()),
                      math.add(math.mul(phase, plan.phaseStride), math.add(offset, column)));

  ElementIndex filter{LaneIndex(unit.filter), LaneIndex()};
  ArrayRef<int64_t> kernelSizes = conv.getFilter().getType().getShape().drop_front(2);
  if (kernelSizes.size() == place.size())
    for (Value position : place)
      filter.push_back(LaneIndex(position));
  else
    filter.append(kernelSizes.size(), LaneIndex());
  Value weight = emitter.spread(toAccumulator(b, emitter.pull(conv.getFilter(), filter)));

  SmallVector<Value> results;
  for (auto [i, sum] : llvm::enumerate(sums)) {
    Value from = math.add(at, static_cast<int64_t>(i) * plan.windowStride());
    Value elements = vector::LoadOp::create(b, cast<VectorType>(sum.getType()), slab, from);
    if (isa<FloatType>(shape().accumulator))
      results.push_back(math::FmaOp::create(b, elements, weight, sum));
    else
      results.push_back(arith::AddIOp::create(b, sum, arith::MulIOp::create(b, elements, weight)));
  }
  return results;
}

void kernels::emitDepthwiseConv(KernelBuilder &kernel, nn::ConvOp conv, const Epilogue &epilogue) {
  DepthwiseEmitter(kernel, conv, epilogue).emit();
}
