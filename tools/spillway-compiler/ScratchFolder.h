// A folder for files that do not stay.
#pragma once

#include "tools/spillway-compiler/FolderRemover.h"

namespace spillway {

/// A new folder below the one for temporary files. It goes with its destructor or with this process, whatever
/// ends that.
class ScratchFolder {
public:
  static Result<ScratchFolder> create();

  const std::filesystem::path &path() const { return path_; }

private:
  ScratchFolder(std::filesystem::path path, FolderRemover remover)
      : path_(std::move(path)), remover(std::move(remover)) {}

  std::filesystem::path path_;
  FolderRemover remover;
};

} // namespace spillway
