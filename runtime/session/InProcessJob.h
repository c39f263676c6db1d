// All ranks of a bundle in one process, to try and to test what several machines
// would run.
#pragma once

#include "runtime/session/Session.h"

#include <functional>
#include <memory>
#include <vector>

namespace spillway {

class InProcessJob {
public:
  /// A session for each rank that the bundle was compiled for. They share the processors
  /// where `options` name no number of threads; a fault hits the last rank alone.
  static Result<InProcessJob> open(const std::filesystem::path &bundle,
                                   const SessionOptions &options);

  /// A machine error where all ranks together compute in more memory than there is.
  Status requireMemory() const;

  uint32_t size() const { return static_cast<uint32_t>(sessions_.size()); }
  Session &session(uint32_t rank) { return *sessions_[rank]; }

  /// Calls `body` for each rank, all at once, rank 0 in the calling thread. A rank
  /// that fails ends the others. The error is that of the first rank that has one; where
  /// there are several ranks it begins with the number of the rank that failed.
  Status run(const std::function<Status(Session &, uint32_t rank)> &body);

private:
  InProcessJob() = default;

  std::vector<std::unique_ptr<Communicator>> communicators_;
  std::vector<std::unique_ptr<Session>> sessions_;
};

} // namespace spillway
