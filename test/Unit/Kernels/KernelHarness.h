// Compiles kernels from text and runs them, for tests.
#pragma once

#include "runtime/device/KernelAbi.h"
#include "spillway/Target/CPU/CpuTarget.h"

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace spillway::test {

/// Memory for one call.
class Scratch {
public:
  explicit Scratch(int64_t bytes);
  std::byte *data() const { return memory_.get(); }

private:
  std::unique_ptr<std::byte, decltype(&std::free)> memory_;
};

/// A module's kernels, compiled for this machine, or a level of instructions that it has, and loaded.
class CompiledKernels {
public:
  /// Compiles `module` (MLIR text). `ok()` is false, and `message()` says why, where that fails.
  explicit CompiledKernels(std::string_view module, std::optional<CpuLevel> level = hostCpuLevel());
  ~CompiledKernels();
  CompiledKernels(const CompiledKernels &) = delete;
  CompiledKernels &operator=(const CompiledKernels &) = delete;

  bool ok() const { return library_; }
  const std::string &message() const { return message_; }

  /// Units of a kernel's space, parts that they may be divided into, and bytes of scratch of a call.
  int64_t units(const std::string &kernel) const;
  int64_t parts(const std::string &kernel) const;
  int64_t scratchBytes(const std::string &kernel) const;
  KernelFunction function(const std::string &kernel) const;

  /// Runs a range with scratch full of garbage; gives the fault word.
  int32_t call(const std::string &kernel, std::span<const KernelArgument> arguments, const KernelRange &range) const;

  /// Runs all units of a kernel in calls of at most `unitsPerCall`, last ranges first;
  /// gives the fault word.
  int32_t run(const std::string &kernel, std::span<void *const> operands,
              int64_t unitsPerCall = INT64_MAX) const;

private:
  struct Space {
    std::string kernel;
    int64_t units, scratch, parts;
  };
  const Space *space(const std::string &kernel) const;

  std::vector<Space> spaces_;
  std::string message_;
  void *library_ = nullptr;
};

} // namespace spillway::test
