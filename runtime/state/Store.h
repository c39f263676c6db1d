// The states of a bundle and where their bytes lie.
#pragma once

#include "runtime/base/Status.h"
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
/// file of the bundle is a plain name.
std::vector<std::byte> encodeStoreIndex(std::span<const StoreFile> files,
                                        std::span<const StateView> states);

/// A checked index. Holds no file open.
class Store {
public:
  /// Reads and checks the index in `bundle`, and that its files exist, have the
  /// recorded sizes and (linked ones) the recorded modification times. Machine
  /// errors name the file or state and what was expected.
  static Result<Store> open(const std::filesystem::path &bundle);

  /// The same for an index in memory (aligned to 8 bytes).
  static Result<Store> parse(std::span<const std::byte> index, const std::filesystem::path &bundle);

  const std::vector<StoreFile> &files() const { return files_; }
  const std::vector<StateView> &states() const { return states_; }
  /// Null where there is none of that name.
  const StateView *find(std::string_view name) const;

private:
  std::vector<StoreFile> files_;
  std::vector<StateView> states_;
};

/// The error of a chunk whose bytes have the checksum `sum`.
Error damagedChunk(const Store &store, const StateView &state, size_t chunk, uint64_t sum);

} // namespace spillway
