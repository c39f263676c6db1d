// From a model to a bundle.
#pragma once

#include "spillway/Pipelines/Plan.h"
#include "spillway/Target/CPU/CpuTarget.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace spillway {

struct CompileOptions {
  /// The .onnx file.
  std::string model;
  /// The bundle, a folder.
  std::string output;
  /// Sizes of dynamic dimensions, NAME=SIZE.
  std::vector<std::string> dims;
  CpuTarget target;
  PlanOptions plan;
  /// Existing folder that receives the module in each form (onnx.mlir, operations.mlir, kernels.mlir,
  /// program.mlir, rt.mlir); empty for none.
  std::string dumpFolder;
};

/// Compiles a model into a bundle. Every error has been diagnosed.
mlir::LogicalResult compileModel(const CompileOptions &options, mlir::MLIRContext &context);

/// Plans the bundle at `bundle` anew, into `output` (which may be the same): its kernels and
/// states stay, shared where the file system can. The result equals what compiling the model
/// under that plan gives.
mlir::LogicalResult replanBundle(const std::string &bundle, const std::string &output,
                                 const PlanOptions &plan, mlir::MLIRContext &context);

} // namespace spillway
