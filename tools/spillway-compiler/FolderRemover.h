// A folder that does not stay behind.
#pragma once

#include "runtime/base/Status.h"

#include <filesystem>
#include <sys/types.h>

namespace spillway {

/// Sees to it that a folder, which need not be there yet, is gone when this process ends, however it
/// ends: a second process waits for that. Made before the process has threads.
class FolderRemover {
public:
  static Result<FolderRemover> start(std::filesystem::path folder);
  FolderRemover(FolderRemover &&other) noexcept;
  /// Removes the folder now.
  ~FolderRemover();

private:
  FolderRemover(pid_t process, int alive) : process(process), alive(alive) {}

  pid_t process;
  /// The end of a pipe that closes with this process.
  int alive;
};

} // namespace spillway
