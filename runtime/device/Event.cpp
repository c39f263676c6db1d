#include "runtime/device/Event.h"
#include "runtime/base/Futex.h"

namespace spillway {

namespace {
constexpr unsigned spinsBeforeSleep = 200;
} // namespace

void Event::finish(uint32_t state) {
  // After the exchange the event may be reset or watched anew, but not before the
  // one who watches has seen its end.
  uint32_t before = word_.exchange(state, std::memory_order_acq_rel);
  if ((before & awaited) != 0)
    futexWakeAll(word_);
  for (unsigned seat = 0; seat < seats; ++seat)
    if ((before & watched << seat) != 0)
      watchers_[seat].load(std::memory_order_relaxed)->wake();
}

bool Event::wait() {
  for (unsigned spin = 0; spin < spinsBeforeSleep && isPending(); ++spin)
    pauseWhileSpinning();
  while (isPending()) {
    uint32_t before = word_.fetch_or(awaited, std::memory_order_acq_rel);
    if ((before & (done | failed)) == 0)
      futexWait(word_, before | awaited);
  }
  return isDone();
}

bool Event::watch(Watcher &watcher, unsigned seat) {
  watchers_[seat].store(&watcher, std::memory_order_relaxed);
  return (word_.fetch_or(watched << seat, std::memory_order_acq_rel) & (done | failed)) == 0;
}

} // namespace spillway
