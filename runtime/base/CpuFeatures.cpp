#include "runtime/base/CpuFeatures.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace spillway {

namespace {

struct Feature {
  std::string_view name;
  bool (*isSupported)();
};

// The builtin takes literals alone.
#if defined(__x86_64__)
#define SPILLWAY_FEATURE(NAME)                                                                     \
  Feature { NAME, [] { return __builtin_cpu_supports(NAME) != 0; } }
#else
#define SPILLWAY_FEATURE(NAME)                                                                     \
  Feature { NAME, [] { return false; } }
#endif

constexpr Feature features[] = {
    SPILLWAY_FEATURE("avx2"),     SPILLWAY_FEATURE("fma"),      SPILLWAY_FEATURE("f16c"),
    SPILLWAY_FEATURE("bmi"),      SPILLWAY_FEATURE("bmi2"),     SPILLWAY_FEATURE("lzcnt"),
    SPILLWAY_FEATURE("popcnt"),   SPILLWAY_FEATURE("avx512f"),  SPILLWAY_FEATURE("avx512bw"),
    SPILLWAY_FEATURE("avx512cd"), SPILLWAY_FEATURE("avx512dq"), SPILLWAY_FEATURE("avx512vl"),
    SPILLWAY_FEATURE("avx512bf16")};
#undef SPILLWAY_FEATURE

constexpr size_t avx2Count = 7, avx512Count = 5;

constexpr auto names = [] {
  std::array<std::string_view, std::size(features)> names;
  std::ranges::transform(features, names.begin(), &Feature::name);
  return names;
}();

bool isSupported(std::string_view name) {
  const Feature *known = std::ranges::find(features, name, &Feature::name);
  return known != std::end(features) && known->isSupported();
}

} // namespace

std::span<const std::string_view> avx2Features() { return std::span(names).first(avx2Count); }
std::span<const std::string_view> avx512Features() {
  return std::span(names).subspan(avx2Count, avx512Count);
}
std::span<const std::string_view> avx512Bf16Features() {
  return std::span(names).subspan(avx2Count + avx512Count);
}

std::vector<std::string> missingFeatures(std::span<const std::string> features) {
  std::vector<std::string> missing;
  std::ranges::remove_copy_if(features, std::back_inserter(missing), isSupported);
  return missing;
}

bool cpuSupports(std::span<const std::string_view> features) {
  return std::ranges::all_of(features, isSupported);
}

} // namespace spillway
