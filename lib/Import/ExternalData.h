// Tensors whose bytes lie in files beside the model.
#pragma once

#include "lib/Import/Tensors.h"

namespace spillway::onnx {

struct ExternalExtent {
  /// The model's folder joined with the location that the model names.
  std::string path;
  uint64_t offset = 0;
};

/// Finds the `bytes` bytes of an external tensor. The file must lie in the model's folder,
/// whatever the links on the way, and hold the extent.
mlir::FailureOr<ExternalExtent> resolveExternalData(const TensorMessage &tensor,
                                                    const SourceFile &file, uint64_t bytes,
                                                    mlir::Location location);

} // namespace spillway::onnx
