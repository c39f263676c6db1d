#include "tools/spillway-compiler/ScratchFolder.h"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace spillway;

namespace {

/// The second process. A session of its own keeps it from signals to the first one's group.
[[noreturn]] void waitAndRemove(int alive, const std::filesystem::path &path) {
  ::setsid();
  char byte;
  while (::read(alive, &byte, 1) < 0 && errno == EINTR) {
  }
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
  ::_exit(0);
}

} // namespace

Result<ScratchFolder> ScratchFolder::create() {
  std::error_code code;
  std::string path = (std::filesystem::temp_directory_path(code) / "spillway-XXXXXX").string();
  if (code)
    return systemError(code.value(), "there is no folder for temporary files");
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return systemError(errno, "cannot make a pipe");
  if (!::mkdtemp(path.data())) {
    int error = errno;
    ::close(ends[0]);
    ::close(ends[1]);
    return systemError(error, fmt::format("cannot make the folder '{}'", path));
  }
  pid_t remover = ::fork();
  if (remover == 0) {
    ::close(ends[1]);
    // Whoever waits for the end of this process's output is not to wait for the second one.
    for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
      ::close(stream);
    waitAndRemove(ends[0], path);
  }
  int error = errno;
  ::close(ends[0]);
  if (remover > 0)
    return ScratchFolder(path, remover, ends[1]);
  ::close(ends[1]);
  ::rmdir(path.c_str());
  return systemError(error, "cannot start a process");
}

ScratchFolder::ScratchFolder(ScratchFolder &&other) noexcept
    : path_(std::move(other.path_)), remover(std::exchange(other.remover, -1)),
      alive(std::exchange(other.alive, -1)) {}

ScratchFolder::~ScratchFolder() {
  if (remover < 0)
    return;
  ::close(alive);
  while (::waitpid(remover, nullptr, 0) < 0 && errno == EINTR) {
  }
}
