// Reductions, softmax and norms against sums in f64, in f32 and in small floats.

#include "test/Unit/Kernels/KernelHarness.h"

#include "runtime/base/Near.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

using namespace spillway;
using namespace spillway::test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::string rowKernel(const std::string &signature, const std::string &body) {
  return "nn.kernel @k" + signature +
         " attributes {schedule = #nn.schedule<row>, units = 1 : i64, scratch = 0 : i64} {\n" +
         body + "\n}";
}

std::string tensor(int outer, int middle, int inner, const std::string &type) {
  return "tensor<" + std::to_string(outer) + "x" + std::to_string(middle) + "x" +
         std::to_string(inner) + "x" + type + ">";
}

uint16_t toBf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
float fromBf16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

struct Shape {
  int outer, middle, inner;
};

/// Line `line` of dimension `dim` (1 or 2) of a shape: its first element, stride and length.
struct Line {
  int first, stride, length;
};
Line lineOf(Shape shape, int dim, int line) {
  if (dim == 2)
    return {line * shape.inner, 1, shape.inner};
  return {line / shape.inner * shape.middle * shape.inner + line % shape.inner, shape.inner,
          shape.middle};
}

class RowKernel : public testing::TestWithParam<std::tuple<Shape, int, std::string>> {
protected:
  /// Runs @k on x once whole and once unit by unit; both must agree bit by bit. Elements
  /// of the parameter's type, seen as floats.
  std::vector<float> run(const CompiledKernels &kernels, const std::vector<float> &x,
                         size_t results) {
    bool small = std::get<2>(GetParam()) == "bf16";
    std::vector<float> input(x), whole(results), cut(results);
    std::vector<uint16_t> smallInput(x.size());
    for (size_t i = 0; i < x.size(); ++i)
      smallInput[i] = toBf16(x[i]);
    void *operands[] = {small ? static_cast<void *>(smallInput.data()) : input.data(),
                        whole.data()};
    kernels.run("k", operands);
    operands[1] = cut.data();
    kernels.run("k", operands, 1);
    EXPECT_EQ(std::memcmp(whole.data(), cut.data(), results * sizeof(float)), 0);
    if (!small)
      return whole;
    std::vector<uint16_t> bits(results);
    std::memcpy(bits.data(), whole.data(), results * sizeof(uint16_t));
    for (size_t i = 0; i < results; ++i)
      whole[i] = fromBf16(bits[i]);
    return whole;
  }

  std::vector<float> input() const {
    auto [shape, dim, type] = GetParam();
    std::vector<float> x(shape.outer * shape.middle * shape.inner);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = fromBf16(toBf16(static_cast<float>(i * 37 % 101) / 16 - 3.2f));
    return x;
  }

  void expectNear(float got, double exact) const {
    double tolerance = std::get<2>(GetParam()) == "bf16" ? 0x1p-8 : 4e-6;
    ASSERT_TRUE(isNear(got, exact, tolerance * std::max(1.0, std::fabs(exact))))
        << got << ", exactly " << exact;
  }
};

TEST_P(RowKernel, Reductions) {
  auto [shape, dim, type] = GetParam();
  using Step = std::function<double(double, double)>;
  struct Kind {
    std::string name;
    double initial;
    Step step;
    std::function<double(double, int)> finish = [](double value, int) { return value; };
  };
  Step add = [](double sum, double x) { return sum + x; };
  std::vector<Kind> kinds = {
      {"sum", 0, add},
      {"mean", 0, add, [](double sum, int count) { return sum / count; }},
      {"max", -infinity, [](double m, double x) { return std::max(m, x); }},
      {"min", infinity, [](double m, double x) { return std::min(m, x); }},
      {"sum_square", 0, [](double sum, double x) { return sum + x * x; }},
      {"l1", 0, [](double sum, double x) { return sum + std::fabs(x); }},
      {"l2", 0, [](double sum, double x) { return sum + x * x; },
       [](double sum, int) { return std::sqrt(sum); }},
      {"log_sum_exp", 0, [](double sum, double x) { return sum + std::exp(x); },
       [](double sum, int) { return std::log(sum); }},
  };
  std::vector<float> x = input();
  int lines = static_cast<int>(x.size()) / (dim == 2 ? shape.inner : shape.middle);
  std::string from = tensor(shape.outer, shape.middle, shape.inner, type);
  std::string to = "tensor<" + std::to_string(shape.outer) + "x" +
                   std::to_string(dim == 2 ? shape.middle : shape.inner) + "x" + type + ">";
  for (const Kind &kind : kinds) {
    SCOPED_TRACE(kind.name);
    CompiledKernels kernels(rowKernel("(%x: " + from + ") -> " + to,
                                      "%0 = nn.reduce #nn.reduction<" + kind.name + "> %x dims [" +
                                          std::to_string(dim) + "] : " + from + " -> " + to +
                                          "\nnn.yield %0 : " + to));
    ASSERT_TRUE(kernels.ok()) << kernels.message();
    std::vector<float> result = run(kernels, x, lines);
    for (int i = 0; i < lines; ++i) {
      Line line = lineOf(shape, dim, i);
      double exact = kind.initial;
      for (int j = 0; j < line.length; ++j)
        exact = kind.step(exact, x[line.first + j * line.stride]);
      expectNear(result[i], kind.finish(exact, line.length));
    }
  }
}

