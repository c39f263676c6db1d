// The rows of a state that a Lookup asks for. Internal to the executor.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/executor/Program.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace spillway {

/// Reads the indices of a lookup once (whoever writes them later changes nothing),
/// checks them, and resolves negative ones. `rows` has `lookup.count()` elements.
/// A user error names the first bad index, its position, and the valid range.
Status readRowIndices(const LookupOperation &lookup, const StateType &type,
                      const std::byte *indices, std::span<int64_t> rows);

/// Copies row `row` of a state to `target`, in row-major order, from the bytes of its
/// piece where the state lies in `layout`: of the panel or the row that holds it.
void copyRow(const StateType &type, Layout layout, int64_t row, const std::byte *piece,
             std::byte *target);

/// Bytes before the piece that holds row `row`.
uint64_t pieceOffset(const StateType &type, Layout layout, int64_t row);

} // namespace spillway
