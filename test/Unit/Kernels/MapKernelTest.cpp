// Map kernels against plain loops.

#include "test/Unit/Kernels/KernelHarness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
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
                               std::vector<void *> inputs, size_t results,
                               int32_t *fault = nullptr) {
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

/// Compiles one map kernel @k; `signature` is what follows its name.
std::string mapKernel(const std::string &signature, const std::string &body) {
  return "nn.kernel @k" + signature +
         " attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64} {\n" +
         body + "\n}";
}

/// A kernel of f32 that only moves elements: result[i] must be x[source(i)], or `fill` where
/// that is negative.
void expectMoves(const std::string &signature, const std::string &body, size_t inputs,
                 size_t results, const std::function<int64_t(int64_t)> &source, float fill = 0) {
  CompiledKernels kernels(mapKernel(signature, body));
  ASSERT_TRUE(kernels.ok()) << kernels.message();
  std::vector<float> x(inputs);
  std::iota(x.begin(), x.end(), 1.0f);
  std::vector<float> result = runAllCuts<float>(kernels, "k", {x.data()}, results);
  for (size_t i = 0; i < results; ++i) {
    int64_t from = source(i);
    ASSERT_EQ(result[i], from < 0 ? fill : x[from]) << "at " << i << " in\n" << body;
  }
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

TEST(MapKernel, LongRowIsCutIntoChunks) {
  CompiledKernels kernels(mapKernel("(%x: tensor<100003xf32>) -> tensor<100003xf32>", R"(
      %0 = arith.addf %x, %x : tensor<100003xf32>
      nn.yield %0 : tensor<100003xf32>)"));
  ASSERT_TRUE(kernels.ok()) << kernels.message();
  EXPECT_GE(kernels.units("k"), 8);
  std::vector<float> x = ramp(100003);
  std::vector<float> result = runAllCuts<float>(kernels, "k", {x.data()}, x.size());
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_EQ(result[i], 2 * x[i]) << i;
}

TEST(MapKernel, Transpose) {
  for (int64_t columns : {5, 16, 37, 64})
    expectMoves("(%x: tensor<23x" + std::to_string(columns) + "xf32>) -> tensor<" +
                    std::to_string(columns) + "x23xf32>",
                "%0 = nn.transpose %x perm [1, 0] : tensor<23x" + std::to_string(columns) +
                    "xf32> -> tensor<" + std::to_string(columns) +
                    "x23xf32>\n nn.yield %0 : tensor<" + std::to_string(columns) + "x23xf32>",
                23 * columns, 23 * columns, [=](int64_t i) { return i % 23 * columns + i / 23; });
}

TEST(MapKernel, HeadsOfAttention) {
  // [b, s, h * d] to [b, h, s, d]
  for (int64_t d : {4, 16, 24, 64}) {
    std::string flat = "tensor<2x7x" + std::to_string(3 * d) + "xf32>";
    std::string split = "tensor<2x7x3x" + std::to_string(d) + "xf32>";
    std::string result = "tensor<2x3x7x" + std::to_string(d) + "xf32>";
    expectMoves("(%x: " + flat + ") -> " + result,
                "%0 = nn.reshape %x : " + flat + " -> " + split +
                    "\n %1 = nn.transpose %0 perm [0, 2, 1, 3] : " + split + " -> " + result +
                    "\n nn.yield %1 : " + result,
                2 * 7 * 3 * d, 2 * 7 * 3 * d, [=](int64_t i) {
                  int64_t e = i % d, s = i / d % 7, h = i / d / 7 % 3, b = i / d / 21;
                  return ((b * 7 + s) * 3 + h) * d + e;
                });
    // and back
    expectMoves("(%x: " + result + ") -> " + flat,
                "%0 = nn.transpose %x perm [0, 2, 1, 3] : " + result + " -> " + split +
                    "\n %1 = nn.reshape %0 : " + split + " -> " + flat + "\n nn.yield %1 : " + flat,
                2 * 7 * 3 * d, 2 * 7 * 3 * d, [=](int64_t i) {
                  int64_t e = i % d, h = i / d % 3, s = i / d / 3 % 7, b = i / d / 21;
                  return ((b * 3 + h) * 7 + s) * d + e;
                });
  }
}

TEST(MapKernel, ReshapeAcrossTransposes) {
  // [6, 35] ^T -> [35, 6] as [7, 30] -> ^T -> [30, 7]
  expectMoves("(%x: tensor<6x35xf32>) -> tensor<30x7xf32>", R"(
      %0 = nn.transpose %x perm [1, 0] : tensor<6x35xf32> -> tensor<35x6xf32>
      %1 = nn.reshape %0 : tensor<35x6xf32> -> tensor<7x30xf32>
      %2 = nn.transpose %1 perm [1, 0] : tensor<7x30xf32> -> tensor<30x7xf32>
      nn.yield %2 : tensor<30x7xf32>)",
              210, 210, [](int64_t i) {
                int64_t flat = i % 7 * 30 + i / 7;
                return flat % 6 * 35 + flat / 6;
              });
}

TEST(MapKernel, SliceWithStrides) {
  expectMoves("(%x: tensor<9x41xf32>) -> tensor<3x19xf32>", R"(
      %0 = nn.slice %x offsets [8, 38] strides [-3, -2] : tensor<9x41xf32> -> tensor<3x19xf32>
      nn.yield %0 : tensor<3x19xf32>)",
              9 * 41, 3 * 19, [](int64_t i) { return (8 - i / 19 * 3) * 41 + 38 - i % 19 * 2; });
  expectMoves("(%x: tensor<4x100xf32>) -> tensor<4x50xf32>", R"(
      %0 = nn.slice %x offsets [0, 3] strides [1, 1] : tensor<4x100xf32> -> tensor<4x50xf32>
      nn.yield %0 : tensor<4x50xf32>)",
              400, 200, [](int64_t i) { return i / 50 * 100 + 3 + i % 50; });
}

