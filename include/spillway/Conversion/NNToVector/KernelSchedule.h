// How the body of a kernel becomes loops. One object for each nn.schedule.
#pragma once

#include "spillway/Conversion/NNToVector/KernelSpace.h"

namespace spillway::kernels {

class KernelBuilder;

class KernelSchedule {
public:
  virtual ~KernelSchedule() = default;
  /// See kernelSpace().
  virtual mlir::FailureOr<KernelSpace> space(nn::KernelOp kernel) const = 0;
  /// Writes the function's body at the builder's insertion point: computes units
  /// [builder.begin(), builder.end()) of space(kernel). Called only where
  /// space(kernel) succeeds.
  virtual mlir::LogicalResult emit(KernelBuilder &builder) const = 0;
};

const KernelSchedule &attentionSchedule();
const KernelSchedule &convSchedule();
const KernelSchedule &gemmSchedule();
const KernelSchedule &mapSchedule();
const KernelSchedule &rowSchedule();
const KernelSchedule &scanSchedule();
const KernelSchedule &scatterSchedule();
const KernelSchedule &sortSchedule();

/// The one of an nn.schedule.
const KernelSchedule &kernelSchedule(nn::Schedule schedule);

} // namespace spillway::kernels
