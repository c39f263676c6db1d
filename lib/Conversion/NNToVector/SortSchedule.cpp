// One sort of indices by the elements of their line: a merge sort from pairs up, between two buffers of
// scratch. Units are lines.

#include "spillway/Conversion/NNToVector/Epilogue.h"
#include "spillway/Conversion/NNToVector/KernelSchedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::kernels;

namespace {

nn::ArgsortOp sortOf(nn::KernelOp kernel) {
  auto sorts = kernel.getBody().front().getOps<nn::ArgsortOp>();
  return llvm::hasSingleElement(sorts) ? *sorts.begin() : nn::ArgsortOp();
}

struct SortSpace {
  ArrayRef<int64_t> shape;
  int64_t dim, length, kept, outer = 1, inner = 1;
  /// What keys are kept as: f16 and bf16 as f32.
  Type key;

  explicit SortSpace(nn::ArgsortOp sort)
      : shape(sort.getOperand().getType().getShape()), dim(sort.getDim()), length(shape[dim]),
        kept(sort.getResult().getType().getDimSize(dim)) {
    for (int64_t size : shape.take_front(dim))
      outer *= size;
    for (int64_t size : shape.drop_front(dim + 1))
      inner *= size;
    Type element = sort.getOperand().getType().getElementType();
    bool widens = isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
    key = widens ? Type(Float32Type::get(element.getContext())) : element;
  }

  int64_t keyBytes() const { return llvm::alignTo(length * nn::elementBytes(key), 64); }
  /// The keys, and two buffers of indices.
  int64_t scratch() const { return keyBytes() + 2 * length * static_cast<int64_t>(sizeof(int64_t)); }
  int64_t units() const { return outer * inner; }
};

/// The code of one line.
class LineCode {
public:
  LineCode(KernelBuilder &kernel, nn::ArgsortOp sort, const Epilogue &epilogue)
      : kernel(kernel), b(kernel.builder()), sort(sort), epilogue(epilogue), space(sort),
        keys(kernel.scratch(0, MemRefType::get({space.length}, space.key))),
        orders(kernel.scratch(space.keyBytes(),
                              MemRefType::get({2 * space.length}, b.getI64Type()))) {}

  void emit(LaneIndex outer, LaneIndex inner) {
    kernel.loop(0, space.length, 1, [&](Value position) {
      ElementEmitter emitter(kernel, /*lanes=*/1);
      Value x = emitter.pull(sort.getOperand(), indexAt(emitter, outer, position, inner));
      if (x.getType() != space.key)
        x = arith::ExtFOp::create(b, space.key, x);
      memref::StoreOp::create(b, x, keys, position);
      memref::StoreOp::create(b, toInteger(position), orders, position);
    });
    unsigned levels = space.length > 1 ? llvm::Log2_64_Ceil(static_cast<uint64_t>(space.length)) : 0;
    kernel.loop(0, levels, 1, [&](Value level) { mergeRuns(level); });
    Value sorted = kernel.constantIndex(levels % 2 == 0 ? 0 : space.length);
    kernel.loop(0, space.kept, 1, [&](Value position) {
      ElementEmitter emitter(kernel, /*lanes=*/1);
      Value index = memref::LoadOp::create(b, orders, add(sorted, position));
      epilogue.store(emitter, index, indexAt(emitter, outer, position, inner));
    });
  }

private:
  ElementIndex indexAt(ElementEmitter &emitter, LaneIndex outer, Value position, LaneIndex inner) {
    IndexMath &math = emitter.indices();
    ElementIndex index = math.delinearize(outer, space.shape.take_front(space.dim));
    index.emplace_back(position);
    llvm::append_range(index, math.delinearize(inner, space.shape.drop_front(space.dim + 1)));
    return index;
  }

