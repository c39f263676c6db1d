// The kernels.so of the tests, in the ABI of generated ones.
#include "runtime/device/KernelAbi.h"

#include <cstring>

using spillway::KernelArgument;
using spillway::KernelFault;

namespace {
constexpr int64_t rows = 8, depth = 64, columns = 64, width = spillway::panelWidth;
}

extern "C" {

/// y[8,64] = x[8,64] * w[64,64], w in panels along its columns. A unit is a panel.
void test_matmul(const KernelArgument *arguments, int64_t begin, int64_t end, void *, int32_t *) {
  auto *x = static_cast<const float *>(arguments[0].data);
  auto *w = static_cast<const float *>(arguments[1].data);
  auto *y = static_cast<float *>(arguments[2].data);
  for (int64_t panel = begin; panel < end; ++panel)
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t j = 0; j < width; ++j) {
        float sum = 0;
        for (int64_t k = 0; k < depth; ++k)
          sum = __builtin_fmaf(x[row * depth + k],
                               w[((panel - arguments[1].origin) * depth + k) * width + j], sum);
        y[row * columns + panel * width + j] = sum;
      }
}

/// y = x + 1 by way of the scratch. A unit is a row of 64.
void test_increment(const KernelArgument *arguments, int64_t begin, int64_t end, void *scratch,
                    int32_t *) {
  auto *x = static_cast<const float *>(arguments[0].data);
  auto *y = static_cast<float *>(arguments[1].data);
  auto *room = static_cast<float *>(scratch);
  for (int64_t row = begin; row < end; ++row) {
    std::memcpy(room, x + row * columns, columns * sizeof(float));
    for (int64_t j = 0; j < columns; ++j)
      room[j] += 1;
    std::memcpy(y + row * columns, room, columns * sizeof(float));
  }
}

/// Finds a bad index in its last unit.
void test_fault(const KernelArgument *, int64_t, int64_t end, void *, int32_t *fault) {
  if (end == rows)
    *fault = static_cast<int32_t>(KernelFault::indexOutOfRange);
}
}
