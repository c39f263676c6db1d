// Gemm kernels against the chain of fused multiply-adds that defines them, bit by bit.

#include "test/Unit/Kernels/KernelHarness.h"
#include "test/Unit/Kernels/Numbers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <utility>

using namespace spillway;
using namespace spillway::test;

namespace {

struct Product {
  std::vector<int64_t> batch;
  int64_t m, k, n;
  std::string type = "f32", resultType = type;
  bool transposeLhs = false, transposeRhs = false, packed = false, batchedRhs = false;
  /// Packed for another user: in panels of depth, tiles of which this product takes in turn where `depthTiled`.
  bool depthPanels = false, depthTiled = false;
  /// max(product + bias, 0) + residual.
  bool epilogue = false;
  /// Stored column by column; there is no batch then.
  bool transposed = false;

  int64_t batches() const {
    int64_t product = 1;
    for (int64_t size : batch)
      product *= size;
    return product;
  }
  int64_t panels() const { return (n + panelWidth - 1) / panelWidth; }

  std::string tensor(bool batched, std::vector<int64_t> sizes, const std::string &element) const {
    if (batched)
      sizes.insert(sizes.begin(), batch.begin(), batch.end());
    return fmt::format("tensor<{}x{}>", fmt::join(sizes, "x"), element);
  }

  std::string text(const std::string &name) const {
    using Sizes = std::vector<int64_t>;
    std::string lhs = tensor(true, transposeLhs ? Sizes{k, m} : Sizes{m, k}, type);
    std::string rhs = tensor(batchedRhs, transposeRhs ? Sizes{n, k} : Sizes{k, n}, type);
    std::string result = tensor(true, {m, n}, resultType);
    std::string stored = transposed ? tensor(true, {n, m}, resultType) : result;
    std::string bias = fmt::format("tensor<{}x{}>", n, resultType);
    std::string layout =
        !packed       ? ""
        : depthPanels ? fmt::format(" {{nn.layout = #nn.panels<{}>{}}}", transposeRhs ? 1 : 0,
                                    depthTiled ? ", nn.depth_tiled" : "")
                      : fmt::format(" {{nn.layout = #nn.panels<{}>, nn.tiled}}", transposeRhs ? 0 : 1);
    std::string text =
        fmt::format("nn.kernel @{}(%x: {}, %w: {}{}, %b: {}, %r: {}) -> {} attributes {{schedule = "
                    "#nn.schedule<gemm>, units = 1 : i64, scratch = 0 : i64}} {{\n"
                    "%0 = nn.matmul %x{}, %w{} : {}, {} -> {}\n",
                    name, lhs, rhs, layout, bias, result, stored, transposeLhs ? " transpose" : "",
                    transposeRhs ? " transpose" : "", lhs, rhs, result);
    if (epilogue)
      text += fmt::format("%z = arith.constant dense<0.0> : {0}\n"
                          "%1 = nn.broadcast %b dims [{1}] : {2} -> {0}\n"
                          "%2 = arith.addf %0, %1 : {0}\n"
                          "%3 = arith.maximumf %2, %z : {0}\n"
                          "%4 = arith.addf %3, %r : {0}\n",
                          result, batch.size() + 1, bias);
    std::string last = epilogue ? "%4" : "%0";
    if (transposed)
      text += fmt::format("%t = nn.transpose {} perm [1, 0] : {} -> {}\n", std::exchange(last, "%t"), result, stored);
    return text + fmt::format("nn.yield {} : {}\n}}\n", last, stored);
  }
};

/// The nearest number of a type.
double rounded(const std::string &type, double value) {
  return decode(type, encode(type, {value}))[0];
}

struct Operands {
  std::vector<double> lhs, rhs, bias, residual;

  Operands(const Product &p, std::mt19937 &random)
      : lhs(smallValues(p.type, p.batches() * p.m * p.k, random)),
        rhs(smallValues(p.type, (p.batchedRhs ? p.batches() : 1) * p.k * p.n, random)),
        bias(smallValues(p.resultType, p.n, random)),
        residual(smallValues(p.resultType, p.batches() * p.m * p.n, random)) {}

