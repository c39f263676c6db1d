// Attention kernels against softmax(query x key^T * scale + mask) x value in f64.

#include "test/Unit/Kernels/KernelHarness.h"
#include "test/Unit/Kernels/Numbers.h"

#include "runtime/base/Near.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <optional>

using namespace spillway;
using namespace spillway::test;

namespace {

enum class Mask { none, bits, floats };

struct Attention {
  int64_t batches = 1, heads = 1, keyHeads = 1, queries = 1, keys = 1, depth = 1, valueDepth = 1;
  std::string type = "f32";
  Mask mask = Mask::none;
  /// 1 where the mask's dimension is.
  std::array<int64_t, 4> maskShape = {};
  double softcap = 0;
  std::optional<int64_t> causalOffset = std::nullopt;
  bool emptyIsZero = false;
  /// Transposes heads and queries, joins heads, and gives x * 2 + bias there, and -x.
  bool epilogue = false;

  static constexpr double scale = 0.375;

  std::string tensor(std::array<int64_t, 4> shape, const std::string &element) const {
    return fmt::format("tensor<{}x{}x{}x{}x{}>", shape[0], shape[1], shape[2], shape[3], element);
  }

  std::string text() const {
    std::string q = tensor({batches, heads, queries, depth}, type);
    std::string k = tensor({batches, keyHeads, keys, depth}, type);
    std::string v = tensor({batches, keyHeads, keys, valueDepth}, type);
    std::string m = tensor(maskShape, mask == Mask::bits ? "i1" : type);
    std::string r = tensor({batches, heads, queries, valueDepth}, type);
    std::string joined =
        fmt::format("tensor<{}x{}x{}x{}>", batches, queries, heads * valueDepth, type);
    std::string bias = fmt::format("tensor<{}x{}>", heads * valueDepth, type);
    std::string text = fmt::format("nn.kernel @k(%q: {}, %k: {}, %v: {}", q, k, v);
    if (mask != Mask::none)
      text += ", %m: " + m;
    if (epilogue)
      text += ", %b: " + bias;
    text += ") -> " + (epilogue ? fmt::format("({}, {})", joined, r) : r) +
            " attributes {schedule = #nn.schedule<attention>, units = 1 : i64, scratch = 0 : i64} "
            "{\n%0 = nn.attention <" +
            (emptyIsZero ? "zero" : "nan") + "> %q, %k, %v" +
            (mask != Mask::none ? " mask %m : " + m : "") +
            fmt::format(" scale {:e} {{softcap = {:e} : f32", scale, softcap) +
            (causalOffset ? fmt::format(", causal_offset = {} : i64", *causalOffset) : "") +
            fmt::format("}} : {}, {}, {} -> {}\n", q, k, v, r);
    if (!epilogue)
      return text + "nn.yield %0 : " + r + "\n}";
    std::string t = tensor({batches, queries, heads, valueDepth}, type);
    return text + fmt::format("%1 = nn.transpose %0 perm [0, 2, 1, 3] : {0} -> {1}\n"
                              "%2 = nn.reshape %1 : {1} -> {2}\n"
                              "%3 = arith.addf %2, %2 : {2}\n"
                              "%4 = nn.broadcast %b dims [2] : {3} -> {2}\n"
                              "%5 = arith.addf %3, %4 : {2}\n"
                              "%6 = arith.negf %0 : {0}\n"
                              "nn.yield %5, %6 : {2}, {0}\n}}",
                              r, t, joined, bias);
  }

  int64_t results() const { return batches * heads * queries * valueDepth; }
};

struct Operands {
  std::vector<double> query, key, value, mask, bias;

  Operands(const Attention &a, std::mt19937 &random)
      : query(smallValues(a.type, a.batches * a.heads * a.queries * a.depth, random)),
        key(smallValues(a.type, a.batches * a.keyHeads * a.keys * a.depth, random)),
        value(smallValues(a.type, a.batches * a.keyHeads * a.keys * a.valueDepth, random)),
        mask(a.mask == Mask::none
                 ? 0
                 : a.maskShape[0] * a.maskShape[1] * a.maskShape[2] * a.maskShape[3]),
        bias(smallValues(a.type, a.heads * a.valueDepth, random)) {
    for (double &element : mask)
      element = a.mask == Mask::bits ? random() % 3 != 0
                                     : (random() % 5 == 0 ? -std::numeric_limits<double>::infinity()
                                                          : static_cast<double>(random() % 9) / 4);
  }

