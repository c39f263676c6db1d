// Which dropouts of a model that trains drop elements.
#pragma once

#include "spillway/Conversion/OnnxToNN/TrainingInputs.h"
#include "spillway/Support/NamePatterns.h"

namespace spillway {

class Dropouts {
public:
  /// All that no name of `butFor` chooses.
  Dropouts(TrainingInputs &inputs, NamePatterns butFor) : inputs(inputs), butFor(std::move(butFor)) {}

  bool trains(llvm::StringRef name) const { return !butFor.match(name); }
  /// Diagnoses a pattern that has chosen none of the names that `trains` was asked for.
  mlir::LogicalResult requireMatches(mlir::Location location) const {
    return butFor.requireMatches(location, "dropout");
  }
  Tensor isTraining() { return inputs.isTraining(); }
  Tensor randomKey() { return inputs.randomKey(); }

private:
  TrainingInputs &inputs;
  NamePatterns butFor;
};

} // namespace spillway
