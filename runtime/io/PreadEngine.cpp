#include "runtime/io/PreadEngine.h"

#include <cerrno>
#include <unistd.h>

namespace spillway::io {

Result<std::unique_ptr<Engine>> PreadEngine::create(const EngineOptions &options) {
  std::unique_ptr<PreadEngine> engine(new PreadEngine(options));
  for (unsigned i = 0; i < std::min(options.threads, options.depth); ++i) {
    SPILLWAY_ASSIGN_OR_RETURN(Thread thread,
                              Thread::start("spillway-io", [raw = engine.get()] { raw->work(); }));
    engine->threads_.push_back(std::move(thread));
  }
  return std::unique_ptr<Engine>(std::move(engine));
}

PreadEngine::~PreadEngine() {
  abandon();
  while (blocksWithSystem() != 0) {
    {
      std::lock_guard lock(mutex_);
      woken_ = false;
    }
    reap(forever);
    abandon();
  }
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  jobsChanged_.notify_all();
  threads_.clear();
}

Status PreadEngine::start() {
  std::lock_guard lock(mutex_);
  while (std::optional<unsigned> slot = nextBlock()) {
    Block next = block(*slot);
    jobs_.push_back({*slot, descriptor(next.file), next});
    jobsChanged_.notify_one();
  }
  return {};
}

int64_t PreadEngine::transfer(const Job &job) {
  const Block &block = job.block;
  auto offset = static_cast<off_t>(block.offset);
  ssize_t moved = 0;
  switch (block.kind) {
  case Request::read:
    moved = pread(job.descriptor, block.data, block.bytes, offset);
    break;
  case Request::write:
    moved = pwrite(job.descriptor, block.data, block.bytes, offset);
    break;
  case Request::sync:
    moved = fdatasync(job.descriptor);
    break;
  }
  return moved < 0 ? -errno : moved;
}

void PreadEngine::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    jobsChanged_.wait(lock, [&] { return stop_ || !jobs_.empty(); });
    if (jobs_.empty())
      return;
    Job job = jobs_.front();
    jobs_.pop_front();
    lock.unlock();
    int64_t result = transfer(job);
    lock.lock();
    outcomes_.push_back({job.slot, result});
    outcomesChanged_.notify_one();
  }
}

void PreadEngine::reap(TimePoint until) {
  {
    std::unique_lock lock(mutex_);
    auto ready = [&] { return woken_ || !outcomes_.empty(); };
    if (until == forever)
      outcomesChanged_.wait(lock, ready);
    else if (until != noWait)
      outcomesChanged_.wait_until(lock, until, ready);
    taken_.swap(outcomes_);
  }
  for (const Outcome &outcome : taken_)
    finish(outcome.slot, outcome.result);
  taken_.clear();
}

Status PreadEngine::poll(std::vector<Completion> &completions, TimePoint until) {
  bool woken = false;
  reap(noWait);
  SPILLWAY_RETURN_IF_ERROR(start());
  while (until != noWait && !hasCompletions() && !woken &&
         (until == forever || Clock::now() < until)) {
    reap(until);
    SPILLWAY_RETURN_IF_ERROR(start());
    std::lock_guard lock(mutex_);
    woken = woken_;
  }
  if (until != noWait) {
    std::lock_guard lock(mutex_);
    woken_ = false;
  }
  takeCompletions(completions);
  return {};
}

void PreadEngine::wake() {
  std::lock_guard lock(mutex_);
  woken_ = true;
  outcomesChanged_.notify_one();
}

} // namespace spillway::io
