// What stays where, what streams through how much staging, and how it is cut: for the
// least predicted time of a step.
#pragma once

#include "spillway/Plan/Step.h"

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace spillway::plan {

/// Memory that a plan may use, in bytes. Kernels compute on `compute`; where there is
/// also `host`, `compute` is a device's memory, and what comes from NVMe passes through the host.
struct Budget {
  uint64_t compute = 0;
  std::optional<uint64_t> host;
};

/// Where a tile lies between steps.
enum class Home : uint8_t { compute, host, nvme };

/// Why a tile lies above NVMe.
enum class Kept : uint8_t {
  no,
  /// A transfer of its own costs more than its bytes.
  small,
  /// A call takes it whole with each tile of another state.
  repeated,
  /// Its call would wait for it.
  late,
  /// There was room left.
  room,
};

struct Placement {
  /// Units of a tile per state; 0: one tile.
  std::vector<uint64_t> tileUnits;
  /// Per state and tile.
  std::vector<std::vector<Home>> homes;
  std::vector<std::vector<Kept>> kept;
  /// Of those that stream: whether a call waits for them.
  std::vector<std::vector<bool>> awaited;
  /// Of the memory that kernels compute on, and of the host below it.
  uint64_t stagingBytes = 0, hostStagingBytes = 0;
  /// Of the host, for new values on their way down from the device.
  uint64_t hostOutgoingBytes = 0;
  uint64_t residentBytes = 0, hostResidentBytes = 0;
  /// Of one step, predicted.
  double seconds = 0;
};

/// The least that a step can do with.
struct Minimum {
  /// The smallest budget that works; with a host tier, of the device.
  uint64_t bytes = 0;
  /// The smallest host that works below a device.
  uint64_t hostBytes = 0;
  /// What the neediest call alone takes, with its states in the smallest tiles: no plan is smaller.
  uint64_t floorBytes = 0;
  /// That call (an index into Step::moments), and its tiles' bytes.
  uint32_t floorMoment = 0;
  uint64_t floorTileBytes = 0;
};

Minimum minimumOf(const Step &step);

/// Tries a fixed set of stagings, tile sizes and resident shares, whatever the budget,
/// and takes the fastest that fits; so more memory of one tier never makes a slower plan. A
/// user error where the budget is too small: it names what is needed, and for what. Plans that take `secondsBelow`
/// or longer need not be found.
Result<Placement> place(const Step &step, const Machine &machine, const Budget &budget,
                        double secondsBelow = std::numeric_limits<double>::infinity());

/// The predicted seconds of a step under a placement; none where its staging is too
/// small. Equals what the simulator finds for the table that is made of it.
std::optional<double> predict(const Step &step, const Machine &machine, const Placement &placement,
                              bool hasHostTier);

} // namespace spillway::plan
