// When each command waited, ran and ended.
#pragma once

#include "runtime/executor/Program.h"

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

namespace spillway {

/// Nanoseconds of the steady clock.
inline int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Of one command in one run of its list.
struct CommandTimes {
  /// When its stream came to it.
  int64_t reached = 0;
  /// When what it waits for had ended.
  int64_t started = 0;
  int64_t ended = 0;
};

/// Sums over one run of a list.
struct RunTimes {
  int64_t wallNs = 0;
  /// Of the compute stream's commands, from start to end.
  int64_t computeNs = 0;
  /// That the compute stream waited while a read, a lookup from a file or a write, perhaps of the
  /// step before, was the last of what it waited for, or had nothing left to do.
  int64_t blockedOnIoNs = 0;
};

/// The sums for `commands`, whose run took from `begin` to `end`. `previous` are the times of the step before, where
/// commands of it were carried; those that are carried out of this one are not looked at.
RunTimes sumTimes(std::span<const Command> commands, std::span<const CommandTimes> times,
                  std::span<const CommandTimes> previous, int64_t begin, int64_t end);

/// A list's run as Chrome trace events (https://ui.perfetto.dev reads them): one
/// track a stream, times from `origin` on, `name` as the process. JSON objects
/// joined by commas are appended to `json`.
void appendTraceEvents(std::string &json, int process, std::string_view name,
                       std::span<const Command> commands, std::span<const CommandTimes> times,
                       int64_t origin);

} // namespace spillway
