#include "runtime/train/Snapshots.h"

#include "runtime/base/File.h"
#include "runtime/base/FileLock.h"
#include "runtime/bundle/Bundle.h"
#include "runtime/state/Commit.h"
#include "runtime/state/Store.h"
#include "runtime/train/Recipe.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

namespace spillway {

namespace {
namespace fs = std::filesystem;

/// Ends the name of a copy that is not whole.
constexpr std::string_view partialSuffix = ".partial";

Error cannot(std::string_view what, const fs::path &path, std::error_code code) {
  return systemError(code.value(), fmt::format("cannot {} '{}'", what, path.string()));
}

Status removeFolder(const fs::path &path) {
  std::error_code code;
  fs::remove_all(path, code);
  return code ? Status(cannot("remove", path, code)) : Status();
}

/// Under the name of one that is not whole, so that what is left of it where the process ends on the way goes with the next one.
Status removeCopy(const fs::path &path) {
  fs::path partial = path;
  partial += partialSuffix;
  std::error_code code;
  fs::rename(path, partial, code);
  return code ? Status(cannot("rename", path, code)) : removeFolder(partial);
}

/// The entries of a folder at one time.
Result<std::vector<fs::path>> entriesOf(const fs::path &folder) {
  std::vector<fs::path> paths;
  std::error_code code;
  for (fs::directory_iterator entry(folder, code); !code && entry != fs::directory_iterator(); entry.increment(code))
    paths.push_back(entry->path());
  if (code)
    return cannot("read", folder, code);
  return paths;
}

Status copyBundle(const fs::path &folder, const fs::path &target) {
  std::error_code code;
  if (!fs::create_directory(target, code) && code)
    return cannot("create", target, code);
  SPILLWAY_ASSIGN_OR_RETURN(std::vector<fs::path> files, entriesOf(folder));
  for (const fs::path &file : files) {
    fs::path name = file.filename();
    if (name == scratchName || !isPartOfBundle(name.string()))
      continue;
    bool isRewritten = name == storeDataName || name == commitsName;
    if (!isRewritten) {
      fs::create_hard_link(file, target / name, code);
      if (!code)
        continue;
    }
    SPILLWAY_RETURN_IF_ERROR(copyFile(file, target / name));
  }
  return syncFile(target);
}

/// A path of the folder that ends in its name.
fs::path named(const fs::path &folder) {
  fs::path path = folder.has_filename() ? folder : folder.parent_path();
  std::error_code code;
  if (path.filename() == "." || path.filename() == "..")
    if (fs::path whole = fs::canonical(path, code); !code)
      return whole;
  return path;
}

/// The step in a name of prefix, number and suffix.
std::optional<uint64_t> stepOf(std::string_view name, std::string_view prefix, std::string_view suffix) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix) || name.size() < prefix.size() + suffix.size())
    return std::nullopt;
  const char *begin = name.data() + prefix.size(), *end = name.data() + name.size() - suffix.size();
  uint64_t step = 0;
  auto [last, error] = std::from_chars(begin, end, step);
  return error == std::errc() && last == end ? std::optional(step) : std::nullopt;
}
} // namespace

Snapshots::Snapshots(const fs::path &folder, uint64_t training, uint64_t keep)
    : folder_(named(folder)),
      parent_(folder_.has_parent_path() ? folder_.parent_path() : fs::path(".")),
      prefix_(folder_.filename().string() + ".step-"), training_(training), keep_(keep) {}

fs::path Snapshots::placeOf(uint64_t step) const { return parent_ / (prefix_ + std::to_string(step)); }

Status Snapshots::forEach(std::string_view suffix, const Visit &visit) const {
  SPILLWAY_ASSIGN_OR_RETURN(std::vector<fs::path> paths, entriesOf(parent_));
  for (const fs::path &path : paths)
    if (std::optional<uint64_t> step = stepOf(path.filename().string(), prefix_, suffix))
      SPILLWAY_RETURN_IF_ERROR(visit(path, *step));
  return {};
}

bool Snapshots::isCopy(const fs::path &path, uint64_t step) const {
  Result<Store> store = Store::open(path);
  if (!store.ok() || store->lastCommit().step != step)
    return false;
  Result<Recipe> recipe = parseRecipe(store->lastCommit().payload);
  return recipe.ok() && recipe->training == training_;
}

Status Snapshots::requireCopy(const fs::path &path, uint64_t step) const {
  if (isCopy(path, step))
    return {};
  return userError("'{}', where the commit of step {} is to be kept, is of another training, or was trained on since: "
                   "move it away",
                   path.string(), step);
}

Status Snapshots::requirePlaces(uint64_t first, uint64_t last) const {
  return forEach("", [&](const fs::path &path, uint64_t step) -> Status {
    return step < first || step > last ? Status() : requireCopy(path, step);
  });
}

bool Snapshots::has(uint64_t step) const {
  std::error_code code;
  return fs::exists(placeOf(step), code) && isCopy(placeOf(step), step);
}

Status Snapshots::add(uint64_t step) const {
  SPILLWAY_RETURN_IF_ERROR(removePartial());
  fs::path target = placeOf(step), partial = target;
  partial += partialSuffix;
  Status copied = copyBundle(folder_, partial);
  if (copied.ok())
    copied = replace(partial, step);
  if (!copied.ok()) {
    std::error_code ignored;
    fs::remove_all(partial, ignored);
    return copied;
  }
  return removeOlder(step);
}

Status Snapshots::replace(const fs::path &partial, uint64_t step) const {
  fs::path target = placeOf(step);
  std::optional<FileLock> lock;
  if (std::error_code code; fs::exists(fs::symlink_status(target, code))) {
    SPILLWAY_ASSIGN_OR_RETURN(lock, lockStates(target, FileLock::exclusive));
    SPILLWAY_RETURN_IF_ERROR(requireCopy(target, step));
  }
  return replaceFolder(partial, target);
}

Status Snapshots::removePartial() const {
  return forEach(partialSuffix, [](const fs::path &path, uint64_t) { return removeFolder(path); });
}

Status Snapshots::removeOlder(uint64_t step) const {
  std::vector<std::pair<uint64_t, fs::path>> copies;
  SPILLWAY_RETURN_IF_ERROR(forEach("", [&](const fs::path &path, uint64_t other) -> Status {
    if (other <= step && isCopy(path, other))
      copies.emplace_back(other, path);
    return {};
  }));
  std::ranges::sort(copies, std::greater<>());
  for (size_t i = keep_; i < copies.size(); ++i) {
    const auto &[other, path] = copies[i];
    Result<std::optional<FileLock>> lock = lockStates(path, FileLock::exclusive);
    // Since it was looked at, another process may have trained it.
    if (lock.ok() && isCopy(path, other))
      SPILLWAY_RETURN_IF_ERROR(removeCopy(path));
  }
  return {};
}

} // namespace spillway
