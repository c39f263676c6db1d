#include "tools/spillway-modelgen/Weight.h"

#include <algorithm>
#include <functional>
#include <numeric>

using namespace spillway::modelgen;

uint64_t spillway::modelgen::hashCounter(uint64_t key, uint64_t index) {
  uint64_t x = key + (index + 1) * 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

uint64_t Weight::elements() const {
  return std::accumulate(dims.begin(), dims.end(), uint64_t{1}, std::multiplies<>());
}

void Weight::make(uint64_t begin, std::span<float> values) const {
  if (deviation == 0) {
    std::ranges::fill(values, mean);
    return;
  }
  // The sum of four has mean 2 * 65535 and standard deviation 65536 / sqrt(3).
  const float step = deviation / 37837.22f;
  uint64_t key = hashCounter(seed, stream);
  for (size_t i = 0; i < values.size(); ++i) {
    uint64_t bits = hashCounter(key, begin + i);
    auto sum = static_cast<int32_t>((bits & 0xffff) + (bits >> 16 & 0xffff) +
                                    (bits >> 32 & 0xffff) + (bits >> 48));
    values[i] = mean + static_cast<float>(sum - 2 * 65535) * step;
  }
}
