// One scatter: the data's elements are copied, then updates happen in order. Lanes lie across the slice
// that an index tuple addresses, and so do units; a slice of few elements is one unit.

#include "spillway/Conversion/NNToVector/ElementEmitter.h"
#include "spillway/Conversion/NNToVector/KernelSchedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::kernels;

namespace {

constexpr int64_t scatterLanes = 16;
/// Elements of a slice that a unit takes.
constexpr int64_t unitElements = 256;

nn::ScatterOp scatterOf(nn::KernelOp kernel) {
  auto scatters = kernel.getBody().front().getOps<nn::ScatterOp>();
  return llvm::hasSingleElement(scatters) ? *scatters.begin() : nn::ScatterOp();
}

/// Data as `rows` slices of `width` elements, of which `tuples` are updated.
struct ScatterSpace {
  ArrayRef<int64_t> addressed, slice, leading;
  int64_t rows, width, tuples;

  explicit ScatterSpace(nn::ScatterOp scatter) {
    ArrayRef<int64_t> data = scatter.getData().getType().getShape();
    ArrayRef<int64_t> indices =
        cast<RankedTensorType>(scatter.getIndices().getType()).getShape();
    addressed = data.take_front(indices.back());
    slice = data.drop_front(indices.back());
    leading = indices.drop_back();
    rows = ShapedType::getNumElements(addressed);
    width = ShapedType::getNumElements(slice);
    tuples = ShapedType::getNumElements(leading);
  }

  int64_t units() const { return llvm::divideCeil(width, unitElements); }
};

/// `update` into the element in its place.
Value combine(ImplicitLocOpBuilder &b, nn::ScatterKind kind, Value place, Value update) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(place.getType()));
  switch (kind) {
  case nn::ScatterKind::replace:
    return update;
  case nn::ScatterKind::add:
    return isFloat ? arith::AddFOp::create(b, place, update).getResult()
                   : arith::AddIOp::create(b, place, update).getResult();
  case nn::ScatterKind::mul:
    return isFloat ? arith::MulFOp::create(b, place, update).getResult()
                   : arith::MulIOp::create(b, place, update).getResult();
  case nn::ScatterKind::max:
    return isFloat ? arith::MaximumFOp::create(b, place, update).getResult()
                   : arith::MaxSIOp::create(b, place, update).getResult();
  case nn::ScatterKind::min:
    return isFloat ? arith::MinimumFOp::create(b, place, update).getResult()
                   : arith::MinSIOp::create(b, place, update).getResult();
  }
  llvm_unreachable("all kinds are handled");
}

/// The code of one unit.
class UnitCode {
public:
  UnitCode(KernelBuilder &kernel, nn::ScatterOp scatter, Value unit)
      : kernel(kernel), scatter(scatter), space(scatter), unit(unit) {}

  void emit() {
    kernel.loop(0, space.rows, 1, [&](Value row) {
      forColumns([&](ElementEmitter &emitter, LaneIndex column) {
        IndexMath &math = emitter.indices();
        ElementIndex index = math.delinearize(LaneIndex(row), space.addressed);
        llvm::append_range(index, math.delinearize(column, space.slice));
        emitter.store(emitter.pull(scatter.getData(), index), kernel.result(0),
                      math.add(math.multiply(LaneIndex(row), space.width), column));
      });
    });
    kernel.loop(0, space.tuples, 1, [&](Value tuple) { update(tuple); });
  }

private:
  void update(Value tuple) {
    LaneIndex row = rowOf(tuple);
    Type element = scatter.getType().getElementType();
    forColumns([&](ElementEmitter &emitter, LaneIndex column) {
      IndexMath &math = emitter.indices();
      ElementIndex index = math.delinearize(LaneIndex(tuple), space.leading);
      llvm::append_range(index, math.delinearize(column, space.slice));
      Value value = emitter.emit(scatter.getUpdates(), index);
      LaneIndex place = math.add(math.multiply(row, space.width), column);
      if (scatter.getKind() != nn::ScatterKind::replace)
        value = combine(kernel.builder(), scatter.getKind(),
                        emitter.spread(emitter.load(kernel.result(0), place, element)), value);
      emitter.store(value, kernel.result(0), place);
    });
  }

