#include "spillway/Conversion/NNToVector/KernelSchedule.h"

#include "spillway/Conversion/NNToVector/KernelBuilder.h"
#include "spillway/Conversion/NNToVector/NNToVector.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::kernels;

const KernelSchedule &kernels::kernelSchedule(nn::Schedule schedule) {
  switch (schedule) {
  case nn::Schedule::attention:
    return attentionSchedule();
  case nn::Schedule::conv:
    return convSchedule();
  case nn::Schedule::gemm:
    return gemmSchedule();
  case nn::Schedule::map:
    return mapSchedule();
  case nn::Schedule::row:
    return rowSchedule();
  case nn::Schedule::scan:
    return scanSchedule();
  case nn::Schedule::sort:
    return sortSchedule();
  case nn::Schedule::scatter:
    return scatterSchedule();
  }
  llvm_unreachable("a schedule");
}

void KernelSpace::describe(nn::KernelOp kernel) const {
  kernel.setUnits(units);
  kernel.setScratch(scratch);
  kernel.setParts(parts == 1 ? std::nullopt : std::optional<uint64_t>(parts));
}

FailureOr<KernelSpace> kernels::kernelSpace(nn::KernelOp kernel) {
  return kernelSchedule(kernel.getSchedule()).space(kernel);
}

FailureOr<func::FuncOp> kernels::emitKernel(nn::KernelOp kernel, const CpuTarget &target,
                                            OpBuilder &builder) {
  if (failed(kernelSpace(kernel)))
    return failure();
  KernelBuilder code(kernel, target, builder);
  if (failed(kernelSchedule(kernel.getSchedule()).emit(code))) {
    code.function().erase();
    return failure();
  }
  code.finish();
  return code.function();
}
