// Errors of the elementary functions against the C library's: f16 and bf16 over all numbers, f32
// over every 97th and all that lie around edges, f64 over a sample.

#include "test/Unit/Kernels/KernelHarness.h"
#include "test/Unit/Kernels/Numbers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <cstdio>
#include <functional>
#include <limits>
#include <map>

using namespace spillway;
using namespace spillway::test;

namespace {

constexpr size_t blockSize = 4096;
constexpr float infinity = std::numeric_limits<float>::infinity();

struct Function {
  /// The operation of math.
  std::string name;
  /// Exact to far less than an ulp of f32, and of f64.
  double (*exactToF32)(double);
  long double (*exactToF64)(long double);
  /// Most ulp of f32 and f64.
  double f32Ulp = 0.52, f64Ulp = 4;
  /// f64 arguments are tested up to here.
  double f64Limit = std::numeric_limits<double>::max();

  friend void PrintTo(const Function &function, std::ostream *stream) { *stream << function.name; }
};

/// A binary floating-point format: digits of the mantissa, exponents of its normal numbers.
struct Format {
  int digits, minExponent, maxExponent;
};
template <typename T>
constexpr Format formatOf{std::numeric_limits<T>::digits, std::numeric_limits<T>::min_exponent - 1,
                          std::numeric_limits<T>::max_exponent - 1};
constexpr Format f16{11, -14, 15}, bf16{8, -126, 127};

/// |got - exact| in units of the last place of a format at `exact`. An infinity counts as the number
/// that would follow the highest. Infinite where one is NaN, or a zero has the wrong sign.
double ulpError(long double got, long double exact, Format format) {
  constexpr double wrong = std::numeric_limits<double>::infinity();
  if (std::isnan(exact) || std::isnan(got))
    return std::isnan(exact) && std::isnan(got) ? 0 : wrong;
  if (got == exact)
    return got == 0 && std::signbit(got) != std::signbit(exact) ? wrong : 0;
  long double end = std::ldexp(1.0L, format.maxExponent + 1);
  if (std::isinf(got))
    got = std::copysign(end, got);
  if (std::fabs(exact) > end)
    exact = std::copysign(end, exact);
  int exponent = exact == 0 ? format.minExponent
                            : std::clamp(std::ilogb(exact), format.minExponent, format.maxExponent);
  return static_cast<double>(std::fabs(got - exact) /
                             std::ldexp(1.0L, exponent - format.digits + 1));
}
template <typename T> double ulpError(T got, long double exact) {
  return ulpError(static_cast<long double>(got), exact, formatOf<T>);
}

/// The largest error of a sweep.
struct Worst {
  double error = 0, at = 0;

  void add(double candidate, double x) {
    if (!(candidate <= error)) {
      error = candidate;
      at = x;
    }
  }
  void report(const Function &function, const char *type, double limit) const {
    std::printf("%8s %4s: %.3f ulp at %a\n", function.name.c_str(), type, error, at);
    EXPECT_TRUE(error <= limit) << error << " ulp at " << at;
  }
};

#define SPILLWAY_FUNCTION(name)                                                                    \
  #name, [](double x) { return std::name(x); }, [](long double x) { return std::name(x); }

const std::vector<Function> &functions() {
  static const std::vector<Function> all = {
      {SPILLWAY_FUNCTION(exp), 2},
      {SPILLWAY_FUNCTION(expm1)},
      {SPILLWAY_FUNCTION(exp2)},
      {SPILLWAY_FUNCTION(log)},
      {SPILLWAY_FUNCTION(log1p)},
      {SPILLWAY_FUNCTION(log2)},
      {SPILLWAY_FUNCTION(log10)},
      {SPILLWAY_FUNCTION(tanh), 2},
      {SPILLWAY_FUNCTION(erf), 2},
      {SPILLWAY_FUNCTION(erfc), 0.52, 8, 2},
      {SPILLWAY_FUNCTION(sin), 0.52, 4, 1e9},
      {SPILLWAY_FUNCTION(cos), 0.52, 4, 1e9},
      {SPILLWAY_FUNCTION(tan), 0.52, 4, 1e9},
      {SPILLWAY_FUNCTION(atan)},
      {SPILLWAY_FUNCTION(asin)},
      {SPILLWAY_FUNCTION(acos)},
      {SPILLWAY_FUNCTION(sinh)},
      {SPILLWAY_FUNCTION(cosh)},
      {SPILLWAY_FUNCTION(asinh)},
      {SPILLWAY_FUNCTION(acosh)},
      {SPILLWAY_FUNCTION(atanh)},
  };
  return all;
}

#undef SPILLWAY_FUNCTION

std::string kernel(const std::string &op, const std::string &type, size_t size,
                   const std::string &name) {
  std::string tensor = "tensor<" + std::to_string(size) + "x" + type + ">";
  return "nn.kernel @" + name + "(%x: " + tensor + ") -> " + tensor +
         " attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64} {\n"
         "  %0 = math." +
         op + " %x : " + tensor + "\n  nn.yield %0 : " + tensor + "\n}\n";
}

/// A function in each type on blocks, and in f32 on one element; compiled once.
const CompiledKernels &kernels(const Function &f) {
  static std::map<std::string, std::unique_ptr<CompiledKernels>> compiled;
  std::unique_ptr<CompiledKernels> &known = compiled[f.name];
  if (!known) {
    std::string module = kernel(f.name, "f32", 1, "one");
    for (std::string type : {"f32", "f64", "f16", "bf16"})
      module += kernel(f.name, type, blockSize, type);
    known = std::make_unique<CompiledKernels>(module);
  }
  return *known;
}

/// Numbers where a function begins to overflow, underflow, saturate, cancel or change its way of
/// computing; angles near multiples of pi / 2 and large ones.
constexpr float edges[] = {
    0.0f,        1e-45f,      1.17549435e-38f, 1e-20f,      1e-7f,       2.44140625e-4f, 0.25f,
    0.34657359f, 0.41421357f, 0.5f,            0.70710678f, 0.9277344f,  1.0f,           1.4142135f,
    1.5707964f,  2.0f,        3.1415927f,      3.9192059f,  4.0f,        4.7123890f,     9.0f,
    10.054f,     16.0f,       17.328680f,      22.0f,       64.0f,       87.33655f,      88.02969f,
    88.72284f,   89.415985f,  103.27893f,      103.97208f,  126.0f,      127.0f,         128.0f,
    149.0f,      150.0f,      1e6f,            1048575.9f,  16367173.0f, 1e22f,          5.2e37f,
    3.4028235e38f, infinity,
};

class ElementaryFunction : public testing::TestWithParam<Function> {
protected:
  void SetUp() override {
    ASSERT_TRUE(kernels(GetParam()).ok()) << kernels(GetParam()).message();
  }

