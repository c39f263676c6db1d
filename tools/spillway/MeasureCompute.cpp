#include "tools/spillway/MeasureCompute.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <vector>

namespace spillway {

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The least time of `body` in at least five runs and a fifth of a second: what else runs
/// on the machine only adds to it.
template <typename Body> double leastSeconds(Body &&body) {
  double least = 1e30, end = now() + 0.2;
  for (int run = 0; run < 5 || now() < end; ++run) {
    double start = now();
    body();
    least = std::min(least, now() - start);
  }
  return least;
}

constexpr int64_t rounds = 300'000, chains = 12;

/// Independent chains of one instruction in registers, enough to hide its latency.
#define SPILLWAY_SPIN(NAME, TARGET, BYTES, INSTRUCTION)                                            \
  [[gnu::target(TARGET)]] void NAME() {                                                            \
    typedef float Vector [[gnu::vector_size(BYTES)]];                                              \
    Vector sums[chains] = {}, factor = {};                                                         \
    for (int64_t round = 0; round < rounds; ++round)                                               \
      for (Vector & sum : sums)                                                                    \
        asm volatile(INSTRUCTION " %1, %1, %0" : "+v"(sum) : "v"(factor));                         \
  }
SPILLWAY_SPIN(spinF32, "avx2,fma", 32, "vfmadd213ps")
SPILLWAY_SPIN(spinF64, "avx2,fma", 32, "vfmadd213pd")
SPILLWAY_SPIN(spinWideF32, "avx512f", 64, "vfmadd213ps")
SPILLWAY_SPIN(spinWideF64, "avx512f", 64, "vfmadd213pd")
SPILLWAY_SPIN(spinWideBf16, "avx512f,avx512bf16", 64, "vdpbf16ps")
#undef SPILLWAY_SPIN

/// Of one thread; `products` that one instruction multiplies and adds.
double rateOf(ThreadTeam &team, void (*spin)(), int64_t products) {
  double seconds =
      leastSeconds([&] { team.run(0, team.size(), [&](int64_t, int64_t, unsigned) { spin(); }); });
  return static_cast<double>(2 * rounds * chains * products) / seconds;
}

} // namespace

MultiplyAddPeak measureMultiplyAdd(ThreadTeam &team) {
  bool isWide = __builtin_cpu_supports("avx512f");
  MultiplyAddPeak peak;
  peak.f32 = isWide ? rateOf(team, spinWideF32, 16) : rateOf(team, spinF32, 8);
  peak.f64 = isWide ? rateOf(team, spinWideF64, 8) : rateOf(team, spinF64, 4);
  peak.bf16 = __builtin_cpu_supports("avx512bf16") ? rateOf(team, spinWideBf16, 32) : peak.f32;
  return peak;
}

double measureMemoryReads(ThreadTeam &team, std::span<const std::byte> memory) {
  auto *words = reinterpret_cast<const uint64_t *>(memory.data());
  auto count = static_cast<int64_t>(memory.size() / sizeof(uint64_t));
  double seconds = leastSeconds([&] {
    team.run(0, count, [&](int64_t first, int64_t last, unsigned) {
      uint64_t sum = 0;
      for (int64_t i = first; i < last; ++i)
        sum += words[i];
      asm volatile("" ::"r"(sum));
    });
  });
  return static_cast<double>(memory.size()) / seconds;
}

double measureCopy(std::span<std::byte> memory) {
  size_t half = memory.size() / 2;
  double seconds =
      leastSeconds([&] { std::memcpy(memory.data() + half, memory.data(), half); });
  return static_cast<double>(half) / seconds;
}

double measureLaunch(ThreadTeam &team) {
  constexpr int launches = 1000;
  double seconds = leastSeconds([&] {
    for (int i = 0; i < launches; ++i)
      team.run(0, team.size(), [](int64_t, int64_t, unsigned) {});
  });
  return seconds / launches;
}

} // namespace spillway
