// The inner loop of a matrix product.
#pragma once

#include <cstdint>

namespace spillway {

/// sums[i] = a * row[i] + sums[i], rounded once, for i in [0, count). Needs AVX2
/// and FMA, the baseline of every target.
void multiplyAddRow(double a, const double *row, double *sums, int64_t count);
void multiplyAddRow(float a, const float *row, float *sums, int64_t count);
/// Wraps around.
void multiplyAddRow(int64_t a, const int64_t *row, int64_t *sums, int64_t count);

} // namespace spillway
