// Optimizers as functions of one element.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"

namespace spillway {

/// A `func.func`: a parameter and its gradient (f32), and for each further argument an attribute that says what it
/// is: `spillway.state` (f32) names what is kept for each parameter, zero at the start; `spillway.step` (f64) an
/// input of each step (`lr`, the learning rate, or `step`, its number from 1); `spillway.option` (f64) a constant with a
/// `spillway.default`, and perhaps bounds (`spillway.least`, `spillway.most`, `spillway.below`). It returns the new
/// parameter and the new states, in the arguments' order. Its body holds operations of arith and math.
class Optimizer {
public:
  /// One that ships (adamw, adam, sgd, lion) or the function in the .mlir file `name`; `settings` are
  /// NAME=VALUE of its options. Errors are reported at `location`, or in the file.
  static mlir::FailureOr<Optimizer> load(mlir::Location location, llvm::StringRef name,
                                         llvm::ArrayRef<std::string> settings);

  /// In the arguments' order.
  llvm::ArrayRef<std::string> states() const { return states_; }
  llvm::ArrayRef<std::string> stepInputs() const { return stepInputs_; }

  /// Builds the new parameter and states of tensors of f32 of one shape. `stepInput` gives an input of the
  /// step, of rank 0; without `decays` the option weight_decay is zero.
  llvm::SmallVector<mlir::Value>
  build(mlir::OpBuilder &builder, mlir::Location location, mlir::Value parameter, mlir::Value gradient,
        mlir::ValueRange states, llvm::function_ref<mlir::Value(llvm::StringRef)> stepInput,
        bool decays) const;

private:
  mlir::LogicalResult read(mlir::Location location, llvm::ArrayRef<std::string> settings);
  /// What the values of an option must be, where `value` is none; empty where it is one.
  std::string rangeWithout(llvm::StringRef name, double value);

  mlir::OwningOpRef<mlir::ModuleOp> module_;
  mlir::func::FuncOp function_;
  std::vector<std::string> states_, stepInputs_;
  llvm::StringMap<double> options_;
};

} // namespace spillway