  /// Numbers whose sums are rounded in f32.
  void roughen(const Product &p, std::mt19937 &random) {
    std::normal_distribution<double> normal;
    for (std::vector<double> *operand : {&lhs, &rhs})
      for (double &value : *operand)
        value = rounded(p.type, normal(random));
  }

  double left(const Product &p, int64_t batch, int64_t m, int64_t k) const {
    return lhs[batch * p.m * p.k + (p.transposeLhs ? k * p.m + m : m * p.k + k)];
  }

  double right(const Product &p, int64_t batch, int64_t k, int64_t n) const {
    int64_t base = p.batchedRhs ? batch * p.k * p.n : 0;
    return rhs[base + (p.transposeRhs ? n * p.k + k : k * p.n + n)];
  }

  /// What the kernel must give, bit for bit.
  std::vector<double> product(const Product &p) const {
    std::vector<double> result;
    for (int64_t b = 0; b < p.batches(); ++b)
      for (int64_t m = 0; m < p.m; ++m)
        for (int64_t n = 0; n < p.n; ++n) {
          double chain = 0;
          for (int64_t k = 0; k < p.k; ++k) {
            chain = multiplyAdd(p.type, left(p, b, m, k), right(p, b, k, n), chain);
          }
          if (p.epilogue) {
            chain = rounded(p.resultType, chain);
            double sum = rounded(p.resultType, chain + bias[n]);
            chain = rounded(p.resultType, std::max(sum, 0.0) + residual[result.size()]);
          }
          result.push_back(chain);
        }
    return result;
  }

