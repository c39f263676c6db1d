// Which sample of a data set comes at which place of a training.
#pragma once

#include <cstdint>

namespace spillway {

/// All samples once an epoch, each epoch in an order of its own, which the seed and the number
/// of the epoch alone decide: nothing is kept from place to place.
class SampleOrder {
public:
  /// `count` is not 0. Without `shuffles`, samples come as they lie.
  SampleOrder(uint64_t count, uint64_t seed, bool shuffles);

  /// The sample at a place, counted from 0 through all epochs.
  uint64_t at(uint64_t place) const;

private:
  uint64_t count_;
  uint64_t seed_;
  bool shuffles_;
  /// Of one half of a number below `count`.
  unsigned halfBits_;
};

} // namespace spillway
