#include "spillway/Plan/StagingRing.h"

using namespace spillway::plan;

uint64_t StagingRing::slotBytes(uint64_t bytes) {
  constexpr uint64_t block = 4096;
  return (bytes + block - 1) / block * block;
}

std::pair<std::optional<StagingRing::Slot>, size_t> StagingRing::find(uint64_t bytes) const {
  if (bytes > capacity_)
    return {std::nullopt, 0};
  Slot slot;
  size_t dropped = 0;
  auto dropWhile = [&](auto isInTheWay) {
    while (dropped < held_.size() && isInTheWay(held_[dropped]))
      slot.after = held_[dropped++].user;
  };
  slot.offset = head_;
  if (head_ + bytes > capacity_) {
    // What lies between the head and the end is older than what lies at the start.
    dropWhile([&](const Held &held) { return held.begin >= head_; });
    slot.offset = 0;
  }
  dropWhile([&](const Held &held) {
    return held.begin >= slot.offset && held.begin < slot.offset + bytes;
  });
  return {slot, dropped};
}

std::optional<StagingRing::Slot> StagingRing::place(uint64_t bytes, int64_t user) {
  bytes = slotBytes(bytes);
  auto [slot, dropped] = find(bytes);
  if (!slot)
    return std::nullopt;
  held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(dropped));
  held_.push_back({slot->offset, user});
  head_ = slot->offset + bytes;
  return slot;
}
