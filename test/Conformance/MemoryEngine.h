// Files in memory, on a clock that only moves when it is told to.
#pragma once

#include "runtime/io/Engine.h"

#include <condition_variable>
#include <map>
#include <mutex>

namespace spillway::io {

struct MemoryOptions {
  double readBytesPerSecond = 1e9;
  double writeBytesPerSecond = 1e9;
  /// From the end of a request's turn on its channel to its completion.
  std::chrono::nanoseconds latency{0};
  /// Bytes of all files together; more is ENOSPC.
  uint64_t capacity = uint64_t(1) << 40;
};

/// Reads and writes each have a channel that serves one request after another. A
/// transfer happens at once when its time has come, so that what is looked at too early
/// is not there. A waiting `poll` moves the clock to the next completion or to its
/// deadline, whichever is first; with neither it sleeps until `wake`.
class MemoryEngine final : public Engine {
public:
  explicit MemoryEngine(const MemoryOptions &options) : options_(options) {}

  /// Makes or replaces a file.
  void put(const std::filesystem::path &path, std::vector<std::byte> bytes);
  /// Null where there is none.
  const std::vector<std::byte> *contents(const std::filesystem::path &path) const;
  /// Lets time pass, as for work between polls.
  void advance(std::chrono::nanoseconds time) { now_ += time; }

  Result<int> open(const std::filesystem::path &path, const OpenOptions &options) override;
  Status close(int file) override;
  Status registerMemory(std::span<const std::span<std::byte>> arenas) override { return {}; }
  Status submit(const Request &request) override;
  Status poll(std::vector<Completion> &completions, TimePoint until) override;
  void wake() override;
  uint64_t inFlight() const override { return pending_.size(); }
  Counters counters() const override { return counters_; }
  TimePoint now() const override { return now_; }
  std::string name() const override { return "memory"; }

private:
  struct File {
    std::filesystem::path path;
    OpenOptions options;
    bool isOpen = false;
    uint64_t requests = 0;
  };
  struct Pending {
    TimePoint due;
    Request request;
  };

  bool isOpen(int file) const;
  uint64_t storedBytes() const;
  Completion carryOut(const Request &request);
  void sleepUntilWake();

  MemoryOptions options_;
  std::map<std::filesystem::path, std::vector<std::byte>> contents_;
  std::vector<File> files_;
  TimePoint now_{};
  TimePoint readsEnd_{};
  TimePoint writesEnd_{};
  /// By ascending due time.
  std::vector<Pending> pending_;
  Counters counters_;
  std::mutex mutex_;
  std::condition_variable wakes_;
  bool woken_ = false;
};

} // namespace spillway::io
