// Memory that ends where the process may not read.
#pragma once

#include <cstddef>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace spillway::test {

/// A copy of some bytes. The bytes behind it, up to `alignment`, belong to nobody; those
/// behind them fault when they are touched.
class GuardedMemory {
public:
  explicit GuardedMemory(const std::vector<std::byte> &bytes, size_t alignment = 1)
      : size_(bytes.size()) {
    auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    size_t pages = (size_ + page - 1) / page * page;
    mapped_ = pages + page;
    map_ = static_cast<std::byte *>(
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(map_ + pages, page, PROT_NONE);
    data_ = map_ + (pages - size_) / alignment * alignment;
    if (size_)
      std::memcpy(data_, bytes.data(), size_);
  }
  GuardedMemory(GuardedMemory &&other) noexcept
      : map_(std::exchange(other.map_, nullptr)), data_(other.data_), size_(other.size_),
        mapped_(other.mapped_) {}
  ~GuardedMemory() {
    if (map_)
      munmap(map_, mapped_);
  }

  std::byte *data() const { return data_; }
  size_t size() const { return size_; }

private:
  std::byte *map_, *data_;
  size_t size_, mapped_;
};

} // namespace spillway::test
