// The folder that `compile` writes and `run` reads.
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace spillway {

/// The version of the folder's format; another one is refused.
inline constexpr uint32_t bundleVersion = 5;

inline constexpr std::string_view manifestName = "manifest.json";
inline constexpr std::string_view kernelsName = "kernels.so";
inline constexpr std::string_view tableName = "table.bin";
/// How the plan came about, for `inspect`; not needed to run.
inline constexpr std::string_view planName = "plan.json";
/// The program before planning, for `replan`; not needed to run.
inline constexpr std::string_view programName = "program.mlirbc";

/// Whether a file of a bundle has the name.
bool isPartOfBundle(std::string_view name);

/// What `manifest.json` says besides the sizes and checksums of the files.
struct Manifest {
  std::string producer;
  std::string model;
  /// Initializers of the model whose values are another model's (`--init-from`).
  std::vector<std::string> initialized = {};
  /// Of the CPU, see runtime/base/CpuFeatures.h.
  std::vector<std::string> features;
  uint32_t threads = 1;
  /// That run it together.
  uint32_t ranks = 1;
};

/// Makes the files that lie in `folder` durable and writes their manifest, atomically and as the
/// last file of a bundle: a folder without one is no bundle.
Status writeManifest(const std::filesystem::path &folder, const Manifest &manifest);

/// A user error for a file that lies in a bundle, which is what no other output may overwrite.
Status requireOutsideBundles(const std::filesystem::path &file);

/// A user error where no output can be written to `file`: there is no folder for it, no regular file
/// has its name, or it lies in a bundle.
Status requireOutput(const std::filesystem::path &file);

/// Steps that the bundle at `folder` has been trained for; 0 also where there is no bundle.
Result<uint64_t> committedSteps(const std::filesystem::path &folder);

/// A checked bundle: its version, and that kernels.so, table.bin and the store's index have the
/// recorded checksums.
/// Loads neither kernels nor states, whose checksums the store has.
class Bundle {
public:
  /// User errors: no bundle, another version. Machine errors: damaged or missing files.
  static Result<Bundle> open(const std::filesystem::path &folder);

  /// For one who has locked its states since it was opened: a user error where another bundle has taken its place meanwhile.
  Status requireUnchanged() const;
  /// A user error where this processor lacks features that the kernels need.
  Status requireProcessor() const;

  const std::filesystem::path &folder() const { return folder_; }
  const Manifest &manifest() const { return manifest_; }
  std::filesystem::path kernels() const { return folder_ / kernelsName; }
  const std::vector<std::byte> &table() const { return table_; }
  const std::vector<std::byte> &storeIndex() const { return storeIndex_; }

  /// Whether the manifest lists the file.
  bool has(std::string_view name) const { return recorded_.contains(name); }
  /// The bytes of a file that the manifest lists. A machine error where it is missing, not
  /// listed, or other than recorded.
  Result<std::vector<std::byte>> read(std::string_view name) const;
  /// Compares every file that the manifest lists with it.
  Status verify() const;

private:
  struct Recorded {
    uint64_t bytes = 0;
    /// XXH3-64 as hexadecimal digits: JSON's numbers are not exact beyond 2^53 everywhere.
    std::string checksum;
  };

  std::filesystem::path folder_;
  std::string manifestChecksum_;
  Manifest manifest_;
  std::map<std::string, Recorded, std::less<>> recorded_;
  std::vector<std::byte> table_;
  std::vector<std::byte> storeIndex_;
};

} // namespace spillway
