// Element types of files and manifests as element types of MLIR, and back.
#pragma once

#include "runtime/base/DataType.h"

#include "mlir/IR/Types.h"

namespace spillway {

/// The signless element type that nn computes with.
mlir::Type elementType(mlir::MLIRContext *context, DataType type);

/// What an element type stands for: an i1 a boolean, a signless integer a signed one, ui8 and the like (of
/// the onnx dialect) an unsigned one. Nothing for types that DataType lacks.
std::optional<DataType> dataTypeOf(mlir::Type element);

} // namespace spillway
