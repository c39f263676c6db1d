// A step as the planner sees it: states with sizes, and calls with costs.
#pragma once

#include "spillway/Plan/Machine.h"
#include "spillway/Plan/SharedRoom.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace spillway::plan {

struct StepState {
  /// ONNX name.
  std::string name;
  /// Panels, rows or runs of rows, and what one takes.
  uint64_t units = 0;
  uint64_t unitBytes = 0;
  /// Units of the smallest piece of a file.
  uint64_t chunkUnits = 1;
  /// Whether calls may take it tile by tile.
  bool tileable = false;
  /// States with the same number are cut alike.
  uint32_t group = 0;
  /// Units of a tile where the user has decided; 0 where not.
  uint64_t fixedTileUnits = 0;
  /// Ranks that each tile is split over.
  uint64_t ranks = 1;
  /// What the last unit has less than the others.
  uint64_t missingBytes = 0;
  /// Its last panel or block is not full: calls leave the padding as it is.
  bool endsInPadding = false;

  /// Units of the smallest tile: a chunk for each rank.
  uint64_t tileGrain() const { return chunkUnits * ranks; }
  /// In whole blocks of 4096.
  uint64_t extent(uint64_t beginUnit, uint64_t endUnit) const;
  uint64_t extent() const { return extent(0, units); }
  /// What a rank reads of a tile that it does not hold whole.
  uint64_t partExtent(uint64_t beginUnit, uint64_t endUnit) const;
  /// What the parts of all ranks take together.
  uint64_t gatheredExtent(uint64_t beginUnit, uint64_t endUnit) const {
    return ranks * partExtent(beginUnit, endUnit);
  }
};

/// A call of a kernel, or a look-up.
struct StepMoment {
  /// ONNX node.
  std::string name;
  /// States whose values it takes, or overwrites, each once; of a look-up none.
  std::vector<uint32_t> states;
  /// Those of them that it gives their next values, and of these, those whose old values it does not take.
  std::vector<uint32_t> rewritten, blank;
  KernelCost cost;
  /// A look-up: in which state, how many rows, and bytes of file and staging for them.
  std::optional<uint32_t> lookupState;
  uint64_t lookupCount = 0;
  uint64_t lookupPieceBytes = 0;
  uint64_t lookupStagingBytes = 0;
  uint64_t lookupResultBytes = 0;
  /// Values that wait on the drive (places in Step::offloaded): which begin to be written after it; must have been
  /// written before it; begin to be read before it, when those have been written; and must have been read before it.
  std::vector<uint32_t> written, settled, restored, taken;
  /// What must lie in memory for it beside states, largest first: operands,
  /// results, scratch, staging.
  std::vector<std::pair<std::string, uint64_t>> working;

  uint64_t workingBytes() const;
};

struct Step {
  std::vector<StepState> states;
  std::vector<StepMoment> moments;
  /// Bytes of each value that waits on the drive.
  std::vector<uint64_t> offloaded;
  /// Of everything that the step computes, laid out; and how much of it at each moment.
  uint64_t activationBytes = 0;
  SharedRoom room;
  unsigned threads = 1;
};

} // namespace spillway::plan
