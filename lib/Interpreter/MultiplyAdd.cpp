// Apart from the rest so that no function of a header is compiled for a newer
// processor than the rest of the program.

#include "MultiplyAdd.h"

namespace {

template <typename T>
__attribute__((target("avx2,fma"), always_inline)) inline void
multiplyAdd(T a, const T *row, T *sums, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (sizeof(T) == 4)
      sums[i] = __builtin_fmaf(a, row[i], sums[i]);
    else
      sums[i] = __builtin_fma(a, row[i], sums[i]);
  }
}

} // namespace

__attribute__((target("avx2,fma"))) void
spillway::multiplyAddRow(double a, const double *row, double *sums, int64_t count) {
  multiplyAdd(a, row, sums, count);
}
__attribute__((target("avx2,fma"))) void
spillway::multiplyAddRow(float a, const float *row, float *sums, int64_t count) {
  multiplyAdd(a, row, sums, count);
}
void spillway::multiplyAddRow(int64_t a, const int64_t *row, int64_t *sums, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    sums[i] = static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(row[i]) +
                                   static_cast<uint64_t>(sums[i]));
}
