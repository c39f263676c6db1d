// The machine code of a bundle.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/device/KernelAbi.h"

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace spillway {

/// A loaded shared library; unloaded by the destructor.
class KernelLibrary {
public:
  /// Loads `path` and finds every one of `symbols`. A missing one is a machine
  /// error with its name.
  static Result<KernelLibrary> load(const std::filesystem::path &path,
                                    std::span<const std::string> symbols);

  KernelLibrary(KernelLibrary &&other) noexcept;
  KernelLibrary &operator=(KernelLibrary &&other) noexcept;
  ~KernelLibrary();

  /// In the order of the symbols.
  const std::vector<KernelFunction> &functions() const { return functions_; }

private:
  explicit KernelLibrary(void *handle) : handle_(handle) {}

  void *handle_;
  std::vector<KernelFunction> functions_;
};

} // namespace spillway
