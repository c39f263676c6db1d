// The one checksum of everything that Spillway stores: XXH3-64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace spillway {

uint64_t checksum(std::span<const std::byte> bytes);

/// The checksum of bytes that come in pieces.
class Checksum {
public:
  Checksum();
  ~Checksum();
  Checksum(Checksum &&) noexcept;
  Checksum &operator=(Checksum &&) noexcept;

  void update(std::span<const std::byte> bytes);
  /// Of all bytes since construction or the last reset.
  uint64_t value() const;
  void reset();

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace spillway
