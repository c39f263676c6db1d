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
/// that one piece of work after another starts them fast. Each has a share of its own,
/// in a few pieces; who has ended his takes pieces of those that come too late, or whose
/// processor others use too. Used by one thread at a time. Nothing allocates after
/// construction.
class ThreadTeam {
public:
  /// Starts `threads - 1` workers (threads >= 1).
  static Result<std::unique_ptr<ThreadTeam>> create(unsigned threads);
  ~ThreadTeam();

  unsigned size() const { return size_; }
  /// Into how many a range is divided.
  int64_t pieces() const { return int64_t(size_) * piecesOfShare; }

  /// Calls `body(first, last, thread)` for pieces of [begin, end), each unit in one, on
  /// threads that are numbered below `size`. Returns when all are done.
  template <typename Body> void run(int64_t begin, int64_t end, Body &&body) {
    using Type = std::remove_reference_t<Body>;
    dispatch({begin, end,
              [](const void *context, int64_t first, int64_t last, unsigned thread) {
                (*static_cast<Type *>(const_cast<void *>(context)))(first, last, thread);
              },
              &body});
  }

private:
  /// More cost kernels what each call prepares.
  static constexpr unsigned piecesOfShare = 2;

  struct Work {
    int64_t begin;
    int64_t end;
    void (*call)(const void *context, int64_t first, int64_t last, unsigned thread);
    const void *context;
  };

  /// A thread's own pieces: the dispatch, in the upper half, and the next piece that nobody
  /// has begun.
  struct alignas(64) Share {
    std::atomic<uint64_t> next{0};
  };

  explicit ThreadTeam(unsigned threads);
  void dispatch(const Work &work);
  /// Runs pieces of a dispatch until all have been begun.
  void runPieces(unsigned thread, uint32_t generation);
  /// Of a share; false where all have been begun, or the dispatch is over.
  bool runPiece(unsigned share, unsigned thread, uint32_t generation);
  void awaitPieces();
  void work(unsigned thread);

  unsigned size_;
  unsigned spins_;
  Work work_{};
  std::atomic<bool> stop_{false};
  /// Counts the dispatches; workers wait for it to change.
  alignas(64) std::atomic<uint32_t> generation_{0};
  std::atomic<uint32_t> sleepers_{0};
  /// Pieces that are not finished; the caller waits for 0.
  alignas(64) std::atomic<uint32_t> unfinished_{0};
  std::atomic<bool> callerSleeps_{false};
  std::vector<Share> shares_;
  std::vector<Thread> workers_;
};

} // namespace spillway