  /// The row that a tuple addresses.
  LaneIndex rowOf(Value tuple) {
    ElementEmitter emitter(kernel, /*lanes=*/1);
    IndexMath &math = emitter.indices();
    ElementIndex at = math.delinearize(LaneIndex(tuple), space.leading), row;
    at.emplace_back();
    for (auto [t, size] : llvm::enumerate(space.addressed)) {
      at.back() = LaneIndex(static_cast<int64_t>(t));
      row.push_back(emitter.checkedIndex(emitter.pull(scatter.getIndices(), at), size));
    }
    return LaneIndex(math.value(math.linearize(row, space.addressed).base));
  }

  /// Columns of the slice that lie in the unit, some lanes at a time.
  void forColumns(llvm::function_ref<void(ElementEmitter &emitter, LaneIndex column)> body) {
    ImplicitLocOpBuilder &b = kernel.builder();
    auto emitAt = [&](Value column, int64_t active) {
      int64_t lanes = llvm::isPowerOf2_64(active) ? active : scatterLanes;
      ElementEmitter emitter(kernel, lanes, active);
      body(emitter, LaneIndex(column, lanes == 1 ? 0 : 1));
    };
    int64_t rest = space.width % scatterLanes, whole = space.width - rest;
    if (space.units() == 1) {
      kernel.loop(0, whole, scatterLanes, [&](Value column) { emitAt(column, scatterLanes); });
      if (rest > 0)
        emitAt(kernel.constantIndex(whole), rest);
      return;
    }
    Value first = arith::MulIOp::create(b, unit, kernel.constantIndex(unitElements));
    kernel.setFacts(first, {unitElements, space.width});
    Value last = arith::MinSIOp::create(
        b, arith::AddIOp::create(b, first, kernel.constantIndex(unitElements)),
        kernel.constantIndex(whole));
    kernel.setFacts(last, {scatterLanes, whole + 1});
    kernel.loop(first, last, scatterLanes, [&](Value column) { emitAt(column, scatterLanes); });
    if (rest == 0)
      return;
    Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, unit,
                                         kernel.constantIndex(space.units() - 1));
    kernel.when(isLast, [&] { emitAt(kernel.constantIndex(whole), rest); });
  }

  KernelBuilder &kernel;
  nn::ScatterOp scatter;
  ScatterSpace space;
  Value unit;
};

class ScatterSchedule final : public KernelSchedule {
public:
  FailureOr<KernelSpace> space(nn::KernelOp kernel) const override {
    nn::ScatterOp scatter = scatterOf(kernel);
    if (!scatter)
      return kernel.emitOpError("has the schedule scatter, but not one scatter");
    if (failed(verifyElements(kernel, scatter)))
      return failure();
    auto yield = cast<nn::YieldOp>(kernel.getBody().front().getTerminator());
    if (yield.getInputs() != ValueRange(scatter.getResult()))
      return kernel.emitOpError("must give the result of its scatter alone");
    return KernelSpace{std::max<int64_t>(1, ScatterSpace(scatter).units()), 0};
  }

  LogicalResult emit(KernelBuilder &kernel) const override {
    nn::ScatterOp scatter = scatterOf(kernel.kernel());
    ScatterSpace space(scatter);
    if (space.width * space.rows == 0)
      return success();
    kernel.loop(kernel.begin(), kernel.end(), 1, [&](Value unit) {
      kernel.setFacts(unit, {1, space.units()});
      UnitCode(kernel, scatter, unit).emit();
    });
    return success();
  }
};

} // namespace

const KernelSchedule &kernels::scatterSchedule() {
  static const ScatterSchedule schedule;
  return schedule;
}
