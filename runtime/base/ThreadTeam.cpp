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
      shares_(threads) {}

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

bool ThreadTeam::runPiece(unsigned share, unsigned thread, uint32_t generation) {
  std::atomic<uint64_t> &next = shares_[share].next;
  uint64_t piece = next.load(std::memory_order_acquire);
  // Whoever comes with an old generation begins nothing. While one piece is not finished
  // there is no other dispatch, so `work_` is valid for whoever has begun one.
  do
    if (static_cast<uint32_t>(piece >> 32) != generation || static_cast<uint32_t>(piece) == piecesOfShare)
      return false;
  while (!next.compare_exchange_weak(piece, piece + 1, std::memory_order_acq_rel, std::memory_order_acquire));
  uint64_t units = static_cast<uint64_t>(work_.end - work_.begin), pieces = static_cast<uint64_t>(this->pieces());
  auto beginOf = [&](uint64_t number) {
    return work_.begin + static_cast<int64_t>(units / pieces * number + units % pieces * number / pieces);
  };
  uint64_t number = share * piecesOfShare + static_cast<uint32_t>(piece);
  int64_t first = beginOf(number), last = beginOf(number + 1);
  if (first < last)
    work_.call(work_.context, first, last, thread);
  if (unfinished_.fetch_sub(1) == 1 && callerSleeps_.load())
    futexWakeAll(unfinished_);
  return true;
}

void ThreadTeam::runPieces(unsigned thread, uint32_t generation) {
  for (unsigned other = 0; other < size_; ++other)
    while (runPiece((thread + other) % size_, thread, generation)) {
    }
}

void ThreadTeam::dispatch(const Work &work) {
  if (work.begin >= work.end)
    return;
  if (size_ == 1 || work.end - work.begin == 1) {
    work.call(work.context, work.begin, work.end, 0);
    return;
  }
  work_ = work;
  unfinished_.store(size_ * piecesOfShare);
  uint32_t generation = generation_.load() + 1;
  for (Share &share : shares_)
    share.next.store(uint64_t(generation) << 32, std::memory_order_release);
  generation_.store(generation);
  if (sleepers_.load() != 0)
    futexWakeAll(generation_);
  runPieces(0, generation);
  awaitPieces();
}

void ThreadTeam::awaitPieces() {
  for (unsigned spin = 0; spin < spins_; ++spin) {
    if (unfinished_.load(std::memory_order_acquire) == 0)
      return;
    pauseWhileSpinning();
  }
  // Announced before the last look, so that whoever finishes the last piece either is
  // seen by that look or sees the sleeper.
  callerSleeps_.store(true);
  while (uint32_t unfinished = unfinished_.load())
    futexWait(unfinished_, unfinished);
  callerSleeps_.store(false);
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
    seen = generation_.load();
    if (stop_)
      return;
    runPieces(thread, seen);
  }
}

} // namespace spillway
