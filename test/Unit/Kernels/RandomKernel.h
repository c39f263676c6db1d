// Kernels at random, for tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace spillway::test {

struct RandomKernel {
  /// An nn.kernel in MLIR text.
  std::string text;

  /// What fills an argument: numbers of [low, high].
  struct Range {
    double low = -4, high = 4;
  };
  std::vector<Range> ranges;

  /// Whether its results are the interpreter's bit by bit; else they hold an elementary
  /// function, a softmax or an attention, and nothing that magnifies its error.
  bool exact = true;
};

/// The kernel `name` of a schedule ("map", "row", "gemm", "attention", "scan"): an anchor with
/// random operations before and after it, over tensors of every element type. The same
/// seed gives the same kernel on every machine.
RandomKernel randomKernel(const std::string &schedule, const std::string &name, uint64_t seed);

} // namespace spillway::test
