// The order of passes up to kernels. That of planning is in Plan.h; nothing else
// orders passes.
#pragma once

#include "mlir/Pass/PassManager.h"

#include <string>
#include <vector>

namespace spillway {

/// From the onnx dialect to operations of nn: converted, simplified, recognised. `dims`
/// are NAME=SIZE.
void buildOperationPipeline(mlir::OpPassManager &passes, const std::vector<std::string> &dims);

/// From operations to calls of kernels; `linkWeights` leaves weights in the files of the model.
void buildKernelPipeline(mlir::OpPassManager &passes, bool linkWeights);

} // namespace spillway
