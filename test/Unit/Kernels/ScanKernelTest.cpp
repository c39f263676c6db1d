// Running sums against plain loops.

#include "test/Unit/Kernels/KernelHarness.h"

#include <gtest/gtest.h>

using namespace spillway;
using namespace spillway::test;

namespace {

struct Scan {
  int dim;
  bool exclusive, reverse;
  int inner;
};

class ScanKernel : public testing::TestWithParam<Scan> {};

/// 2 * cumsum(x + 1) over tensor<3x11xINNERxf32>, in every cut of units.
TEST_P(ScanKernel, SumsInOrder) {
  auto [dim, exclusive, reverse, inner] = GetParam();
  std::string type = "tensor<3x11x" + std::to_string(inner) + "xf32>";
  CompiledKernels kernels(
      "nn.kernel @k(%x: " + type + ") -> " + type +
      " attributes {schedule = #nn.schedule<scan>, units = 1 : i64, scratch = 0 "
      ": i64} {\n"
      "%one = arith.constant dense<1.0> : " +
      type + "\n%two = arith.constant dense<2.0> : " + type +
      "\n%0 = arith.addf %x, %one : " + type + "\n%1 = nn.cumsum %0 dim " + std::to_string(dim) +
      (exclusive ? " exclusive" : "") + (reverse ? " reverse" : "") + " : " + type +
      "\n%2 = arith.mulf %1, %two : " + type + "\nnn.yield %2 : " + type + "\n}");
  ASSERT_TRUE(kernels.ok()) << kernels.message();
  int shape[] = {3, 11, inner}, total = 33 * inner;
  std::vector<float> x(total), expected(total), result(total), cut(total);
  for (int i = 0; i < total; ++i)
    x[i] = static_cast<float>(i * 37 % 101) / 7 - 5;
  int stride = dim == 2 ? 1 : dim == 1 ? inner : 11 * inner;
  for (int start = 0; start < total; ++start) {
    if (start / stride % shape[dim] != 0)
      continue;
    float sum = 0;
    for (int step = 0; step < shape[dim]; ++step) {
      int at = start + stride * (reverse ? shape[dim] - 1 - step : step);
      float next = sum + (x[at] + 1);
      expected[at] = 2 * (exclusive ? sum : next);
      sum = next;
    }
  }
  void *operands[] = {x.data(), result.data()};
  kernels.run("k", operands);
  EXPECT_EQ(result, expected);
  operands[1] = cut.data();
  kernels.run("k", operands, 1);
  EXPECT_EQ(cut, expected);
}

INSTANTIATE_TEST_SUITE_P(Shapes, ScanKernel,
                         testing::Values(Scan{0, false, false, 5}, Scan{1, true, false, 16},
                                         Scan{1, false, true, 37}, Scan{2, true, true, 19},
                                         Scan{2, false, false, 1}, Scan{0, true, true, 33}));

TEST(ScanKernelTypes, IntegersAndHalves) {
  CompiledKernels kernels(R"(
    nn.kernel @ints(%x: tensor<2x9xi64>) -> tensor<18xi64>
        attributes {schedule = #nn.schedule<scan>, units = 1 : i64, scratch = 0 : i64} {
      %0 = nn.cumsum %x dim 1 : tensor<2x9xi64>
      %1 = nn.reshape %0 : tensor<2x9xi64> -> tensor<18xi64>
      nn.yield %1 : tensor<18xi64>
    }
    nn.kernel @halves(%x: tensor<2100xf16>) -> tensor<2100xf16>
        attributes {schedule = #nn.schedule<scan>, units = 1 : i64, scratch = 0 : i64} {
      %0 = nn.cumsum %x dim 0 : tensor<2100xf16>
      nn.yield %0 : tensor<2100xf16>
    })");
  ASSERT_TRUE(kernels.ok()) << kernels.message();
  std::vector<int64_t> x(18), sums(18);
  for (int i = 0; i < 18; ++i)
    x[i] = i * i - 50;
  void *operands[] = {x.data(), sums.data()};
  kernels.run("ints", operands);
  int64_t sum = 0;
  for (int i = 0; i < 18; ++i) {
    sum = i % 9 ? sum + x[i] : x[i];
    ASSERT_EQ(sums[i], sum);
  }
  // Ones: in f16 itself the sum would stop at 2048.
  std::vector<uint16_t> ones(2100, 0x3c00), halves(2100);
  void *halfOperands[] = {ones.data(), halves.data()};
  kernels.run("halves", halfOperands);
  EXPECT_EQ(halves[2047], 0x6800);
  EXPECT_EQ(halves[2099], 0x681a);
}

} // namespace
