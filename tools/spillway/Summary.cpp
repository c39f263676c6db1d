#include "tools/spillway/Summary.h"
#include "runtime/base/SmallFloat.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <fmt/format.h>
#include <limits>

namespace spillway {

namespace {
template <typename T> double load(const std::byte *place) {
  T value;
  std::memcpy(&value, place, sizeof(T));
  return static_cast<double>(value);
}

uint16_t loadBits(const std::byte *place) {
  uint16_t bits;
  std::memcpy(&bits, place, sizeof(bits));
  return bits;
}

double loadElement(DataType type, const std::byte *place) {
  switch (type) {
  case DataType::f32:
    return load<float>(place);
  case DataType::f64:
    return load<double>(place);
  case DataType::f16:
    return halfToFloat(loadBits(place));
  case DataType::bf16:
    return bfloat16ToFloat(loadBits(place));
  case DataType::i8:
    return load<int8_t>(place);
  case DataType::i16:
    return load<int16_t>(place);
  case DataType::i32:
    return load<int32_t>(place);
  case DataType::i64:
    return load<int64_t>(place);
  case DataType::u8:
  case DataType::boolean:
    return load<uint8_t>(place);
  case DataType::u16:
    return load<uint16_t>(place);
  case DataType::u32:
    return load<uint32_t>(place);
  case DataType::u64:
    return load<uint64_t>(place);
  }
  return 0;
}
} // namespace

std::string summarize(DataType type, std::span<const std::byte> bytes) {
  uint64_t width = byteWidth(type), count = bytes.size() / width, notANumber = 0;
  double least = std::numeric_limits<double>::infinity(), greatest = -least, sum = 0;
  for (uint64_t i = 0; i < count; ++i) {
    double value = loadElement(type, bytes.data() + i * width);
    if (std::isnan(value)) {
      ++notANumber;
      continue;
    }
    least = std::min(least, value);
    greatest = std::max(greatest, value);
    sum += value;
  }
  std::string text;
  if (count > notANumber)
    text = fmt::format("min {:.6g}  max {:.6g}  mean {:.6g}", least, greatest,
                       sum / static_cast<double>(count - notANumber));
  if (notANumber != 0)
    text += fmt::format("{}{} NaN", text.empty() ? "" : "  ", notANumber);
  return text.empty() ? "empty" : text;
}

} // namespace spillway
