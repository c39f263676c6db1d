#include "runtime/base/MappedFile.h"
#include "runtime/base/File.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace spillway {

Result<MappedFile> MappedFile::open(const std::filesystem::path &path) {
  auto asUserError = [](Error error) {
    error.kind = ErrorKind::user;
    return error;
  };
  Result<FileFacts> found = fileFacts(path);
  if (!found.ok())
    return asUserError(std::move(found).error());
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return asUserError(systemError(errno, fmt::format("cannot open '{}'", path.string())));
  void *address = nullptr;
  if (found->bytes != 0)
    address = ::mmap(nullptr, found->bytes, PROT_READ, MAP_PRIVATE, file, 0);
  int code = errno;
  ::close(file);
  if (address == MAP_FAILED)
    return systemError(code, fmt::format("cannot read '{}'", path.string()));
  return MappedFile({static_cast<const std::byte *>(address), found->bytes});
}

MappedFile::MappedFile(MappedFile &&other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty())
    ::munmap(const_cast<std::byte *>(bytes_.data()), bytes_.size());
}

} // namespace spillway
