#include "spillway/Plan/StagingRing.h"

#include "runtime/state/State.h"

#include <algorithm>

using namespace spillway;
using namespace spillway::plan;

uint64_t StagingRing::slotBytes(uint64_t bytes) {
  return roundUpToBlock(bytes);
}

std::pair<std::optional<StagingRing::Slot>, size_t> StagingRing::find(uint64_t bytes, User user) const {
  if (bytes > end_ - base_)
    return {std::nullopt, 0};
  Slot slot;
  size_t dropped = 0;
  User done = done_;
  auto dropWhile = [&](auto isInTheWay) {
    while (dropped < held_.size() && isInTheWay(held_[dropped])) {
      done = held_[dropped++].user;
      slot.after = done.number;
    }
  };
  uint64_t oldest = head_;
  slot.offset = std::max(head_, lowest(done, user));
  if (slot.offset + bytes > end_) {
    // What lies between the head and the end is older than what lies at the start.
    dropWhile([&](const Held &held) { return held.begin >= head_; });
    slot.offset = lowest(done, user);
    oldest = 0;
  }
  dropWhile([&](const Held &held) { return held.begin >= oldest && held.begin < slot.offset + bytes; });
  if (slot.offset < base_)
    slot.after = std::max(slot.after, done.number);
  return {slot, dropped};
}

uint64_t StagingRing::lowest(const User &done, const User &user) const {
  if (!room_ || user.share == Share::no)
    return base_;
  int64_t first = done.moment + done.endsMoment;
  return user.share == Share::whileUsed ? room_->takenBytes(first, user.moment) : room_->takenBytesFrom(first);
}

std::optional<StagingRing::Slot> StagingRing::place(uint64_t bytes, User user) {
  bytes = slotBytes(bytes);
  auto [slot, dropped] = find(bytes, user);
  if (!slot)
    return std::nullopt;
  if (dropped) {
    done_ = held_[dropped - 1].user;
    held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(dropped));
  }
  held_.push_back({slot->offset, user});
  head_ = slot->offset + bytes;
  return slot;
}
