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
/// that one piece of work after another starts them fast. Used by one thread at
/// a time. Nothing allocates after construction.
class ThreadTeam {
public:
  /// Starts `threads - 1` workers (threads >= 1).
  static Result<std::unique_ptr<ThreadTeam>> create(unsigned threads);
  ~ThreadTeam();

  unsigned size() const { return size_; }

  /// Calls `body(first, last, thread)` for contiguous parts of [begin, end) that
  /// differ by at most one unit in size, ascending with `thread`; parts without
  /// units are left out. Returns when all are done. The caller is thread 0.
  template <typename Body> void run(int64_t begin, int64_t end, Body &&body) {
    using Type = std::remove_reference_t<Body>;
    dispatch({begin, end,
              [](const void *context, int64_t first, int64_t last, unsigned thread) {
                (*static_cast<Type *>(const_cast<void *>(context)))(first, last, thread);
              },
              &body});
  }

private:
  struct Work {
    int64_t begin;
    int64_t end;
    void (*call)(const void *context, int64_t first, int64_t last, unsigned thread);
    const void *context;
  };

  explicit ThreadTeam(unsigned threads);
  void dispatch(const Work &work);
  void runPart(const Work &work, unsigned thread) const;
  void work(unsigned thread);

  unsigned size_;
  unsigned spins_;
  Work work_{};
  bool stop_ = false;
  /// Counts the dispatches; workers wait for it to change.
  alignas(64) std::atomic<uint32_t> generation_{0};
  std::atomic<uint32_t> sleepers_{0};
  /// Workers that have not finished the current dispatch; the caller waits for 0.
  alignas(64) std::atomic<uint32_t> busy_{0};
  std::vector<Thread> workers_;
};

} // namespace spillway
