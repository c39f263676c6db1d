// Values that name bytes of another one, and operations that need one element of it.
#pragma once

#include "mlir/IR/Value.h"

namespace spillway::nn {

/// The value that names the same bytes, or more around them: through reshapes, and through slices
/// that are runs of elements.
mlir::Value sourceOf(mlir::Value value);
/// Where a value's bytes begin in those of its source.
uint64_t offsetInSource(mlir::Value value);

/// Whether each element that the user gives needs of this operand the element at the same index alone.
bool takesSameElement(mlir::OpOperand &use);

} // namespace spillway::nn
