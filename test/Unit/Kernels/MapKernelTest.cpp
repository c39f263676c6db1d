// Map kernels against plain loops.

#include "test/Unit/Kernels/KernelHarness.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

using namespace spillway;
using namespace spillway::test;

namespace {

std::vector<float> ramp(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(static_cast<int>(i * 37 % 101) - 50) / 8;
  return values;
}

/// Runs `kernel` on `inputs` with every unit by itself and all at once; both must agree bit by bit.
template <typename Result>
std::vector<Result> runAllCuts(const CompiledKernels &kernels, const std::string &kernel,
                               std::vector<void *> inputs, size_t results, int32_t *fault = nullptr) {
  std::vector<Result> whole(results + 16), cut(results + 16);
  std::memset(whole.data(), 0x5c, whole.size() * sizeof(Result));
  std::memset(cut.data(), 0x5c, cut.size() * sizeof(Result));
  std::vector<void *> operands = inputs;
  operands.push_back(whole.data());
  int32_t raised = kernels.run(kernel, operands);
  operands.back() = cut.data();
  EXPECT_EQ(kernels.run(kernel, operands, 1), raised);
  EXPECT_EQ(std::memcmp(whole.data(), cut.data(), whole.size() * sizeof(Result)), 0);
  std::vector<unsigned char> guard(16 * sizeof(Result), 0x5c);
  EXPECT_EQ(std::memcmp(whole.data() + results, guard.data(), guard.size()), 0)
      << "writes past the end";
  if (fault)
    *fault = raised;
  whole.resize(results);
  return whole;
}

TEST(MapKernel, ElementwiseChainOfAwkwardLength) {
  CompiledKernels kernels(R"(
    nn.kernel @k(%x: tensor<3x7x11x5xf32>, %y: tensor<3x7x11x5xf32>) -> tensor<3x7x11x5xf32>
        attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64} {
      %c = arith.constant dense<2.5> : tensor<3x7x11x5xf32>
      %0 = arith.mulf %x, %c : tensor<3x7x11x5xf32>
      %1 = arith.addf %0, %y : tensor<3x7x11x5xf32>
      %2 = arith.cmpf ogt, %1, %x : tensor<3x7x11x5xf32>
      %3 = arith.select %2, %1, %x : tensor<3x7x11x5xi1>, tensor<3x7x11x5xf32>
      nn.yield %3 : tensor<3x7x11x5xf32>
    })");
  ASSERT_TRUE(kernels.ok()) << kernels.message();
  size_t n = 3 * 7 * 11 * 5;
  std::vector<float> x = ramp(n), y = ramp(n);
  std::ranges::reverse(y);
  std::vector<float> result = runAllCuts<float>(kernels, "k", {x.data(), y.data()}, n);
  for (size_t i = 0; i < n; ++i)
    ASSERT_EQ(result[i], std::max(x[i] * 2.5f + y[i], x[i])) << i;
}

} // namespace
