// Sizes of the model's named dimensions.
#pragma once

#include "spillway/Conversion/OnnxToNN/Tensor.h"

#include "dialects/Onnx/Onnx.h"

namespace spillway {

/// The shapes of the graph's inputs once its dynamic dimensions have the sizes that
/// `bindings` ("NAME=SIZE") give them. A dimension without a name is called INPUT.INDEX.
/// Errors: dimensions without a size (one error for all, with where they occur),
/// sizes below one, bindings of names that the graph does not have.
mlir::FailureOr<llvm::SmallVector<Shape>> bindDimensions(onnx::GraphOp graph,
                                                         llvm::ArrayRef<std::string> bindings);

} // namespace spillway
