#include "spillway/Target/CPU/CpuTarget.h"

#include "runtime/base/CpuFeatures.h"

#include "llvm/ADT/StringSwitch.h"

using namespace spillway;

std::vector<std::string> CpuTarget::features() const {
  std::vector<std::string> features;
  auto add = [&](std::span<const std::string_view> more) {
    features.insert(features.end(), more.begin(), more.end());
  };
  add(avx2Features());
  if (level >= CpuLevel::avx512)
    add(avx512Features());
  if (level >= CpuLevel::avx512bf16)
    add(avx512Bf16Features());
  return features;
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
  if (!cpuSupports(avx2Features()))
    return std::nullopt;
  if (!cpuSupports(avx512Features()))
    return CpuLevel::avx2;
  return cpuSupports(avx512Bf16Features()) ? CpuLevel::avx512bf16 : CpuLevel::avx512;
}
