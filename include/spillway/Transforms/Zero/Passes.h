// Passes over zero: where states are and how they move. See Passes.td.
#pragma once

#include "spillway/Plan/Machine.h"

#include "mlir/Pass/Pass.h"

#include <memory>
#include <string>

namespace spillway::zero {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "spillway/Transforms/Zero/Passes.h.inc"

/// zero-activations, zero-offload and zero-plan for a machine at hand.
std::unique_ptr<mlir::Pass> createZeroActivationsPass(ZeroActivationsPassOptions options, plan::Machine machine);
std::unique_ptr<mlir::Pass> createZeroOffloadPass(ZeroOffloadPassOptions options, plan::Machine machine);
std::unique_ptr<mlir::Pass> createZeroPlanPass(ZeroPlanPassOptions options, plan::Machine machine);

} // namespace spillway::zero
