// What a CPU bundle's code may use.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace spillway {

/// Instruction set levels. Each holds the ones before it.
enum class CpuLevel : uint8_t {
  /// AVX2, FMA, F16C, BMI and what goes with them: x86-64-v3.
  avx2,
  /// AVX-512 F, BW, DQ, VL, CD: x86-64-v4.
  avx512,
  /// AVX512-BF16 as well.
  avx512bf16,
};

struct CpuTarget {
  CpuLevel level = CpuLevel::avx2;

  /// Bytes of a vector register.
  int64_t vectorBytes() const { return level == CpuLevel::avx2 ? 32 : 64; }
  /// Architectural vector registers.
  int64_t vectorRegisters() const { return level == CpuLevel::avx2 ? 16 : 32; }
  bool hasBf16Dot() const { return level == CpuLevel::avx512bf16; }
  /// What its code uses of the processor; see runtime/base/CpuFeatures.h.
  std::vector<std::string> features() const;
};

/// "avx2", "avx512", "avx512bf16".
llvm::StringRef name(CpuLevel level);
std::optional<CpuLevel> cpuLevelFromName(llvm::StringRef name);

/// The highest level that this machine runs; nothing below AVX2.
std::optional<CpuLevel> hostCpuLevel();

} // namespace spillway
