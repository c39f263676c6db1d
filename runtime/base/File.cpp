#include "runtime/base/File.h"
#include "runtime/base/Size.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <utility>

namespace spillway {

namespace {
class Descriptor {
public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0)
      ::close(number_);
  }
  Descriptor(const Descriptor &) = delete;

  int number() const { return number_; }
  /// Closes now, so that the result can be looked at.
  int close() { return ::close(std::exchange(number_, -1)); }

private:
  int number_;
};

Status writeAll(int descriptor, std::span<const std::byte> bytes, const std::string &name) {
  while (!bytes.empty()) {
    ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return systemError(errno, fmt::format("cannot write '{}'", name));
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

/// Copies from and to where the descriptors stand, without the bytes passing through this process: as many as the file
/// systems can, which may be none.
uint64_t copyInKernel(int source, int target, uint64_t bytes) {
  uint64_t done = 0;
  while (done < bytes) {
    ssize_t count = ::copy_file_range(source, nullptr, target, nullptr, bytes - done, 0);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      break;
    done += static_cast<uint64_t>(count);
  }
  return done;
}

/// The same by reads and writes, and all of them.
Status copyThroughMemory(const Descriptor &source, const std::filesystem::path &from, const Descriptor &target,
                         const std::filesystem::path &to, uint64_t bytes) {
  std::vector<std::byte> buffer(std::min<uint64_t>(bytes, 1 << 20));
  while (bytes != 0) {
    ssize_t count = ::read(source.number(), buffer.data(), std::min<uint64_t>(bytes, buffer.size()));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return systemError(errno, fmt::format("cannot read '{}'", from.string()));
    if (count == 0)
      return machineError("'{}' became shorter while it was read", from.string());
    SPILLWAY_RETURN_IF_ERROR(
        writeAll(target.number(), std::span(buffer).first(static_cast<size_t>(count)), to.string()));
    bytes -= static_cast<uint64_t>(count);
  }
  return {};
}

Status syncParent(const std::filesystem::path &path) {
  std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.number() < 0 || fsync(directory.number()) != 0)
    return systemError(errno, fmt::format("cannot sync the folder '{}'", folder.string()));
  return {};
}
} // namespace

