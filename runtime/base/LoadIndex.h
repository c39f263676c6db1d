// Whole numbers of either width.
#pragma once

#include "runtime/base/DataType.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace spillway {

/// The i32 or i64 at any place.
inline int64_t loadIndex(DataType type, const std::byte *place) {
  if (type == DataType::i32) {
    int32_t value;
    std::memcpy(&value, place, sizeof(value));
    return value;
  }
  int64_t value;
  std::memcpy(&value, place, sizeof(value));
  return value;
}

} // namespace spillway
