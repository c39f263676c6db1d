// Errors of the elementary functions against the C library's, over sweeps of all floats.

#include "test/Unit/Kernels/KernelHarness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>

using namespace spillway;
using namespace spillway::test;

namespace {

constexpr size_t blockSize = 4096;
constexpr float infinity = std::numeric_limits<float>::infinity();

struct Function {
  /// The operation of math.
  std::string name;
  std::function<long double(long double)> exact;
  /// Most ulp of f32 and f64.
  double f32Ulp = 0.52, f64Ulp = 4;
  /// f64 arguments are tested up to here.
  double f64Limit = std::numeric_limits<double>::max();
};

std::string kernel(const std::string &op, const std::string &type, size_t size,
                   const std::string &name) {
  std::string tensor = "tensor<" + std::to_string(size) + "x" + type + ">";
  return "nn.kernel @" + name + "(%x: " + tensor + ") -> " + tensor +
         " attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64} {\n"
         "  %0 = math." +
         op + " %x : " + tensor + "\n  nn.yield %0 : " + tensor + "\n}\n";
}

/// |got - exact| in units of the last place of T at `exact`.
template <typename T> double ulpError(T got, long double exact) {
  if (std::isnan(exact))
    return std::isnan(got) ? 0 : INFINITY;
  T rounded = static_cast<T>(exact);
  if (got == rounded)
    return 0;
  if (!std::isfinite(got) && std::isfinite(rounded))
    return INFINITY;
  if (!std::isfinite(rounded))
    return INFINITY;
  int exponent = std::max(std::ilogb(rounded == 0 ? std::numeric_limits<T>::denorm_min() : rounded),
                          std::numeric_limits<T>::min_exponent - 1);
  long double ulp = std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits + 1);
  return static_cast<double>(std::fabs(static_cast<long double>(got) - exact) / ulp);
}

const std::vector<Function> &functions() {
  using L = long double;
  static const std::vector<Function> all = {
      {"exp", [](L x) { return std::exp(x); }, 2},
      {"expm1", [](L x) { return std::expm1(x); }},
      {"exp2", [](L x) { return std::exp2(x); }},
      {"log", [](L x) { return std::log(x); }},
      {"log1p", [](L x) { return std::log1p(x); }},
      {"log2", [](L x) { return std::log2(x); }},
      {"log10", [](L x) { return std::log10(x); }},
      {"tanh", [](L x) { return std::tanh(x); }, 2},
      {"erf", [](L x) { return std::erf(x); }, 2},
      {"erfc", [](L x) { return std::erfc(x); }, 0.52, 8, 2},
      {"sin", [](L x) { return std::sin(x); }, 0.52, 4, 1e9},
      {"cos", [](L x) { return std::cos(x); }, 0.52, 4, 1e9},
      {"tan", [](L x) { return std::tan(x); }, 0.52, 4, 1e9},
      {"atan", [](L x) { return std::atan(x); }},
      {"asin", [](L x) { return std::asin(x); }},
      {"acos", [](L x) { return std::acos(x); }},
      {"sinh", [](L x) { return std::sinh(x); }},
      {"cosh", [](L x) { return std::cosh(x); }},
      {"asinh", [](L x) { return std::asinh(x); }},
      {"acosh", [](L x) { return std::acosh(x); }},
      {"atanh", [](L x) { return std::atanh(x); }},
  };
  return all;
}

/// Compiled once: every function in f32 on blocks and on one element, and in f64.
const CompiledKernels &kernels() {
  static const CompiledKernels compiled([] {
    std::string module;
    for (const Function &f : functions()) {
      module += kernel(f.name, "f32", blockSize, f.name + "_f32");
      module += kernel(f.name, "f32", 1, f.name + "_one");
      module += kernel(f.name, "f64", blockSize, f.name + "_f64");
    }
    return module;
  }());
  return compiled;
}

class ElementaryFunction : public testing::TestWithParam<Function> {
protected:
  void SetUp() override { ASSERT_TRUE(kernels().ok()) << kernels().message(); }

