// Makes the states of a bundle from tensors in canonical order.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/io/Engine.h"
#include "runtime/state/State.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>

namespace spillway {

/// A state that is to be stored or linked.
struct NewState {
  StateType type;
  /// Of a stored state; see `chunk_bytes` in store.fbs. 0 makes it one chunk.
  uint64_t chunkBytes = 0;

  /// Where the bytes lie already, in canonical order: nothing is copied.
  struct Link {
    std::filesystem::path file;
    uint64_t offset = 0;
  };
  std::optional<Link> link;
};

/// Fills `target` with the bytes of the logical tensor `state` (an index) from
/// `offset` on, in canonical order. Called for one state after the other, for
/// parts of it in any order.
using ReadCanonical =
    std::function<Status(size_t state, uint64_t offset, std::span<std::byte> target)>;

struct StoreWriterOptions {
  /// Of each of the two buffers to the file and of the one that is packed; a
  /// multiple of 4096. Larger only where one panel is.
  uint64_t bufferBytes = 8 << 20;
};

/// Writes `states.bin` (past the page cache, durably) and then `states.index`
/// (atomically) into the folder `bundle`. The space is checked and set aside
/// before the first byte is written. The order of `states` is that of the index
/// and of the extents. After an error there is no `states.bin`.
Status writeStore(const std::filesystem::path &bundle, io::Engine &engine,
                  std::span<const NewState> states, const ReadCanonical &read,
                  const StoreWriterOptions &options = {});

/// The smallest chunk of `type` of at least `least` bytes that Reads of it may
/// name: whole pieces and blocks, or the whole state.
uint64_t chooseChunkBytes(const StateType &type, uint64_t least);

} // namespace spillway
