// Makes tables and store indices for tests, wrong ones too: nothing is checked.
#pragma once

#include "runtime/executor/Program.h"
#include "runtime/state/Store.h"

#include <cstddef>
#include <vector>

namespace spillway::test {

/// What a kernel says that it takes of an argument; see table.fbs.
struct TakenArgument {
  uint64_t bytes = 0;
  uint64_t unitBytes = 0;
  bool isTiled = false;
};

struct EncodeOptions {
  uint32_t version = tableVersion;
  /// Of reads and writes, in the state.
  uint64_t rankStride = 0;
  /// Of what reads bring, and gathers and writes take, in the arena.
  uint64_t partStride = 0;
  /// Of every kernel.
  uint32_t kernelInputs = 0;
  /// Empty: each kernel takes what its launches give.
  std::vector<TakenArgument> kernelArguments = {};
  int64_t kernelUnits = int64_t(1) << 40;
  /// So many that threads divide each launch.
  uint64_t kernelFlops = uint64_t(1) << 62;
  int64_t kernelParts = 1;
};

std::vector<std::byte> encode(const Program &program, const EncodeOptions &options = {});

} // namespace spillway::test
