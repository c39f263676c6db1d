// The pass of differentiation. See Passes.td.
#pragma once

#include "dialects/NN/NN.h"

#include "mlir/Pass/Pass.h"

namespace spillway {

#define GEN_PASS_DECL
#include "spillway/Differentiate/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "spillway/Differentiate/Passes.h.inc"

} // namespace spillway
