// Compiles kernels from text and runs them, for tests.
#pragma once

#include "runtime/device/KernelAbi.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace spillway::test {

/// A module's kernels, compiled for this machine and loaded.
class CompiledKernels {
public:
  /// Compiles `module` (MLIR text). `ok()` is false, and `message()` says why, where that fails.
  explicit CompiledKernels(std::string_view module);
  ~CompiledKernels();
  CompiledKernels(const CompiledKernels &) = delete;
  CompiledKernels &operator=(const CompiledKernels &) = delete;

  bool ok() const { return library_; }
  const std::string &message() const { return message_; }

  /// Units of a kernel's space.
  int64_t units(const std::string &kernel) const;

  /// Runs all units of a kernel in calls of at most `unitsPerCall`, last ranges first;
  /// gives the fault word. Scratch is filled with garbage before each call.
  int32_t run(const std::string &kernel, std::span<void *const> operands,
              int64_t unitsPerCall = INT64_MAX) const;

private:
  struct Space {
    std::string kernel;
    int64_t units, scratch;
  };
  const Space *space(const std::string &kernel) const;

  std::vector<Space> spaces_;
  std::string message_;
  void *library_ = nullptr;
};

} // namespace spillway::test
