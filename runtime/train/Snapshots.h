// Copies of a bundle as commits left it.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <filesystem>

namespace spillway {

/// Copies the bundle in `folder`, where nothing is written meanwhile and step `step` was committed
/// last, to `folder`.step-STEP: whole or not at all. What steps do not rewrite is shared where the
/// file system can. Then removes such copies but for the `keep` with the highest steps.
Status keepSnapshot(const std::filesystem::path &folder, uint64_t step, uint64_t keep);

} // namespace spillway