TEST(MapKernel, BroadcastOfRowsAndColumns) {
  expectMoves("(%x: tensor<7x1xf32>) -> tensor<2x7x19xf32>", R"(
      %0 = nn.broadcast %x dims [1, 2] : tensor<7x1xf32> -> tensor<2x7x19xf32>
      nn.yield %0 : tensor<2x7x19xf32>)",
              7, 2 * 7 * 19, [](int64_t i) { return i / 19 % 7; });
  expectMoves("(%x: tensor<10xf32>) -> tensor<33x10xf32>", R"(
      %0 = nn.broadcast %x dims [1] : tensor<10xf32> -> tensor<33x10xf32>
      nn.yield %0 : tensor<33x10xf32>)",
              10, 330, [](int64_t i) { return i % 10; });
}

TEST(MapKernel, ConcatWithinAndBetweenVectors) {
  // Pieces of x of these sizes in reverse order.
  for (std::vector<int64_t> sizes : {std::vector<int64_t>{16, 32, 16}, {3, 5, 1, 40}, {7, 0, 30}}) {
    int64_t total = std::accumulate(sizes.begin(), sizes.end(), int64_t(0)), offset = 0;
    std::string whole = "tensor<3x" + std::to_string(total) + "xf32>", body, names, types;
    std::vector<std::pair<int64_t, int64_t>> pieces;
    for (size_t i = 0; i < sizes.size(); ++i) {
      std::string type = "tensor<3x" + std::to_string(sizes[i]) + "xf32>";
      std::string name = "%p" + std::to_string(i);
      body += name + " = nn.slice %x offsets [0, " + std::to_string(offset) +
              "] strides [1, 1] : " + whole + " -> " + type + "\n";
      names = name + (i ? ", " : "") + names;
      types = type + (i ? ", " : "") + types;
      pieces.insert(pieces.begin(), {offset, sizes[i]});
      offset += sizes[i];
    }
    body += "%0 = nn.concat " + names + " dim 1 : (" + types + ") -> " + whole +
            "\nnn.yield %0 : " + whole;
    expectMoves("(%x: " + whole + ") -> " + whole, body, 3 * total, 3 * total, [=](int64_t i) {
      int64_t column = i % total;
      for (auto [from, size] : pieces) {
        if (column < size)
          return i / total * total + from + column;
        column -= size;
      }
      return int64_t(-1);
    });
  }
  expectMoves("(%x: tensor<5x20xf32>) -> tensor<10x20xf32>", R"(
      %0 = nn.concat %x, %x dim 0 : (tensor<5x20xf32>, tensor<5x20xf32>) -> tensor<10x20xf32>
      nn.yield %0 : tensor<10x20xf32>)",
              100, 200, [](int64_t i) { return i % 100; });
}

