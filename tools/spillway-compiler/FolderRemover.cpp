#include "tools/spillway-compiler/FolderRemover.h"

#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace spillway;

namespace {

/// The second process. A session of its own keeps it from signals to the first one's group.
[[noreturn]] void waitAndRemove(int alive, const std::filesystem::path &folder) {
  ::setsid();
  char byte;
  while (::read(alive, &byte, 1) < 0 && errno == EINTR) {
  }
  // The linker, a process of its own, may still be writing there.
  constexpr int tries = 500;
  constexpr std::chrono::milliseconds pause(20);
  std::error_code failed;
  for (int i = 0; i < tries; ++i) {
    std::filesystem::remove_all(folder, failed);
    if (!failed)
      break;
    std::this_thread::sleep_for(pause);
  }
  ::_exit(0);
}

} // namespace

Result<FolderRemover> FolderRemover::start(std::filesystem::path folder) {
  std::error_code code;
  folder = std::filesystem::absolute(folder, code);
  if (code)
    return systemError(code.value(), "cannot find the working directory");
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return systemError(errno, "cannot make a pipe");
  pid_t process = ::fork();
  if (process == 0) {
    ::close(ends[1]);
    // Whoever waits for the end of this process's output is not to wait for the second one.
    for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
      ::close(stream);
    waitAndRemove(ends[0], folder);
  }
  int error = errno;
  ::close(ends[0]);
  if (process > 0)
    return FolderRemover(process, ends[1]);
  ::close(ends[1]);
  return systemError(error, "cannot start a process");
}

FolderRemover::FolderRemover(FolderRemover &&other) noexcept
    : process(std::exchange(other.process, -1)), alive(std::exchange(other.alive, -1)) {}

FolderRemover::~FolderRemover() {
  if (process < 0)
    return;
  ::close(alive);
  while (::waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
  }
}
