#include "spillway/Plan/IntervalLayout.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <queue>

using namespace spillway::plan;

namespace {

/// A layout may take this share more bytes than another one to leave the upper ones free for longer.
constexpr uint64_t toleratedShare = 512;

/// Intervals by the moments at which they live, in windows of fixed length, so
/// that only neighbours in time are looked at.
class PlacedIntervals {
public:
  PlacedIntervals(const std::vector<Interval> &intervals) : intervals_(intervals) {
    for (const Interval &interval : intervals) {
      begin_ = std::min(begin_, interval.first);
      end_ = std::max(end_, interval.last);
    }
    windows_.resize(intervals.empty() ? 0 : windowOf(end_) + 1);
  }

  void add(uint32_t index, uint64_t offset) {
    const Interval &interval = intervals_[index];
    if (windowOf(interval.first) == windowOf(interval.last))
      windows_[windowOf(interval.first)].push_back({offset, index});
    else
      long_.push_back({offset, index});
  }

  /// Byte ranges of those that live together with `interval`, ascending.
  void collectConflicts(const Interval &interval,
                        std::vector<std::pair<uint64_t, uint64_t>> &ranges) const {
    ranges.clear();
    for (size_t w = windowOf(interval.first); w <= windowOf(interval.last); ++w)
      collectFrom(windows_[w], interval, ranges);
    collectFrom(long_, interval, ranges);
    std::sort(ranges.begin(), ranges.end());
  }

private:
  struct Placed {
    uint64_t offset;
    uint32_t index;
  };
  static constexpr int64_t windowLength = 64;

  size_t windowOf(int64_t moment) const {
    return static_cast<size_t>((moment - begin_) / windowLength);
  }

  void collectFrom(const std::vector<Placed> &placed, const Interval &interval,
                   std::vector<std::pair<uint64_t, uint64_t>> &ranges) const {
    for (auto [offset, index] : placed) {
      const Interval &other = intervals_[index];
      if (other.first <= interval.last && interval.first <= other.last)
        ranges.emplace_back(offset, offset + other.bytes);
    }
  }

  const std::vector<Interval> &intervals_;
  int64_t begin_ = std::numeric_limits<int64_t>::max();
  int64_t end_ = std::numeric_limits<int64_t>::min();
  std::vector<std::vector<Placed>> windows_;
  std::vector<Placed> long_;
};

/// Byte ranges, ascending; they may overlap.
using Ranges = std::vector<std::pair<uint64_t, uint64_t>>;

/// The smallest gap between `taken` ranges that has room; above them all where none has.
uint64_t tightestGap(const Interval &interval, const Ranges &taken) {
  uint64_t best = 0, bestGap = std::numeric_limits<uint64_t>::max(), free = 0;
  for (auto [begin, end] : taken) {
    uint64_t start = llvm::alignTo(free, interval.alignment);
    if (begin >= start + interval.bytes && begin - start < bestGap) {
      best = start;
      bestGap = begin - start;
    }
    free = std::max(free, end);
  }
  return bestGap == std::numeric_limits<uint64_t>::max() ? llvm::alignTo(free, interval.alignment) : best;
}

uint64_t aboveAll(const Interval &interval, const Ranges &taken) {
  uint64_t free = 0;
  for (auto [begin, end] : taken)
    free = std::max(free, end);
  return llvm::alignTo(free, interval.alignment);
}

/// Places one interval after the other beside those that live with it.
IntervalLayout layoutInOrder(const std::vector<Interval> &intervals, const std::vector<uint32_t> &order,
                             uint64_t (*offsetOf)(const Interval &, const Ranges &taken)) {
  IntervalLayout layout;
  layout.offsets.resize(intervals.size());
  PlacedIntervals placed(intervals);
  Ranges taken;
  for (uint32_t index : order) {
    const Interval &interval = intervals[index];
    placed.collectConflicts(interval, taken);
    uint64_t offset = offsetOf(interval, taken);
    layout.offsets[index] = offset;
    layout.bytes = std::max(layout.bytes, offset + interval.bytes);
    placed.add(index, offset);
  }
  return layout;
}

/// The same upside down, as low as it falls: what lay at the bottom is on top of all that lives with it.
IntervalLayout turned(const std::vector<Interval> &intervals, const IntervalLayout &layout) {
  std::vector<uint32_t> fromTop(intervals.size());
  std::iota(fromTop.begin(), fromTop.end(), 0);
  std::ranges::sort(fromTop, std::greater(), [&](uint32_t i) { return std::pair(layout.offsets[i] + intervals[i].bytes, i); });
  return layoutInOrder(intervals, fromTop, aboveAll);
}

/// The sum over moments of where the highest interval ends.
double sumOfHeights(const std::vector<Interval> &intervals, const IntervalLayout &layout) {
  std::vector<uint32_t> byFirst(intervals.size());
  std::iota(byFirst.begin(), byFirst.end(), 0);
  std::ranges::stable_sort(byFirst, {}, [&](uint32_t i) { return intervals[i].first; });
  // Those that have begun, the highest one on top; who has ended goes when it is there.
  std::priority_queue<std::pair<uint64_t, int64_t>> live;
  double sum = 0;
  int64_t moment = std::numeric_limits<int64_t>::min();
  auto advanceTo = [&](int64_t next) {
    while (!live.empty() && moment < next) {
      auto [height, last] = live.top();
      int64_t end = std::min(next, last + 1);
      if (end > moment) {
        sum += static_cast<double>(height) * static_cast<double>(end - moment);
        moment = end;
      }
      if (last < moment)
        live.pop();
    }
    moment = std::max(moment, next);
  };
  for (uint32_t index : byFirst) {
    advanceTo(intervals[index].first);
    live.emplace(layout.offsets[index] + intervals[index].bytes, intervals[index].last);
  }
  advanceTo(std::numeric_limits<int64_t>::max());
  return sum;
}

} // namespace

