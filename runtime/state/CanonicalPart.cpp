#include "runtime/state/CanonicalPart.h"
#include "runtime/state/Panels.h"

#include <algorithm>
#include <cstring>

namespace spillway {

namespace {
/// What the blocks of any range of so many bytes take at most.
constexpr uint64_t mostCover(uint64_t bytes) { return roundUpToBlock(bytes) + blockBytes; }
} // namespace

CanonicalPart::FileRange CanonicalPart::range(uint64_t index) const {
  uint64_t first = fileOffset + (firstRow + index) * rowBytes + begin;
  return {first, first + (isContiguous() ? rows * rowBytes : end - begin)};
}

uint64_t CanonicalPart::bufferOffset(uint64_t row) const {
  if (isContiguous())
    return range(0).begin % blockBytes + row * rowBytes;
  return row * mostCover(end - begin) + range(row).begin % blockBytes;
}

uint64_t CanonicalPart::blockBytesRead() const {
  uint64_t bytes = 0;
  for (uint64_t index = 0; index < rangeCount(); ++index)
    bytes += roundUpToBlock(range(index).end) - roundDownToBlock(range(index).begin);
  return bytes;
}

CanonicalParts::CanonicalParts(const StateView &state, uint64_t offset, uint64_t bytes)
    : fileOffset_(state.fileOffset) {
  const StateType &type = state.type;
  if (type.layout == Layout::rowMajor) {
    rowBytes_ = type.logicalBytes();
    begin_ = std::min(offset, rowBytes_);
    end_ = std::min(offset + bytes, rowBytes_);
    lastRow_ = begin_ == end_ ? 0 : 1;
  } else {
    uint64_t piece = type.pieceBytes();
    uint64_t extent = static_cast<uint64_t>(type.shape[type.panelDim]);
    uint64_t first = std::min(offset / piece * type.panelWidth, extent);
    uint64_t last = std::min((offset + bytes) / piece * type.panelWidth, extent);
    if (type.panelDim == 0) {
      row_ = first;
      lastRow_ = last;
      end_ = type.rowBytes();
    } else {
      lastRow_ = first == last ? 0 : static_cast<uint64_t>(type.shape[0]);
      begin_ = first * type.elementBytes();
      end_ = last * type.elementBytes();
    }
    rowBytes_ = type.rowBytes();
  }
  byte_ = begin_;
  bytesAtOnce_ = end_ - begin_;
  rowsAtOnce_ = 1;
  constexpr uint64_t room = bufferBytes - 2 * blockBytes;
  if (bytesAtOnce_ > room)
    bytesAtOnce_ = room;
  else if (bytesAtOnce_ == rowBytes_ && rowBytes_ != 0)
    rowsAtOnce_ = room / rowBytes_;
  else
    rowsAtOnce_ = bufferBytes / mostCover(bytesAtOnce_);
}

CanonicalPart CanonicalParts::next() {
  CanonicalPart part{row_,
                     std::min(rowsAtOnce_, lastRow_ - row_),
                     byte_,
                     std::min(byte_ + bytesAtOnce_, end_),
                     rowBytes_,
                     fileOffset_};
  byte_ = part.end;
  if (byte_ == end_) {
    byte_ = begin_;
    row_ += part.rows;
  }
  return part;
}

void packPart(const StateType &type, const CanonicalPart &part, const std::byte *buffer,
              uint64_t offset, std::byte *stored) {
  for (uint64_t row = 0; row < part.rows; ++row) {
    std::span bytes(buffer + part.bufferOffset(row), part.end - part.begin);
    if (type.layout == Layout::rowMajor)
      std::memcpy(stored + (part.begin - offset), bytes.data(), bytes.size());
    else
      packRow(type, part.firstRow + row, part.begin, bytes, offset, stored);
  }
}

uint64_t firstPaddedByte(const StateType &type) {
  if (type.layout == Layout::rowMajor ||
      static_cast<uint64_t>(type.shape[type.panelDim]) % type.panelWidth == 0)
    return type.storedBytes();
  return type.storedBytes() - type.pieceBytes();
}

} // namespace spillway
