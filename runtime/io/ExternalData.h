// Elements of an ONNX model's tensors that lie in files beside it.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace spillway {

/// Where a model says that a tensor's elements lie: its entries of `external_data`.
struct ExternalData {
  std::string location;
  uint64_t offset = 0;
  /// Nothing where the model does not say it.
  std::optional<uint64_t> length;

  /// Takes an entry; one of another key changes nothing. A user error for a value that is no number.
  Status add(std::string_view key, std::string_view value);
};

struct ExternalExtent {
  /// A folder of the model joined with the location.
  std::filesystem::path path;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

/// Finds the bytes of an external tensor: as many as its type takes (`bytes`), where that is known, else
/// as the model says, else all up to the end of the file. The location must stay in
/// the model's folder: no absolute path, no `..`. Links of the file system are the user's own and are
/// followed, the model itself included: its folder is the one of the path as given, or else the one
/// that the path leads to. The file must be a regular one and hold the extent; all else is a user error.
Result<ExternalExtent> resolveExternalData(const std::filesystem::path &model, const ExternalData &data,
                                           std::optional<uint64_t> bytes);

} // namespace spillway
