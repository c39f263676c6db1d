// Tensors in protobuf files.

#include "test/Fuzz/Fuzz.h"

#include "runtime/io/TensorProto.h"

using namespace spillway;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Result<HostTensor> tensor = parseTensorProto(std::as_bytes(std::span(data, size)));
  if (!tensor)
    return 0;
  uint64_t bytes = byteWidth(tensor->type);
  for (int64_t dim : tensor->shape)
    bytes *= static_cast<uint64_t>(dim);
  if (tensor->bytes.size() != bytes)
    std::abort();
  return 0;
}
