// Inputs of the model on which depends what a conversion must know.
#pragma once

#include "mlir/IR/Value.h"

#include "llvm/ADT/SmallVector.h"

namespace spillway {

/// Marks the inputs of the model that a value is computed from; returns their names.
llvm::SmallVector<llvm::StringRef> markMustBeKnown(mlir::Value value);

} // namespace spillway
