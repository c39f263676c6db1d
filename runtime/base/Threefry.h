// Random numbers that follow from a key and a counter: no state goes from one to the next.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace spillway {

/// Rotations of Threefry-2x32, four rounds a row; the rows take turns.
inline constexpr std::array<std::array<int, 4>, 2> threefryRotations = {{{13, 15, 26, 6}, {17, 29, 16, 24}}};
inline constexpr int threefryGroups = 5;
inline constexpr uint32_t threefryParity = 0x1bd11bda;

/// Threefry-2x32 of 20 rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011), the low words first.
constexpr uint64_t threefry(uint64_t key, uint64_t counter) {
  auto low = static_cast<uint32_t>(key), high = static_cast<uint32_t>(key >> 32);
  const std::array<uint32_t, 3> keys = {low, high, threefryParity ^ low ^ high};
  uint32_t x = static_cast<uint32_t>(counter) + keys[0], y = static_cast<uint32_t>(counter >> 32) + keys[1];
  for (int group = 0; group < threefryGroups; ++group) {
    for (int rotation : threefryRotations[group % 2]) {
      x += y;
      y = std::rotl(y, rotation) ^ x;
    }
    x += keys[(group + 1) % 3];
    y += keys[(group + 2) % 3] + static_cast<uint32_t>(group + 1);
  }
  return uint64_t(y) << 32 | x;
}

} // namespace spillway
