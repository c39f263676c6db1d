// The numbers of nn.random as vector arithmetic.
#pragma once

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace spillway::kernels {

/// The low word of threefry (runtime/base/Threefry.h): `key` is an i64 and `counter` an i32, each one number or one per
/// lane; `words`, i32 or a vector of them, is the type of the result.
mlir::Value randomBits(mlir::ImplicitLocOpBuilder &builder, mlir::Value key, mlir::Value counter, mlir::Type words);

} // namespace spillway::kernels
