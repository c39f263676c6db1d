// One-shot completion of a command.
#pragma once

#include <atomic>
#include <cstdint>

namespace spillway {

/// A word that one side signals or fails and any number wait for. Neither side
/// takes a lock; a signal without sleepers makes no system call. On a device with
/// memories of its own the word lies in pinned host memory, so that its streams
/// can wait for it and write it too.
class Event {
public:
  /// Makes it pending again; no one may wait for it.
  void reset() { word_.store(pending, std::memory_order_relaxed); }

  void signal() { finish(done); }
  void fail() { finish(failed); }

  bool isPending() const {
    uint32_t word = word_.load(std::memory_order_acquire);
    return word == pending || word == awaited;
  }
  /// What the signalling side wrote before its signal is visible after a true
  /// answer.
  bool isDone() const { return word_.load(std::memory_order_acquire) == done; }

  /// Blocks while pending; true where it was signalled, false where it failed.
  bool wait();

private:
  enum : uint32_t { pending, awaited, done, failed };

  void finish(uint32_t state);

  std::atomic<uint32_t> word_{pending};
};

} // namespace spillway
