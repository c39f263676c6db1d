// Memory right below a staging ring that what the step computes takes more or less of.
#pragma once

#include <cstdint>
#include <vector>

namespace spillway::plan {

/// The bytes of all that a step computes. At each moment it takes their lower part; tiles may pass through the rest.
class SharedRoom {
public:
  SharedRoom() = default;
  /// What is taken of `bytes` at each moment of the step, and between steps, by inputs. All are rounded up to blocks of
  /// 4096.
  SharedRoom(uint64_t bytes, const std::vector<uint64_t> &taken, uint64_t takenBetween);

  uint64_t bytes() const { return bytes_; }
  /// The most that is taken at a moment from `first` to `last`, both included.
  uint64_t takenBytes(int64_t first, int64_t last) const;
  /// The most that is taken from moment `first` on, until the next step begins.
  uint64_t takenBytesFrom(int64_t first) const;

private:
  uint64_t bytes_ = 0, takenBetween_ = 0;
  /// The most over runs of 2^i moments, by i and the first of them.
  std::vector<std::vector<uint64_t>> mostTaken_;
};

} // namespace spillway::plan
