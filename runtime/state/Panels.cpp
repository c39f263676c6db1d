#include "runtime/state/Panels.h"

#include <algorithm>
#include <cstring>
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
/// Calls `body(stored offset, canonical offset, exists)` for every stored element
/// of `bytes` bytes, a constant, so that its copy is one move.
template <typename Body> void forEachElement(const PanelSegment &segment, Body &&body) {
  auto loop = [&](auto bytes) {
    uint64_t stored = 0;
    for (uint64_t other = 0; other < segment.others; ++other)
      for (uint64_t index = 0; index < segment.panelWidth; ++index, stored += bytes)
        body(bytes, stored, other * segment.otherStride + index * segment.panelStride,
             index < segment.width);
  };
  switch (segment.elementBytes) {
  case 1:
    return loop(std::integral_constant<size_t, 1>());
  case 2:
    return loop(std::integral_constant<size_t, 2>());
  case 4:
    return loop(std::integral_constant<size_t, 4>());
  default:
    return loop(std::integral_constant<size_t, 8>());
  }
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

} // namespace spillway
