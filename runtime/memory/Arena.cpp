#include "runtime/memory/Arena.h"
#include "runtime/base/Size.h"

#include <algorithm>
#include <cerrno>
#include <sys/mman.h>
#include <utility>

namespace spillway {

namespace {
constexpr uint64_t pageBytes = 4096;
constexpr uint64_t hugePageBytes = 2 << 20;

uint64_t roundUp(uint64_t value, uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}
} // namespace

Result<Arena> Arena::allocate(uint64_t bytes, const Options &options) {
  if (bytes == 0)
    return Arena(nullptr, 0);
  if (bytes > uint64_t(1) << 46)
    return userError("an arena of {} cannot be allocated", formatSize(bytes));
  uint64_t mapped = roundUp(bytes, pageBytes);
  bool huge = options.hugePages && mapped >= hugePageBytes;
  uint64_t reserved = mapped + (huge ? hugePageBytes - pageBytes : 0);
  void *address = mmap(nullptr, reserved, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED)
    return systemError(errno, fmt::format("cannot allocate an arena of {}", formatSize(bytes)));
  auto *start = static_cast<std::byte *>(address);
  if (huge) {
    auto number = reinterpret_cast<uintptr_t>(start);
    uint64_t before = roundUp(number, hugePageBytes) - number;
    if (before != 0)
      munmap(start, before);
    if (uint64_t behind = reserved - before - mapped; behind != 0)
      munmap(start + before + mapped, behind);
    start += before;
    madvise(start, mapped / hugePageBytes * hugePageBytes, MADV_HUGEPAGE);
  }
  if (options.prefault)
    for (uint64_t offset = 0; offset < mapped; offset += pageBytes)
      *static_cast<volatile std::byte *>(start + offset) = std::byte{0};
  return Arena(start, bytes);
}

Arena::Arena(Arena &&other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Arena &Arena::operator=(Arena &&other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Arena::~Arena() {
  if (data_)
    munmap(data_, roundUp(size_, pageBytes));
}

} // namespace spillway
