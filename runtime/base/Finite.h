// Whether numbers are numbers: what a step must give before it counts.
#pragma once

#include "runtime/base/DataType.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace spillway {

/// Of floats, by gravity.
enum class Content : uint8_t { finite, infinite, notANumber };

/// The gravest of the elements. Integers, and what does not fill an element, are finite.
Content contentOf(DataType type, std::span<const std::byte> bytes);

} // namespace spillway
