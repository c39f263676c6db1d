#include "runtime/base/Thread.h"

#include <algorithm>
#include <cfenv>
#include <sched.h>
#include <utility>

namespace spillway {

void setFloatingPointEnvironment() { std::fesetenv(FE_DFL_ENV); }

unsigned availableProcessors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0)
    return 1;
  return std::max(1, CPU_COUNT(&set));
}

namespace {
void *enter(void *argument) {
  std::unique_ptr<std::function<void()>> body(static_cast<std::function<void()> *>(argument));
  setFloatingPointEnvironment();
  (*body)();
  return nullptr;
}
} // namespace

Result<Thread> Thread::start(const char *name, std::function<void()> body) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, threadStackBytes);
  auto argument = std::make_unique<std::function<void()>>(std::move(body));
  pthread_t handle;
  int code = pthread_create(&handle, &attributes, enter, argument.get());
  pthread_attr_destroy(&attributes);
  if (code != 0)
    return systemError(code, fmt::format("cannot start the thread '{}'", name));
  (void)argument.release();
  pthread_setname_np(handle, name);
  return Thread(handle);
}

Thread::Thread(Thread &&other) noexcept
    : handle_(other.handle_), running_(std::exchange(other.running_, false)) {}

Thread::~Thread() {
  if (running_)
    pthread_join(handle_, nullptr);
}

} // namespace spillway
