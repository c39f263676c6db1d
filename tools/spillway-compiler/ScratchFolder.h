// A folder for the time of the process.
#pragma once

#include "runtime/base/Status.h"

#include <filesystem>
#include <sys/types.h>

namespace spillway {

/// An empty folder that is removed with the object, and also where the process ends in any other way:
/// by a second process that waits for its end. Made before the process has threads.
class ScratchFolder {
public:
  static Result<ScratchFolder> create();
  ScratchFolder(ScratchFolder &&other) noexcept;
  ScratchFolder &operator=(ScratchFolder &&) = delete;
  ~ScratchFolder();

  const std::filesystem::path &path() const { return path_; }

private:
  ScratchFolder(std::filesystem::path path, pid_t remover, int alive)
      : path_(std::move(path)), remover(remover), alive(alive) {}

  std::filesystem::path path_;
  /// Reads from the other end of `alive`, which closes with this process at the latest.
  pid_t remover;
  int alive;
};

} // namespace spillway
