// Numbers of bytes as people write them.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace spillway {

/// "4096", "256MiB", "1.5 GB": binary units (KiB, MiB, GiB, TiB), decimal ones
/// (kB or KB, MB, GB, TB), B or none; the case of letters does not matter.
/// A user error where it is no size, is negative, or exceeds 2^63.
Result<uint64_t> parseSize(std::string_view text);

/// The shortest of B, KiB, MiB, GiB and TiB with two decimals where needed:
/// "96 MiB", "1.50 GiB".
std::string formatSize(uint64_t bytes);

} // namespace spillway
