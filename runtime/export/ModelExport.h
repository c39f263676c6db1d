// Trained weights back into the ONNX file that they came from.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/io/Engine.h"
#include "runtime/state/Store.h"

#include <filesystem>
#include <string>
#include <vector>

namespace spillway {

struct ExportedModel {
  /// Initializers that got new values, and their bytes.
  uint64_t tensors = 0;
  uint64_t bytes = 0;
  /// The file beside the model that holds data of initializers; empty where all lie in the model.
  std::filesystem::path data;
};

struct ExportSettings {
  /// Whether a data file beside a target that is not there is replaced.
  bool replacesAny = false;
  /// Initializers that were compiled with other values than the model's.
  std::vector<std::string> initialized;
  /// Whether the model has these values where the store does not hold them under their names.
  bool modelHasInitialized = false;
};

/// Writes `target`: the file `model` with the values that `store` has committed in place of those of the initializers
/// that training steps rewrite, and of those that were compiled with other values, by name. Everything else stays byte for byte. Initializers that lie outside of
/// `model`, and all with new values where `target` would exceed what one message may have (2 GiB), lie in
/// `target`.data. Weights pass through small buffers. Both files are put in place, one after the other, when they are
/// whole.
///
/// User errors: a file that is no model, or not the one that the store's states come from; a target that cannot be
/// written, or whose data file holds data of `model`, or, without `replacesAny`, is there though `target` is not; an
/// initializer whose other values the store does not hold.
/// Machine errors: damaged states.
Result<ExportedModel> exportModel(const std::filesystem::path &model, const Store &store, io::Engine &engine,
                                  const std::filesystem::path &target, const ExportSettings &settings);

} // namespace spillway
