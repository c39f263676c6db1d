// The one place that knows every dialect, external model and pass. All tools
// call it, so that what one can parse or run, every other can.
#pragma once

#include "mlir/IR/DialectRegistry.h"

namespace spillway {

/// Dialects of ours and of upstream that our pipelines use, with the external
/// models of our interfaces.
void registerDialects(mlir::DialectRegistry &registry);

/// Passes of ours, and the upstream ones that go with them.
void registerPasses();

} // namespace spillway
