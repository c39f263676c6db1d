// Damage to FlatBuffers that keeps them well-formed in the eyes of the library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace spillway::test {

/// Makes the only offset in `buffer` that leads to `target`, a place in it, lead `bytes` farther.
inline void moveTarget(std::vector<std::byte> &buffer, const void *target, uint32_t bytes) {
  auto place = static_cast<const std::byte *>(target) - buffer.data();
  for (size_t at = 0; at + sizeof(uint32_t) <= buffer.size(); at += sizeof(uint32_t)) {
    uint32_t offset;
    std::memcpy(&offset, buffer.data() + at, sizeof(offset));
    if (at + offset != static_cast<size_t>(place))
      continue;
    offset += bytes;
    std::memcpy(buffer.data() + at, &offset, sizeof(offset));
    return;
  }
}

} // namespace spillway::test
