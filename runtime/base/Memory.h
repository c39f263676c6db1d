// How much memory there is to compute with.
#pragma once

#include <cstdint>
#include <filesystem>

namespace spillway {

/// Of the machine, or of a control group that this process is in: whichever leaves less. Swap does
/// not count.
struct Memory {
  uint64_t total = 0;
  /// Of that, what is free, or holds files that can be read again.
  uint64_t available = 0;
  /// What this process has taken of it already: pages that hold no file.
  uint64_t own = 0;
};

/// What the kernel says in `proc` and `groups`; 2^63 where it says nothing.
Memory machineMemory(const std::filesystem::path &proc = "/proc",
                     const std::filesystem::path &groups = "/sys/fs/cgroup");

} // namespace spillway
