// Values that name bytes of another one.
#pragma once

#include "mlir/IR/Value.h"

namespace spillway::nn {

/// The value that names the same bytes, or more around them: through reshapes, and through slices
/// that are runs of elements.
mlir::Value sourceOf(mlir::Value value);
/// Where a value's bytes begin in those of its source.
uint64_t offsetInSource(mlir::Value value);

} // namespace spillway::nn
