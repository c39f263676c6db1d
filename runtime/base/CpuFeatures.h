// Features of the processor that code may need, by the names that LLVM and
// __builtin_cpu_supports share: "avx2", "fma", ...
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace spillway {

/// Those of x86-64-v3 that code uses, those that x86-64-v4 adds, and AVX512-BF16.
std::span<const std::string_view> avx2Features();
std::span<const std::string_view> avx512Features();
std::span<const std::string_view> avx512Bf16Features();

/// The features of `features` that this processor lacks, or that are unknown.
std::vector<std::string> missingFeatures(std::span<const std::string> features);
bool cpuSupports(std::span<const std::string_view> features);

} // namespace spillway
