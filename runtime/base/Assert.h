// The project's own assertion: checked in every build type, since NDEBUG is
// always defined. For invariants of our own code only, never for input.
#pragma once

#define SPILLWAY_ASSERT(condition, message)                                                        \
  do {                                                                                             \
    if (!(condition)) [[unlikely]]                                                                 \
      ::spillway::assertionFailed(#condition, message, __FILE__, __LINE__);                        \
  } while (false)

namespace spillway {
[[noreturn]] void assertionFailed(const char *condition, const char *message, const char *file,
                                  int line);
} // namespace spillway
