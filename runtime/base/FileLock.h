// Who may have a file open at the same time.
#pragma once

#include "runtime/base/Status.h"

#include <filesystem>
#include <optional>

namespace spillway {

/// A lock on a file between all who ask for one (flock), kept until the destructor or the end of
/// the process.
class FileLock {
public:
  enum Kind { shared, exclusive };

  /// Nothing where another holder excludes it.
  static Result<std::optional<FileLock>> acquire(const std::filesystem::path &path, Kind kind);

  FileLock(FileLock &&other) noexcept;
  FileLock &operator=(FileLock &&other) noexcept;
  ~FileLock();

private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
};

} // namespace spillway
