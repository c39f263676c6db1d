// A file from its start to its end as fast as an engine can: for measuring one.
#pragma once

#include "runtime/io/Engine.h"

namespace spillway::io {

/// Goes through the first `bytes` of an open file in requests of `requestBytes`, which take turns to be of `kinds`, as many at a
/// time as `memory` has room for, in which the data of one goes over that of another. Nothing else may
/// be in flight.
Status transferSequentially(Engine &engine, int file, std::span<const Request::Kind> kinds, uint64_t bytes,
                            uint64_t requestBytes, std::span<std::byte> memory);

} // namespace spillway::io
