// The threads that compute.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/base/Thread.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

namespace spillway {

/// A fixed number of threads, the caller among them, that divide ranges of
/// independent units. Workers spin for some microseconds before they sleep, so
/// that one piece of work after another starts them fast; the caller computes the
/// parts of those that come too late. Used by one thread at a time. Nothing allocates
/// after construction.
class ThreadTeam {
public:
  /// Starts `threads - 1` workers (threads >= 1).
  static Result<std::unique_ptr<ThreadTeam>> create(unsigned threads);
  ~ThreadTeam();

  unsigned size() const { return size_; }

  /// Calls `body(first, last, part)` for contiguous parts of [begin, end), at most
  /// one a thread, that differ by at most one unit in size, ascending with `part`; parts
  /// without units are left out. Returns when all are done.
  template <typename Body> void run(int64_t begin, int64_t end, Body &&body) {
    using Type = std::remove_reference_t<Body>;
    dispatch({begin, end,
              [](const void *context, int64_t first, int64_t last, unsigned part) {
                (*static_cast<Type *>(const_cast<void *>(context)))(first, last, part);
              },
              &body});
  }

private:
  struct Work {
    int64_t begin;
    int64_t end;
    void (*call)(const void *context, int64_t first, int64_t last, unsigned part);
    const void *context;
  };

  explicit ThreadTeam(unsigned threads);
  void dispatch(const Work &work);
  /// Runs a part unless somebody has begun it.
  void tryPart(unsigned part, uint32_t generation);
  void awaitParts();
  void work(unsigned part);

  unsigned size_;
  unsigned spins_;
  Work work_{};
  std::atomic<bool> stop_{false};
  /// Counts the dispatches; workers wait for it to change.
  alignas(64) std::atomic<uint32_t> generation_{0};
  std::atomic<uint32_t> sleepers_{0};
  /// Parts that are not finished; the caller waits for 0.
  alignas(64) std::atomic<uint32_t> unfinished_{0};
  std::atomic<bool> callerSleeps_{false};
  /// For each part the last dispatch in which it was begun.
  std::vector<std::atomic<uint32_t>> begun_;
  std::vector<Thread> workers_;
};

} // namespace spillway
