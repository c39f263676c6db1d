#include "runtime/executor/KernelLibrary.h"

#include <dlfcn.h>
#include <utility>

namespace spillway {

Result<KernelLibrary> KernelLibrary::load(const std::filesystem::path &path,
                                          std::span<const std::string> symbols) {
  // An absolute path, so that the loader does not search for it.
  std::error_code code;
  std::filesystem::path absolute = std::filesystem::absolute(path, code);
  if (code)
    return systemError(code.value(), fmt::format("cannot find '{}'", path.string()));
  void *handle = dlopen(absolute.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return machineError("cannot load the kernels: {}", dlerror());
  KernelLibrary library(handle);
  library.functions_.reserve(symbols.size());
  for (const std::string &symbol : symbols) {
    void *address = dlsym(handle, symbol.c_str());
    if (!address)
      return machineError("'{}' has no kernel '{}'", path.string(), symbol);
    library.functions_.push_back(reinterpret_cast<KernelFunction>(address));
  }
  return library;
}

KernelLibrary::KernelLibrary(KernelLibrary &&other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), functions_(std::move(other.functions_)) {}

KernelLibrary &KernelLibrary::operator=(KernelLibrary &&other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(functions_, other.functions_);
  return *this;
}

KernelLibrary::~KernelLibrary() {
  if (handle_)
    dlclose(handle_);
}

} // namespace spillway
