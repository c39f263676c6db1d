// When two numbers count as equal.
#pragma once

#include <cmath>

namespace spillway {

/// Whether two numbers differ by `limit` at most. A NaN is near each NaN, an infinity near itself alone.
inline bool isNear(double actual, double expected, double limit) {
  if (std::isnan(expected))
    return std::isnan(actual);
  return actual == expected ||
         (std::isfinite(actual) && std::isfinite(expected) && std::abs(actual - expected) <= limit);
}

} // namespace spillway
