// How many elements a tensor may have.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <optional>

namespace spillway {

/// So that no tensor has more than 2^58 bytes, its size in bits and sums of a few sizes fit in an int64_t.
inline constexpr int64_t maxElementCount = int64_t{1} << 55;

/// Number of elements; nothing where a size is negative, or the sizes that are not zero make more
/// than maxElementCount.
std::optional<int64_t> elementCount(llvm::ArrayRef<int64_t> shape);

} // namespace spillway
