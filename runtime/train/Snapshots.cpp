#include "runtime/train/Snapshots.h"

#include "runtime/base/File.h"
#include "runtime/state/Commit.h"
#include "runtime/state/Store.h"

#include <algorithm>
#include <charconv>
#include <fcntl.h>
#include <unistd.h>
#include <vector>

namespace spillway {

namespace {
namespace fs = std::filesystem;

Status cannot(std::string_view what, const fs::path &path, std::error_code code) {
  return systemError(code.value(), fmt::format("cannot {} '{}'", what, path.string()));
}

Status sync(const fs::path &path) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  bool isDurable = file >= 0 && ::fsync(file) == 0;
  int error = errno;
  if (file >= 0)
    ::close(file);
  return isDurable ? Status() : systemError(error, fmt::format("cannot write '{}'", path.string()));
}

Status copyBundle(const fs::path &folder, const fs::path &target) {
  std::error_code code;
  if (!fs::create_directory(target, code) && code)
    return cannot("create", target, code);
  for (const fs::directory_entry &entry : fs::directory_iterator(folder)) {
    fs::path name = entry.path().filename();
    bool isRewritten = name == storeDataName || name == commitsName;
    if (!isRewritten) {
      fs::create_hard_link(entry.path(), target / name, code);
      if (!code)
        continue;
    }
    fs::copy_file(entry.path(), target / name, code);
    if (code)
      return cannot("create", target / name, code);
    SPILLWAY_RETURN_IF_ERROR(sync(target / name));
  }
  return sync(target);
}

/// The step of a copy, by its name.
std::optional<uint64_t> stepOf(const std::string &name, const std::string &prefix) {
  uint64_t step = 0;
  if (!name.starts_with(prefix))
    return std::nullopt;
  const char *end = name.data() + name.size();
  auto [last, error] = std::from_chars(name.data() + prefix.size(), end, step);
  return error == std::errc() && last == end ? std::optional(step) : std::nullopt;
}
} // namespace

Status keepSnapshot(const fs::path &bundle, uint64_t step, uint64_t keep) {
  fs::path folder = bundle.has_filename() ? bundle : bundle.parent_path();
  fs::path parent = folder.has_parent_path() ? folder.parent_path() : fs::path(".");
  std::string prefix = folder.filename().string() + ".step-";
  fs::path target = parent / (prefix + std::to_string(step)), partial = target;
  partial += ".partial";
  std::error_code code;
  fs::remove_all(partial, code);
  SPILLWAY_ASSIGN_OR_RETURN(FileFacts states, fileFacts(folder / storeDataName));
  SPILLWAY_RETURN_IF_ERROR(
      requireSpace(parent, states.bytes, "the states of a checkpoint that is kept"));
  Status copied = copyBundle(folder, partial);
  if (copied.ok())
    copied = replaceFolder(partial, target);
  if (!copied.ok()) {
    fs::remove_all(partial, code);
    return copied;
  }
  std::vector<std::pair<uint64_t, fs::path>> copies;
  for (const fs::directory_entry &entry : fs::directory_iterator(parent))
    if (std::optional<uint64_t> other = stepOf(entry.path().filename().string(), prefix))
      copies.emplace_back(*other, entry.path());
  std::ranges::sort(copies, std::greater<>());
  for (size_t i = keep; i < copies.size(); ++i) {
    fs::remove_all(copies[i].second, code);
    if (code)
      return cannot("remove", copies[i].second, code);
  }
  return {};
}

} // namespace spillway
