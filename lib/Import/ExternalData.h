// Tensors whose bytes lie in files beside the model.
#pragma once

#include "lib/Import/Tensors.h"

namespace spillway::onnx {

struct ExternalExtent {
  /// A folder of the model joined with the location that the model names.
  std::string path;
  uint64_t offset = 0;
};

/// Finds the `bytes` bytes of an external tensor. The location that the model names must stay in
/// the model's folder: no absolute path, no `..`. Links of the file system are the user's own and are
/// followed, the model itself included: its folder is the one of the path as given, or else the one
/// that the path leads to. The file must be a regular one and hold the extent.
mlir::FailureOr<ExternalExtent> resolveExternalData(const TensorMessage &tensor,
                                                    const SourceFile &file, uint64_t bytes,
                                                    mlir::Location location);

} // namespace spillway::onnx