Result<std::vector<std::byte>> readFile(const std::filesystem::path &path, uint64_t limit) {
  // Without waiting for the other end of a pipe, which is refused.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat facts;
  if (file.number() < 0 || fstat(file.number(), &facts) != 0)
    return systemError(errno, fmt::format("cannot open '{}'", path.string()));
  if (!S_ISREG(facts.st_mode))
    return machineError("'{}' is not a file", path.string());
  if (static_cast<uint64_t>(facts.st_size) > limit)
    return machineError("'{}' has {} bytes; at most {} were expected", path.string(), facts.st_size,
                        limit);
  std::vector<std::byte> bytes(static_cast<size_t>(facts.st_size));
  for (size_t done = 0; done < bytes.size();) {
    ssize_t count = ::read(file.number(), bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return systemError(errno, fmt::format("cannot read '{}'", path.string()));
    if (count == 0)
      return machineError("'{}' became shorter while it was read", path.string());
    done += static_cast<size_t>(count);
  }
  return bytes;
}

Error openError(int code, const std::string &what) {
  Error error = systemError(code, what);
  for (int mistake : {ENOENT, ENOTDIR, EISDIR, EACCES, EPERM, ELOOP, ENAMETOOLONG})
    if (code == mistake)
      error.kind = ErrorKind::user;
  return error;
}

Status requireWritable(const std::filesystem::path &path) {
  SPILLWAY_ASSIGN_OR_RETURN(std::filesystem::path target, replaceableFile(path));
  if (!target.has_filename())
    return userError("'{}' names no file", path.string());
  return requireFolderFor(target);
}

Status requireFolderFor(std::filesystem::path path) {
  if (!path.has_filename())
    path = path.parent_path();
  std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  int error = ::access(folder.c_str(), W_OK | X_OK) == 0 ? 0 : errno;
  if (std::error_code code; error == 0 && !std::filesystem::is_directory(folder, code))
    error = ENOTDIR;
  return error == 0 ? Status() : openError(error, fmt::format("cannot create '{}'", path.string()));
}

Status copyFile(const std::filesystem::path &from, const std::filesystem::path &to) {
  SPILLWAY_ASSIGN_OR_RETURN(FileFacts facts, fileFacts(from));
  Descriptor source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (source.number() < 0)
    return systemError(errno, fmt::format("cannot open '{}'", from.string()));
  Descriptor target(::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (target.number() < 0)
    return systemError(errno, fmt::format("cannot create '{}'", to.string()));
  if (::ioctl(target.number(), FICLONE, source.number()) != 0) {
    SPILLWAY_RETURN_IF_ERROR(requireSpace(to.has_parent_path() ? to.parent_path() : ".", facts.bytes,
                                          "the copies of states"));
    uint64_t done = copyInKernel(source.number(), target.number(), facts.bytes);
    SPILLWAY_RETURN_IF_ERROR(copyThroughMemory(source, from, target, to, facts.bytes - done));
  }
  if (::fsync(target.number()) != 0 || target.close() != 0)
    return systemError(errno, fmt::format("cannot write '{}'", to.string()));
  return {};
}

Result<std::filesystem::path> replaceableFile(const std::filesystem::path &path) {
  std::error_code code;
  if (!std::filesystem::exists(path, code))
    return path;
  if (!std::filesystem::is_regular_file(path, code))
    return userError("'{}' is no regular file; it is not replaced", path.string());
  std::filesystem::path target = std::filesystem::canonical(path, code);
  if (code)
    return systemError(code.value(), fmt::format("cannot find '{}'", path.string()));
  return target;
}

Status writeFileAtomically(const std::filesystem::path &link, std::span<const std::byte> bytes) {
  SPILLWAY_ASSIGN_OR_RETURN(std::filesystem::path path, replaceableFile(link));
  std::string temporary = path.string() + ".tmp";
  Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (file.number() < 0)
    return openError(errno, fmt::format("cannot create '{}'", temporary));
  Status status = writeAll(file.number(), bytes, temporary);
  if (status.ok() && fsync(file.number()) != 0)
    status = systemError(errno, fmt::format("cannot write '{}'", temporary));
  if (file.close() != 0 && status.ok())
    status = systemError(errno, fmt::format("cannot write '{}'", temporary));
  if (status.ok())
    status = renameDurably(temporary, path);
  if (!status.ok())
    ::unlink(temporary.c_str());
  return status;
}

Status syncFile(const std::filesystem::path &path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0)
    return systemError(errno, fmt::format("cannot open '{}'", path.string()));
  if (fsync(file.number()) != 0)
    return systemError(errno, fmt::format("cannot sync '{}'", path.string()));
  return {};
}

Status renameDurably(const std::filesystem::path &from, const std::filesystem::path &to) {
  if (std::rename(from.c_str(), to.c_str()) != 0)
    return systemError(errno, fmt::format("cannot rename '{}' to '{}'", from.string(), to.string()));
  return syncParent(to);
}

Status replaceFolder(const std::filesystem::path &from, const std::filesystem::path &to) {
  std::error_code code;
  auto failed = [&](int number) {
    return systemError(number, fmt::format("cannot move '{}' to '{}'", from.string(), to.string()));
  };
  std::filesystem::path old = from;
  if (!std::filesystem::exists(std::filesystem::symlink_status(to, code))) {
    if (std::rename(from.c_str(), to.c_str()) != 0)
      return failed(errno);
    return syncParent(to);
  }
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) != 0) {
    if (errno != EINVAL && errno != ENOSYS)
      return failed(errno);
    old = to;
    old += ".replaced";
    if (std::rename(to.c_str(), old.c_str()) != 0)
      return systemError(errno, fmt::format("cannot move '{}' to '{}'", to.string(), old.string()));
    if (std::rename(from.c_str(), to.c_str()) != 0) {
      int number = errno;
      std::rename(old.c_str(), to.c_str());
      return failed(number);
    }
  }
  SPILLWAY_RETURN_IF_ERROR(syncParent(to));
  std::filesystem::remove_all(old, code);
  if (code)
    return systemError(code.value(), fmt::format("cannot remove '{}'", old.string()));
  return {};
}

bool isPlainName(const std::filesystem::path &path) {
  return !path.empty() && path.filename() == path && path != "." && path != "..";
}

Result<FileFacts> fileFacts(const std::filesystem::path &path) {
  struct stat facts;
  if (::stat(path.c_str(), &facts) != 0)
    return systemError(errno, fmt::format("cannot open '{}'", path.string()));
  if (!S_ISREG(facts.st_mode))
    return machineError("'{}' is not a file", path.string());
  return FileFacts{static_cast<uint64_t>(facts.st_size),
                   static_cast<uint64_t>(facts.st_mtim.tv_sec) * 1'000'000'000u +
                       static_cast<uint64_t>(facts.st_mtim.tv_nsec)};
}

Result<uint64_t> freeSpace(const std::filesystem::path &folder) {
  struct statvfs facts;
  if (::statvfs(folder.c_str(), &facts) != 0)
    return systemError(errno, fmt::format("cannot ask for the space in '{}'", folder.string()));
  return static_cast<uint64_t>(facts.f_bavail) * facts.f_frsize;
}

Status requireSpace(const std::filesystem::path &folder, uint64_t bytes, const std::string &what) {
  SPILLWAY_ASSIGN_OR_RETURN(uint64_t space, freeSpace(folder));
  if (space < bytes)
    return machineError("{} need {} in '{}'; its file system has {}", what, formatSize(bytes),
                        folder.string(), formatSize(space));
  return {};
}

} // namespace spillway
