// The write stream: brings the next version of states from arenas into their files, and commits
// it. A version that holds an infinity or NaN is a user error, and none. Internal to the executor.
#pragma once

#include "runtime/executor/FileStream.h"
#include "runtime/executor/Slots.h"
#include "runtime/state/CommitLog.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace spillway {

class WriteStream final : public FileStream {
public:
  /// Opens the files of the states that are rewritten and the store's log, and declares `arenas`
  /// to the engine, which both outlive it as `store` and `slots` do.
  static Result<std::unique_ptr<WriteStream>> create(const Store &store, const Slots &slots,
                                                     io::Engine &engine,
                                                     std::span<const std::span<std::byte>> arenas,
                                                     std::chrono::milliseconds timeout);

  /// Between runs, in the thread of the runs: makes what they have written the last commit.
  Status commit(uint64_t step, std::string_view payload);

  const Commit &lastCommit() const { return log_.last(); }

private:
  WriteStream(const Store &store, const Slots &slots, io::Engine &engine,
              std::chrono::milliseconds timeout, CommitLog log)
      : FileStream(StreamKind::write, engine, timeout), store_(store), slots_(slots),
        log_(std::move(log)) {}

  Result<bool> begin() override;
  Status complete(const io::Completion &completion) override;

  Status beginWrite(uint32_t index);

  const Store &store_;
  const Slots &slots_;
  CommitLog log_;
  /// Handles by file of the store, -1 where nothing is rewritten; and all there are.
  std::vector<int> handles_;
  std::vector<int> openFiles_;
};

} // namespace spillway
