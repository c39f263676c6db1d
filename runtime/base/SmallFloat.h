// 16-bit floating-point formats as bits: IEEE half (f16) and bfloat16.
#pragma once

#include <cstdint>

namespace spillway {

/// Exact.
float halfToFloat(uint16_t bits);
float bfloat16ToFloat(uint16_t bits);

/// Rounded once, to nearest even; overflow gives infinity, a NaN stays a (quiet) NaN.
uint16_t halfFromDouble(long double value);
uint16_t bfloat16FromDouble(long double value);
/// The same in a few instructions.
uint16_t bfloat16FromFloat(float value);

} // namespace spillway
