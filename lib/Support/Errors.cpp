#include "spillway/Support/Errors.h"

using namespace mlir;
using namespace spillway;

// Nothing else in the compiler puts metadata on diagnostics.
static void setKind(InFlightDiagnostic &diagnostic, ErrorKind kind) {
  diagnostic.getUnderlyingDiagnostic()->getMetadata().push_back(
      DiagnosticArgument(static_cast<int>(kind)));
}

InFlightDiagnostic spillway::emitError(Location location, const Error &error) {
  InFlightDiagnostic diagnostic = mlir::emitError(location) << error.message;
  setKind(diagnostic, error.kind);
  return diagnostic;
}

InFlightDiagnostic spillway::emitMachineError(Location location, const Twine &action,
                                              std::error_code reason) {
  return spillway::emitError(location, machineError("cannot {}: {}", action.str(), reason.message()));
}

ErrorKind spillway::errorKind(Diagnostic &diagnostic) {
  for (DiagnosticArgument &argument : diagnostic.getMetadata())
    if (argument.getKind() == DiagnosticArgument::DiagnosticArgumentKind::Integer)
      return static_cast<ErrorKind>(argument.getAsInteger());
  return ErrorKind::user;
}
