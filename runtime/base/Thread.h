// Threads as the runtime uses them: few, long-lived, with small stacks.
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <pthread.h>

namespace spillway {

/// Address space of each thread's stack; only what is touched is resident.
inline constexpr size_t threadStackBytes = 256 * 1024;

/// Round to nearest, denormals kept, no traps: the environment that the numbers
/// of a program assume, whatever a library has set before.
void setFloatingPointEnvironment();

/// Processors that this process may run on, at least 1.
unsigned availableProcessors();

/// A running thread, joined by the destructor.
class Thread {
public:
  /// Runs `body` in a new thread with the floating-point environment set. `name`
  /// has at most 15 characters.
  static Result<Thread> start(const char *name, std::function<void()> body);

  Thread(Thread &&other) noexcept;
  Thread &operator=(Thread &&) = delete;
  ~Thread();

private:
  explicit Thread(pthread_t handle) : handle_(handle), running_(true) {}

  pthread_t handle_;
  bool running_;
};

} // namespace spillway
