#include "runtime/train/SampleOrder.h"

#include <algorithm>
#include <bit>

namespace spillway {

namespace {
constexpr uint64_t rounds = 8;

/// A bijection of 64 bits whose results look random (the finalizer of SplitMix64).
constexpr uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}
constexpr uint64_t golden = 0x9e3779b97f4a7c15;
} // namespace

SampleOrder::SampleOrder(uint64_t count, uint64_t seed, bool shuffles)
    : count_(count), seed_(seed), shuffles_(shuffles),
      halfBits_(std::max(1, (static_cast<int>(std::bit_width(count - 1)) + 1) / 2)) {}

/// A Feistel network permutes the numbers of twice as many bits as a half has; what it makes
/// beyond the count is permuted again.
uint64_t SampleOrder::at(uint64_t place) const {
  uint64_t number = place % count_;
  if (!shuffles_)
    return number;
  uint64_t key = mix(mix(seed_ + golden) + place / count_ * golden);
  uint64_t mask = (uint64_t(1) << halfBits_) - 1;
  do {
    uint64_t left = number >> halfBits_, right = number & mask;
    for (uint64_t round = 1; round <= rounds; ++round) {
      uint64_t next = left ^ (mix(mix(key + round * golden) + right * golden) & mask);
      left = right;
      right = next;
    }
    number = left << halfBits_ | right;
  } while (number >= count_);
  return number;
}

} // namespace spillway
