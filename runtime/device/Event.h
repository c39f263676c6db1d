// One-shot completion of a command.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace spillway {

/// Somebody who sleeps elsewhere than on an event.
class Watcher {
public:
  virtual ~Watcher() = default;
  /// Ends the present sleep, or else the next one. From any thread.
  virtual void wake() = 0;
};

/// A word that one side signals or fails and any number wait for. Neither side
/// takes a lock; a signal without sleepers makes no system call. On a device with
/// memories of its own the word lies in pinned host memory, so that its streams
/// can wait for it and write it too.
class Event {
public:
  /// Makes it pending again; no one may wait for it.
  void reset() { word_.store(0, std::memory_order_relaxed); }

  void signal() { finish(done); }
  void fail() { finish(failed); }

  bool isPending() const { return (word_.load(std::memory_order_acquire) & (done | failed)) == 0; }
  /// What the signalling side wrote before its signal is visible after a true
  /// answer.
  bool isDone() const { return (word_.load(std::memory_order_acquire) & done) != 0; }

  /// Blocks while pending; true where it was signalled, false where it failed.
  bool wait();

  /// Has `watcher` woken when it ends; false where it has ended already. One watcher a
  /// seat, which outlives the event's end.
  bool watch(Watcher &watcher, unsigned seat);
  static constexpr unsigned seats = 2;

private:
  /// From `watched` on a bit for each seat.
  enum : uint32_t { awaited = 1, done = 2, failed = 4, watched = 8 };

  void finish(uint32_t state);

  std::atomic<uint32_t> word_{0};
  std::array<std::atomic<Watcher *>, seats> watchers_{};
};

} // namespace spillway