TEST(MapKernel, PadInEveryMode) {
  auto check = [](const std::string &mode, int64_t low, int64_t columns, int64_t padded,
                  const std::function<int64_t(int64_t)> &column) {
    std::string from = "tensor<4x" + std::to_string(columns) + "xf32>";
    std::string to = "tensor<7x" + std::to_string(padded) + "xf32>";
    bool constant = mode == "constant";
    expectMoves(
        "(%x: " + from + ") -> " + to,
        "%c = arith.constant dense<-3.5> : tensor<f32>\n%0 = nn.pad #nn.pad_mode<" + mode +
            "> %x " + (constant ? "value %c : tensor<f32> " : "") + "low [1, " +
            std::to_string(low) + "] : " + from + " -> " + to + "\nnn.yield %0 : " + to,
        4 * columns, 7 * padded,
        [=](int64_t i) -> int64_t {
          int64_t row = i / padded - 1, c = column(i % padded - low);
          if (constant && (row < 0 || row > 3))
            return -1;
          if (mode == "edge")
            row = std::clamp<int64_t>(row, 0, 3);
          if (mode == "wrap")
            row = (row + 4) % 4;
          if (mode == "reflect")
            row = row < 0 ? -row : row > 3 ? 6 - row : row;
          return c < 0 ? -1 : row * columns + c;
        },
        -3.5f);
  };
  for (int64_t low : {3, 16, 0, -2})
    check("constant", low, 37, 60, [](int64_t c) { return c < 0 || c >= 37 ? -1 : c; });
  check("edge", 5, 37, 60, [](int64_t c) { return std::clamp<int64_t>(c, 0, 36); });
  check("wrap", 5, 9, 40, [](int64_t c) { return (c + 90) % 9; });
  check("reflect", 5, 9, 40, [](int64_t c) {
    int64_t phase = (c + 160) % 16;
    return std::min(phase, 16 - phase);
  });
}

TEST(MapKernel, IotaInFloatsAndIntegers) {
  CompiledKernels kernels(mapKernel("() -> (tensor<6x21xf32>)", R"(
      %0 = nn.iota dim 1 : tensor<6x21xi64>
      %1 = nn.iota dim 0 : tensor<6x21xi64>
      %c = arith.constant dense<100> : tensor<6x21xi64>
      %2 = arith.muli %1, %c : tensor<6x21xi64>
      %3 = arith.addi %2, %0 : tensor<6x21xi64>
      %4 = arith.sitofp %3 : tensor<6x21xi64> to tensor<6x21xf32>
      %5 = nn.iota dim 1 : tensor<6x21xf32>
      %6 = arith.addf %4, %5 : tensor<6x21xf32>
      nn.yield %6 : tensor<6x21xf32>)"));
  ASSERT_TRUE(kernels.ok()) << kernels.message();
  std::vector<float> result = runAllCuts<float>(kernels, "k", {}, 6 * 21);
  for (int i = 0; i < 6 * 21; ++i)
    ASSERT_EQ(result[i], static_cast<float>(i / 21 * 100 + 2 * (i % 21)));
}

/// Numbers of `bits` in rows of `columns`, from column `first` on with a stride, against shifts and masks.
void expectUnpacks(int bits, bool isSigned, int columns, int first, int stride) {
  int rows = 5, perByte = 8 / bits, bytes = columns / perByte;
  int kept = (columns - first + stride - 1) / stride;
  std::string packed = "tensor<5x" + std::to_string(bytes) + "xi8>";
  std::string all = "tensor<5x" + std::to_string(columns) + "xi8>";
  std::string result = "tensor<5x" + std::to_string(kept) + "xi8>";
  CompiledKernels kernels(mapKernel(
      "(%x: " + packed + ") -> " + result,
      "%0 = nn.unpack %x bits " + std::to_string(bits) + (isSigned ? " signed" : "") + " : " + packed +
          " -> " + all + "\n%1 = nn.slice %0 offsets [0, " + std::to_string(first) + "] strides [1, " +
          std::to_string(stride) + "] : " + all + " -> " + result + "\nnn.yield %1 : " + result));
  ASSERT_TRUE(kernels.ok()) << kernels.message();
  std::vector<uint8_t> x(rows * bytes);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<uint8_t>(i * 151 + 7);
  std::vector<int8_t> found = runAllCuts<int8_t>(kernels, "k", {x.data()}, rows * kept);
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < kept; ++c) {
      int at = first + c * stride;
      int number = (x[r * bytes + at / perByte] >> (at % perByte * bits)) & ((1 << bits) - 1);
      if (isSigned && number >= 1 << (bits - 1))
        number -= 1 << bits;
      ASSERT_EQ(found[r * kept + c], number)
          << bits << " bits, row " << r << ", column " << c << " from " << first << " by " << stride;
    }
}

