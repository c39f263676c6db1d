// The kernels.so of the tests, in the ABI of generated ones.
#include "runtime/device/KernelAbi.h"

#include <cstring>

using spillway::KernelArgument;
using spillway::KernelFault;
using spillway::KernelRange;

namespace {
constexpr int64_t rows = 8, depth = 64, columns = 64, width = spillway::panelWidth;
}

extern "C" {

/// y[8,64] = x[8,64] * w[64,64], w in panels along its columns. A unit is a panel.
void test_matmul(const KernelArgument *arguments, const KernelRange *range, void *, int32_t *) {
  auto *x = static_cast<const float *>(arguments[0].data);
  auto *w = static_cast<const float *>(arguments[1].data);
  auto *y = static_cast<float *>(arguments[2].data);
  for (int64_t panel = range->begin; panel < range->end; ++panel)
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
void test_increment(const KernelArgument *arguments, const KernelRange *range, void *scratch,
                    int32_t *) {
  auto *x = static_cast<const float *>(arguments[0].data);
  auto *y = static_cast<float *>(arguments[1].data);
  auto *room = static_cast<float *>(scratch);
  for (int64_t row = range->begin; row < range->end; ++row) {
    std::memcpy(room, x + row * columns, columns * sizeof(float));
    for (int64_t j = 0; j < columns; ++j)
      room[j] += 1;
    std::memcpy(y + row * columns, room, columns * sizeof(float));
  }
}

/// One step of a made-up optimizer. From the batch x[4], the learning rate and the step's number
/// (f64): m = m / 2 + sum(x), w = w + lr * m + step / 1024. A unit is a row of 64 of w and m.
void test_update(const KernelArgument *arguments, const KernelRange *range, void *, int32_t *) {
  auto *x = static_cast<const float *>(arguments[0].data);
  auto lr = static_cast<float>(*static_cast<const double *>(arguments[1].data));
  auto step = static_cast<float>(*static_cast<const double *>(arguments[2].data));
  auto *w = static_cast<float *>(arguments[3].data);
  auto *m = static_cast<float *>(arguments[4].data);
  float sum = x[0] + x[1] + x[2] + x[3];
  int64_t first = arguments[3].origin;
  for (int64_t i = (range->begin - first) * columns; i < (range->end - first) * columns; ++i) {
    m[i] = __builtin_fmaf(0.5f, m[i], sum);
    w[i] = __builtin_fmaf(lr, m[i], w[i]) + step * 0x1p-10f;
  }
}

/// loss = x[0] * w[0] + ... + x[3] * w[3].
void test_loss(const KernelArgument *arguments, const KernelRange *, void *, int32_t *) {
  auto *x = static_cast<const float *>(arguments[0].data);
  auto *w = static_cast<const float *>(arguments[1].data);
  float sum = 0;
  for (int i = 0; i < 4; ++i)
    sum = __builtin_fmaf(x[i], w[i], sum);
  *static_cast<float *>(arguments[2].data) = sum;
}

/// y[unit, part] += the number of parts, of y[8,64]: what each call was asked for.
void test_parts(const KernelArgument *arguments, const KernelRange *range, void *, int32_t *) {
  auto *y = static_cast<float *>(arguments[0].data);
  for (int64_t unit = range->begin; unit < range->end; ++unit)
    y[unit * columns + range->part] += static_cast<float>(range->parts);
}

/// Finds a bad index in its last unit.
void test_fault(const KernelArgument *, const KernelRange *range, void *, int32_t *fault) {
  if (range->end == rows)
    *fault = static_cast<int32_t>(KernelFault::indexOutOfRange);
}
}
