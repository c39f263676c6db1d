// Waiting for a drive that may never answer.
#pragma once

#include "runtime/io/Engine.h"

namespace spillway::io {

/// How long a drive may move nothing, by default.
inline constexpr std::chrono::seconds driveTimeout{60};

/// Drives an engine as long as bytes move: a drive that moves none for a time while something
/// is in flight is broken.
class Patience {
public:
  /// The engine outlives it.
  Patience(Engine &engine, std::chrono::milliseconds timeout)
      : engine_(engine), timeout_(timeout) {}

  /// The time begins anew.
  void restart();
  /// Appends completions. Waits for at least one or for the engine's `wake`; a machine error
  /// where the time is over.
  Status poll(std::vector<Completion> &completions);
  /// Drops what is in flight, waiting for no longer than the time.
  void drain();
  /// Submits the requests and waits for all, with nothing else in flight, and much longer where a sync is among them: it
  /// may have to write all that the system has kept in memory. The first error of any.
  Status transfer(std::span<const Request> requests);

private:
  Status poll(std::vector<Completion> &completions, std::chrono::milliseconds timeout);
  uint64_t movedBytes() const;

  Engine &engine_;
  std::chrono::milliseconds timeout_;
  /// When bytes last moved, or the engine was last idle, and how many had moved by then.
  TimePoint lastProgress_{};
  uint64_t bytesAtLastProgress_ = 0;
  std::vector<Completion> completions_;
};

} // namespace spillway::io
