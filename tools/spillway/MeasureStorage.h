// What the drive under a folder can do, through the engine that runs use.
#pragma once

#include "runtime/io/Engine.h"

#include <filesystem>

namespace spillway {

struct StorageSpeed {
  double readBytesPerSecond = 0, writeBytesPerSecond = 0;
  /// Of both, where it reads as much as it writes at the same time.
  double bothBytesPerSecond = 0;
  /// Seconds of one block of 4096 bytes with nothing else under way, and with many.
  double readLatency = 0, writeLatency = 0;
  double readTransfer = 0, writeTransfer = 0;
};

/// Writes a file of `bytes` (a multiple of 8 MiB) into the folder, reads it past the page cache, and
/// removes it. Machine errors: no space, or what the system says.
Result<StorageSpeed> measureStorage(const std::filesystem::path &folder, uint64_t bytes,
                                    io::EngineKind engine);

} // namespace spillway