TEST(MapKernel, UnpacksNumbersOfFewBits) {
  for (int bits : {1, 2, 4})
    for (bool isSigned : {false, true})
      for (int columns : {8, 40, 104}) {
        expectUnpacks(bits, isSigned, columns, 0, 1);
        expectUnpacks(bits, isSigned, columns, 3, 1);
        expectUnpacks(bits, isSigned, columns, 1, 2);
      }
}

TEST(MapKernel, GatherClampsAndReports) {
  CompiledKernels kernels(
      mapKernel("(%table: tensor<10x24xf32>, %ids: tensor<2x3xi64>) -> tensor<2x3x24xf32>", R"(
      %0 = nn.gather %table[%ids] dim 0 : tensor<10x24xf32>, tensor<2x3xi64> -> tensor<2x3x24xf32>
      nn.yield %0 : tensor<2x3x24xf32>)"));
  ASSERT_TRUE(kernels.ok()) << kernels.message();
  std::vector<float> table(240);
  std::iota(table.begin(), table.end(), 0.0f);
  auto check = [&](std::vector<int64_t> ids, std::vector<int64_t> rows, KernelFault expected) {
    int32_t fault = 0;
    std::vector<float> result =
        runAllCuts<float>(kernels, "k", {table.data(), ids.data()}, 6 * 24, &fault);
    EXPECT_EQ(fault, static_cast<int32_t>(expected));
    for (size_t i = 0; i < result.size(); ++i)
      ASSERT_EQ(result[i], table[rows[i / 24] * 24 + i % 24]) << i;
  };
  check({0, 9, -1, -10, 5, 3}, {0, 9, 9, 0, 5, 3}, KernelFault::none);
  check({0, 10, -11, INT64_MAX, INT64_MIN, 3}, {0, 9, 0, 9, 0, 3}, KernelFault::indexOutOfRange);
}

TEST(MapKernel, NothingIsAnIndexIntoNothing) {
  CompiledKernels kernels(
      mapKernel("(%data: tensor<4x0xf32>, %ids: tensor<19xi64>) -> (tensor<4x19xf32>)", R"(
      %0 = nn.gather %data[%ids] dim 1 : tensor<4x0xf32>, tensor<19xi64> -> tensor<4x19xf32>
      nn.yield %0 : tensor<4x19xf32>)"));
  ASSERT_TRUE(kernels.ok()) << kernels.message();
  float none = 0;
  for (int64_t id : {-1, 0, 1}) {
    std::vector<int64_t> ids(19, id);
    int32_t fault = 0;
    runAllCuts<float>(kernels, "k", {&none, ids.data()}, 4 * 19, &fault);
    EXPECT_EQ(fault, static_cast<int32_t>(KernelFault::indexOutOfRange)) << id;
  }
}

TEST(MapKernel, GatherAlongLanes) {
  CompiledKernels kernels(
      mapKernel("(%data: tensor<4x50xf32>, %ids: tensor<19xi32>) -> tensor<4x19xf32>", R"(
      %0 = nn.gather %data[%ids] dim 1 : tensor<4x50xf32>, tensor<19xi32> -> tensor<4x19xf32>
      nn.yield %0 : tensor<4x19xf32>)"));
  ASSERT_TRUE(kernels.ok()) << kernels.message();
  std::vector<float> data(200);
  std::iota(data.begin(), data.end(), 0.0f);
  std::vector<int32_t> ids(19);
  for (int i = 0; i < 19; ++i)
    ids[i] = i % 2 ? -1 - i : i * 2;
  int32_t fault = 0;
  std::vector<float> result =
      runAllCuts<float>(kernels, "k", {data.data(), ids.data()}, 4 * 19, &fault);
  EXPECT_EQ(fault, 0);
  for (int i = 0; i < 4 * 19; ++i) {
    int id = ids[i % 19];
    ASSERT_EQ(result[i], data[i / 19 * 50 + (id < 0 ? id + 50 : id)]);
  }
  ids[18] = 50;
  runAllCuts<float>(kernels, "k", {data.data(), ids.data()}, 4 * 19, &fault);
  EXPECT_EQ(fault, static_cast<int32_t>(KernelFault::indexOutOfRange));
}

TEST(MapKernel, GatherElementsAndTuples) {
  CompiledKernels kernels(
      mapKernel("(%data: tensor<5x20xf32>, %ids: tensor<5x7xi64>, %tuples: tensor<3x2xi64>) -> "
                "(tensor<5x7xf32>, tensor<3xf32>)",
                R"(
      %0 = nn.gather_elements %data[%ids] dim 1 : tensor<5x20xf32>, tensor<5x7xi64> -> tensor<5x7xf32>
      %1 = nn.gather_nd %data[%tuples] batch_dims 0 : tensor<5x20xf32>, tensor<3x2xi64> -> tensor<3xf32>
      nn.yield %0, %1 : tensor<5x7xf32>, tensor<3xf32>)"));
  ASSERT_TRUE(kernels.ok()) << kernels.message();
  std::vector<float> data = ramp(100), elements(35), slices(3);
  std::vector<int64_t> ids(35), tuples = {4, 19, 0, -1, -5, 7};
  for (int i = 0; i < 35; ++i)
    ids[i] = i * 3 % 40 - 20;
  void *operands[] = {data.data(), ids.data(), tuples.data(), elements.data(), slices.data()};
  EXPECT_EQ(kernels.run("k", operands, 1), 0);
  for (int i = 0; i < 35; ++i)
    ASSERT_EQ(elements[i], data[i / 7 * 20 + (ids[i] < 0 ? ids[i] + 20 : ids[i])]) << i;
  EXPECT_EQ(slices, (std::vector<float>{data[99], data[19], data[7]}));
}

TEST(MapKernel, PackedWeightIsReadInItsLayout) {
  CompiledKernels kernels(
      mapKernel("(%w: tensor<5x37xf32> {nn.layout = #nn.panels<1>}) -> tensor<37x5xf32>", R"(
      %0 = nn.transpose %w perm [1, 0] : tensor<5x37xf32> -> tensor<37x5xf32>
      nn.yield %0 : tensor<37x5xf32>)"));
  ASSERT_TRUE(kernels.ok()) << kernels.message();
  std::vector<float> packed(3 * 5 * 16, -1);
  for (int row = 0; row < 5; ++row)
    for (int column = 0; column < 37; ++column)
      packed[(column / 16 * 5 + row) * 16 + column % 16] = static_cast<float>(row * 37 + column);
  std::vector<float> result = runAllCuts<float>(kernels, "k", {packed.data()}, 37 * 5);
  for (int i = 0; i < 37 * 5; ++i)
    ASSERT_EQ(result[i], static_cast<float>(i % 5 * 37 + i / 5));
}

TEST(MapKernel, BooleansTakeOneByte) {
  CompiledKernels kernels(
      mapKernel("(%x: tensor<3x13xi1>, %c: tensor<13xi1>) -> tensor<3x13xi1>", R"(
      %0 = nn.broadcast %c dims [1] : tensor<13xi1> -> tensor<3x13xi1>
      %1 = arith.xori %x, %0 : tensor<3x13xi1>
      nn.yield %1 : tensor<3x13xi1>)"));
  ASSERT_TRUE(kernels.ok()) << kernels.message();
  std::vector<uint8_t> x(39), c(13);
  for (int i = 0; i < 39; ++i)
    x[i] = i % 3 == 0;
  for (int i = 0; i < 13; ++i)
    c[i] = i % 2;
  std::vector<uint8_t> result = runAllCuts<uint8_t>(kernels, "k", {x.data(), c.data()}, 39);
  for (int i = 0; i < 39; ++i)
    ASSERT_EQ(result[i], x[i] ^ c[i % 13]);
}

TEST(MapKernel, ConstantsOfSeveralValues) {
  CompiledKernels kernels(mapKernel("(%x: tensor<4x3xf32>) -> tensor<4x3xf32>", R"(
      %c = arith.constant dense<[1.0, 10.0, 100.0]> : tensor<3xf32>
      %m = arith.constant dense<[true, false, true]> : tensor<3xi1>
      %0 = nn.broadcast %c dims [1] : tensor<3xf32> -> tensor<4x3xf32>
      %1 = nn.broadcast %m dims [1] : tensor<3xi1> -> tensor<4x3xi1>
      %2 = arith.mulf %x, %0 : tensor<4x3xf32>
      %3 = arith.select %1, %2, %x : tensor<4x3xi1>, tensor<4x3xf32>
      nn.yield %3 : tensor<4x3xf32>)"));
  ASSERT_TRUE(kernels.ok()) << kernels.message();
  std::vector<float> x = ramp(12);
  std::vector<float> result = runAllCuts<float>(kernels, "k", {x.data()}, 12);
  for (int i = 0; i < 12; ++i)
    ASSERT_EQ(result[i], i % 3 == 2 ? x[i] * 100 : x[i]);
}

TEST(MapKernel, IntegerDivisionDoesNotTrap) {
  CompiledKernels kernels(mapKernel("(%x: tensor<21xi32>, %y: tensor<21xi32>) -> (tensor<21xi32>, "
                                    "tensor<21xi32>, tensor<21xi32>)",
                                    R"(
      %0 = arith.divsi %x, %y : tensor<21xi32>
      %1 = arith.remsi %x, %y : tensor<21xi32>
      %2 = arith.floordivsi %x, %y : tensor<21xi32>
      nn.yield %0, %1, %2 : tensor<21xi32>, tensor<21xi32>, tensor<21xi32>)"));
  ASSERT_TRUE(kernels.ok()) << kernels.message();
  std::vector<int32_t> x(21), y(21), quotient(21), remainder(21), floored(21);
  for (int i = 0; i < 21; ++i) {
    x[i] = i * 7 - 70;
    y[i] = i % 7 - 3;
  }
  x[2] = INT32_MIN;
  void *operands[] = {x.data(), y.data(), quotient.data(), remainder.data(), floored.data()};
  kernels.run("k", operands);
  for (int i = 0; i < 21; ++i) {
    int64_t a = x[i], b = y[i];
    ASSERT_EQ(quotient[i], b == 0 ? 0 : static_cast<int32_t>(a / b)) << a << " / " << b;
    ASSERT_EQ(remainder[i], b == 0 ? 0 : a % b) << a << " % " << b;
    ASSERT_EQ(floored[i],
              b == 0 ? 0 : static_cast<int32_t>(std::floor(static_cast<double>(a) / b)));
  }
}

float fromBf16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
uint16_t toBf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

TEST(MapKernel, Bf16RoundsAfterEveryOperation) {
  CompiledKernels kernels(
      mapKernel("(%x: tensor<65536xbf16>, %y: tensor<65536xbf16>) -> (tensor<65536xbf16>, "
                "tensor<65536xbf16>, tensor<65536xf32>)",
                R"(
      %0 = arith.mulf %x, %y : tensor<65536xbf16>
      %1 = arith.addf %0, %x : tensor<65536xbf16>
      %2 = arith.maximumf %1, %y : tensor<65536xbf16>
      %3 = arith.negf %x : tensor<65536xbf16>
      %4 = arith.extf %x : tensor<65536xbf16> to tensor<65536xf32>
      nn.yield %2, %3, %4 : tensor<65536xbf16>, tensor<65536xbf16>, tensor<65536xf32>)"));
  ASSERT_TRUE(kernels.ok()) << kernels.message();
  std::vector<uint16_t> x(65536), y(65536), result(65536), negated(65536);
  std::vector<float> extended(65536);
  for (int i = 0; i < 65536; ++i) {
    x[i] = static_cast<uint16_t>(i);
    y[i] = toBf16(static_cast<float>(i % 251) / 16 - 8);
  }
  void *operands[] = {x.data(), y.data(), result.data(), negated.data(), extended.data()};
  kernels.run("k", operands);
  for (int i = 0; i < 65536; ++i) {
    float a = fromBf16(x[i]), b = fromBf16(y[i]);
    float sum = fromBf16(toBf16(fromBf16(toBf16(a * b)) + a));
    if (std::isnan(sum)) {
      ASSERT_TRUE(std::isnan(fromBf16(result[i]))) << a;
      continue;
    }
    ASSERT_EQ(fromBf16(result[i]), std::max(sum, b)) << a << ", " << b;
    ASSERT_EQ(negated[i], x[i] ^ 0x8000);
    ASSERT_EQ(extended[i], a);
  }
}

/// Every way in which a small float is moved, on whole vectors, tails and single elements.
void expectSmallFloatsMove(const std::string &type) {
  for (int size : {1, 2, 7, 16, 23, 32}) {
    std::string columns = std::to_string(size), tensor = "tensor<3x" + columns + "x" + type + ">";
    std::string turned = "tensor<" + columns + "x3x" + type + ">";
    std::string mask = "tensor<3x" + columns + "xi1>", ids = "tensor<" + columns + "xi64>";
    CompiledKernels kernels(
        mapKernel("(%x: " + tensor + ", %m: " + mask + ", %i: " + ids + ") -> (" + turned + ", " +
                      tensor + ", " + tensor + ")",
                  "%0 = arith.negf %x : " + tensor + "\n%1 = math.absf %x : " + tensor +
                      "\n%2 = arith.select %m, %0, %1 : " + mask + ", " + tensor +
                      "\n%3 = nn.transpose %2 perm [1, 0] : " + tensor + " -> " + turned +
                      "\n%4 = math.copysign %1, %0 : " + tensor +
                      "\n%5 = nn.gather %x[%i] dim 1 : " + tensor + ", " + ids + " -> " + tensor +
                      "\nnn.yield %3, %4, %5 : " + turned + ", " + tensor + ", " + tensor));
    ASSERT_TRUE(kernels.ok()) << kernels.message();
    std::vector<uint16_t> x(3 * size), selected(x.size()), negated(x.size()), picked(x.size());
    std::vector<uint8_t> chosen(x.size());
    std::vector<int64_t> indices(size);
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<uint16_t>(i * 40503);
      chosen[i] = i % 3 == 1;
    }
    for (int i = 0; i < size; ++i)
      indices[i] = i * 5 % size;
    void *operands[] = {x.data(),        chosen.data(),  indices.data(),
                        selected.data(), negated.data(), picked.data()};
    kernels.run("k", operands, 1);
    for (int row = 0; row < 3; ++row)
      for (int column = 0; column < size; ++column) {
        int at = row * size + column;
        ASSERT_EQ(selected[column * 3 + row], chosen[at] ? x[at] ^ 0x8000 : x[at] & 0x7fff);
        ASSERT_EQ(negated[at], x[at] ^ 0x8000);
        ASSERT_EQ(picked[at], x[row * size + indices[column]]);
      }
  }
}

TEST(MapKernel, Bf16MovesUnchanged) { expectSmallFloatsMove("bf16"); }
TEST(MapKernel, F16MovesUnchanged) { expectSmallFloatsMove("f16"); }

TEST(MapKernel, F64RoundsOnceToSmallFloats) {
  CompiledKernels kernels(mapKernel("(%x: tensor<6xf64>) -> (tensor<6xbf16>, tensor<6xf16>)", R"(
      %0 = arith.truncf %x : tensor<6xf64> to tensor<6xbf16>
      %1 = arith.truncf %x : tensor<6xf64> to tensor<6xf16>
      nn.yield %0, %1 : tensor<6xbf16>, tensor<6xf16>)"));
  ASSERT_TRUE(kernels.ok()) << kernels.message();
  // Just above a tie: by way of f32 it would become the tie and round down.
  std::vector<double> x = {1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-11 + 0x1p-40, -INFINITY, 1e300, 0.5,
                           65519.99999};
  std::vector<uint16_t> bf16(6), f16(6);
  void *operands[] = {x.data(), bf16.data(), f16.data()};
  kernels.run("k", operands);
  EXPECT_EQ(bf16[0], 0x3f81);
  EXPECT_EQ(f16[1], 0x3c01);
  EXPECT_EQ(bf16[2], 0xff80);
  EXPECT_EQ(f16[2], 0xfc00);
  EXPECT_EQ(bf16[3], 0x7f80);
  EXPECT_EQ(f16[3], 0x7c00);
  EXPECT_EQ(bf16[4], 0x3f00);
  EXPECT_EQ(f16[4], 0x3800);
  EXPECT_EQ(f16[5], 0x7bff);
}

TEST(MapKernel, IntegersRoundOnceToSmallFloats) {
  CompiledKernels kernels(mapKernel("(%x: tensor<9xi64>) -> (tensor<9xbf16>, tensor<9xbf16>)", R"(
      %0 = arith.sitofp %x : tensor<9xi64> to tensor<9xbf16>
      %1 = arith.uitofp %x : tensor<9xi64> to tensor<9xbf16>
      nn.yield %0, %1 : tensor<9xbf16>, tensor<9xbf16>)"));
  ASSERT_TRUE(kernels.ok()) << kernels.message();
  constexpr int64_t one = 1;
  // Ties between neighbours, and what lies just above, which an f64 does not hold.
  std::vector<int64_t> x = {(one << 62) + (one << 54),
                            (one << 62) + (one << 54) + 1,
                            -(one << 62) - (one << 54),
                            -(one << 62) - (one << 54) - 1,
                            (one << 53) + (one << 45) + 1,
                            (one << 40) + (one << 32) + 1,
                            INT64_MAX,
                            INT64_MIN,
                            -1};
  std::vector<uint16_t> asSigned(9), asUnsigned(9);
  void *operands[] = {x.data(), asSigned.data(), asUnsigned.data()};
  kernels.run("k", operands);
  EXPECT_EQ(asSigned, (std::vector<uint16_t>{0x5e80, 0x5e81, 0xde80, 0xde81, 0x5a01, 0x5381, 0x5f00,
                                             0xdf00, 0xbf80}));
  EXPECT_EQ(asUnsigned, (std::vector<uint16_t>{0x5e80, 0x5e81, 0x5f40, 0x5f40, 0x5a01, 0x5381,
                                               0x5f00, 0x5f00, 0x5f80}));
}

TEST(MapKernel, ResultsOfSeveralShapes) {
  CompiledKernels kernels(mapKernel(
      "(%x: tensor<40x24xf32>) -> (tensor<40x24xf32>, tensor<24x40xf32>, tensor<40x24xf32>)", R"(
      %0 = arith.addf %x, %x : tensor<40x24xf32>
      %1 = nn.transpose %0 perm [1, 0] : tensor<40x24xf32> -> tensor<24x40xf32>
      nn.yield %0, %1, %x : tensor<40x24xf32>, tensor<24x40xf32>, tensor<40x24xf32>)"));
  ASSERT_TRUE(kernels.ok()) << kernels.message();
  std::vector<float> x = ramp(960), doubled(960), transposed(960), copy(960);
  void *operands[] = {x.data(), doubled.data(), transposed.data(), copy.data()};
  kernels.run("k", operands, 1);
  for (int i = 0; i < 960; ++i) {
    ASSERT_EQ(doubled[i], 2 * x[i]);
    ASSERT_EQ(transposed[i], 2 * x[i % 40 * 24 + i / 40]);
    ASSERT_EQ(copy[i], x[i]);
  }
}

TEST(MapKernel, LongChainCompilesOnce) {
  // Each value is used twice: expanding the graph as a tree would take 2^200 operations.
  std::string body = "%v0 = arith.addf %x, %x : tensor<1000xf32>\n";
  for (int i = 1; i < 200; ++i)
    body += "%v" + std::to_string(i) + " = arith." + (i % 2 ? "subf" : "addf") + " %v" +
            std::to_string(i - 1) + ", %v" + std::to_string(i / 2) + " : tensor<1000xf32>\n";
  CompiledKernels kernels(mapKernel("(%x: tensor<1000xf32>) -> tensor<1000xf32>",
                                    body + "nn.yield %v199 : tensor<1000xf32>"));
  ASSERT_TRUE(kernels.ok()) << kernels.message();
}

TEST(MapKernel, RefusesWhatItCannotPull) {
  CompiledKernels kernels(mapKernel("(%x: tensor<4x4xf32>) -> tensor<4x4xf32>", R"(
      %0 = nn.softmax %x dim 1 : tensor<4x4xf32>
      nn.yield %0 : tensor<4x4xf32>)"));
  EXPECT_FALSE(kernels.ok());
  EXPECT_NE(kernels.message().find("cannot be computed element by element"), std::string::npos);
}

} // namespace
