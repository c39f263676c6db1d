// Running statistics of norms, in a model that is differentiated or trained.
#pragma once

#include "spillway/Conversion/OnnxToNN/TrainingInputs.h"
#include "spillway/Support/NamePatterns.h"

#include "dialects/Zero/Zero.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

#include <optional>

namespace spillway {

/// They are states that no optimizer trains; a step that trains updates them.
class NormStatistics {
public:
  /// `states` are those of the model, by symbol. All norms train that no name of `trainedButFor` chooses; without it,
  /// none does.
  NormStatistics(TrainingInputs &inputs, const llvm::StringMap<zero::StateOp> &states,
                 std::optional<NamePatterns> trainedButFor)
      : inputs(inputs), states(states), trainedButFor(std::move(trainedButFor)) {}

  /// The state that a tensor is; null where it is none.
  zero::StateOp stateOf(Tensor tensor) const;
  /// Keeps optimizers from a state.
  static void claim(zero::StateOp state) { state.setRole(zero::Role::statistic); }

  /// Whether the model is trained, and what is called one of these names with it.
  bool trains() const { return trainedButFor.has_value(); }
  bool trains(llvm::ArrayRef<llvm::StringRef> names) const {
    return trains() && llvm::none_of(names, [&](llvm::StringRef name) { return trainedButFor->match(name); });
  }

  /// Diagnoses a pattern that has chosen none of the names that `trains` was asked for.
  mlir::LogicalResult requireMatches(mlir::Location location) const {
    return trains() ? trainedButFor->requireMatches(location, "batch normalization or an initializer of one")
                    : mlir::success();
  }

  Tensor isTraining() { return inputs.isTraining(); }
  /// The value of a state behind all norms that were converted before.
  Tensor current(Tensor state) const;
  void update(Tensor state, Tensor next);
  /// Ends the function, whose updates they are.
  void emitUpdates(mlir::OpBuilder &builder);

private:
  TrainingInputs &inputs;
  const llvm::StringMap<zero::StateOp> &states;
  std::optional<NamePatterns> trainedButFor;
  llvm::MapVector<mlir::Attribute, Tensor> updated;
};

} // namespace spillway
