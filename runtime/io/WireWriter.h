// The wire format of protocol buffers, written: the counterpart of runtime/io/ProtoWire.h.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace spillway {

/// Collects the fields of one message. Little-endian hosts only, as the rest of Spillway.
class WireWriter {
public:
  const std::string &bytes() const { return bytes_; }

  void integer(uint32_t field, int64_t value) {
    tag(field, 0);
    varint(static_cast<uint64_t>(value));
  }
  void real(uint32_t field, float value) {
    tag(field, 5);
    char raw[sizeof(value)];
    std::memcpy(raw, &value, sizeof(value));
    bytes_.append(raw, sizeof(raw));
  }
  void text(uint32_t field, std::string_view value) {
    begin(field, value.size());
    bytes_.append(value);
  }
  void message(uint32_t field, const WireWriter &value) { text(field, value.bytes()); }

  void append(const WireWriter &fields) { bytes_.append(fields.bytes()); }

  /// Tag and length of a field whose `size` bytes the caller writes elsewhere.
  void begin(uint32_t field, uint64_t size) {
    tag(field, 2);
    varint(size);
  }
  /// A number without a tag, as packed fields hold them.
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }

private:
  void tag(uint32_t field, uint32_t type) { varint(uint64_t{field} << 3 | type); }

  std::string bytes_;
};

static_assert(std::endian::native == std::endian::little);

} // namespace spillway
