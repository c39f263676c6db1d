// From a model to a bundle.
#pragma once

#include "spillway/Import/Import.h"
#include "spillway/Pipelines/Pipelines.h"
#include "spillway/Pipelines/Plan.h"
#include "spillway/Target/CPU/CpuTarget.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <string>
#include <vector>

namespace spillway {

/// What a model is on its way to a bundle, in order. The forms between its file and its bundle
/// are MLIR, and a compilation can leave and enter at any of them.
enum class Form { model, onnx, operations, kernels, bundle };

/// `onnx`, `operations` or `kernels`; null for any other name.
std::optional<Form> formFromName(llvm::StringRef name);

/// Passes of the user's, as in a textual pipeline over the module.
struct ExtraPasses {
  /// onnx, operations or kernels: what they find and leave.
  Form after;
  std::string pipeline;
};

struct CompileOptions {
  /// The .onnx file, or the .mlir file of the form `from`.
  std::string model;
  /// The bundle, a folder, or the .mlir file of the form `to`.
  std::string output;
  /// Which form `model` holds and which one `output` receives; `from` comes before `to`.
  Form from = Form::model, to = Form::bundle;
  /// For models that are imported.
  ImportOptions import;
  OperationOptions operations;
  /// Weights stay in the model's files, which the bundle then needs unchanged.
  bool linkWeights = false;
  CpuTarget target;
  PlanOptions plan;
  /// In the order in which they run in each form, before it is written anywhere.
  std::vector<ExtraPasses> passes;
  /// Existing folder that receives the module in each form (onnx.mlir, operations.mlir, kernels.mlir),
  /// as it is planned (program.mlir) and as a step (rt.mlir); empty for none.
  std::string dumpFolder;
  /// Told of each stage when it begins.
  std::function<void(llvm::StringRef)> onStage = [](llvm::StringRef) {};
};

/// Takes a model from one form to another. Every error has been diagnosed.
mlir::LogicalResult compileModel(const CompileOptions &options, mlir::MLIRContext &context);

/// Plans a bundle's program and writes nothing.
mlir::FailureOr<PlannedProgram> planBundle(const std::string &path, const PlanOptions &plan, mlir::MLIRContext &context);

/// Plans the bundle at `bundle` anew, into `output` (which may be the same): its kernels and
/// states stay, shared where the file system can, but copied where training writes them. The result
/// equals what compiling the model under that plan gives. A user error where the states are being trained.
mlir::LogicalResult replanBundle(const std::string &bundle, const std::string &output,
                                 const PlanOptions &plan, mlir::MLIRContext &context);

} // namespace spillway
