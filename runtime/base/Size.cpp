#include "runtime/base/Size.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

namespace spillway {

namespace {
struct Unit {
  std::string_view name;
  double bytes;
};
constexpr Unit units[] = {
    {"", 1},         {"b", 1},    {"kib", 0x1p10}, {"mib", 0x1p20}, {"gib", 0x1p30},
    {"tib", 0x1p40}, {"kb", 1e3}, {"mb", 1e6},     {"gb", 1e9},     {"tb", 1e12},
};
} // namespace

Result<uint64_t> parseSize(std::string_view text) {
  auto refuse = [&] {
    return userError("'{}' is not a size; expected a number with a unit, such as 256MiB or 1.5GB",
                     text);
  };
  double number = 0;
  auto [rest, code] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (code != std::errc())
    return refuse();
  std::string unit;
  for (; rest != text.data() + text.size(); ++rest)
    if (*rest != ' ')
      unit += static_cast<char>(std::tolower(static_cast<unsigned char>(*rest)));
  const Unit *found = std::ranges::find(units, std::string_view(unit), &Unit::name);
  if (found == std::end(units))
    return refuse();
  double bytes = number * found->bytes;
  if (!(bytes >= 0) || bytes > 0x1p63)
    return refuse();
  return static_cast<uint64_t>(std::llround(std::min(bytes, 0x1.fffffffffffffp62)));
}

std::string formatSize(uint64_t bytes) {
  constexpr std::string_view names[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (unit + 1 < std::size(names) && (bytes >> (10 * unit)) >= 1024)
    ++unit;
  if (bytes % (uint64_t(1) << (10 * unit)) == 0)
    return fmt::format("{} {}", bytes >> (10 * unit), names[unit]);
  return fmt::format("{:.2f} {}", std::ldexp(static_cast<double>(bytes), -10 * int(unit)),
                     names[unit]);
}

} // namespace spillway
