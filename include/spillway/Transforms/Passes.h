// Passes over nn: fusion, layouts, kernels. See Passes.td.
#pragma once

#include "dialects/NN/NN.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace spillway {

#define GEN_PASS_DECL
#include "spillway/Transforms/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "spillway/Transforms/Passes.h.inc"

} // namespace spillway
