// A stored tensor as plain, checked values: what `store.fbs` says, without its
// encoding.
#pragma once

#include "runtime/base/DataType.h"
#include "runtime/base/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace spillway {

/// Blocks in which files of ours are laid out and read past the page cache.
inline constexpr uint64_t blockBytes = 4096;

constexpr uint64_t roundUpToBlock(uint64_t bytes) { return (bytes + blockBytes - 1) / blockBytes * blockBytes; }
constexpr uint64_t roundDownToBlock(uint64_t bytes) { return bytes / blockBytes * blockBytes; }

/// See store.fbs for the meaning of each.
enum class Layout : uint8_t { rowMajor = 0, panels = 1 };

enum class Role : uint8_t { initializer = 0, companion = 1 };

/// What is stored, apart from its place.
struct StateType {
  std::string name;
  DataType dataType = DataType::f32;
  std::vector<int64_t> shape;
  Layout layout = Layout::rowMajor;
  uint32_t panelDim = 0;
  uint32_t panelWidth = 0;
  Role role = Role::initializer;

  uint64_t elementBytes() const { return byteWidth(dataType); }
  uint64_t elements() const;
  /// Bytes of the logical tensor, without padding.
  uint64_t logicalBytes() const { return elements() * elementBytes(); }
  /// Bytes of all elements with the padding of the last panel.
  uint64_t storedBytes() const;
  /// One row along dimension 0 of the logical tensor: all of a scalar.
  uint64_t rowElements() const;
  uint64_t rowBytes() const { return rowElements() * elementBytes(); }
  /// What a chunk holds a whole number of: bytes of a panel or of a row.
  uint64_t pieceBytes() const;
  uint64_t panelCount() const;
  /// Indices along the dimensions that panels do not cut, taken as one.
  uint64_t panelDepth() const;

  /// A user error where the values contradict each other or exceed 2^46 bytes.
  Status check() const;
};

/// A state and its place in a file of the store.
struct StateView {
  StateType type;
  /// Index into Store::files().
  uint32_t file = 0;
  /// Of a state that steps rewrite: of the slot that holds what was committed last.
  uint64_t fileOffset = 0;
  uint64_t chunkBytes = 0;
  /// XXH3-64 of each chunk with its padding; empty for linked files.
  std::vector<uint64_t> checksums;
  /// Of a state that steps rewrite: place of the other slot, which they write.
  std::optional<uint64_t> otherOffset = std::nullopt;

  bool isRewritten() const { return otherOffset.has_value(); }
  uint64_t chunkCount() const {
    return chunkBytes == 0 ? 0 : (type.storedBytes() + chunkBytes - 1) / chunkBytes;
  }
};

} // namespace spillway
