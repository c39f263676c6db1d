// The write stream: brings the next version of states from arenas into their files, and commits
// it. A version that holds an infinity or NaN is a user error, and none. And values of a step into
// the scratch file. Internal to the executor.
#pragma once

#include "runtime/executor/FileStream.h"
#include "runtime/executor/Scratch.h"
#include "runtime/executor/Slots.h"
#include "runtime/memory/Arena.h"
#include "runtime/state/CommitLog.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace spillway {

class WriteStream final : public FileStream {
public:
  /// Opens the files of the states that are rewritten, the store's log and the scratch file, and
  /// declares `arenas` to the engine, which all outlive it as `store` and `slots` do.
  static Result<std::unique_ptr<WriteStream>> create(const Store &store, const Slots &slots,
                                                     Scratch &scratch, io::Engine &engine,
                                                     std::span<const std::span<std::byte>> arenas,
                                                     std::chrono::milliseconds timeout);

  /// Between runs, in the thread of the runs: makes what they have written the last commit.
  Status commit(uint64_t step, std::string_view payload);

  const Commit &lastCommit() const { return log_.last(); }

private:
  WriteStream(const Store &store, const Slots &slots, Scratch &scratch, io::Engine &engine,
              std::chrono::milliseconds timeout, CommitLog log)
      : FileStream(StreamKind::write, engine, timeout), store_(store), slots_(slots),
        scratch_(scratch), log_(std::move(log)) {}

  void restart() override { foundNotFinite_ = false; }
  Result<bool> begin() override;
  Status complete(const io::Completion &completion) override;
  bool foundNotFinite() const override { return foundNotFinite_; }

  Status beginCommand(uint32_t index);
  Status beginWrite(const WriteOperation &write, uint32_t index);
  Status beginOffload(const OffloadOperation &offload, uint32_t index);
  /// A request of the command, which ends when all of its requests have.
  Status submit(uint32_t index, int file, uint64_t offset, std::span<std::byte> bytes);

  const Store &store_;
  const Slots &slots_;
  Scratch &scratch_;
  CommitLog log_;
  /// Handles by file of the store, -1 where nothing is rewritten; and all there are.
  std::vector<int> handles_;
  std::vector<int> openFiles_;
  int scratchFile_ = -1;
  /// For each value of the scratch file a block for its end, where that is not a whole one.
  std::optional<Arena> lastBlocks_;
  bool foundNotFinite_ = false;
};

} // namespace spillway
