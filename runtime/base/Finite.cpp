#include "runtime/base/Finite.h"

#include <cstdint>
#include <cstring>

namespace spillway {

/// Where all bits of the exponent are set, a number is infinite or none.
template <typename Bits> static bool allFinite(std::span<const std::byte> bytes, Bits exponent) {
  Bits found = 0;
  for (size_t i = 0; i + sizeof(Bits) <= bytes.size(); i += sizeof(Bits)) {
    Bits element;
    std::memcpy(&element, bytes.data() + i, sizeof(Bits));
    found |= static_cast<Bits>((element & exponent) == exponent);
  }
  return found == 0;
}

bool allFinite(DataType type, std::span<const std::byte> bytes) {
  switch (type) {
  case DataType::f64:
    return allFinite<uint64_t>(bytes, 0x7ff0'0000'0000'0000);
  case DataType::f32:
    return allFinite<uint32_t>(bytes, 0x7f80'0000);
  case DataType::bf16:
    return allFinite<uint16_t>(bytes, 0x7f80);
  case DataType::f16:
    return allFinite<uint16_t>(bytes, 0x7c00);
  default:
    return true;
  }
}

} // namespace spillway
