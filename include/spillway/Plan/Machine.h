// What a machine can do: the numbers that plans are made for.
#pragma once

#include "runtime/base/DataType.h"
#include "runtime/base/Status.h"

#include <array>
#include <map>
#include <string>
#include <string_view>

namespace spillway::plan {

/// A stream that moves bytes. An all-gather counts what it leaves on each rank.
struct Channel {
  double bytesPerSecond = 0;
  /// From the start of a transfer to its first byte.
  double latencySeconds = 0;
  /// Of the channel's time for each transfer, beside its bytes.
  double transferSeconds = 0;
};

/// A machine, by default a small server with an NVMe drive. `spillway calibrate`
/// writes one as JSON:
///
///     {"flops_per_thread": {"f32": 1e11}, "memory_bytes_per_second": 2e10, "launch_seconds": 5e-6, "drive_bytes_per_second": 1.8e9,
///      "channels": {"read": {"bytes_per_second": 1.5e9, "latency_seconds": 1e-4, "transfer_seconds": 1e-5}, ...}}
struct Machine {
  /// Of a good kernel on one thread; types that are missing count as f32.
  std::map<DataType, double> flopsPerThread = {
      {DataType::f32, 9e10}, {DataType::f64, 4.5e10}, {DataType::bf16, 2e11}};
  /// Between memory and all threads together.
  double memoryBytesPerSecond = 1.8e10;
  /// Waking the thread team, and waiting for its last thread.
  double launchSeconds = 8e-6;
  /// What the drive moves where it reads as much as it writes at the same time; 0: the two do not hinder each other.
  double driveBytesPerSecond = 0;
  /// Whether nobody has measured it: the defaults are.
  bool isEstimate = true;
  /// By stream as numbered in runtime/table/table.fbs; compute has none.
  std::array<Channel, 6> channels = {{{},
                                      {1.4e9, 1.5e-4, 1e-5},
                                      {2.2e9, 1.5e-4, 1e-5},
                                      {1e10, 1e-5},
                                      {1e10, 1e-5},
                                      {3e9, 5e-5}}};

  /// A user error where the text is no machine; what it leaves out keeps its default. It
  /// counts as measured unless it says `"estimate": true`.
  static Result<Machine> parse(std::string_view json);
  /// For kernels that have no instructions for products of bf16, and compute those in f32.
  void computeBf16InF32() { flopsPerThread[DataType::bf16] = flopsPerThread[DataType::f32]; }
  std::string print() const;
};

/// What a kernel costs on its whole launch space.
struct KernelCost {
  double flops = 0;
  DataType type = DataType::f32;
  double bytes = 0;
  /// Read by every launch, whatever its fraction.
  double sharedBytes = 0;
};

/// Seconds of a launch of `fraction` of a kernel's units by `threads`: the longer of
/// arithmetic and memory traffic, plus what each launch costs.
double launchSeconds(const Machine &machine, const KernelCost &cost, double fraction,
                     unsigned threads);
/// Seconds for which a transfer keeps its channel from others: no latency, since
/// many are under way (see table.fbs).
double channelSeconds(const Channel &channel, double bytes);
/// Transfers of one direction: their bytes, and how long they keep their channel.
struct Moved {
  double bytes = 0, seconds = 0;
};
/// Seconds that the drive is busy with what is read and written, in whatever order; 0 where the machine does not say how
/// fast it is at both, or nothing goes one way. Each direction's own seconds may be longer.
double driveSeconds(const Machine &machine, Moved read, Moved written);
/// Seconds that a look-up of `count` rows keeps the read channel: a whole piece of
/// the file for each, in rounds of as many as its staging holds.
double lookupSeconds(const Channel &channel, uint64_t count, uint64_t pieceBytes,
                     uint64_t stagingBytes);
/// Seconds of a look-up in memory.
double residentLookupSeconds(const Machine &machine, double bytes);

} // namespace spillway::plan
