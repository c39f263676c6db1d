// What the function of a model that trains takes beside the model's own inputs.
#pragma once

#include "spillway/Conversion/OnnxToNN/Emitter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace spillway {

class TrainingInputs {
public:
  /// `function` is set when the first one is asked for.
  TrainingInputs(Emitter &emit, mlir::func::FuncOp &function) : emit(emit), function(function) {}

  /// That no input of the model is called as one of these.
  static mlir::LogicalResult requireFreeNames(mlir::Location location, mlir::ArrayAttr inputs);

  /// Whether the step trains or evaluates: a boolean of rank 0.
  Tensor isTraining();
  /// A key for random numbers, an i64 of rank 0: another one for each call and in each step.
  Tensor randomKey();

private:
  Emitter &emit;
  mlir::func::FuncOp &function;
  std::optional<Tensor> training;
  /// All keys, a vector of them.
  mlir::BlockArgument keys;
};

} // namespace spillway
