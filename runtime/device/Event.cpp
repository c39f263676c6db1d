#include "runtime/device/Event.h"
#include "runtime/base/Futex.h"

namespace spillway {

namespace {
constexpr unsigned spinsBeforeSleep = 200;
} // namespace

void Event::finish(uint32_t state) {
  if (word_.exchange(state, std::memory_order_acq_rel) == awaited)
    futexWakeAll(word_);
}

bool Event::wait() {
  for (unsigned spin = 0; spin < spinsBeforeSleep && isPending(); ++spin)
    pauseWhileSpinning();
  uint32_t word = pending;
  word_.compare_exchange_strong(word, awaited, std::memory_order_acquire);
  while (isPending())
    futexWait(word_, awaited);
  return isDone();
}

} // namespace spillway