  template <typename T> std::vector<T> apply(const std::string &kernel, std::vector<T> &x) {
    std::vector<T> y(x.size());
    void *operands[] = {x.data(), y.data()};
    kernels(GetParam()).run(kernel, operands);
    return y;
  }

  /// Calls `check(x, y)` for the results y of `x`, block by block.
  template <typename T, typename Check>
  void sweep(const std::string &kernel, const std::vector<T> &all, Check check) {
    std::vector<T> x(blockSize, T(1));
    for (size_t first = 0; first < all.size(); first += blockSize) {
      size_t count = std::min(blockSize, all.size() - first);
      std::copy_n(all.begin() + static_cast<ptrdiff_t>(first), count, x.begin());
      std::vector<T> y = apply(kernel, x);
      for (size_t i = 0; i < count; ++i)
        check(x[i], y[i]);
    }
  }

  void smallFloats(const std::string &type, Format format) {
    std::vector<uint16_t> all(1 << 16);
    for (size_t i = 0; i < all.size(); ++i)
      all[i] = static_cast<uint16_t>(i);
    auto number = [&](uint16_t bits) {
      std::vector<std::byte> bytes(2);
      std::memcpy(bytes.data(), &bits, 2);
      return decode(type, bytes)[0];
    };
    Worst worst;
    sweep(type, all, [&](uint16_t x, uint16_t y) {
      double argument = number(x);
      worst.add(ulpError(number(y), GetParam().exactToF32(argument), format), argument);
    });
    // Rounded after at most two ulp of f32.
    worst.report(GetParam(), type.c_str(), 0.501);
  }
};

TEST_P(ElementaryFunction, SinglePrecision) {
  const Function &f = GetParam();
  Worst worst;
  auto check = [&](float x, float y) {
    double exact = f.exactToF32(x);
    // Nearly all: the nearest number, which is half an ulp off at most.
    if (std::bit_cast<uint32_t>(static_cast<float>(exact)) != std::bit_cast<uint32_t>(y))
      worst.add(ulpError(y, exact), x);
  };
  std::vector<float> x;
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += 97) {
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    if (x.size() == blockSize * 64) {
      sweep("f32", x, check);
      x.clear();
    }
  }
  for (float edge : edges)
    for (float sign : {1.0f, -1.0f})
      for (int32_t step = -100; step <= 100; ++step)
        x.push_back(std::bit_cast<float>(std::bit_cast<int32_t>(sign * edge) + step));
  sweep("f32", x, check);
  worst.add(0.5, 0);
  worst.report(f, "f32", f.f32Ulp);
}

TEST_P(ElementaryFunction, DoublePrecision) {
  const Function &f = GetParam();
  Worst worst;
  std::vector<double> x;
  uint64_t step = 0x7ff1234567891 * 5;
  for (uint64_t bits = 0, count = 0; count < 200 * blockSize; ++count, bits += step) {
    // Half of the arguments are of moderate size.
    double value = std::bit_cast<double>(bits);
    if (count % 2)
      value = std::ldexp(static_cast<double>(static_cast<int64_t>(bits)), -58);
    x.push_back(value);
  }
  for (double edge : edges)
    for (double scale : {1.0, -1.0, 8.0, -8.0})
      for (int64_t step = -5; step <= 5; ++step)
        x.push_back(std::bit_cast<double>(std::bit_cast<int64_t>(scale * edge) + step));
  std::erase_if(x, [&](double value) {
    return std::isfinite(value) && std::fabs(value) > f.f64Limit;
  });
  sweep("f64", x, [&](double x, double y) { worst.add(ulpError(y, f.exactToF64(x)), x); });
  worst.report(f, "f64", f.f64Ulp);
}

TEST_P(ElementaryFunction, SmallFloats) {
  smallFloats("f16", f16);
  smallFloats("bf16", bf16);
}

TEST_P(ElementaryFunction, OneElementHasTheBitsOfAVector) {
  std::vector<float> x(blockSize);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = std::bit_cast<float>(static_cast<uint32_t>(i * 1048573));
  std::vector<float> y = apply("f32", x);
  for (size_t i = 0; i < x.size(); ++i) {
    std::vector<float> one = {x[i]};
    float alone = apply("one", one)[0];
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
