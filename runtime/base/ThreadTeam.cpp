#include "runtime/base/ThreadTeam.h"
#include "runtime/base/Futex.h"

#include <algorithm>

namespace spillway {

namespace {
/// About 50 us on current processors.
constexpr unsigned spinsBeforeSleep = 2000;
} // namespace

ThreadTeam::ThreadTeam(unsigned threads)
    : size_(threads), spins_(threads <= availableProcessors() ? spinsBeforeSleep : 0) {}

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

void ThreadTeam::runPart(const Work &work, unsigned thread) const {
  uint64_t units = static_cast<uint64_t>(work.end - work.begin);
  uint64_t share = units / size_, longer = units % size_;
  int64_t first =
      work.begin + static_cast<int64_t>(thread * share + std::min<uint64_t>(thread, longer));
  int64_t last = first + static_cast<int64_t>(share + (thread < longer ? 1 : 0));
  if (first < last)
    work.call(work.context, first, last, thread);
}

void ThreadTeam::dispatch(const Work &work) {
  if (work.begin >= work.end)
    return;
  if (size_ == 1 || work.end - work.begin == 1) {
    work.call(work.context, work.begin, work.end, 0);
    return;
  }
  work_ = work;
  busy_.store(size_ - 1);
  generation_.fetch_add(1);
  if (sleepers_.load() != 0)
    futexWakeAll(generation_);
  runPart(work, 0);
  for (unsigned spin = 0; spin < spins_; ++spin) {
    if (busy_.load(std::memory_order_acquire) == 0)
      return;
    pauseWhileSpinning();
  }
  while (uint32_t busy = busy_.load(std::memory_order_acquire))
    futexWait(busy_, busy);
}

void ThreadTeam::work(unsigned thread) {
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
    ++seen;
    if (stop_)
      return;
    runPart(work_, thread);
    if (busy_.fetch_sub(1) == 1)
      futexWakeAll(busy_);
  }
}

} // namespace spillway
