#include "spillway/Plan/SharedRoom.h"

#include "runtime/base/Assert.h"
#include "spillway/Plan/StagingRing.h"

#include <algorithm>
#include <bit>

using namespace spillway::plan;

SharedRoom::SharedRoom(uint64_t bytes, const std::vector<uint64_t> &taken, uint64_t takenBetween)
    : bytes_(StagingRing::slotBytes(bytes)), takenBetween_(StagingRing::slotBytes(takenBetween)) {
  std::vector<uint64_t> &single = mostTaken_.emplace_back();
  for (uint64_t at : taken)
    single.push_back(StagingRing::slotBytes(at));
  for (size_t length = 2; length <= taken.size(); length *= 2) {
    const std::vector<uint64_t> &halves = mostTaken_.back();
    std::vector<uint64_t> runs(taken.size() - length + 1);
    for (size_t i = 0; i < runs.size(); ++i)
      runs[i] = std::max(halves[i], halves[i + length / 2]);
    mostTaken_.push_back(std::move(runs));
  }
}

uint64_t SharedRoom::takenBytes(int64_t first, int64_t last) const {
  SPILLWAY_ASSERT(0 <= first && first <= last && static_cast<size_t>(last) < mostTaken_.front().size(), "moments of the step");
  auto count = static_cast<uint64_t>(last - first + 1);
  auto power = static_cast<size_t>(std::bit_width(count)) - 1;
  const std::vector<uint64_t> &runs = mostTaken_[power];
  return std::max(runs[static_cast<size_t>(first)], runs[static_cast<size_t>(last) + 1 - (size_t(1) << power)]);
}

uint64_t SharedRoom::takenBytesFrom(int64_t first) const {
  auto moments = static_cast<int64_t>(mostTaken_.front().size());
  return std::max(takenBetween_, first < moments ? takenBytes(first, moments - 1) : 0);
}
