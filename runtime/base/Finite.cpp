#include "runtime/base/Finite.h"

#include <algorithm>
#include <cstring>

namespace spillway {

/// `infinity`: its bits. Without their signs, numbers that are finite have smaller ones, and what is no number has
/// larger ones.
template <typename Bits> static Content contentOf(std::span<const std::byte> bytes, Bits infinity) {
  constexpr auto magnitude = static_cast<Bits>(~Bits(0)) >> 1;
  Bits largest = 0;
  // Of a known number of steps, so that several are taken at a time.
  for (size_t i = 0, count = bytes.size() / sizeof(Bits); i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, bytes.data() + i * sizeof(Bits), sizeof(Bits));
    largest = std::max(largest, static_cast<Bits>(bits & magnitude));
  }
  return largest < infinity ? Content::finite : largest == infinity ? Content::infinite : Content::notANumber;
}

Content contentOf(DataType type, std::span<const std::byte> bytes) {
  switch (type) {
  case DataType::f64:
    return contentOf<uint64_t>(bytes, 0x7ff0'0000'0000'0000);
  case DataType::f32:
    return contentOf<uint32_t>(bytes, 0x7f80'0000);
  case DataType::bf16:
    return contentOf<uint16_t>(bytes, 0x7f80);
  case DataType::f16:
    return contentOf<uint16_t>(bytes, 0x7c00);
  default:
    return Content::finite;
  }
}

} // namespace spillway
