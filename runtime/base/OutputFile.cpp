#include "runtime/base/OutputFile.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

using namespace spillway;

Result<OutputFile> OutputFile::create(const std::filesystem::path &path) {
  int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return systemError(errno, fmt::format("cannot create '{}'", path.string()));
  return OutputFile(descriptor, path);
}

OutputFile::OutputFile(OutputFile &&other)
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)),
      offset_(other.offset_) {}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0)
    ::close(descriptor_);
}

Status OutputFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::pwrite(descriptor_, bytes.data(), bytes.size(), offset_);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return systemError(errno, fmt::format("cannot write '{}'", path_.string()));
    bytes.remove_prefix(written);
    offset_ += written;
  }
  return {};
}

Status OutputFile::skipTo(uint64_t offset) {
  if (offset < offset_)
    return bugError("'{}': cannot go back from {} to {}", path_.string(), offset_, offset);
  offset_ = offset;
  if (::ftruncate(descriptor_, static_cast<off_t>(offset)) != 0)
    return systemError(errno, fmt::format("cannot write '{}'", path_.string()));
  return {};
}

Status OutputFile::closeDurably() {
  if (::fdatasync(descriptor_) != 0)
    return systemError(errno, fmt::format("cannot write '{}'", path_.string()));
  return close();
}

Status OutputFile::close() {
  if (::close(std::exchange(descriptor_, -1)) != 0)
    return systemError(errno, fmt::format("cannot write '{}'", path_.string()));
  return {};
}
