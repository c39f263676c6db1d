// What the processors and their memory can do.
#pragma once

#include "runtime/base/ThreadTeam.h"

#include <cstddef>
#include <span>

namespace spillway {

/// Floating-point operations per second of one thread while all of a team compute: vector
/// multiply-adds in registers, the widest that this processor has.
struct MultiplyAddPeak {
  double f32 = 0, f64 = 0;
  /// Of bf16 products summed in f32; that of f32 where the processor has no instruction for it.
  double bf16 = 0;
};

MultiplyAddPeak measureMultiplyAdd(ThreadTeam &team);

/// Bytes per second that the whole team reads of memory that no cache holds.
double measureMemoryReads(ThreadTeam &team, std::span<const std::byte> memory);

/// Bytes per second that one thread copies from the first half of memory to the second.
double measureCopy(std::span<std::byte> memory);

/// Seconds from one start of the team's work to the next where there is none.
double measureLaunch(ThreadTeam &team);

} // namespace spillway
