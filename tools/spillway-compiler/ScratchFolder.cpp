#include "tools/spillway-compiler/ScratchFolder.h"

#include <cerrno>
#include <cstdlib>
#include <unistd.h>

using namespace spillway;

Result<ScratchFolder> ScratchFolder::create() {
  std::error_code code;
  std::string path = (std::filesystem::temp_directory_path(code) / "spillway-XXXXXX").string();
  if (code)
    return systemError(code.value(), "there is no folder for temporary files");
  if (!::mkdtemp(path.data()))
    return systemError(errno, fmt::format("cannot make the folder '{}'", path));
  Result<FolderRemover> remover = FolderRemover::start(path);
  if (!remover.ok()) {
    ::rmdir(path.c_str());
    return std::move(remover).error();
  }
  return ScratchFolder(path, *std::move(remover));
}
