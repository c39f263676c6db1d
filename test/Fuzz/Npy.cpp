// .npy files: the header alone, then the file.

#include "test/Fuzz/Fuzz.h"

#include "runtime/io/Npy.h"

using namespace spillway;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const fuzz::Folder folder;
  (void)parseNpyHeader(std::as_bytes(std::span(data, size)));
  std::filesystem::path file = folder.write("x.npy", {data, size});
  if (Result<NpyHeader> header = readNpyHeader(file)) {
    std::vector<std::byte> bytes(header->dataBytes);
    if (!readNpyData(file, *header, bytes).ok())
      std::abort();
  }
  return 0;
}
