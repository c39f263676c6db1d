// Makes what steps have written the version that counts.
#pragma once

#include "runtime/io/Patience.h"
#include "runtime/memory/Arena.h"
#include "runtime/state/Store.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace spillway {

/// Collects the checksums of the next version of a store's rewritten states, and commits it. No
/// other process writes the store.
class CommitLog {
public:
  /// Opens the store's log for writing in `engine`.
  static Result<CommitLog> open(const Store &store, io::Engine &engine);

  /// The last one of the store and, later, of this log.
  const Commit &last() const { return last_; }

  /// Notes a chunk of the next version. Before each commit all are noted anew.
  void note(size_t state, uint64_t chunk, uint64_t checksum) {
    sums()[firstChunk_[state] + chunk] = checksum;
  }

  /// Makes the next version, whose bytes have been written to `files`, durable and then the last
  /// commit. `patience` drives the engine, in which nothing is in flight. After an error the
  /// last commit is either one, and only reading the store again tells which.
  Status commit(io::Patience &patience, std::span<const int> files, uint64_t step,
                std::string_view payload);

private:
  CommitLog(const Store &store, int file, Arena memory);

  uint64_t *sums() const { return reinterpret_cast<uint64_t *>(memory_.data() + blockBytes); }
  std::span<std::byte> sumBlocks() const { return memory_.bytes().subspan(blockBytes); }

  Commit last_;
  int file_;
  uint64_t chunks_;
  /// Of each state, among the chunks of all rewritten ones.
  std::vector<uint64_t> firstChunk_;
  /// A block for the record, and the checksums.
  Arena memory_;
};

} // namespace spillway
