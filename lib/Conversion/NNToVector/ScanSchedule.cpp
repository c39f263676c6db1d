// One running sum with what comes before and after it. Each line is summed in order.
// Lanes lie across lines, in the dimensions behind the summed one; where there are none,
// a line is a loop of scalars.

#include "spillway/Conversion/NNToVector/Epilogue.h"
#include "spillway/Conversion/NNToVector/KernelSchedule.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::kernels;

namespace {

constexpr int64_t scanLanes = 16;

nn::CumsumOp scanOf(nn::KernelOp kernel) {
  auto scans = kernel.getBody().front().getOps<nn::CumsumOp>();
  return llvm::hasSingleElement(scans) ? *scans.begin() : nn::CumsumOp();
}

/// The summed dimension and the lines before and behind it.
struct ScanSpace {
  ArrayRef<int64_t> shape;
  int64_t dim, length, outer = 1, inner = 1;

  explicit ScanSpace(nn::CumsumOp scan)
      : shape(cast<RankedTensorType>(scan.getType()).getShape()), dim(scan.getDim()),
        length(shape[dim]) {
    for (int64_t size : shape.take_front(dim))
      outer *= size;
    for (int64_t size : shape.drop_front(dim + 1))
      inner *= size;
  }

  /// Blocks of lanes among the lines behind the summed dimension.
  int64_t blocks() const { return llvm::divideCeil(inner, scanLanes); }
  int64_t units() const { return outer * blocks(); }
};

class ScanSchedule final : public KernelSchedule {
public:
  FailureOr<KernelSpace> space(nn::KernelOp kernel) const override {
    nn::CumsumOp scan = scanOf(kernel);
    if (!scan)
      return kernel.emitOpError("has the schedule scan, but not one running sum");
    if (failed(verifyElements(kernel, scan)) || failed(Epilogue::ofKernel(kernel, scan)))
      return failure();
    return KernelSpace{std::max<int64_t>(1, ScanSpace(scan).units()), 0};
  }

  LogicalResult emit(KernelBuilder &kernel) const override {
    nn::CumsumOp scan = scanOf(kernel.kernel());
    FailureOr<Epilogue> epilogue = Epilogue::ofKernel(kernel.kernel(), scan);
    ScanSpace space(scan);
    if (space.units() * space.length == 0)
      return success();
    ImplicitLocOpBuilder &b = kernel.builder();
    kernel.loop(kernel.begin(), kernel.end(), 1, [&](Value unit) {
      kernel.setFacts(unit, {1, space.units()});
      IndexMath math(kernel, 1, 1);
      LaneIndex outer = math.divide(LaneIndex(unit), space.blocks());
      LaneIndex block = math.remainder(LaneIndex(unit), space.blocks());
      LaneIndex first = math.multiply(block, scanLanes);
      int64_t rest = space.inner % scanLanes;
      if (rest == 0)
        return emitLines(kernel, scan, *epilogue, outer, first, scanLanes);
      Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, math.value(block.base),
                                           kernel.constantIndex(space.blocks() - 1));
      kernel.when(isLast, [&] {
        emitLines(kernel, scan, *epilogue, outer, LaneIndex(space.inner - rest), rest);
      });
      if (space.blocks() == 1)
        return;
      Value isWhole =
          arith::XOrIOp::create(b, isLast, arith::ConstantOp::create(b, b.getBoolAttr(true)));
      kernel.when(isWhole, [&] { emitLines(kernel, scan, *epilogue, outer, first, scanLanes); });
    });
    return success();
  }

private:
  /// The first `active` lines from `first` on, side by side.
  static void emitLines(KernelBuilder &kernel, nn::CumsumOp scan, const Epilogue &epilogue,
                        LaneIndex outer, LaneIndex first, int64_t active) {
    ImplicitLocOpBuilder &b = kernel.builder();
    ScanSpace space(scan);
    int64_t lanes = llvm::isPowerOf2_64(active) ? active : scanLanes;
    Type element = cast<RankedTensorType>(scan.getType()).getElementType();
    // Small floats are summed in f32.
    bool widens = isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
    Type sum = laneType(widens ? Type(b.getF32Type()) : element, lanes);
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(sum));
    kernel.reduce(0, space.length, 1, zero, [&](Value step, ValueRange carried) {
      ElementEmitter emitter(kernel, lanes, active);
      IndexMath &math = emitter.indices();
      LaneIndex position(step);
      if (scan.getReverse())
        position = math.add(math.multiply(position, -1), space.length - 1);
      LaneIndex column = first;
      column.stride = lanes == 1 ? 0 : 1;
      ElementIndex index = math.delinearize(outer, space.shape.take_front(space.dim));
      index.push_back(position);
      llvm::append_range(index, math.delinearize(column, space.shape.drop_front(space.dim + 1)));

      Value x = emitter.emit(scan.getOperand(), index);
      if (widens)
        x = arith::ExtFOp::create(b, sum, x);
      Value next = isa<FloatType>(element)
                       ? arith::AddFOp::create(b, carried.front(), x).getResult()
                       : arith::AddIOp::create(b, carried.front(), x).getResult();
      Value result = scan.getExclusive() ? carried.front() : next;
      if (widens)
        result = arith::TruncFOp::create(b, laneType(element, lanes), result);
      epilogue.store(emitter, result, index);
      return SmallVector<Value>{next};
    });
  }
};

} // namespace

const KernelSchedule &kernels::scanSchedule() {
  static const ScanSchedule schedule;
  return schedule;
}
