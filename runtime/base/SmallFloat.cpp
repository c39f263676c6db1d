#include "runtime/base/SmallFloat.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace spillway {
namespace {

/// An IEEE interchange format of 16 bits.
struct Format {
  int exponentBits;
  int mantissaBits;

  constexpr int bias() const { return (1 << (exponentBits - 1)) - 1; }
  constexpr uint16_t infinity() const {
    return static_cast<uint16_t>(((1 << exponentBits) - 1) << mantissaBits);
  }
};

constexpr Format half{5, 10}, bfloat16{8, 7};

uint16_t encode(long double value, Format format) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  uint16_t quietNan = static_cast<uint16_t>(format.infinity() | 1 << (format.mantissaBits - 1));
  if (std::isnan(value))
    return sign | quietNan;
  if (std::isinf(value))
    return sign | format.infinity();
  long double magnitude = std::fabs(value);
  if (magnitude == 0)
    return sign;
  // The value in units of its last place; subnormals share the smallest normal's.
  int exponent = std::max(std::ilogb(magnitude), 1 - format.bias());
  long double steps = std::nearbyint(std::ldexp(magnitude, format.mantissaBits - exponent));
  // A carry out of the mantissa, or out of the subnormals, is a carry into the
  // exponent field; out of the largest exponent it gives infinity.
  int field = exponent + format.bias() - 1;
  int64_t bits = (static_cast<int64_t>(field) << format.mantissaBits) + static_cast<int64_t>(steps);
  return sign | static_cast<uint16_t>(std::min<int64_t>(bits, format.infinity()));
}

} // namespace

float halfToFloat(uint16_t bits) {
  int field = bits >> half.mantissaBits & 31;
  int mantissa = bits & 1023;
  float magnitude;
  if (field == 31)
    magnitude = mantissa ? std::numeric_limits<float>::quiet_NaN()
                         : std::numeric_limits<float>::infinity();
  else if (field == 0)
    magnitude = std::ldexp(static_cast<float>(mantissa), 1 - half.bias() - half.mantissaBits);
  else
    magnitude = std::ldexp(static_cast<float>(mantissa + 1024), field - half.bias() - half.mantissaBits);
  return bits & 0x8000 ? -magnitude : magnitude;
}

float bfloat16ToFloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

uint16_t halfFromDouble(long double value) { return encode(value, half); }
uint16_t bfloat16FromDouble(long double value) { return encode(value, bfloat16); }

uint16_t bfloat16FromFloat(float value) {
  if (std::isnan(value))
    return bfloat16FromDouble(value);
  auto bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

} // namespace spillway
