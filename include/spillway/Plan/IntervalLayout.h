// Offsets for values that live for a while: two that live at the same time do not overlap.
#pragma once

#include <cstdint>
#include <vector>

namespace spillway::plan {

struct Interval {
  uint64_t bytes = 0;
  uint64_t alignment = 64;
  /// First and last moment at which it is needed, both included.
  int64_t first = 0;
  int64_t last = 0;
};

struct IntervalLayout {
  /// One per interval.
  std::vector<uint64_t> offsets;
  /// End of the highest one.
  uint64_t bytes = 0;
};

/// Places intervals in several fixed orders, each at the lowest gap that is large enough but
/// least so, and turns each of these layouts upside down too. Of those that take the fewest bytes, or hardly more, it
/// keeps the one that leaves the upper ones free for longest. The same intervals always give the same layout.
IntervalLayout layoutIntervals(const std::vector<Interval> &intervals);

/// The most bytes that live at one moment: no layout is smaller.
uint64_t peakLiveBytes(const std::vector<Interval> &intervals);

} // namespace spillway::plan