  template <typename T> std::vector<T> apply(const std::string &suffix, std::vector<T> &x) {
    std::vector<T> y(x.size());
    void *operands[] = {x.data(), y.data()};
    kernels().run(GetParam().name + suffix, operands);
    return y;
  }
};

TEST_P(ElementaryFunction, SinglePrecisionOverTheWholeRange) {
  const Function &f = GetParam();
  double worst = 0;
  float worstAt = 0;
  auto test = [&](std::vector<float> &x) {
    std::vector<float> y = apply("_f32", x);
    for (size_t i = 0; i < x.size(); ++i) {
      double error = ulpError(y[i], f.exact(x[i]));
      if (!(error <= worst)) {
        worst = error;
        worstAt = x[i];
      }
    }
  };
  std::vector<float> x;
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += 1999) {
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    if (x.size() == blockSize) {
      test(x);
      x.clear();
    }
  }
  x.resize(blockSize, 0);
  size_t edge = 0;
  for (float value : {0.0f,
                      1.0f,
                      0.5f,
                      2.0f,
                      88.72283f,
                      88.72284f,
                      87.33655f,
                      103.97208f,
                      104.0f,
                      1e-45f,
                      1.17549435e-38f,
                      1e-20f,
                      1e-7f,
                      0.34657359f,
                      0.9277344f,
                      3.9192059f,
                      4.0f,
                      1e6f,
                      1048575.9f,
                      16367173.0f,
                      1e22f,
                      3.4028235e38f,
                      1.5707964f,
                      3.1415927f,
                      0.41421357f,
                      infinity,
                      std::nanf("")})
    for (float sign : {1.0f, -1.0f})
      for (float next : {0.0f, -infinity, infinity})
        x[edge++] = next == 0 ? sign * value : std::nextafter(sign * value, next);
  test(x);
  std::printf("%8s f32: %.3f ulp at %a\n", f.name.c_str(), worst, worstAt);
  EXPECT_TRUE(worst <= f.f32Ulp) << worst << " at " << worstAt;
}

TEST_P(ElementaryFunction, DoublePrecision) {
  const Function &f = GetParam();
  double worst = 0, worstAt = 0;
  std::vector<double> x;
  uint64_t step = 0x7ff1234567891 * 5;
  for (uint64_t bits = 0, count = 0; count < 200 * blockSize; ++count, bits += step) {
    // Half of the arguments are of moderate size.
    double value = std::bit_cast<double>(bits);
    if (count % 2)
      value = std::ldexp(static_cast<double>(static_cast<int64_t>(bits)), -58);
    if (!(std::fabs(value) <= f.f64Limit))
      value = 1;
    x.push_back(value);
    if (x.size() < blockSize)
      continue;
    std::vector<double> y = apply("_f64", x);
    for (size_t i = 0; i < x.size(); ++i) {
      long double exact = f.exact(x[i]);
      double error = ulpError(y[i], exact);
      if (!(error <= worst)) {
        worst = error;
        worstAt = x[i];
      }
    }
    x.clear();
  }
  std::printf("%8s f64: %.3f ulp at %a\n", f.name.c_str(), worst, worstAt);
  EXPECT_TRUE(worst <= f.f64Ulp) << worst << " at " << worstAt;
}

TEST_P(ElementaryFunction, OneElementHasTheBitsOfAVector) {
  std::vector<float> x(blockSize);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = std::bit_cast<float>(static_cast<uint32_t>(i * 1048573));
  std::vector<float> y = apply("_f32", x);
  for (size_t i = 0; i < x.size(); ++i) {
    std::vector<float> one = {x[i]};
    float alone = apply("_one", one)[0];
    if (!std::isnan(alone) || !std::isnan(y[i]))
      ASSERT_EQ(std::bit_cast<uint32_t>(alone), std::bit_cast<uint32_t>(y[i])) << x[i];
  }
}

INSTANTIATE_TEST_SUITE_P(All, ElementaryFunction, testing::ValuesIn(functions()),
                         [](const auto &info) { return info.param.name; });

