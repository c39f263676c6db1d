// The wire format of protocol buffers, read in place. Every length is checked
// against what is there; nothing is copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace spillway {

enum class WireType : uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct WireTag {
  uint32_t field = 0;
  WireType type = WireType::varint;
};

/// Walks over the fields of one message. A reader that returns nothing has met damaged
/// input; the cursor then stands at the end.
class WireCursor {
public:
  explicit WireCursor(std::span<const std::byte> message) : rest_(message) {}

  bool atEnd() const { return rest_.empty(); }
  /// What has not been read yet.
  std::span<const std::byte> rest() const { return rest_; }

  /// Groups, which no current message has, and field 0 are damage.
  std::optional<WireTag> tag() {
    std::optional<uint64_t> key = varint();
    if (!key || *key >> 3 == 0 || *key >> 3 >= 1u << 29)
      return damaged<WireTag>();
    auto type = static_cast<uint8_t>(*key & 7);
    if (type != 0 && type != 1 && type != 2 && type != 5)
      return damaged<WireTag>();
    return WireTag{static_cast<uint32_t>(*key >> 3), static_cast<WireType>(type)};
  }

  std::optional<uint64_t> varint() {
    uint64_t value = 0;
    for (size_t i = 0; i < rest_.size() && i < 10; ++i) {
      auto byte = static_cast<uint8_t>(rest_[i]);
      value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
      if (byte < 0x80) {
        rest_ = rest_.subspan(i + 1);
        return value;
      }
    }
    return damaged<uint64_t>();
  }

  std::optional<uint32_t> fixed32() { return fixed<uint32_t>(); }
  std::optional<uint64_t> fixed64() { return fixed<uint64_t>(); }

  /// A length-delimited field: a string, a message or packed numbers.
  std::optional<std::span<const std::byte>> bytes() {
    std::optional<uint64_t> length = varint();
    if (!length || *length > rest_.size())
      return damaged<std::span<const std::byte>>();
    std::span<const std::byte> field = rest_.first(*length);
    rest_ = rest_.subspan(*length);
    return field;
  }

  /// The same as text. Its encoding is not checked.
  std::optional<std::string_view> text() {
    std::optional<std::span<const std::byte>> field = bytes();
    if (!field)
      return std::nullopt;
    return std::string_view(reinterpret_cast<const char *>(field->data()), field->size());
  }

  bool skip(WireType type) {
    switch (type) {
    case WireType::varint:
      return varint().has_value();
    case WireType::fixed64:
      return fixed64().has_value();
    case WireType::bytes:
      return bytes().has_value();
    case WireType::fixed32:
      return fixed32().has_value();
    }
    return false;
  }

private:
  template <typename T> std::optional<T> fixed() {
    if (rest_.size() < sizeof(T))
      return damaged<T>();
    T value;
    std::memcpy(&value, rest_.data(), sizeof(T));
    rest_ = rest_.subspan(sizeof(T));
    return value;
  }

  template <typename T> std::optional<T> damaged() {
    rest_ = {};
    return std::nullopt;
  }

  std::span<const std::byte> rest_;
};

} // namespace spillway
