// Files of NumPy's .npy format, versions 1 to 3.
#pragma once

#include "runtime/base/DataType.h"
#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace spillway {

struct NpyHeader {
  DataType type = DataType::f32;
  std::vector<int64_t> shape;
  /// Where the elements start, from the start of the file.
  uint64_t dataOffset = 0;
  /// Of all elements.
  uint64_t dataBytes = 0;
};

/// Reads the header at the start of a file, of which `bytes` are the first 64 KiB or
/// all. Little-endian, row-major files of the types of DataType except bf16, which
/// NumPy does not have; others are user errors that name what was found. Never trusts
/// a length.
Result<NpyHeader> parseNpyHeader(std::span<const std::byte> bytes);

/// The header that a file of this type and shape starts with (version 1; the elements
/// start at a multiple of 64). A user error for bf16, unless its bits are wanted as u16.
Result<std::vector<std::byte>> encodeNpyHeader(DataType type, std::span<const int64_t> shape,
                                               bool bf16AsBits = false);

/// The header of a file, which is also checked to hold all elements and no more. User errors, also
/// where there is no such file.
Result<NpyHeader> readNpyHeader(const std::filesystem::path &path);

/// Reads the elements of a file with this header; `into` has `dataBytes` bytes.
Status readNpyData(const std::filesystem::path &path, const NpyHeader &header,
                   std::span<std::byte> into);

/// A file of which parts are read.
class NpyFile {
public:
  /// Checks what `readNpyHeader` does.
  static Result<NpyFile> open(const std::filesystem::path &path);
  NpyFile(NpyFile &&other) noexcept;
  NpyFile &operator=(NpyFile &&other) noexcept;
  ~NpyFile();

  const NpyHeader &header() const { return header_; }
  /// Reads the bytes from `offset` of the elements on.
  Status read(uint64_t offset, std::span<std::byte> into) const;

private:
  NpyFile(std::filesystem::path path, NpyHeader header, int descriptor);

  std::filesystem::path path_;
  NpyHeader header_;
  int descriptor_;
};

/// Writes a file, in place of one that is there. `bytes` are the elements of `shape`.
Status writeNpy(const std::filesystem::path &path, DataType type, std::span<const int64_t> shape,
                std::span<const std::byte> bytes, bool bf16AsBits = false);

} // namespace spillway
