#include "runtime/base/Status.h"
#include "runtime/base/Assert.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace spillway {

Error systemError(int code, const std::string &what) {
  return {ErrorKind::machine, fmt::format("{}: {}", what, std::strerror(code)), code};
}

void assertionFailed(const char *condition, const char *message, const char *file, int line) {
  std::fprintf(stderr, "spillway: internal error: %s (%s) at %s:%d\n", message, condition, file,
               line);
  std::abort();
}

} // namespace spillway
