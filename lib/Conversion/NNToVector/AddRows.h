#pragma once

#include "mlir/IR/MLIRContext.h"

namespace spillway::kernels {

/// Gives nn.add_rows its ElementOpInterface.
void attachAddRows(mlir::MLIRContext *context);

} // namespace spillway::kernels
