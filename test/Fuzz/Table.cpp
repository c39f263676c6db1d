// The index of a store and the table of a step over it: the size of the index and the blocks of its file
// (u32 each), the index, the table.

#include "test/Fuzz/Fuzz.h"

#include "runtime/executor/Program.h"

#include <cstring>

using namespace spillway;

namespace {

/// FlatBuffers are read where 8 bytes are aligned.
std::vector<std::byte> aligned(std::span<const uint8_t> bytes) {
  std::vector<std::byte> copy(bytes.size());
  if (!bytes.empty())
    std::memcpy(copy.data(), bytes.data(), bytes.size());
  return copy;
}

} // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const fuzz::Folder folder;
  uint32_t header[2];
  if (size < sizeof(header))
    return 0;
  std::memcpy(header, data, sizeof(header));
  std::span<const uint8_t> rest(data + sizeof(header), size - sizeof(header));
  size_t indexBytes = std::min<size_t>(header[0], rest.size());
  std::filesystem::path states = folder.write(std::string(storeDataName), {});
  std::filesystem::resize_file(states, uint64_t{4096} * (header[1] % (1 << 20)));
  std::vector<std::byte> index = aligned(rest.first(indexBytes)), table = aligned(rest.subspan(indexBytes));
  if (Result<Store> store = Store::parse(index, folder.path()))
    for (uint32_t rank : {0u, 1u})
      (void)Program::parse(table, *store, rank);
  return 0;
}
