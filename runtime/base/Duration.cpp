#include "runtime/base/Duration.h"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>

namespace spillway {

std::string formatSeconds(double seconds) {
  if (seconds >= 1)
    return fmt::format("{:.4g} s", seconds);
  if (seconds >= 1e-3)
    return fmt::format("{:.4g} ms", seconds * 1e3);
  return fmt::format("{:.4g} us", seconds * 1e6);
}

std::string formatLongTime(double seconds) {
  auto whole = static_cast<uint64_t>(std::max(0.0, seconds) + 0.5);
  constexpr uint64_t minute = 60, hour = 60 * minute, day = 24 * hour;
  if (whole < minute)
    return fmt::format("{} s", whole);
  if (whole < hour)
    return fmt::format("{} min {} s", whole / minute, whole % minute);
  if (whole < day)
    return fmt::format("{} h {} min", whole / hour, whole % hour / minute);
  return fmt::format("{} d {} h", whole / day, whole % day / hour);
}

} // namespace spillway
