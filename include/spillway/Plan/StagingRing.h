// Memory that streamed tiles pass through, in the order in which they are used.
#pragma once

#include "spillway/Plan/SharedRoom.h"

#include <deque>
#include <optional>
#include <utility>

namespace spillway::plan {

/// Slots follow each other round a ring; none wraps, and each starts at a multiple of 4096. A new slot
/// takes the bytes of the oldest ones. Since tiles are used in a known order, the
/// oldest slot is also the one that is free first.
///
/// Below the ring may lie a shared room. Slots that may share it begin as low as it is free from when
/// their bytes are written on.
class StagingRing {
public:
  /// Whether a slot may lie in the shared room, and for how long its bytes are in use there.
  enum class Share : uint8_t {
    no,
    /// Until its user has ended.
    whileUsed,
    /// Something is written back from it then: until the step ends, and the next one waits for it.
    whileWritten,
  };

  struct User {
    /// Ascending from call to call.
    int64_t number = 0;
    /// When it uses the slot, as the shared room counts.
    int64_t moment = 0;
    /// Whether nothing else happens at that moment after it.
    bool endsMoment = true;
    Share share = Share::no;
  };

  struct Slot {
    /// From the start of the shared room; of the ring, where there is none.
    uint64_t offset = 0;
    /// The number of the last user whose slot it takes bytes of, or behind which the shared room is free: it, and all
    /// before it, must be done. Negative: none.
    int64_t after = -1;
  };

  /// The room, where there is one, outlives the ring.
  explicit StagingRing(uint64_t bytes, const SharedRoom *room = nullptr)
      : room_(room && room->bytes() ? room : nullptr), base_(room_ ? room_->bytes() : 0), end_(base_ + bytes) {}

  /// The next slot; none where `bytes` exceed the ring.
  std::optional<Slot> place(uint64_t bytes, User user);

  /// What place() would give.
  std::optional<Slot> peek(uint64_t bytes, User user) const { return find(slotBytes(bytes), user).first; }

  /// What a slot takes of the ring.
  static uint64_t slotBytes(uint64_t bytes);

private:
  struct Held {
    uint64_t begin;
    User user;
  };
  /// A slot, and how many of the oldest ones it takes the place of.
  std::pair<std::optional<Slot>, size_t> find(uint64_t bytes, User user) const;
  /// The lowest place for a slot whose bytes are written when `done` has ended.
  uint64_t lowest(const User &done, const User &user) const;

  const SharedRoom *room_;
  /// Where the ring itself begins and ends.
  uint64_t base_, end_;
  /// Where the last slot ends.
  uint64_t head_ = 0;
  std::deque<Held> held_;
  /// The last user that a slot has waited for so far; before the first one, what is before the step.
  User done_{.number = -1, .moment = -1};
};

} // namespace spillway::plan
