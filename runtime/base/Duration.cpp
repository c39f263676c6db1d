#include "runtime/base/Duration.h"

#include <fmt/format.h>

namespace spillway {

std::string formatSeconds(double seconds) {
  if (seconds >= 1)
    return fmt::format("{:.4g} s", seconds);
  if (seconds >= 1e-3)
    return fmt::format("{:.4g} ms", seconds * 1e3);
  return fmt::format("{:.4g} us", seconds * 1e6);
}

} // namespace spillway
