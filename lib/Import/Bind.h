// Values that the command line gives to inputs.
#pragma once

#include "lib/Import/Tensors.h"

namespace spillway::onnx {

/// The value of an input of type `type` as `text` gives it: see ImportOptions::binds. Files of more than
/// maxInlineBytes stay places in files.
mlir::FailureOr<ImportedTensor> boundTensor(llvm::StringRef text, mlir::RankedTensorType type,
                                            mlir::Location location);

} // namespace spillway::onnx