TEST(Power, AgreesWithTheCLibrary) {
  CompiledKernels kernels(R"(
    nn.kernel @pow(%x: tensor<4096xf32>, %y: tensor<4096xf32>) -> tensor<4096xf32>
        attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64} {
      %0 = math.powf %x, %y : tensor<4096xf32>
      nn.yield %0 : tensor<4096xf32>
    })");
  ASSERT_TRUE(kernels.ok()) << kernels.message();
  std::vector<float> special = {0.0f,     -0.0f,     1.0f,          -1.0f,       2.0f,
                                -2.0f,    3.0f,      -3.0f,         0.5f,        -0.5f,
                                infinity, -infinity, std::nanf(""), 1e-40f,      -1e-40f,
                                3e38f,    -3e38f,    1.5f,          16777217.0f, 0.99999994f};
  std::vector<float> x(blockSize, 1.5f), y(blockSize, 2.5f), z(blockSize);
  size_t pairs = 0;
  for (float a : special)
    for (float b : special) {
      x[pairs] = a;
      y[pairs++] = b;
    }
  for (; pairs < blockSize; ++pairs) {
    x[pairs] = std::exp2(static_cast<float>(pairs % 197) / 7 - 14);
    y[pairs] = static_cast<float>(pairs % 89) / 5 - 9;
  }
  void *operands[] = {x.data(), y.data(), z.data()};
  kernels.run("pow", operands);
  for (size_t i = 0; i < blockSize; ++i) {
    double error = ulpError(z[i], std::pow(static_cast<long double>(x[i]), y[i]));
    ASSERT_TRUE(error <= 0.52) << x[i] << " ^ " << y[i] << " = " << z[i];
    if (!std::isnan(z[i]))
      ASSERT_EQ(std::signbit(z[i]), std::signbit(std::pow(x[i], y[i]))) << x[i] << " ^ " << y[i];
  }
}

template <typename T> void expectExactRemainders(const std::string &type) {
  std::string tensor = "tensor<4096x" + type + ">";
  CompiledKernels kernels("nn.kernel @mod(%x: " + tensor + ", %y: " + tensor + ") -> " + tensor +
                          " attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 "
                          ": i64} {\n%0 = arith.remf %x, %y : " +
                          tensor + "\nnn.yield %0 : " + tensor + "\n}");
  ASSERT_TRUE(kernels.ok()) << kernels.message();
  using Limits = std::numeric_limits<T>;
  std::vector<T> special = {T(0),
                            T(-0.0),
                            T(1),
                            T(-1),
                            T(3.5),
                            T(-2.25),
                            T(1e30),
                            T(-1e-30),
                            Limits::max(),
                            Limits::min(),
                            Limits::denorm_min(),
                            Limits::infinity(),
                            Limits::quiet_NaN(),
                            std::nextafter(T(3), T(4)),
                            T(1) / T(3)};
  std::vector<T> x(blockSize), y(blockSize), z(blockSize);
  size_t count = 0;
  for (T a : special)
    for (T b : special) {
      x[count] = a;
      y[count++] = b;
    }
  for (; count < blockSize; ++count) {
    x[count] =
        std::ldexp(T(1) / T(count), static_cast<int>(count % 113) - 40) * (count % 2 ? 1 : -1);
    y[count] = T(1) / T(count % 37 + 3);
  }
  void *operands[] = {x.data(), y.data(), z.data()};
  kernels.run("mod", operands);
  for (size_t i = 0; i < blockSize; ++i) {
    T exact = std::fmod(x[i], y[i]);
    if (std::isnan(exact))
      ASSERT_TRUE(std::isnan(z[i])) << x[i] << " % " << y[i];
    else
      ASSERT_TRUE(z[i] == exact && std::signbit(z[i]) == std::signbit(exact))
          << x[i] << " % " << y[i] << " = " << z[i] << ", not " << exact;
  }
}

TEST(Remainder, IsExact) {
  expectExactRemainders<float>("f32");
  expectExactRemainders<double>("f64");
}

} // namespace
