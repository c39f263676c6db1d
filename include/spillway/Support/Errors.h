// Errors of the runtime as diagnostics, which keep who has to act on them.
#pragma once

#include "runtime/base/Status.h"

#include "mlir/IR/Diagnostics.h"

#include <system_error>

namespace spillway {

/// Emits `error` at `location`.
mlir::InFlightDiagnostic emitError(mlir::Location location, const Error &error);

/// Emits "cannot <action>: <reason>" as an error of the machine.
mlir::InFlightDiagnostic emitMachineError(mlir::Location location, const llvm::Twine &action,
                                          std::error_code reason);

/// The kind of an error that one of the above emitted; an error of the user for any other.
ErrorKind errorKind(mlir::Diagnostic &diagnostic);

} // namespace spillway
