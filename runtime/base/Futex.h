// Sleeping on an atomic word.
#pragma once

#include <atomic>
#include <cstdint>

namespace spillway {

/// Sleeps while `word` holds `expected`, until a wake; may return without one.
void futexWait(std::atomic<uint32_t> &word, uint32_t expected);
/// Wakes every thread that sleeps on `word`.
void futexWakeAll(std::atomic<uint32_t> &word);

/// Tells the processor that a loop spins.
inline void pauseWhileSpinning() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

} // namespace spillway
