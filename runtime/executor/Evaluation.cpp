#include "runtime/executor/Evaluation.h"
#include "runtime/executor/Access.h"

#include <algorithm>
#include <limits>
#include <map>

namespace spillway {

namespace {
/// A set of bytes of the arenas, and of the scratch file.
class ByteSet {
public:
  void add(const Slice &slice) {
    if (slice.bytes == 0)
      return;
    std::map<uint64_t, uint64_t> &runs = runsOf(slice);
    uint64_t begin = slice.offset, end = slice.offset + slice.bytes;
    auto it = firstTouching(runs, begin);
    while (it != runs.end() && it->first <= end) {
      begin = std::min(begin, it->first);
      end = std::max(end, it->second);
      it = runs.erase(it);
    }
    runs[begin] = end;
  }

  void remove(const Slice &slice) {
    std::map<uint64_t, uint64_t> &runs = runsOf(slice);
    uint64_t begin = slice.offset, end = slice.offset + slice.bytes;
    auto it = firstTouching(runs, begin);
    while (it != runs.end() && it->first < end) {
      auto [runBegin, runEnd] = *it;
      it = runs.erase(it);
      if (runBegin < begin)
        runs[runBegin] = begin;
      if (runEnd > end)
        runs[end] = runEnd;
    }
  }

  bool overlaps(const Slice &slice) const {
    const std::map<uint64_t, uint64_t> &runs = runs_[static_cast<size_t>(slice.tier)];
    auto it = runs.lower_bound(slice.offset + slice.bytes);
    return it != runs.begin() && std::prev(it)->second > slice.offset;
  }

private:
  /// End by begin.
  std::map<uint64_t, uint64_t> &runsOf(const Slice &slice) {
    return runs_[static_cast<size_t>(slice.tier)];
  }

  /// The first run that ends at `begin` or behind it.
  static std::map<uint64_t, uint64_t>::iterator firstTouching(std::map<uint64_t, uint64_t> &runs,
                                                              uint64_t begin) {
    auto it = runs.upper_bound(begin);
    return it != runs.begin() && std::prev(it)->second >= begin ? std::prev(it) : it;
  }

  std::array<std::map<uint64_t, uint64_t>, tierCount + 1> runs_;
};

/// Leaves out commands of a list, and keeps the order of the others.
class Selection {
public:
  explicit Selection(const std::vector<Command> &commands)
      : commands_(commands), before_(commands.size()), places_(commands.size(), nowhere) {
    last_.fill(nowhere);
  }

  /// Of the next command.
  void leaveOut(uint32_t index) { before_[index] = endedBefore(index); }

  void keep(uint32_t index) {
    std::vector<uint32_t> waits = endedBefore(index);
    places_[index] = static_cast<uint32_t>(kept_.size());
    kept_.push_back(commands_[index]);
    kept_.back().waits = std::move(waits);
    // Nothing is carried into it.
    kept_.back().carriedWaits.clear();
  }

  std::vector<Command> take() { return std::move(kept_); }

private:
  static constexpr uint32_t nowhere = std::numeric_limits<uint32_t>::max();

  /// Which of the kept ones end before a command starts, by their new places.
  std::vector<uint32_t> endedBefore(uint32_t index) {
    std::vector<uint32_t> ended;
    auto add = [&](uint32_t earlier) {
      if (places_[earlier] != nowhere)
        ended.push_back(places_[earlier]);
      else
        ended.insert(ended.end(), before_[earlier].begin(), before_[earlier].end());
    };
    for (uint32_t wait : commands_[index].waits)
      add(wait);
    auto stream = static_cast<size_t>(commands_[index].stream);
    // Others start in their order: what one waits for has ended before the next one starts, too.
    if (uint32_t previous = std::exchange(last_[stream], index);
        previous != nowhere && (!isFileStream(commands_[index].stream) || places_[previous] == nowhere))
      add(previous);
    std::ranges::sort(ended);
    ended.erase(std::ranges::unique(ended).begin(), ended.end());
    return ended;
  }

  const std::vector<Command> &commands_;
  /// Of those left out.
  std::vector<std::vector<uint32_t>> before_;
  std::vector<uint32_t> places_;
  /// The last command of each stream.
  std::array<uint32_t, streamCount> last_;
  std::vector<Command> kept_;
};
} // namespace

std::optional<uint32_t> lastWriter(const Program &program, const Slice &output) {
  ByteSet bytes;
  bytes.add(output);
  for (size_t index = program.step.size(); index-- > 0;)
    if (std::ranges::any_of(accessOf(program, program.step[index]).writes,
                            [&](const Slice &slice) { return bytes.overlaps(slice); }))
      return static_cast<uint32_t>(index);
  return std::nullopt;
}

std::vector<Command> commandsFor(const Program &program, const Slice &output) {
  ByteSet needed;
  needed.add(output);
  std::vector<bool> isKept(program.step.size());
  for (size_t index = program.step.size(); index-- > 0;) {
    Access access = accessOf(program, program.step[index]);
    isKept[index] = std::ranges::any_of(access.writes,
                                        [&](const Slice &slice) { return needed.overlaps(slice); });
    if (!isKept[index])
      continue;
    if (access.begins)
      for (const Slice &slice : access.writes)
        needed.remove(slice);
    for (const Slice &slice : access.reads)
      needed.add(slice);
  }
  Selection selection(program.step);
  for (uint32_t index = 0; index < program.step.size(); ++index)
    if (isKept[index])
      selection.keep(index);
    else
      selection.leaveOut(index);
  return selection.take();
}

} // namespace spillway