  /// Runs of 2^level indices, in one buffer, to runs twice as long in the other.
  void mergeRuns(Value level) {
    Value one = kernel.constantIndex(1), length = kernel.constantIndex(space.length);
    Value width = arith::ShLIOp::create(b, one, level);
    Value isOdd = arith::AndIOp::create(b, level, one);
    Value from = arith::MulIOp::create(b, isOdd, length);
    Value to = arith::SubIOp::create(b, length, from);
    Value step = add(width, width);
    auto runs = scf::ForOp::create(b, kernel.constantIndex(0), length, step);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(runs.getBody());
    Value begin = runs.getInductionVar();
    Value middle = arith::MinSIOp::create(b, add(begin, width), length);
    Value end = arith::MinSIOp::create(b, add(begin, step), length);
    auto merge = scf::ForOp::create(b, begin, end, one, ValueRange{begin, middle});
    b.setInsertionPointToStart(merge.getBody());
    Value left = merge.getRegionIterArgs()[0], right = merge.getRegionIterArgs()[1];
    // A run that has ended is read at the last place, for nothing.
    Value last = kernel.constantIndex(space.length - 1);
    auto indexIn = [&](Value place) -> Value {
      return memref::LoadOp::create(b, orders, add(from, arith::MinSIOp::create(b, place, last)));
    };
    Value leftIndex = indexIn(left), rightIndex = indexIn(right);
    Value leftIsLeft = less(left, middle), rightIsLeft = less(right, end);
    Value yes = arith::ConstantOp::create(b, b.getBoolAttr(true));
    // The right one goes first only where it must: equal elements stay in their order.
    Value takesRight = arith::AndIOp::create(
        b, rightIsLeft,
        arith::OrIOp::create(b, arith::XOrIOp::create(b, leftIsLeft, yes),
                             precedes(keyOf(rightIndex), keyOf(leftIndex))));
    memref::StoreOp::create(b, arith::SelectOp::create(b, takesRight, rightIndex, leftIndex), orders,
                            add(to, merge.getInductionVar()));
    Value nextLeft = arith::SelectOp::create(b, takesRight, left, add(left, one));
    Value nextRight = arith::SelectOp::create(b, takesRight, add(right, one), right);
    scf::YieldOp::create(b, ValueRange{nextLeft, nextRight});
  }

  Value keyOf(Value index) {
    return memref::LoadOp::create(
        b, keys, arith::IndexCastOp::create(b, b.getIndexType(), index).getResult());
  }

  /// Whether an element must come before another.
  Value precedes(Value x, Value y) {
    if (sort.getDescending())
      std::swap(x, y);
    if (!isa<FloatType>(space.key))
      return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x, y);
    Value below = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, y);
    Value isNumber = arith::CmpFOp::create(b, arith::CmpFPredicate::ORD, x, x);
    Value isNaN = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, y, y);
    return arith::OrIOp::create(b, below, arith::AndIOp::create(b, isNumber, isNaN));
  }

  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value less(Value x, Value y) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x, y);
  }
  Value toInteger(Value index) {
    return arith::IndexCastOp::create(b, b.getI64Type(), index);
  }

  KernelBuilder &kernel;
  ImplicitLocOpBuilder &b;
  nn::ArgsortOp sort;
  const Epilogue &epilogue;
  SortSpace space;
  Value keys, orders;
};

class SortSchedule final : public KernelSchedule {
public:
  FailureOr<KernelSpace> space(nn::KernelOp kernel) const override {
    nn::ArgsortOp sort = sortOf(kernel);
    if (!sort)
      return kernel.emitOpError("has the schedule sort, but not one argsort");
    if (failed(verifyElements(kernel, sort)) || failed(Epilogue::ofKernel(kernel, sort)))
      return failure();
    SortSpace space(sort);
    return KernelSpace{std::max<int64_t>(1, space.units()), space.scratch()};
  }

  LogicalResult emit(KernelBuilder &kernel) const override {
    nn::ArgsortOp sort = sortOf(kernel.kernel());
    FailureOr<Epilogue> epilogue = Epilogue::ofKernel(kernel.kernel(), sort);
    SortSpace space(sort);
    if (space.units() * space.kept == 0)
      return success();
    kernel.loop(kernel.begin(), kernel.end(), 1, [&](Value unit) {
      kernel.setFacts(unit, {1, space.units()});
      IndexMath math(kernel, 1, 1);
      LaneIndex outer = math.divide(LaneIndex(unit), space.inner);
      LaneIndex inner = math.remainder(LaneIndex(unit), space.inner);
      LineCode(kernel, sort, *epilogue).emit(outer, inner);
    });
    return success();
  }
};

} // namespace

const KernelSchedule &kernels::sortSchedule() {
  static const SortSchedule schedule;
  return schedule;
}
