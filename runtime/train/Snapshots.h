// Copies of a bundle as commits left it.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace spillway {

/// Of the bundle BUNDLE, beside it: BUNDLE.step-K, as the commit of step K left it. A folder of such a name that is of
/// another training, or was trained on since, is not touched.
class Snapshots {
public:
  /// The last `keep` copies of the bundle in `folder`, which this process trains; `training` is the recipe's.
  Snapshots(const std::filesystem::path &folder, uint64_t training, uint64_t keep);

  /// A user error where something that is not to be touched has the place of a step from `first` to `last`.
  Status requirePlaces(uint64_t first, uint64_t last) const;
  bool has(uint64_t step) const;
  /// Copies the bundle, where nothing is written meanwhile and `step` was committed last: whole or not at all. What
  /// steps do not rewrite is shared where the file system can. Then removes older copies, but for those that another
  /// process uses. A user error where one uses what had its place.
  Status add(uint64_t step) const;

private:
  std::filesystem::path placeOf(uint64_t step) const;
  using Visit = std::function<Status(const std::filesystem::path &, uint64_t step)>;
  /// For what has the name of a copy, followed by `suffix`.
  Status forEach(std::string_view suffix, const Visit &visit) const;
  /// Whether it is the copy of a step of this training, as that left it.
  bool isCopy(const std::filesystem::path &path, uint64_t step) const;
  Status requireCopy(const std::filesystem::path &path, uint64_t step) const;
  /// Puts the copy in `partial` in its place.
  Status replace(const std::filesystem::path &partial, uint64_t step) const;
  Status removePartial() const;
  Status removeOlder(uint64_t step) const;

  std::filesystem::path folder_, parent_;
  /// Of the names of copies.
  std::string prefix_;
  uint64_t training_, keep_;
};

} // namespace spillway
