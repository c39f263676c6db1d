// A linked file holds its states in canonical order, whatever the layout in which
// kernels take them: what to read of it for a range of the stored form, part by part.
#pragma once

#include "runtime/state/State.h"

#include <cstddef>
#include <cstdint>

namespace spillway {

/// Bytes [begin, end) of each of some consecutive rows of a linked state, and where they
/// lie in the file and in a buffer that is read into. A state that is not stored in panels
/// counts as one row.
struct CanonicalPart {
  uint64_t firstRow = 0;
  uint64_t rows = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
  /// Of a whole row.
  uint64_t rowBytes = 0;
  /// Of the state's first byte.
  uint64_t fileOffset = 0;

  struct FileRange {
    uint64_t begin = 0;
    uint64_t end = 0;
  };

  /// Whole rows are one range of the file, parts of rows one each.
  uint64_t rangeCount() const { return isContiguous() ? 1 : rows; }
  FileRange range(uint64_t index) const;
  /// Where a row begins in the buffer. Each range's place there is congruent to that in the
  /// file modulo a block, and the blocks that it touches are its own.
  uint64_t bufferOffset(uint64_t row) const;
  /// Bytes of all blocks that are read.
  uint64_t blockBytesRead() const;

private:
  bool isContiguous() const { return end - begin == rowBytes; }
};

/// Cuts what a range of a linked state's stored form is made of into parts.
class CanonicalParts {
public:
  /// Bytes of the buffer that each part fits.
  static constexpr uint64_t bufferBytes = 1 << 20;

  CanonicalParts() = default;
  /// [offset, offset + bytes) of the stored form, padding to 4096 included: any bytes of a
  /// row-major state, whole panels of another.
  CanonicalParts(const StateView &state, uint64_t offset, uint64_t bytes);

  bool atEnd() const { return row_ == lastRow_; }
  /// Not at the end.
  CanonicalPart next();

private:
  uint64_t row_ = 0, lastRow_ = 0, rowsAtOnce_ = 0;
  /// Of each row.
  uint64_t begin_ = 0, end_ = 0, bytesAtOnce_ = 0;
  /// Of the row in progress.
  uint64_t byte_ = 0;
  uint64_t rowBytes_ = 0, fileOffset_ = 0;
};

/// Puts a part that lies in `buffer` into its places of the stored form, whose bytes from
/// `offset` on lie at `stored`. Padding is left as it is.
void packPart(const StateType &type, const CanonicalPart &part, const std::byte *buffer,
              uint64_t offset, std::byte *stored);

/// The first stored byte from which on there is padding among the elements or behind them.
uint64_t firstPaddedByte(const StateType &type);

} // namespace spillway
