// Float32 weights whose elements are functions of their index, so that any part of any weight
// can be made at any time without the rest.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace spillway::modelgen {

struct Weight {
  std::string name;
  std::vector<int64_t> dims;
  /// Of the elements, which are near enough to normal.
  float mean = 0, deviation = 0;
  /// Weights of different seeds or streams are independent.
  uint64_t seed = 0;
  uint64_t stream = 0;

  uint64_t elements() const;
  /// All elements are zero.
  bool isHole() const { return mean == 0 && deviation == 0; }
  /// Elements [begin, begin + values.size()) in row-major order, the same on every machine: sums
  /// of four 16-bit uniform numbers, scaled.
  void make(uint64_t begin, std::span<float> values) const;
};

/// A number that depends on `key` and `index` alone, uniform over 64 bits (splitmix64's
/// finaliser over a Weyl sequence).
uint64_t hashCounter(uint64_t key, uint64_t index);

} // namespace spillway::modelgen
