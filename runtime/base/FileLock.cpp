#include "runtime/base/FileLock.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <utility>

namespace spillway {

Result<std::optional<FileLock>> FileLock::acquire(const std::filesystem::path &path, Kind kind) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return systemError(errno, fmt::format("cannot open '{}'", path.string()));
  FileLock lock(descriptor);
  int code;
  do
    code = ::flock(descriptor, (kind == shared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0 ? 0 : errno;
  while (code == EINTR);
  if (code == EWOULDBLOCK)
    return std::optional<FileLock>();
  if (code != 0)
    return systemError(code, fmt::format("cannot lock '{}'", path.string()));
  return std::optional(std::move(lock));
}

FileLock::FileLock(FileLock &&other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

FileLock &FileLock::operator=(FileLock &&other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

FileLock::~FileLock() {
  if (descriptor_ >= 0)
    ::close(descriptor_);
}

} // namespace spillway
