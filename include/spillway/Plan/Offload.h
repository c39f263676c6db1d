// Values of a training step that wait on the drive, as most of the forward half's do for the backward half.
#pragma once

#include "spillway/Plan/Machine.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace spillway::plan {

struct OffloadChoice {
  /// How much of what waits, in eighths of its bytes: what waits longest.
  unsigned share = 0;
  /// How many times as long as a transfer takes, where all follow each other, it may be under way: the value's bytes
  /// stay in memory as long. 0: what a call gives is written before the next call starts, and read when all but the
  /// call that takes it has ended.
  unsigned lead = 1;
};

struct Offloaded {
  uint64_t values = 0, bytes = 0;
};

/// Has values of a function in kernel form written to the drive and read back, in time on a machine that computes and does
/// nothing else. What would come back soon after it has gone stays in memory. A function that updates no state stays as it is.
Offloaded offload(mlir::func::FuncOp function, const Machine &machine, unsigned threads, OffloadChoice choice);

} // namespace spillway::plan
