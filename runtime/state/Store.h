// The states of a bundle and where their bytes lie.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/state/Commit.h"
#include "runtime/state/State.h"

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace spillway {

/// The names of a bundle's files that hold its states.
inline constexpr std::string_view storeIndexName = "states.index";
inline constexpr std::string_view storeDataName = "states.bin";
/// Beside them, as long as a process starts, that of a file in which values of a step wait; afterwards the file has no
/// name, and goes with the process. One that was killed while it started leaves it to the next.
inline constexpr std::string_view scratchName = "scratch.tmp";

struct StoreFile {
  /// Absolute, or relative to the working directory.
  std::filesystem::path path;
  /// The user's own file: any offsets, no checksums.
  bool linked = false;
  uint64_t bytes = 0;
  /// Of a linked file when it was compiled, ns since the epoch.
  uint64_t modifiedNs = 0;
};

/// The index of these files and states, as Store::parse reads it. The path of a
/// file of the bundle is a plain name. Nothing is committed yet: a rewritten state's first slot
/// is at its `fileOffset`.
std::vector<std::byte> encodeStoreIndex(std::span<const StoreFile> files,
                                        std::span<const StateView> states);

/// Whether the user's own files must be there as they were.
enum class LinkedFiles : uint8_t { checked, unchecked };

/// A checked index, of the states as they were committed last. Holds no file open.
class Store {
public:
  /// Reads and checks the index in `bundle`, and that its files exist, have the
  /// recorded sizes and (linked ones) the recorded modification times; and, where steps
  /// rewrite states, the last commit. Machine errors, user errors of linked files, name the file or
  /// state and what was expected.
  static Result<Store> open(const std::filesystem::path &bundle);

  /// The same for an index in memory (aligned to 8 bytes).
  static Result<Store> parse(std::span<const std::byte> index, const std::filesystem::path &bundle,
                             LinkedFiles linkedFiles = LinkedFiles::checked);

  const std::vector<StoreFile> &files() const { return files_; }
  const std::vector<StateView> &states() const { return states_; }
  /// Null where there is none of that name.
  const StateView *find(std::string_view name) const;

  const std::filesystem::path &folder() const { return folder_; }
  /// When the store was read.
  const Commit &lastCommit() const { return lastCommit_; }

private:
  /// Puts the committed slots of the rewritten states first.
  Status applyLastCommit();

  std::filesystem::path folder_;
  Commit lastCommit_;
  std::vector<StoreFile> files_;
  std::vector<StateView> states_;
};

/// That a linked file is there as it was when it was compiled: a user error where it is not.
Status requireUnchanged(const StoreFile &file);

/// Chunks of all states that steps rewrite.
uint64_t rewrittenChunks(std::span<const StateView> states);

/// The error of a chunk whose bytes have the checksum `sum`.
Error damagedChunk(const Store &store, const StateView &state, size_t chunk, uint64_t sum);

} // namespace spillway
