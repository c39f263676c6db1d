// Losses that are added to a model; see nn-add-loss in Passes.td.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace spillway {

/// The result that they are.
inline constexpr llvm::StringLiteral lossOutput = "loss";

/// Whether `text` asks for a loss of ours, KIND(...), rather than naming an output.
bool isLossCall(llvm::StringRef text);

} // namespace spillway
