// What commands read and write of the arenas and of the scratch file. Internal to the executor.
#pragma once

#include "runtime/executor/Program.h"

#include <vector>

namespace spillway {

/// Whether two slices have bytes in common.
bool overlap(const Slice &a, const Slice &b);

struct Access {
  std::vector<Slice> reads;
  std::vector<Slice> writes;
  /// Whether it needs nothing of what `writes` held before, and is the first to write there.
  bool begins = true;
};

Access accessOf(const Program &program, const Command &command);

} // namespace spillway
