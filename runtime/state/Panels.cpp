#include "runtime/state/Panels.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <type_traits>

namespace spillway {

PanelSegment PanelSegment::of(const StateType &type, uint64_t panel, uint64_t others,
                              uint64_t rowStride) {
  uint64_t first = panel * type.panelWidth;
  uint64_t extent = static_cast<uint64_t>(type.shape[type.panelDim]);
  bool alongRows = type.panelDim == 0;
  return {std::min<uint64_t>(type.panelWidth, extent - first),
          type.panelWidth,
          others,
          type.elementBytes(),
          alongRows ? rowStride : type.elementBytes(),
          alongRows ? type.elementBytes() : rowStride};
}

namespace {
/// Calls `body(bytes)` with a constant, so that a copy of an element is one move.
template <typename Body> void forElementBytes(uint64_t bytes, Body &&body) {
  switch (bytes) {
  case 1:
    return body(std::integral_constant<size_t, 1>());
  case 2:
    return body(std::integral_constant<size_t, 2>());
  case 4:
    return body(std::integral_constant<size_t, 4>());
  default:
    return body(std::integral_constant<size_t, 8>());
  }
}

/// Calls `body(bytes, stored offset, canonical offset, exists)` for every stored element
/// of `bytes` bytes.
template <typename Body> void forEachElement(const PanelSegment &segment, Body &&body) {
  forElementBytes(segment.elementBytes, [&](auto bytes) {
    uint64_t stored = 0;
    for (uint64_t other = 0; other < segment.others; ++other)
      for (uint64_t index = 0; index < segment.panelWidth; ++index, stored += bytes)
        body(bytes, stored, other * segment.otherStride + index * segment.panelStride,
             index < segment.width);
  });
}

/// Along the columns, the elements of a row in one panel are consecutive.
void packRowOfColumnPanels(const StateType &type, uint64_t row, uint64_t begin,
                           std::span<const std::byte> bytes, uint64_t offset, std::byte *stored) {
  uint64_t lineBytes = type.panelWidth * type.elementBytes();
  while (!bytes.empty()) {
    uint64_t count = std::min<uint64_t>(lineBytes - begin % lineBytes, bytes.size());
    uint64_t place =
        begin / lineBytes * type.pieceBytes() + row * lineBytes + begin % lineBytes - offset;
    std::memcpy(stored + place, bytes.data(), count);
    begin += count;
    bytes = bytes.subspan(count);
  }
}

/// Along the rows, they are a panel's width apart.
void packRowOfRowPanels(const StateType &type, uint64_t row, uint64_t begin,
                        std::span<const std::byte> bytes, uint64_t offset, std::byte *stored) {
  uint64_t place = row / type.panelWidth * type.pieceBytes() +
                   row % type.panelWidth * type.elementBytes() + begin * type.panelWidth - offset;
  forElementBytes(type.elementBytes(), [&](auto width) {
    std::byte *target = stored + place;
    for (uint64_t from = 0; from < bytes.size(); from += width, target += width * type.panelWidth)
      std::memcpy(target, bytes.data() + from, width);
  });
}
} // namespace

void pack(const PanelSegment &segment, const std::byte *canonical, std::byte *stored) {
  forEachElement(segment, [&](auto bytes, uint64_t to, uint64_t from, bool exists) {
    if (exists)
      std::memcpy(stored + to, canonical + from, bytes);
    else
      std::memset(stored + to, 0, bytes);
  });
}

void unpack(const PanelSegment &segment, const std::byte *stored, std::byte *canonical) {
  forEachElement(segment, [&](auto bytes, uint64_t from, uint64_t to, bool exists) {
    if (exists)
      std::memcpy(canonical + to, stored + from, bytes);
  });
}

void packRow(const StateType &type, uint64_t row, uint64_t begin, std::span<const std::byte> bytes,
             uint64_t offset, std::byte *stored) {
  auto pack = type.panelDim == 0 ? packRowOfRowPanels : packRowOfColumnPanels;
  pack(type, row, begin, bytes, offset, stored);
}

} // namespace spillway
