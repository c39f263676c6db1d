// Arithmetic that machines do not have, as arithmetic that they do.
#pragma once

#include "mlir/Pass/Pass.h"

namespace spillway::kernels {

/// Pass `legalize-numbers` on a function of scalars and vectors. Afterwards it
/// needs no library, and its results do not depend on lanes or instruction set:
///
/// - f16 and bf16 are computed in f32, operation by operation, and rounded once each;
///   conversions from and to bf16 are integer arithmetic, and bf16 moves as i16;
/// - elementary functions of math are those of ElementaryFunctions.h;
/// - floats become integers toward zero; what does not fit becomes the nearest that does, a NaN zero;
/// - integer division by zero gives zero (quotient and remainder), and the lowest value
///   divided by -1 wraps, where the machine would trap.
std::unique_ptr<mlir::Pass> createLegalizeNumbersPass();
void registerLegalizeNumbersPass();

} // namespace spillway::kernels
