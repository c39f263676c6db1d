// What a launch of a kernel is made of.
#pragma once

#include "dialects/NN/NN.h"

namespace spillway::kernels {

struct KernelSpace {
  /// Units of the launch space: any cut of [0, units) computes the same bits.
  int64_t units = 1;
  /// Bytes that one call needs beside its operands, whatever its range.
  int64_t scratch = 0;
  /// Parts into which a range of units may be divided at most, each of them worth a call of its own: they compute the same bits.
  int64_t parts = 1;

  /// Says so on the kernel.
  void describe(nn::KernelOp kernel) const;
};

/// The space of a kernel, from its schedule and body alone: its attributes `units`, `scratch`
/// and `parts` are not read, and all CPU targets share it. Diagnoses a body that
/// the schedule cannot compute.
mlir::FailureOr<KernelSpace> kernelSpace(nn::KernelOp kernel);

} // namespace spillway::kernels
