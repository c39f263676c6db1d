// An ONNX file as a module of the onnx dialect.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace spillway {

/// Reads the model at `path` without the bytes of its initializers: time and memory grow
/// with the graph, not with the weights. Extents of the result name the files they lie in as
/// `path` names the model (its folder joined with the external location). IR versions from 3 and opsets
/// from 7 on are taken; the file is not trusted.
///
/// Null after a diagnostic for a file that cannot be read, is damaged, or contradicts
/// itself. An initializer that is also an input counts as a constant.
mlir::OwningOpRef<mlir::ModuleOp> importOnnx(llvm::StringRef path, mlir::MLIRContext &context);

} // namespace spillway
