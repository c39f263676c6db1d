// Whether numbers are numbers: what an update must give before it counts.
#pragma once

#include "runtime/base/DataType.h"

#include <cstddef>
#include <span>

namespace spillway {

/// Whether no element is infinite or NaN. Integers and what does not fill an element always are finite.
bool allFinite(DataType type, std::span<const std::byte> bytes);

} // namespace spillway
