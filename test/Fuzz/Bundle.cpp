// The manifest of a bundle whose other files are there.

#include "test/Fuzz/Fuzz.h"

#include "runtime/bundle/Bundle.h"
#include "runtime/state/Store.h"

using namespace spillway;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const fuzz::Folder folder;
  static const uint8_t other[] = {1, 2, 3, 4, 5, 6, 7, 8};
  static const bool written = [] {
    for (std::string_view name : {kernelsName, tableName, planName, programName, storeDataName, storeIndexName})
      folder.write(std::string(name), other);
    return true;
  }();
  (void)written;
  folder.write(std::string(manifestName), {data, size});
  if (Result<Bundle> bundle = Bundle::open(folder.path()))
    (void)bundle->verify();
  return 0;
}
