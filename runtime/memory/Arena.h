// A tier's memory: one block with a fixed size, in which every place is decided
// at compile time.
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace spillway {

/// Zero-filled memory, aligned to at least 4096 bytes. Only touched pages are
/// resident, never more than `size()` rounded up to 4096. Released by the
/// destructor.
class Arena {
public:
  struct Options {
    /// Asks the kernel for 2 MiB pages where a whole one fits; not an error where
    /// there are none.
    bool hugePages = true;
    /// Touches every page at once instead of at first use.
    bool prefault = false;
  };

  static Result<Arena> allocate(uint64_t bytes, const Options &options);

  Arena(Arena &&other) noexcept;
  Arena &operator=(Arena &&other) noexcept;
  ~Arena();

  std::byte *data() const { return data_; }
  uint64_t size() const { return size_; }
  std::span<std::byte> bytes() const { return {data_, size_}; }

private:
  Arena(std::byte *data, uint64_t size) : data_(data), size_(size) {}

  std::byte *data_ = nullptr;
  uint64_t size_ = 0;
};

} // namespace spillway
