// What masks of attention say of the keys that they hide.
#pragma once

namespace spillway {

/// Lower than every sum of a score below 1e30 and it: the softmax gives exactly zero.
inline constexpr double hidingFill = -1e30;

} // namespace spillway
