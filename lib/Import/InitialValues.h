// Parameters that begin with the values of another model's.
#pragma once

#include "lib/Import/OpenModel.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <string>
#include <vector>

namespace spillway::onnx {

/// The other model's initializers of floats with dimensions, by name.
class InitialValues {
public:
  static mlir::FailureOr<InitialValues> open(llvm::StringRef path, mlir::MLIRContext *context);

  bool has(llvm::StringRef name) const { return tensors.contains(name); }
  /// Gives `tensor`, an initializer called `name`, the values of the one of that name and type, if it is a parameter and
  /// there is one. Failure where that cannot be read.
  mlir::LogicalResult replace(llvm::StringRef name, ImportedTensor &tensor);

  /// Warns of parameters that kept their own values, and of initializers that none took. An error where none was
  /// replaced.
  mlir::LogicalResult report() const;
  /// Of all that were replaced.
  llvm::ArrayRef<std::string> names() const { return replaced; }

private:
  InitialValues(OpenModel model, mlir::Location location) : model(std::move(model)), location(location) {}

  static bool isParameter(mlir::RankedTensorType type) {
    return type.getRank() > 0 && llvm::isa<mlir::FloatType>(type.getElementType());
  }

  OpenModel model;
  mlir::Location location;
  llvm::StringMap<const TensorMessage *> tensors;
  llvm::StringSet<> seen;
  std::vector<std::string> missing, mismatched, replaced;
};

} // namespace spillway::onnx
