#include "spillway/Target/CPU/CpuTarget.h"

#include "llvm/ADT/StringSwitch.h"

using namespace spillway;

#define SPILLWAY_AVX2_FEATURES                                                                     \
  "+cx16,+sahf,+popcnt,+sse3,+ssse3,+sse4.1,+sse4.2,+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,"      \
  "+movbe,+xsave"
#define SPILLWAY_AVX512_FEATURES                                                                   \
  SPILLWAY_AVX2_FEATURES ",+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"

llvm::StringRef CpuTarget::features() const {
  switch (level) {
  case CpuLevel::avx2:
    return SPILLWAY_AVX2_FEATURES;
  case CpuLevel::avx512:
    return SPILLWAY_AVX512_FEATURES;
  case CpuLevel::avx512bf16:
    return SPILLWAY_AVX512_FEATURES ",+avx512bf16";
  }
  __builtin_unreachable();
}

llvm::StringRef spillway::name(CpuLevel level) {
  switch (level) {
  case CpuLevel::avx2:
    return "avx2";
  case CpuLevel::avx512:
    return "avx512";
  case CpuLevel::avx512bf16:
    return "avx512bf16";
  }
  __builtin_unreachable();
}

std::optional<CpuLevel> spillway::cpuLevelFromName(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<CpuLevel>>(name)
      .Case("avx2", CpuLevel::avx2)
      .Case("avx512", CpuLevel::avx512)
      .Case("avx512bf16", CpuLevel::avx512bf16)
      .Default(std::nullopt);
}

std::optional<CpuLevel> spillway::hostCpuLevel() {
  __builtin_cpu_init();
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
              __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2") &&
              __builtin_cpu_supports("lzcnt");
  if (!avx2)
    return std::nullopt;
  bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                __builtin_cpu_supports("avx512vl");
  if (!avx512)
    return CpuLevel::avx2;
  return __builtin_cpu_supports("avx512bf16") ? CpuLevel::avx512bf16 : CpuLevel::avx512;
}
