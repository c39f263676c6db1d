#include "runtime/base/MappedFile.h"
#include "runtime/base/File.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace spillway {

Result<MappedFile> MappedFile::open(const std::filesystem::path &path) {
  SPILLWAY_ASSIGN_OR_RETURN(FileFacts facts, fileFacts(path));
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return systemError(errno, fmt::format("cannot open '{}'", path.string()));
  void *address = nullptr;
  if (facts.bytes != 0)
    address = ::mmap(nullptr, facts.bytes, PROT_READ, MAP_PRIVATE, file, 0);
  int code = errno;
  ::close(file);
  if (address == MAP_FAILED)
    return systemError(code, fmt::format("cannot read '{}'", path.string()));
  return MappedFile({static_cast<const std::byte *>(address), facts.bytes});
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
