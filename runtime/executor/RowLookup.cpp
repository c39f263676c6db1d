#include "runtime/executor/RowLookup.h"
#include "runtime/base/LoadIndex.h"

#include <cstring>

namespace spillway {

namespace {
template <typename T>
void copyStrided(const std::byte *source, uint64_t stride, uint64_t count, std::byte *target) {
  for (uint64_t i = 0; i < count; ++i)
    std::memcpy(target + i * sizeof(T), source + i * stride, sizeof(T));
}
} // namespace

Status readRowIndices(const LookupOperation &lookup, const StateType &type,
                      const std::byte *indices, std::span<int64_t> rows) {
  int64_t extent = type.shape[0];
  uint64_t width = byteWidth(lookup.indexType);
  for (size_t position = 0; position < rows.size(); ++position) {
    int64_t index = loadIndex(lookup.indexType, indices + position * width);
    if (index < -extent || index >= extent)
      return extent == 0
                 ? userError("index {} at position {} looks into '{}', which has no rows", index,
                             position, type.name)
                 : userError("index {} at position {} is out of the range of '{}': {} to {}", index,
                             position, type.name, -extent, extent - 1);
    rows[position] = index < 0 ? index + extent : index;
  }
  return {};
}

void copyRow(const StateType &type, Layout layout, int64_t row, const std::byte *piece,
             std::byte *target) {
  if (layout == Layout::rowMajor) {
    std::memcpy(target, piece, type.rowBytes());
    return;
  }
  uint64_t width = type.elementBytes(), count = static_cast<uint64_t>(type.shape[1]);
  uint64_t stride = type.panelWidth * width;
  const std::byte *source = piece + static_cast<uint64_t>(row) % type.panelWidth * width;
  switch (width) {
  case 1:
    return copyStrided<uint8_t>(source, stride, count, target);
  case 2:
    return copyStrided<uint16_t>(source, stride, count, target);
  case 4:
    return copyStrided<uint32_t>(source, stride, count, target);
  default:
    return copyStrided<uint64_t>(source, stride, count, target);
  }
}

uint64_t pieceOffset(const StateType &type, Layout layout, int64_t row) {
  auto number = static_cast<uint64_t>(row);
  return layout == Layout::rowMajor ? number * type.rowBytes()
                                    : number / type.panelWidth * type.pieceBytes();
}

} // namespace spillway
