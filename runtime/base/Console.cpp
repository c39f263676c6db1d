#include "runtime/base/Console.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

namespace spillway {

void openStandardStreams() {
  for (int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(descriptor, F_GETFD) < 0 && errno == EBADF)
      // The lowest free descriptor, which is this one.
      (void)::open("/dev/null", O_RDWR);
}

void printNote(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

Status finishOutput() {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout))
    return {};
  return systemError(errno, "cannot write to standard output");
}

} // namespace spillway
