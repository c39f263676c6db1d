// Element types of files and manifests as element types of MLIR, and back.
#pragma once

#include "runtime/base/DataType.h"

#include "mlir/IR/BuiltinTypes.h"

namespace spillway {

/// The signless element type that nn computes with.
mlir::Type elementType(mlir::MLIRContext *context, DataType type);

/// What an element type stands for: an i1 a boolean, a signless integer a signed one, ui8 and the like (of
/// the onnx dialect) an unsigned one. Nothing for types that DataType lacks.
std::optional<DataType> dataTypeOf(mlir::Type element);

/// What values between a training step's kernels are stored as: "bf16", "fp16", or null for "fp32", as they are. Fails,
/// without a diagnostic, for any other precision.
mlir::FailureOr<mlir::FloatType> storedTypeOf(mlir::MLIRContext *context, llvm::StringRef precision);

} // namespace spillway
