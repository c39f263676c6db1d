// How a team divides what one launch computes.
#pragma once

#include "runtime/base/ThreadTeam.h"
#include "runtime/device/KernelAbi.h"

#include <algorithm>

namespace spillway {

/// Calls `body(range, thread)` for disjoint ranges that together are all of the units [begin, end) of a kernel that may be
/// divided into `parts` parts at most. A part has all units, so that what it prepares is prepared once; units are
/// cut where there are fewer parts than pieces of the team, into as many for each part, of which there are a divisor of
/// the pieces. One thread makes one call. Returns when all are done.
template <typename Body> void divideRange(ThreadTeam &team, int64_t begin, int64_t end, int64_t parts, Body &&body) {
  int64_t pieces = team.pieces();
  parts = team.size() == 1 ? 1 : std::min(parts, pieces);
  while (pieces % parts != 0)
    --parts;
  if (parts == 1)
    return team.run(begin, end, [&](int64_t first, int64_t last, unsigned thread) { body(KernelRange{first, last}, thread); });
  int64_t cuts = pieces / parts, units = end - begin;
  team.run(0, pieces, [&](int64_t first, int64_t last, unsigned thread) {
    for (int64_t piece = first; piece < last; ++piece) {
      int64_t cut = piece % cuts;
      KernelRange range{begin + units * cut / cuts, begin + units * (cut + 1) / cuts, piece / cuts, parts};
      if (range.begin < range.end)
        body(range, thread);
    }
  });
}

} // namespace spillway
