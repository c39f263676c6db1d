// Passes that make a training step. See Passes.td.
#pragma once

#include "dialects/NN/NN.h"
#include "dialects/Zero/Zero.h"

#include "mlir/Pass/Pass.h"

namespace spillway {

#define GEN_PASS_DECL
#include "spillway/Training/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "spillway/Training/Passes.h.inc"

} // namespace spillway
