// From handles to addresses. See Passes.td.
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>

namespace spillway {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "spillway/Conversion/ZeroToRt/Passes.h.inc"

} // namespace spillway