uint64_t spillway::plan::peakLiveBytes(const std::vector<Interval> &intervals) {
  std::map<int64_t, int64_t> change;
  for (const Interval &interval : intervals) {
    change[interval.first] += static_cast<int64_t>(interval.bytes);
    change[interval.last + 1] -= static_cast<int64_t>(interval.bytes);
  }
  int64_t live = 0, peak = 0;
  for (auto [moment, bytes] : change)
    peak = std::max(peak, live += bytes);
  return static_cast<uint64_t>(peak);
}

IntervalLayout spillway::plan::layoutIntervals(const std::vector<Interval> &intervals) {
  std::vector<uint32_t> order(intervals.size());
  std::iota(order.begin(), order.end(), 0);
  auto lengthOf = [&](uint32_t i) { return intervals[i].last - intervals[i].first + 1; };
  auto area = [&](uint32_t i) {
    return static_cast<double>(intervals[i].bytes) * static_cast<double>(lengthOf(i));
  };
  std::vector<IntervalLayout> layouts;
  auto tryOrder = [&](auto before) {
    std::vector<uint32_t> sorted = order;
    std::sort(sorted.begin(), sorted.end(), [&](uint32_t a, uint32_t b) {
      return before(a, b) || (!before(b, a) && a < b);
    });
    layouts.push_back(layoutInOrder(intervals, sorted, tightestGap));
  };
  tryOrder([&](uint32_t a, uint32_t b) { return intervals[a].bytes > intervals[b].bytes; });
  tryOrder([&](uint32_t a, uint32_t b) { return area(a) > area(b); });
  tryOrder([&](uint32_t a, uint32_t b) { return intervals[a].first < intervals[b].first; });
  tryOrder([&](uint32_t a, uint32_t b) { return lengthOf(a) > lengthOf(b); });
  uint64_t most = std::ranges::min(layouts, {}, &IntervalLayout::bytes).bytes;
  most += most / toleratedShare;
  std::erase_if(layouts, [&](const IntervalLayout &layout) { return layout.bytes > most; });
  for (size_t i = 0, count = layouts.size(); i < count; ++i)
    if (IntervalLayout other = turned(intervals, layouts[i]); other.bytes <= most)
      layouts.push_back(std::move(other));
  IntervalLayout best;
  double least = std::numeric_limits<double>::infinity();
  for (IntervalLayout &layout : layouts)
    if (double sum = sumOfHeights(intervals, layout); sum < least) {
      least = sum;
      best = std::move(layout);
    }
  return best;
}
