// Elementary functions as vector arithmetic, the same bits on any number of lanes and
// any instruction set.
#pragma once

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace spillway::kernels {

/// Whether `op`, of math (or arith.remf) on f32 or f64, is a function that machines do not have.
bool isElementaryFunction(mlir::Operation *op);

/// The value of such an operation, at the builder's insertion point; null where there is
/// no code for it. Errors over the whole range, infinities, denormals and NaN included:
///
/// - f32: at most 2 ulp (exp, tanh and erf; the others are computed in f64 and
///   rounded once, within 0.51 ulp);
/// - f64: at most 4 ulp, but sin, cos and tan of arguments beyond 2^30, which lose
///   accuracy in proportion, pow and erfc, which lose what |y log x| and x^2 magnify;
/// - the remainder is exact.
mlir::Value expandElementaryFunction(mlir::ImplicitLocOpBuilder &builder, mlir::Operation *op);

} // namespace spillway::kernels