TEST_P(RowKernel, Softmax) {
  auto [shape, dim, type] = GetParam();
  std::vector<float> x = input();
  int lines = static_cast<int>(x.size()) / (dim == 2 ? shape.inner : shape.middle);
  std::string whole = tensor(shape.outer, shape.middle, shape.inner, type);
  for (std::string name : {"softmax", "log_softmax"}) {
    // What comes before and after is fused.
    CompiledKernels kernels(rowKernel("(%x: " + whole + ") -> " + whole,
                                      "%0 = arith.addf %x, %x : " + whole + "\n%1 = nn." + name +
                                          " %0 dim " + std::to_string(dim) + " : " + whole +
                                          "\n%2 = arith.negf %1 : " + whole +
                                          "\nnn.yield %2 : " + whole));
    ASSERT_TRUE(kernels.ok()) << kernels.message();
    std::vector<float> result = run(kernels, x, x.size());
    for (int i = 0; i < lines; ++i) {
      Line line = lineOf(shape, dim, i);
      double sum = 0;
      for (int j = 0; j < line.length; ++j)
        sum += std::exp(2.0 * x[line.first + j * line.stride]);
      for (int j = 0; j < line.length; ++j) {
        int at = line.first + j * line.stride;
        double logarithm = 2.0 * x[at] - std::log(sum);
        expectNear(result[at], -(name == "softmax" ? std::exp(logarithm) : logarithm));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, RowKernel,
                         testing::Combine(testing::Values(Shape{2, 3, 37}, Shape{3, 5, 16},
                                                          Shape{2, 19, 1}, Shape{1, 4, 200}),
                                          testing::Values(1, 2), testing::Values("f32", "bf16")));

TEST(RowKernels, NormsOverTheLastDimensions) {
  CompiledKernels kernels(R"(
    nn.kernel @layer(%x: tensor<5x3x23xf32>, %s: tensor<23xf32>, %b: tensor<23xf32>) -> tensor<5x3x23xf32>
        attributes {schedule = #nn.schedule<row>, units = 1 : i64, scratch = 0 : i64} {
      %0 = nn.layer_norm %x scale %s : tensor<23xf32> bias %b : tensor<23xf32> dim 2 epsilon 1.0e-5 : tensor<5x3x23xf32>
      nn.yield %0 : tensor<5x3x23xf32>
    }
    nn.kernel @rms(%x: tensor<5x3x23xf32>, %s: tensor<3x23xf32>) -> tensor<5x3x23xf32>
        attributes {schedule = #nn.schedule<row>, units = 1 : i64, scratch = 0 : i64} {
      %0 = nn.rms_norm %x scale %s : tensor<3x23xf32> dim 1 epsilon 1.0e-6 : tensor<5x3x23xf32>
      nn.yield %0 : tensor<5x3x23xf32>
    })");
  ASSERT_TRUE(kernels.ok()) << kernels.message();
  std::vector<float> x(345), scale(69), bias(23), result(345);
  for (int i = 0; i < 345; ++i)
    x[i] = static_cast<float>(i * 37 % 101) / 16 - 2;
  for (int i = 0; i < 69; ++i)
    scale[i] = 1 + static_cast<float>(i % 7) / 8;
  for (int i = 0; i < 23; ++i)
    bias[i] = static_cast<float>(i) / 4 - 2;

  void *layer[] = {x.data(), scale.data(), bias.data(), result.data()};
  kernels.run("layer", layer, 1);
  for (int i = 0; i < 345; ++i) {
    const float *row = x.data() + i / 23 * 23;
    double mean = 0, squares = 0;
    for (int j = 0; j < 23; ++j)
      mean += row[j] / 23.0;
    for (int j = 0; j < 23; ++j)
      squares += (row[j] - mean) * (row[j] - mean) / 23;
    ASSERT_NEAR(result[i], (x[i] - mean) / std::sqrt(squares + 1e-5) * scale[i % 23] + bias[i % 23],
                5e-6);
  }
  void *rms[] = {x.data(), scale.data(), result.data()};
  kernels.run("rms", rms, 1);
  for (int i = 0; i < 345; ++i) {
    double squares = 0;
    for (int j = 0; j < 69; ++j)
      squares += std::pow(x[i / 69 * 69 + j], 2) / 69;
    ASSERT_NEAR(result[i], x[i] / std::sqrt(squares + 1e-6) * scale[i % 69], 5e-6);
  }
}

/// Of 64 bits, whose highest number is no double, along either dimension.
TEST(RowKernels, ExtremaOfIntegers) {
  std::string text;
  for (const char *kind : {"min", "max"})
    for (int dim : {0, 1}) {
      std::string result = dim == 0 ? "tensor<5xi64>" : "tensor<3xi64>";
      std::string name = kind + std::to_string(dim);
      text += "nn.kernel @" + name + "(%x: tensor<3x5xi64>) -> " + result +
              " attributes {schedule = #nn.schedule<row>, units = 1 : i64, scratch = 0 : i64} {\n"
              "%0 = nn.reduce #nn.reduction<" + kind + "> %x dims [" + std::to_string(dim) +
              "] : tensor<3x5xi64> -> " + result + "\nnn.yield %0 : " + result + "\n}\n";
    }
  CompiledKernels kernels(text);
  ASSERT_TRUE(kernels.ok()) << kernels.message();
  std::vector<int64_t> x(15);
  for (int i = 0; i < 15; ++i)
    x[i] = (i * 7 % 15 - 7) * (int64_t{1} << 59);
  for (int dim : {0, 1})
    for (bool isMin : {true, false}) {
      std::vector<int64_t> results(dim == 0 ? 5 : 3);
      void *operands[] = {x.data(), results.data()};
      kernels.run((isMin ? "min" : "max") + std::to_string(dim), operands);
      for (size_t at = 0; at < results.size(); ++at) {
        std::vector<int64_t> line;
        for (int i = 0; i < 15; ++i)
          if (static_cast<size_t>(dim == 0 ? i % 5 : i / 5) == at)
            line.push_back(x[i]);
        auto [low, high] = std::ranges::minmax(line);
        ASSERT_EQ(results[at], isMin ? low : high) << "dimension " << dim << ", line " << at;
      }
    }
}

/// The contract: lane i mod 16, then lanes 8, 4, 2, 1 apart.
TEST(RowKernels, SumsByVirtualLanesAndOneTree) {
  CompiledKernels kernels(rowKernel("(%x: tensor<7x105xf32>) -> tensor<7xf32>", R"(
      %0 = nn.reduce #nn.reduction<sum> %x dims [1] : tensor<7x105xf32> -> tensor<7xf32>
      nn.yield %0 : tensor<7xf32>)"));
  ASSERT_TRUE(kernels.ok()) << kernels.message();
  std::vector<float> x(735), sums(7);
  for (int i = 0; i < 735; ++i)
    x[i] = std::sin(static_cast<float>(i)) * std::exp2(static_cast<float>(i % 11));
  void *operands[] = {x.data(), sums.data()};
  kernels.run("k", operands);
  for (int row = 0; row < 7; ++row) {
    float lanes[16] = {};
    for (int i = 0; i < 105; ++i)
      lanes[i % 16] += x[row * 105 + i];
    for (int half = 8; half >= 1; half /= 2)
      for (int i = 0; i < half; ++i)
        lanes[i] += lanes[i + half];
    ASSERT_EQ(sums[row], lanes[0]);
  }
}

/// Chunks of 4096 elements, each by lanes and tree, then their results the same way.
TEST(RowKernels, SumsWholeTensorsByChunks) {
  CompiledKernels kernels(rowKernel("(%x: tensor<7x10533xf32>) -> tensor<f32>", R"(
      %0 = nn.reduce #nn.reduction<sum> %x dims [0, 1] : tensor<7x10533xf32> -> tensor<f32>
      nn.yield %0 : tensor<f32>)"));
  ASSERT_TRUE(kernels.ok()) << kernels.message();
  std::vector<float> x(73731);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = std::sin(static_cast<float>(i)) * std::exp2(static_cast<float>(i % 11));
  auto sum = [](const float *elements, size_t count) {
    float lanes[16] = {};
    for (size_t i = 0; i < count; ++i)
      lanes[i % 16] += elements[i];
    for (int half = 8; half >= 1; half /= 2)
      for (int i = 0; i < half; ++i)
        lanes[i] += lanes[i + half];
    return lanes[0];
  };
  std::vector<float> chunks;
  for (size_t first = 0; first < x.size(); first += 4096)
    chunks.push_back(sum(x.data() + first, std::min<size_t>(4096, x.size() - first)));
  float result = 0;
  void *operands[] = {x.data(), &result};
  kernels.run("k", operands);
  EXPECT_EQ(result, sum(chunks.data(), chunks.size()));
  EXPECT_NE(result, sum(x.data(), x.size())) << "the order does not show";
}

} // namespace
