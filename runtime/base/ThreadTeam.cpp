#include "runtime/base/ThreadTeam.h"
#include "runtime/base/Futex.h"

#include <algorithm>

namespace spillway {

namespace {
/// About 50 us on current processors.
constexpr unsigned spinsBeforeSleep = 2000;
} // namespace

ThreadTeam::ThreadTeam(unsigned threads)
    : size_(threads), spins_(threads <= availableProcessors() ? spinsBeforeSleep : 0),
      begun_(threads) {}

Result<std::unique_ptr<ThreadTeam>> ThreadTeam::create(unsigned threads) {
  std::unique_ptr<ThreadTeam> team(new ThreadTeam(threads));
  team->workers_.reserve(threads - 1);
  for (unsigned thread = 1; thread < threads; ++thread) {
    SPILLWAY_ASSIGN_OR_RETURN(
        Thread worker,
        Thread::start("spillway-team", [raw = team.get(), thread] { raw->work(thread); }));
    team->workers_.push_back(std::move(worker));
  }
  return team;
}

ThreadTeam::~ThreadTeam() {
  stop_ = true;
  generation_.fetch_add(1);
  futexWakeAll(generation_);
}

void ThreadTeam::tryPart(unsigned part, uint32_t generation) {
  // Every part of a dispatch is begun before the next one, so whoever comes with an
  // old generation changes nothing, and `work_` is valid for whoever changes it.
  uint32_t before = generation - 1;
  if (!begun_[part].compare_exchange_strong(before, generation))
    return;
  uint64_t units = static_cast<uint64_t>(work_.end - work_.begin);
  uint64_t share = units / size_, longer = units % size_;
  int64_t first =
      work_.begin + static_cast<int64_t>(part * share + std::min<uint64_t>(part, longer));
  int64_t last = first + static_cast<int64_t>(share + (part < longer ? 1 : 0));
  if (first < last)
    work_.call(work_.context, first, last, part);
  if (unfinished_.fetch_sub(1) == 1 && callerSleeps_.load())
    futexWakeAll(unfinished_);
}

void ThreadTeam::dispatch(const Work &work) {
  if (work.begin >= work.end)
    return;
  if (size_ == 1 || work.end - work.begin == 1) {
    work.call(work.context, work.begin, work.end, 0);
    return;
  }
  work_ = work;
  unfinished_.store(size_);
  uint32_t generation = generation_.fetch_add(1) + 1;
  if (sleepers_.load() != 0)
    futexWakeAll(generation_);
  for (unsigned part = 0; part < size_; ++part)
    tryPart(part, generation);
  awaitParts();
}

void ThreadTeam::awaitParts() {
  for (unsigned spin = 0; spin < spins_; ++spin) {
    if (unfinished_.load(std::memory_order_acquire) == 0)
      return;
    pauseWhileSpinning();
  }
  // Announced before the last look, so that whoever finishes the last part either is
  // seen by that look or sees the sleeper.
  callerSleeps_.store(true);
  while (uint32_t unfinished = unfinished_.load())
    futexWait(unfinished_, unfinished);
  callerSleeps_.store(false);
}

void ThreadTeam::work(unsigned part) {
  uint32_t seen = 0;
  while (true) {
    for (unsigned spin = 0; spin < spins_ && generation_.load(std::memory_order_acquire) == seen;
         ++spin)
      pauseWhileSpinning();
    if (generation_.load() == seen) {
      // Announced before the last look, so that whoever dispatches either is seen
      // by that look or sees the sleeper.
      sleepers_.fetch_add(1);
      while (generation_.load() == seen)
        futexWait(generation_, seen);
      sleepers_.fetch_sub(1);
    }
    seen = generation_.load();
    if (stop_)
      return;
    tryPart(part, seen);
  }
}

} // namespace spillway
