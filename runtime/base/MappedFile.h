// A file as memory.
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <filesystem>
#include <span>

namespace spillway {

/// The bytes of a file, read by the system as they are touched. They must not be cut off meanwhile.
class MappedFile {
public:
  /// User errors where there is no such regular file, or it cannot be opened.
  static Result<MappedFile> open(const std::filesystem::path &path);
  MappedFile(MappedFile &&other) noexcept;
  MappedFile &operator=(MappedFile &&other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::span<const std::byte> bytes_;
};

} // namespace spillway
