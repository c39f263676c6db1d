// Files through pread and pwrite in a few threads.
#pragma once

#include "runtime/base/Thread.h"
#include "runtime/io/FileEngine.h"

#include <condition_variable>
#include <mutex>

namespace spillway::io {

class PreadEngine final : public FileEngine {
public:
  static Result<std::unique_ptr<Engine>> create(const EngineOptions &options);
  ~PreadEngine() override;

  Status registerMemory(std::span<const std::span<std::byte>> arenas) override { return {}; }
  Status poll(std::vector<Completion> &completions, TimePoint until) override;
  void wake() override;
  std::string name() const override { return "pread"; }

private:
  struct Job {
    unsigned slot;
    int descriptor;
    Block block;
  };
  struct Outcome {
    unsigned slot;
    int64_t result;
  };

  explicit PreadEngine(const EngineOptions &options) : FileEngine(options) {}
  Status start() override;
  void work();
  static int64_t transfer(const Job &job);
  /// Waits for an outcome, a wake or the deadline, and takes the outcomes.
  void reap(TimePoint until);

  std::mutex mutex_;
  std::condition_variable jobsChanged_;
  std::condition_variable outcomesChanged_;
  std::deque<Job> jobs_;
  std::vector<Outcome> outcomes_;
  bool woken_ = false;
  bool stop_ = false;
  /// Swapped with `outcomes_`, so that neither allocates for long.
  std::vector<Outcome> taken_;
  std::vector<Thread> threads_;
};

} // namespace spillway::io
