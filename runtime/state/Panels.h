// Between the canonical order of a matrix and the order of its stored panels.
#pragma once

#include "runtime/state/State.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace spillway {

/// Part of one panel: all its indices along `panelDim`, and some consecutive ones
/// along the other dimension. Stored, these are consecutive bytes.
struct PanelSegment {
  /// Indices of the panel that exist in the tensor, at most `panelWidth`.
  uint64_t width = 0;
  uint64_t panelWidth = 0;
  /// Indices along the other dimension.
  uint64_t others = 0;
  uint64_t elementBytes = 0;
  /// Bytes in canonical memory from one index of the panel, or of the other
  /// dimension, to the next.
  uint64_t panelStride = 0;
  uint64_t otherStride = 0;

  /// The segment of panel `panel` with `others` indices of the other dimension,
  /// for canonical memory whose rows are `rowStride` bytes apart.
  static PanelSegment of(const StateType &type, uint64_t panel, uint64_t others,
                         uint64_t rowStride);

  uint64_t storedBytes() const { return panelWidth * others * elementBytes; }
};

/// Writes all stored bytes, the padding with zeros.
void pack(const PanelSegment &segment, const std::byte *canonical, std::byte *stored);
void unpack(const PanelSegment &segment, const std::byte *stored, std::byte *canonical);

/// Writes elements of one row of a matrix, which begin at byte `begin` of it, to their places
/// in its panels. The stored bytes from `offset` on lie at `stored`. Padding is left as it is.
void packRow(const StateType &type, uint64_t row, uint64_t begin, std::span<const std::byte> bytes,
             uint64_t offset, std::byte *stored);

} // namespace spillway
