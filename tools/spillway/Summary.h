// A tensor in one line.
#pragma once

#include "runtime/base/DataType.h"

#include <cstddef>
#include <span>
#include <string>

namespace spillway {

/// "min -1.5  max 2  mean 0.25" of the elements, in f64; NaNs are counted apart.
std::string summarize(DataType type, std::span<const std::byte> bytes);

} // namespace spillway
