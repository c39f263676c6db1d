// Which version of the states counts: the content of a bundle's `commits.bin`.
//
// Two records, a block each, take turns, the first of which comes with the file; behind them lie, for each slot, the checksums of all
// chunks of the states that steps rewrite, in the order of the index. A record is written when
// the bytes of its slot and their checksums are durable, so the newest whole record is true.
#pragma once

#include "runtime/base/FileLock.h"
#include "runtime/base/Status.h"
#include "runtime/state/State.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace spillway {

inline constexpr std::string_view commitsName = "commits.bin";

/// A version of the states that a step rewrites.
struct Commit {
  /// Counts from 1; 0 is the version that was compiled.
  uint64_t sequence = 0;
  /// Steps that have made it.
  uint64_t step = 0;
  /// Which slot of every state holds it: 0 or 1.
  uint32_t slot = 0;
  /// What whoever trains wants back, of at most `maxPayloadBytes`.
  std::string payload;
};
inline constexpr uint64_t maxPayloadBytes = 3072;

/// Places in the file, for `chunks` chunks.
uint64_t recordPlace(uint64_t sequence);
uint64_t checksumsPlace(uint32_t slot, uint64_t chunks);
uint64_t checksumsBytes(uint64_t chunks);
uint64_t commitsFileBytes(uint64_t chunks);

/// The record of a commit whose checksums, in their blocks, have the checksum `checksums`.
void encodeCommit(const Commit &commit, uint64_t checksums, std::span<std::byte, blockBytes> block);

/// Keeps others from training a bundle (shared), or also from reading its states (exclusive), as
/// long as the result lives: empty where nobody can train it. A user error where another process
/// is in the way.
Result<std::optional<FileLock>> lockStates(const std::filesystem::path &bundle,
                                           FileLock::Kind kind);

struct CommittedVersion {
  Commit commit;
  /// Of each chunk; empty before the first commit.
  std::vector<uint64_t> checksums;
};

/// The newest commit in the file. Machine errors: a file of another size, no whole record, damaged
/// checksums.
Result<CommittedVersion> readLastCommit(const std::filesystem::path &path, uint64_t chunks);

} // namespace spillway
