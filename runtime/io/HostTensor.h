// A tensor in memory, as files of inputs and outputs hold it.
#pragma once

#include "runtime/base/DataType.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace spillway {

/// Row-major elements, each as stored (a boolean one byte, 0 or 1).
struct HostTensor {
  std::string name;
  DataType type = DataType::f32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
};

} // namespace spillway
