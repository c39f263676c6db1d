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
  std::optional<Link> link = std::nullopt;

  /// Steps rewrite it: it has a second slot. Not for a linked one.
  bool rewritten = false;
  /// All its bytes are zero: none is read or written. Not for a linked one.
  bool zero = false;
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

/// Writes `states.bin` and, where there are states that steps rewrite, a `commits.bin`
/// without commits (past the page cache, durably), and then `states.index`
/// (atomically) into the folder `bundle`. The space, of second slots too, is checked and set
/// aside before the first byte is written. The order of `states` is that of the index
/// and of the extents; second slots follow in the same order. After an error there is no
/// `states.bin` and no `commits.bin`.
Status writeStore(const std::filesystem::path &bundle, io::Engine &engine,
                  std::span<const NewState> states, const ReadCanonical &read,
                  const StoreWriterOptions &options = {});

/// The smallest chunk of `type` of at least `least` bytes that Reads of it may
/// name: whole pieces and blocks, or the whole state.
uint64_t chooseChunkBytes(const StateType &type, uint64_t least);

} // namespace spillway