  /// The right operand as stored: panels [first, last) where packed in panels of columns.
  std::vector<std::byte> storedRhs(const Product &p, int64_t first, int64_t last) const {
    if (!p.packed)
      return encode(p.type, rhs);
    std::vector<double> panels;
    if (p.depthPanels) {
      for (int64_t panel = 0; panel * panelWidth < p.k; ++panel)
        for (int64_t n = 0; n < p.n; ++n)
          for (int64_t k = panel * panelWidth; k < (panel + 1) * panelWidth; ++k)
            panels.push_back(k < p.k ? right(p, 0, k, n) : 0);
      return encode(p.type, panels);
    }
    for (int64_t panel = first; panel < last; ++panel)
      for (int64_t k = 0; k < p.k; ++k)
        for (int64_t n = panel * panelWidth; n < (panel + 1) * panelWidth; ++n)
          panels.push_back(n < p.n ? right(p, 0, k, n) : 0);
    return encode(p.type, panels);
  }
};

constexpr size_t guardBytes = 64;

/// Runs units in ranges of `perCall` and each of them in `parts`, the last ones first; tiles of a packed weight stand alone.
std::vector<std::byte> run(const CompiledKernels &kernels, const std::string &name,
                           const Product &p, const Operands &operands, int64_t perCall, int64_t parts = 1) {
  std::vector<std::byte> lhs = encode(p.type, operands.lhs);
  std::vector<std::byte> bias = encode(p.resultType, operands.bias);
  std::vector<std::byte> residual = encode(p.resultType, operands.residual);
  std::vector<std::byte> result(p.batches() * p.m * p.n * elementBytes(p.resultType) + guardBytes,
                                std::byte(0x5c));
  int64_t units = kernels.units(name);
  for (int64_t end = units; end > 0; end -= std::min(perCall, end)) {
    int64_t begin = std::max<int64_t>(0, end - perCall);
    std::vector<std::byte> rhs = operands.storedRhs(p, begin, std::min(end, p.panels()));
    KernelArgument arguments[] = {{lhs.data(), 0},
                                  {rhs.data(), p.packed && !p.depthPanels ? begin : 0},
                                  {bias.data(), 0},
                                  {residual.data(), 0},
                                  {result.data(), 0}};
    for (int64_t part = parts; part-- > 0;)
      EXPECT_EQ(kernels.call(name, arguments, {begin, end, part, parts}), 0);
  }
  for (size_t i = result.size() - guardBytes; i < result.size(); ++i)
    EXPECT_EQ(result[i], std::byte(0x5c)) << "writes past the end";
  result.resize(result.size() - guardBytes);
  return result;
}

/// Kernels k0, k1, ...
std::string textOf(const std::vector<Product> &products) {
  std::string text;
  for (size_t i = 0; i < products.size(); ++i)
    text += products[i].text(fmt::format("k{}", i));
  return text;
}

/// Calls of other ranges of units, and of parts of the rows.
void checkCuts(const CompiledKernels &kernels, const std::string &name, const Product &p, const Operands &operands,
               const std::vector<std::byte> &expected) {
  for (int64_t perCall : {int64_t(1) << 40, int64_t(1), int64_t(3)})
    ASSERT_EQ(run(kernels, name, p, operands, perCall), expected) << "in calls of " << perCall << " units";
  if (kernels.parts(name) == 1)
    return;
  // More of them than the rows have tiles, so that some are empty, in the last one.
  for (int64_t parts : {int64_t(2), int64_t(3), int64_t(7), p.m + 1})
    ASSERT_EQ(run(kernels, name, p, operands, int64_t(1) << 40, parts), expected) << "in " << parts << " parts";
}

enum class Sums { exact, rounded };

/// Compiles the products and calls `body`, which may fail, for each with operands whose sums are so.
void forEach(const std::vector<Product> &products, Sums sums,
             const std::function<void(const CompiledKernels &, const std::string &name, const Product &, const Operands &)> &body) {
  CompiledKernels kernels(textOf(products));
  ASSERT_TRUE(kernels.ok()) << kernels.message();
  std::mt19937 random(20250101);
  for (size_t i = 0; i < products.size(); ++i) {
    const Product &p = products[i];
    std::string name = fmt::format("k{}", i);
    SCOPED_TRACE(p.text(name));
    Operands operands(p, random);
    if (sums == Sums::rounded)
      operands.roughen(p, random);
    ASSERT_NO_FATAL_FAILURE(body(kernels, name, p, operands));
  }
}

void check(const std::vector<Product> &products) {
  forEach(products, Sums::exact, [](const CompiledKernels &kernels, const std::string &name, const Product &p, const Operands &operands) {
    checkCuts(kernels, name, p, operands, encode(p.resultType, operands.product(p)));
  });
}

TEST(GemmKernel, TailsOfRowsColumnsAndDepth) {
  std::vector<Product> products;
  std::mt19937 random(1);
  auto between = [&](int64_t from, int64_t to) {
    return std::uniform_int_distribution<int64_t>(from, to)(random);
  };
  for (int64_t m : {1, 2, 5, 6, 7, 13, 29, 133})
    for (bool packed : {false, true})
      products.push_back(
          {.batch = {}, .m = m, .k = between(1, 40), .n = between(1, 50), .packed = packed});
  products.push_back({.batch = {}, .m = 1, .k = 1, .n = 1, .packed = true});
  products.push_back({.batch = {}, .m = 140, .k = 515, .n = 33, .packed = true});
  products.push_back({.batch = {}, .m = 9, .k = 256, .n = 16, .packed = true});
  products.push_back({.batch = {}, .m = 3, .k = 300, .n = 600, .packed = true});
  check(products);
}

TEST(GemmKernel, PartsAndBlocksOfRows) {
  std::vector<Product> products;
  for (bool transposeLhs : {false, true}) {
    for (bool packed : {false, true})
      for (int64_t m : {265, 400, 793})
        products.push_back({.batch = {}, .m = m, .k = m == 400 ? 515 : 20, .n = 21, .transposeLhs = transposeLhs, .packed = packed});
    products.push_back({.batch = {}, .m = 300, .k = 40, .n = 70, .transposeLhs = transposeLhs, .epilogue = true});
    products.push_back({.batch = {2}, .m = 260, .k = 30, .n = 19, .transposeLhs = transposeLhs});
    // Too deep to be packed at once.
    products.push_back({.batch = {}, .m = 270, .k = 9000, .n = 5, .transposeLhs = transposeLhs});
    for (const char *type : {"f64", "bf16", "i8", "i64"})
      products.push_back({.batch = {}, .m = 270, .k = 17, .n = 18, .type = type, .transposeLhs = transposeLhs});
  }
  check(products);
}

TEST(GemmKernel, OrdersOfOperands) {
  std::vector<Product> products;
  for (bool transposeLhs : {false, true})
    for (bool transposeRhs : {false, true})
      for (bool packed : {false, true})
        for (int64_t m : {1, 11})
          products.push_back({.batch = {},
                              .m = m,
                              .k = 27,
                              .n = 21,
                              .transposeLhs = transposeLhs,
                              .transposeRhs = transposeRhs,
                              .packed = packed});
  check(products);
}

/// One state that two products read, one of them transposed.
TEST(GemmKernel, PanelsOfTheOtherDimension) {
  std::vector<Product> products;
  for (bool transposeRhs : {false, true})
    for (int64_t m : {1, 11})
      for (int64_t k : {5, 300})
        products.push_back({.batch = {},
                            .m = m,
                            .k = k,
                            .n = 21,
                            .type = m == 1 ? "f32" : "bf16",
                            .transposeRhs = transposeRhs,
                            .packed = true,
                            .depthPanels = true});
  check(products);
}

/// Calls that each have some panels of depth, in turn, give the bits of one that has all.
TEST(GemmKernel, GoesOnFromTileToTileOfDepth) {
  std::vector<Product> products;
  for (int64_t k : {1, 15, 16, 17, 63, 300, 530})
    for (bool epilogue : {false, true})
      products.push_back({.batch = {},
                          .m = k == 63 ? 140 : 7,
                          .k = k,
                          .n = k == 300 ? 16 : 37,
                          .transposeLhs = k == 17,
                          .transposeRhs = k != 15,
                          .packed = true,
                          .depthPanels = true,
                          .depthTiled = true,
                          .epilogue = epilogue});
  for (bool epilogue : {false, true})
    products.push_back({.batch = {}, .m = 140, .k = 300, .n = 70, .packed = true, .depthPanels = true, .depthTiled = true,
                        .epilogue = epilogue, .transposed = true});
  // Large enough to be fetched ahead.
  products.push_back({.batch = {}, .m = 140, .k = 530, .n = 70, .transposeRhs = true, .packed = true, .depthPanels = true, .depthTiled = true});
  products.push_back({.batch = {}, .m = 300, .k = 530, .n = 20, .transposeRhs = true, .packed = true, .depthPanels = true, .depthTiled = true});
  for (int64_t k : {17, 300, 1030})
    for (int64_t m : {7, 40})
      products.push_back({.batch = {}, .m = m, .k = k, .n = 37, .type = "bf16", .resultType = "f32", .transposeRhs = true, .packed = true,
                          .depthPanels = true, .depthTiled = true});
  forEach(products, Sums::rounded, [](const CompiledKernels &kernels, const std::string &name, const Product &p, const Operands &operands) {
    std::vector<std::byte> whole = run(kernels, name, p, operands, kernels.units(name));
    std::vector<std::byte> lhs = encode(p.type, operands.lhs), bias = encode(p.resultType, operands.bias),
                           residual = encode(p.resultType, operands.residual), rhs = operands.storedRhs(p, 0, 0);
    int64_t panels = (p.k + panelWidth - 1) / panelWidth, panelBytes = static_cast<int64_t>(rhs.size()) / panels;
    for (int64_t perTile = 1; perTile <= panels; ++perTile) {
      std::vector<std::byte> result(whole.size(), std::byte(0x5c));
      for (int64_t first = 0; first < panels; first += perTile) {
        int64_t count = std::min(perTile, panels - first);
        std::vector<std::byte> tile(rhs.begin() + first * panelBytes, rhs.begin() + (first + count) * panelBytes);
        KernelArgument arguments[] = {{lhs.data(), 0}, {tile.data(), first, count}, {bias.data(), 0},
                                      {residual.data(), 0}, {result.data(), 0}};
        // Another division of the rows for each tile.
        int64_t parts = kernels.parts(name) > 1 ? 1 + first % 3 : 1;
        for (int64_t unit = kernels.units(name); unit-- > 0;)
          for (int64_t part = 0; part < parts; ++part)
            ASSERT_EQ(kernels.call(name, arguments, {unit, unit + 1, part, parts}), 0);
      }
      ASSERT_TRUE(result == whole) << "tiles of " << perTile << " panels";
    }
  });
}

/// x w + w, w in panels of either dimension.
TEST(GemmKernel, ReadsAPackedWeightElementwiseToo) {
  constexpr int64_t size = 19;
  std::string text;
  for (int dim : {0, 1})
    text += fmt::format(R"(
      nn.kernel @k{0}(%x: tensor<19x19xf32>, %w: tensor<19x19xf32> {{nn.layout = #nn.panels<{0}>}})
          -> tensor<19x19xf32>
          attributes {{schedule = #nn.schedule<gemm>, units = 1 : i64, scratch = 0 : i64}} {{
        %0 = nn.matmul %x, %w : tensor<19x19xf32>, tensor<19x19xf32> -> tensor<19x19xf32>
        %1 = arith.addf %0, %w : tensor<19x19xf32>
        nn.yield %1 : tensor<19x19xf32>
      }})", dim);
  CompiledKernels kernels(text);
  ASSERT_TRUE(kernels.ok()) << kernels.message();
  std::vector<float> x(size * size), w(size * size), expected(size * size);
  for (int64_t i = 0; i < size * size; ++i) {
    x[i] = static_cast<float>(i % 7) - 3;
    w[i] = static_cast<float>(i % 11) - 5;
  }
  for (int64_t i = 0; i < size; ++i)
    for (int64_t j = 0; j < size; ++j) {
      expected[i * size + j] = w[i * size + j];
      for (int64_t k = 0; k < size; ++k)
        expected[i * size + j] += x[i * size + k] * w[k * size + j];
    }
  for (int dim : {0, 1}) {
    std::vector<float> panels(2 * panelWidth * size), result(size * size);
    for (int64_t i = 0; i < size; ++i)
      for (int64_t j = 0; j < size; ++j) {
        int64_t along = dim == 0 ? i : j, other = dim == 0 ? j : i;
        panels[(along / panelWidth * size + other) * panelWidth + along % panelWidth] =
            w[i * size + j];
      }
    void *operands[] = {x.data(), panels.data(), result.data()};
    ASSERT_EQ(kernels.run(fmt::format("k{}", dim), operands, 1), 0);
    ASSERT_EQ(result, expected) << "panels of dimension " << dim;
  }
}

TEST(GemmKernel, Batches) {
  std::vector<Product> products;
  for (bool transposeLhs : {false, true})
    for (bool transposeRhs : {false, true})
      for (bool batchedRhs : {false, true})
        products.push_back({.batch = {2, 3},
                            .m = 7,
                            .k = 10,
                            .n = 37,
                            .transposeLhs = transposeLhs,
                            .transposeRhs = transposeRhs,
                            .packed = !batchedRhs,
                            .batchedRhs = batchedRhs});
  check(products);
}

TEST(GemmKernel, FetchesAheadWhatIsLarge) {
  std::vector<Product> products;
  for (std::string type : {"f64", "f32", "bf16"})
    for (bool transposeRhs : {false, true})
      for (bool batchedRhs : {false, true})
        products.push_back({.batch = {2}, .m = 13, .k = 601, .n = 117, .type = type, .transposeRhs = transposeRhs, .batchedRhs = batchedRhs});
  check(products);
}

TEST(GemmKernel, ElementTypes) {
  std::vector<Product> products;
  for (std::string type : {"f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8"})
    for (bool packed : {false, true})
      for (int64_t m : {1, 8})
        for (int64_t n : {33, 35})
          products.push_back({.batch = {},
                              .m = m,
                              .k = 261,
                              .n = n,
                              .type = type,
                              .transposeRhs = m == 8,
                              .packed = packed});
  for (std::string type : {"f16", "bf16"})
    products.push_back(
        {.batch = {}, .m = 5, .k = 20, .n = 18, .type = type, .resultType = "f32", .packed = true});
  check(products);
}

/// Instructions that multiply pairs of bf16 round otherwise than a chain of fused multiply-adds does, but in the same way however
/// the product is cut.
TEST(GemmKernel, SumsOfBF16AreTheSameInAllCuts) {
  std::vector<Product> products;
  for (int64_t k : {1, 2, 3, 17, 255, 257, 513, 1030})
    for (bool transposeLhs : {false, true})
      for (bool transposeRhs : {false, true})
        products.push_back({.batch = {}, .m = k == 257 ? 300 : 40, .k = k, .n = k == 17 ? 48 : 33, .type = "bf16", .resultType = "f32",
                            .transposeLhs = transposeLhs, .transposeRhs = transposeRhs, .packed = k != 255,
                            .depthPanels = k == 513});
  products.push_back({.batch = {2}, .m = 21, .k = 35, .n = 1, .type = "bf16", .resultType = "f32", .batchedRhs = true});
  products.push_back({.batch = {3}, .m = 7, .k = 35, .n = 20, .type = "bf16", .resultType = "f32"});
  // Too deep to be packed at once.
  for (bool transposeRhs : {false, true})
    products.push_back({.batch = {}, .m = 270, .k = 18100, .n = 5, .type = "bf16", .resultType = "f32", .transposeRhs = transposeRhs});
  forEach(products, Sums::rounded, [](const CompiledKernels &kernels, const std::string &name, const Product &p, const Operands &operands) {
    std::vector<std::byte> whole = run(kernels, name, p, operands, kernels.units(name));
    std::vector<double> values = decode(p.resultType, whole);
    for (int64_t j = 0; j < static_cast<int64_t>(values.size()); ++j) {
      double sum = 0, magnitude = 0;
      for (int64_t k = 0; k < p.k; ++k) {
        double product = operands.left(p, j / (p.m * p.n), j / p.n % p.m, k) * operands.right(p, j / (p.m * p.n), k, j % p.n);
        sum += product;
        magnitude += std::abs(product);
      }
      // Each of k additions is off by half a unit in the last place at most.
      double bound = std::ldexp(static_cast<double>(p.k) * magnitude, -24);
      ASSERT_LE(std::abs(values[j] - sum), bound) << values[j] << " for " << sum << " at " << j;
    }
    checkCuts(kernels, name, p, operands, whole);
  });
}

TEST(GemmKernel, Epilogue) {
  std::vector<Product> products;
  for (std::string type : {"f64", "f32", "bf16"})
    for (int64_t m : {1, 12})
      products.push_back(
          {.batch = {2}, .m = m, .k = 19, .n = 50, .type = type, .packed = true, .epilogue = true});
  products.push_back(
      {.batch = {3}, .m = 4, .k = 19, .n = 20, .batchedRhs = true, .epilogue = true});
  check(products);
}

TEST(GemmKernel, NothingToContractOrToCompute) {
  check({{.batch = {}, .m = 5, .k = 0, .n = 20, .packed = true, .epilogue = true},
         {.batch = {}, .m = 0, .k = 4, .n = 20, .packed = true},
         {.batch = {2}, .m = 3, .k = 4, .n = 0},
         {.batch = {0}, .m = 3, .k = 4, .n = 5, .batchedRhs = true}});
}

TEST(GemmKernel, ReshapedRows) {
  CompiledKernels kernels(R"(
    nn.kernel @k(%x: tensor<6x5xf32>, %w: tensor<5x18xf32>) -> tensor<2x3x18xf32>
        attributes {schedule = #nn.schedule<gemm>, units = 1 : i64, scratch = 0 : i64} {
      %0 = nn.matmul %x, %w : tensor<6x5xf32>, tensor<5x18xf32> -> tensor<6x18xf32>
      %1 = nn.reshape %0 : tensor<6x18xf32> -> tensor<2x3x18xf32>
      %2 = arith.negf %1 : tensor<2x3x18xf32>
      nn.yield %2 : tensor<2x3x18xf32>
    })");
  ASSERT_TRUE(kernels.ok()) << kernels.message();
  std::vector<float> x(30, 1), w(90), result(108);
  for (size_t i = 0; i < w.size(); ++i)
    w[i] = static_cast<float>(i);
  void *operands[] = {x.data(), w.data(), result.data()};
  ASSERT_EQ(kernels.run("k", operands), 0);
  for (int64_t i = 0; i < 108; ++i)
    ASSERT_EQ(result[i], -(180.f + 5 * static_cast<float>(i % 18)));
}

/// A gradient of an embedding that is a head, too: its product takes what rows are given, whichever way its lanes lie.
TEST(GemmKernel, TakesRowsThatAreAddedToItsResult) {
  std::string text;
  for (bool isTurned : {false, true})
    text += fmt::format(R"(
      nn.kernel @k{0}(%x: tensor<5x18xf32>, %y: tensor<5x37xf32>, %rows: tensor<7xi64>, %order: tensor<7xi64>, %u: tensor<7x18xf32>)
          -> (tensor<37x18xf32> {1}, tensor<37x18xf32> {1})
          attributes {{schedule = #nn.schedule<gemm>, units = 1 : i64, scratch = 0 : i64}} {{
        {2}
        %1 = nn.add_rows %0[%rows, %order] %u : tensor<37x18xf32>, tensor<7xi64>, tensor<7x18xf32>
        %2 = arith.addf %1, %0 : tensor<37x18xf32>
        nn.yield %1, %2 : tensor<37x18xf32>, tensor<37x18xf32>
      }})", isTurned ? 1 : 0, isTurned ? "{nn.layout = #nn.panels<0>}" : "",
                        isTurned ? R"(%t = nn.matmul %x transpose, %y : tensor<5x18xf32>, tensor<5x37xf32> -> tensor<18x37xf32>
        %0 = nn.transpose %t perm [1, 0] : tensor<18x37xf32> -> tensor<37x18xf32>)"
                                 : "%0 = nn.matmul %y transpose, %x : tensor<5x37xf32>, tensor<5x18xf32> -> tensor<37x18xf32>");
  CompiledKernels kernels(text);
  ASSERT_TRUE(kernels.ok()) << kernels.message();
  std::vector<float> x(5 * 18), y(5 * 37), u(7 * 18);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(i % 7) - 3;
  for (size_t i = 0; i < y.size(); ++i)
    y[i] = static_cast<float>(i % 11) - 5;
  for (size_t i = 0; i < u.size(); ++i)
    u[i] = static_cast<float>(i) / 4;
  // Below all rows, in the first, twice in one, at the end of a panel, in the last one, and above all.
  std::vector<int64_t> rows = {-3, 0, 15, 15, 16, 36, 37}, order = {6, 3, 1, 0, 2, 5, 4};
  for (bool isTurned : {false, true}) {
    std::vector<float> sums(48 * 18), more(48 * 18);
    void *operands[] = {x.data(), y.data(), rows.data(), order.data(), u.data(), sums.data(), more.data()};
    ASSERT_EQ(kernels.run(isTurned ? "k1" : "k0", operands, 1), 0);
    for (int64_t r = 0; r < 37; ++r)
      for (int64_t c = 0; c < 18; ++c) {
        float product = 0;
        for (int64_t k = 0; k < 5; ++k)
          product += y[k * 37 + r] * x[k * 18 + c];
        float sum = product;
        for (size_t j = 0; j < rows.size(); ++j)
          sum += rows[j] == r ? u[order[j] * 18 + c] : 0;
        int64_t at = isTurned ? (r / panelWidth * 18 + c) * panelWidth + r % panelWidth : r * 18 + c;
        ASSERT_EQ(sums[at], sum) << r << ", " << c;
        ASSERT_EQ(more[at], sum + product) << r << ", " << c;
      }
  }
}

/// Lanes of which each has a row of its own, in either direction.
TEST(MapKernel, AddsRowsToLanesInAnyOrder) {
  CompiledKernels kernels(R"(
    nn.kernel @k(%x: tensor<37xf32>, %rows: tensor<5xi64>, %order: tensor<5xi64>, %u: tensor<5xf32>) -> (tensor<37xf32>, tensor<37xf32>)
        attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64} {
      %0 = nn.add_rows %x[%rows, %order] %u : tensor<37xf32>, tensor<5xi64>, tensor<5xf32>
      %1 = nn.slice %0 offsets [36] strides [-1] : tensor<37xf32> -> tensor<37xf32>
      nn.yield %0, %1 : tensor<37xf32>, tensor<37xf32>
    })");
  ASSERT_TRUE(kernels.ok()) << kernels.message();
  std::vector<float> x(37), u = {1, 2, 4, 8, 16}, sums(37), reversed(37);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(100 * i);
  std::vector<int64_t> rows = {0, 3, 20, 20, 36}, order = {4, 3, 2, 1, 0};
  void *operands[] = {x.data(), rows.data(), order.data(), u.data(), sums.data(), reversed.data()};
  ASSERT_EQ(kernels.run("k", operands, 1), 0);
  std::vector<float> expected = x;
  for (size_t j = 0; j < rows.size(); ++j)
    expected[rows[j]] += u[order[j]];
  EXPECT_EQ(sums, expected);
  std::ranges::reverse(expected);
  EXPECT_EQ(reversed, expected);
}

/// Whatever the results' order of elements.
TEST(GemmKernel, TransposesItsResults) {
  CompiledKernels kernels(R"(
    nn.kernel @k(%x: tensor<6x5xf32>, %w: tensor<5x36xf32>)
        -> (tensor<2x6x18xf32>, tensor<36x6xf32>)
        attributes {schedule = #nn.schedule<gemm>, units = 1 : i64, scratch = 0 : i64} {
      %0 = nn.matmul %x, %w : tensor<6x5xf32>, tensor<5x36xf32> -> tensor<6x36xf32>
      %1 = nn.reshape %0 : tensor<6x36xf32> -> tensor<6x2x18xf32>
      %2 = nn.transpose %1 perm [1, 0, 2] : tensor<6x2x18xf32> -> tensor<2x6x18xf32>
      %3 = nn.transpose %0 perm [1, 0] : tensor<6x36xf32> -> tensor<36x6xf32>
      %4 = arith.addf %3, %3 : tensor<36x6xf32>
      nn.yield %2, %4 : tensor<2x6x18xf32>, tensor<36x6xf32>
    })");
  ASSERT_TRUE(kernels.ok()) << kernels.message();
  std::vector<float> x(30), w(180), heads(216), columns(216);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(i % 7) - 3;
  for (size_t i = 0; i < w.size(); ++i)
    w[i] = static_cast<float>(i % 11) - 5;
  void *operands[] = {x.data(), w.data(), heads.data(), columns.data()};
  ASSERT_EQ(kernels.run("k", operands, 1), 0);
  for (int64_t m = 0; m < 6; ++m)
    for (int64_t n = 0; n < 36; ++n) {
      float product = 0;
      for (int64_t k = 0; k < 5; ++k)
        product += x[m * 5 + k] * w[k * 36 + n];
      ASSERT_EQ(heads[(n / 18 * 6 + m) * 18 + n % 18], product) << m << ", " << n;
      ASSERT_EQ(columns[n * 6 + m], 2 * product) << m << ", " << n;
    }
}

} // namespace
