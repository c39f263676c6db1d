// Replays a step table on a machine that one need not have: how long a step takes, and
// whether the table can run at all.
#pragma once

#include "spillway/Plan/Machine.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace spillway::plan {

/// Seconds since the start of its list.
struct SimulatedCommand {
  double begin = 0;
  double end = 0;
};

struct Simulation {
  /// The step is one behind another. What it carries may end behind it.
  std::vector<SimulatedCommand> prologue, step;
  double prologueSeconds = 0, stepSeconds = 0;
  /// Of a step, by stream as numbered in runtime/table/table.fbs: how long it works,
  /// and how many bytes it moves.
  std::array<double, 6> busySeconds{};
  std::array<uint64_t, 6> movedBytes{};
  /// No schedule of these commands is faster; and what sets it: the busiest stream, or `drive`, which reads and writes.
  double boundSeconds = 0;
  std::string_view limit;
};

/// `pieceBytes` has, for each state, what a look-up of one row reads. Transfers share
/// their channel in the order in which they start; serial streams run one command
/// at a time. Reads and writes share the drive (see DriveTime). Errors, all of them bugs of whoever made the table: it is malformed, a slice leaves
/// its arena, a command waits for one that has not been issued before it (so that it never
/// starts), bytes are read before they are ready, or touched by two commands that nothing orders.
Result<Simulation> simulate(std::span<const uint8_t> table, const Machine &machine,
                            std::span<const uint64_t> pieceBytes);

} // namespace spillway::plan
