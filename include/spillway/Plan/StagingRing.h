// Memory that streamed tiles pass through, in the order in which they are used.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

namespace spillway::plan {

/// Slots follow each other round a ring; none wraps, and each starts at a multiple of 4096. A new slot
/// takes the bytes of the oldest ones. Since tiles are used in a known order, the
/// oldest slot is also the one that is free first.
class StagingRing {
public:
  struct Slot {
    uint64_t offset = 0;
    /// The user of the last slot whose bytes it takes: it, and all before it, must
    /// be done. Negative: none.
    int64_t after = -1;
  };

  explicit StagingRing(uint64_t bytes) : capacity_(bytes) {}

  /// The next slot, for `user` (ascending from call to call); none where `bytes`
  /// exceed the ring.
  std::optional<Slot> place(uint64_t bytes, int64_t user);

  /// What place() would give.
  std::optional<Slot> peek(uint64_t bytes) const { return find(slotBytes(bytes)).first; }

  /// What a slot takes of the ring.
  static uint64_t slotBytes(uint64_t bytes);

private:
  struct Held {
    uint64_t begin;
    int64_t user;
  };
  /// A slot, and how many of the oldest ones it takes the place of.
  std::pair<std::optional<Slot>, size_t> find(uint64_t bytes) const;

  uint64_t capacity_;
  uint64_t head_ = 0;
  std::deque<Held> held_;
};

} // namespace spillway::plan
