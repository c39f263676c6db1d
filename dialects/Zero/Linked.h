// States whose bytes stay in the files of the user.
#pragma once

#include "dialects/Zero/Zero.h"

namespace spillway::zero {

/// A unit attribute of zero.state: the bytes stay in its source, a raw file of the user's, and
/// take their layout when they are read.
inline constexpr llvm::StringLiteral linkedAttrName = "zero.linked";

inline bool isLinked(StateOp state) { return state->hasAttr(linkedAttrName); }

} // namespace spillway::zero
