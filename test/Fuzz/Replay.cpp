// Runs a fuzzer's reader on the files of a folder: what was found must stay harmless.

#include "test/Fuzz/Fuzz.h"

#include <cstdio>
#include <iterator>
#include <vector>

int main(int argc, char **argv) {
  int count = 0;
  std::error_code code;
  for (int i = 1; i < argc; ++i)
    for (const auto &entry : std::filesystem::directory_iterator(argv[i], code)) {
      std::ifstream file(entry.path(), std::ios::binary);
      std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
      LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
      ++count;
    }
  std::printf("%d inputs\n", count);
  return count == 0;
}
