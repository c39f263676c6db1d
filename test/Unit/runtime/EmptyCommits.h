// A commit log as it comes with a bundle.
#pragma once

#include "runtime/state/Commit.h"

#include <vector>

namespace spillway::test {

/// Of so many chunks.
inline std::vector<std::byte> emptyCommits(uint64_t chunks) {
  std::vector<std::byte> bytes(commitsFileBytes(chunks));
  encodeCommit(Commit(), /*checksums=*/0, std::span(bytes).first<blockBytes>());
  return bytes;
}

} // namespace spillway::test
