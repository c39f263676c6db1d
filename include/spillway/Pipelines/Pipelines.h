// The order of passes up to kernels. That of planning is in Plan.h; nothing else
// orders passes.
#pragma once

#include "spillway/Training/Passes.h"

#include "mlir/Pass/PassManager.h"

#include <optional>
#include <string>
#include <vector>

namespace spillway {

struct OperationOptions {
  /// Sizes of dynamic dimensions, NAME=SIZE.
  std::vector<std::string> dims;
  /// What gradients with respect to the parameters are taken of, and become outputs too: an output, or losses that are
  /// added (see nn-add-loss); empty where the model has one output of one float.
  std::optional<std::vector<std::string>> gradientsOf;
  /// Parameters that have no gradients, see nn-differentiate.
  std::vector<std::string> freeze;
  /// Rows of parameters that get no gradient by look-ups, see nn-differentiate.
  std::vector<std::string> padding;
  /// Norms that stay in their inference form where the model trains, see convert-onnx-to-nn.
  std::vector<std::string> evalNorms;
  /// Dropouts that drop nothing where the model trains.
  std::vector<std::string> evalDropouts;
  /// Micro-batches of a step that trains, see nn-accumulate.
  int64_t microBatches = 1;
  /// With it these gradients update the states instead.
  std::optional<NNOptimizePassOptions> optimizer;
};

/// From the onnx dialect to operations of nn: converted, simplified, recognised, differentiated.
void buildOperationPipeline(mlir::OpPassManager &passes, const OperationOptions &options);

/// From operations to calls of kernels; `linkWeights` leaves weights in the files of the model.
void buildKernelPipeline(mlir::OpPassManager &passes, bool linkWeights);

} // namespace spillway