  double maskAt(const Attention &a, std::array<int64_t, 4> index) const {
    int64_t at = 0;
    for (int i = 0; i < 4; ++i)
      at = at * a.maskShape[i] + (a.maskShape[i] == 1 ? 0 : index[i]);
    return mask[at];
  }

  std::vector<double> exact(const Attention &a) const {
    constexpr double hidden = -std::numeric_limits<double>::infinity();
    std::vector<double> result;
    for (int64_t b = 0; b < a.batches; ++b)
      for (int64_t h = 0; h < a.heads; ++h)
        for (int64_t i = 0; i < a.queries; ++i) {
          int64_t queryAt = ((b * a.heads + h) * a.queries + i) * a.depth;
          int64_t keyAt = (b * a.keyHeads + h / (a.heads / a.keyHeads)) * a.keys;
          std::vector<double> scores(a.keys);
          double highest = hidden, sum = 0;
          for (int64_t j = 0; j < a.keys; ++j) {
            double &score = scores[j];
            for (int64_t d = 0; d < a.depth; ++d)
              score += query[queryAt + d] * key[(keyAt + j) * a.depth + d];
            score *= a.scale;
            if (a.softcap != 0)
              score = a.softcap * std::tanh(score / a.softcap);
            if (a.mask == Mask::floats)
              score += maskAt(a, {b, h, i, j});
            if ((a.mask == Mask::bits && maskAt(a, {b, h, i, j}) == 0) ||
                (a.causalOffset && j > i + *a.causalOffset))
              score = hidden;
            highest = std::max(highest, score);
          }
          std::vector<double> row(a.valueDepth);
          for (int64_t j = 0; j < a.keys; ++j) {
            double weight = scores[j] == hidden ? 0 : std::exp(scores[j] - highest);
            sum += weight;
            for (int64_t e = 0; e < a.valueDepth; ++e)
              row[e] += weight * value[(keyAt + j) * a.valueDepth + e];
          }
          bool zero = sum == 0 && (a.emptyIsZero || a.keys == 0);
          for (double element : row)
            result.push_back(zero ? 0 : element / sum);
        }
    return result;
  }
};

/// Runs units in calls of at most `perCall`; all results one after another.
std::vector<std::byte> run(const CompiledKernels &kernels, const Attention &a,
                           const Operands &operands, int64_t perCall) {
  std::vector<std::vector<std::byte>> memory = {encode(a.type, operands.query),
                                                encode(a.type, operands.key),
                                                encode(a.type, operands.value)};
  if (a.mask != Mask::none)
    memory.push_back(encode(a.mask == Mask::bits ? "i1" : a.type, operands.mask));
  if (a.epilogue)
    memory.push_back(encode(a.type, operands.bias));
  for (int i = 0; i < (a.epilogue ? 2 : 1); ++i)
    memory.emplace_back(a.results() * elementBytes(a.type), std::byte(0x5c));
  std::vector<void *> pointers;
  for (std::vector<std::byte> &bytes : memory)
    pointers.push_back(bytes.data());
  EXPECT_EQ(kernels.run("k", pointers, perCall), 0);
  if (a.epilogue)
    memory[memory.size() - 2].insert(memory[memory.size() - 2].end(), memory.back().begin(),
                                     memory.back().end());
  return memory[memory.size() - (a.epilogue ? 2 : 1)];
}

/// How far the results may be off, against numbers of about 2.
double tolerance(const std::string &type) {
  if (type == "f64")
    return 1e-13;
  return type == "f32" ? 4e-6 : type == "f16" ? 0x1p-9 : 0x1p-6;
}

void check(const Attention &a) {
  SCOPED_TRACE(a.text());
  CompiledKernels kernels(a.text());
  ASSERT_TRUE(kernels.ok()) << kernels.message();
  std::mt19937 random(20250102);
  Operands operands(a, random);
  std::vector<std::byte> whole = run(kernels, a, operands, INT64_MAX);
  for (int64_t perCall : {1, 3})
    ASSERT_EQ(run(kernels, a, operands, perCall), whole) << "in calls of " << perCall << " units";

  std::vector<double> exact = operands.exact(a), got = decode(a.type, whole);
  auto expectNear = [&](double value, double expected, int64_t at) {
    ASSERT_TRUE(isNear(value, expected, tolerance(a.type) * std::max(1.0, std::fabs(expected))))
        << value << ", exactly " << expected << ", at " << at;
  };
  int64_t at = 0;
  for (int64_t b = 0; b < a.batches; ++b)
    for (int64_t h = 0; h < a.heads; ++h)
      for (int64_t i = 0; i < a.queries; ++i)
        for (int64_t e = 0; e < a.valueDepth; ++e, ++at) {
          if (!a.epilogue) {
            expectNear(got[at], exact[at], at);
            continue;
          }
          int64_t column = h * a.valueDepth + e;
          int64_t joined = (b * a.queries + i) * a.heads * a.valueDepth + column;
          expectNear(got[joined], 2 * exact[at] + operands.bias[column], joined);
          expectNear(got[a.results() + at], -exact[at], a.results() + at);
        }
}

TEST(AttentionKernel, TailsOfQueriesKeysAndDepths) {
  check({});
  check({.batches = 2, .heads = 3, .keyHeads = 3, .queries = 7, .keys = 17, .depth = 5,
         .valueDepth = 20});
  check({.heads = 2, .keyHeads = 2, .queries = 70, .keys = 65, .depth = 8, .valueDepth = 16});
  check({.queries = 129, .keys = 130, .depth = 24, .valueDepth = 3});
}

TEST(AttentionKernel, HeadsShareKeys) {
  check({.batches = 2, .heads = 6, .keyHeads = 2, .queries = 5, .keys = 19, .depth = 4,
         .valueDepth = 17});
}

TEST(AttentionKernel, ElementTypes) {
  for (std::string type : {"f64", "f16", "bf16"})
    check({.heads = 2, .keyHeads = 1, .queries = 9, .keys = 33, .depth = 12, .valueDepth = 19,
           .type = type, .epilogue = true});
}

TEST(AttentionKernel, Masks) {
  Attention a{.batches = 2, .heads = 4, .keyHeads = 2, .queries = 6, .keys = 21, .depth = 8,
              .valueDepth = 8};
  for (std::array<int64_t, 4> shape : {std::array<int64_t, 4>{2, 4, 6, 21}, {1, 1, 6, 21},
                                       {2, 1, 1, 21}, {1, 4, 6, 1}}) {
    a.mask = a.mask == Mask::bits ? Mask::floats : Mask::bits;
    a.maskShape = shape;
    check(a);
  }
  a.softcap = 1.5;
  a.emptyIsZero = true;
  check(a);
}

TEST(AttentionKernel, CausalOffsets) {
  for (int64_t offset : {-70, -2, 0, 80})
    check({.queries = 66, .keys = 69, .depth = 4, .valueDepth = 8, .causalOffset = offset,
           .emptyIsZero = offset == -2});
}

TEST(AttentionKernel, NoKeysGiveZero) {
  check({.queries = 3, .keys = 0, .depth = 4, .valueDepth = 5});
}

TEST(AttentionKernel, Epilogues) {
  check({.batches = 2, .heads = 3, .keyHeads = 1, .queries = 66, .keys = 20, .depth = 8,
         .valueDepth = 19, .epilogue = true});
  check({.heads = 1, .keyHeads = 1, .queries = 3, .keys = 5, .depth = 8, .valueDepth = 1,
         .epilogue = true});
}

TEST(AttentionKernel, RefusesAnEpilogueThatNeedsOtherElements) {
  CompiledKernels kernels(R"(
    nn.kernel @k(%q: tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
        attributes {schedule = #nn.schedule<attention>, units = 1 : i64, scratch = 0 : i64} {
      %0 = nn.attention <nan> %q, %q, %q scale 1.0
          : tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32> -> tensor<1x4x4x4xf32>
      %1 = nn.transpose %0 perm [0, 2, 1, 3] : tensor<1x4x4x4xf32> -> tensor<1x4x4x4xf32>
      %2 = arith.addf %0, %1 : tensor<1x4x4x4xf32>
      nn.yield %2 : tensor<1x4x4x4xf32>
    })");
  EXPECT_FALSE(kernels.ok());
  EXPECT_NE(kernels.message().find("it needs other elements"), std::string::npos)
      << kernels.message();
}

} // namespace
