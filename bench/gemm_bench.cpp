// GEMM kernels at the sizes of a GPT-2 of 355 M parameters: their share of the
// fused multiply-add peak that the same run measures, on one thread and on two.

#include "runtime/device/cpu/DivideRange.h"
#include "runtime/memory/Arena.h"
#include "test/Unit/Kernels/KernelHarness.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <immintrin.h>

using namespace spillway;

namespace {

struct Size {
  int64_t depth, columns;
};
constexpr Size sizes[] = {{1024, 3072}, {1024, 1024}, {1024, 4096}, {4096, 1024}, {1024, 50257}};

std::string kernelName(int64_t rows, Size size) {
  return fmt::format("gemm_{}_{}_{}", rows, size.depth, size.columns);
}

/// With operands of `type`, f32 or bf16.
std::string kernelText(int64_t rows, Size size, const std::string &type) {
  std::string lhs = fmt::format("tensor<{}x{}x{}>", rows, size.depth, type);
  std::string rhs = fmt::format("tensor<{}x{}x{}>", size.depth, size.columns, type);
  std::string result = fmt::format("tensor<{}x{}xf32>", rows, size.columns);
  std::string bias = fmt::format("tensor<{}xf32>", size.columns);
  return fmt::format(R"(
    nn.kernel @{0}(%x: {1}, %w: {2} {{nn.layout = #nn.panels<1>, nn.tiled}}, %b: {3}) -> {4}
        attributes {{schedule = #nn.schedule<gemm>, units = 1 : i64, scratch = 0 : i64}} {{
      %0 = nn.matmul %x, %w : {1}, {2} -> {4}
      %1 = nn.broadcast %b dims [1] : {3} -> {4}
      %2 = arith.addf %0, %1 : {4}
      nn.yield %2 : {4}
    }})",
                     kernelName(rows, size), lhs, rhs, bias, result);
}

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A million rounds of twelve independent chains in registers.
[[gnu::target("avx2,fma")]] void spinMultiplyAdd() {
  __m256 chains[12];
  for (__m256 &chain : chains)
    chain = _mm256_set1_ps(1);
  __m256 factor = _mm256_set1_ps(0.5f);
  for (int round = 0; round < 1000000; ++round)
    for (__m256 &chain : chains)
      asm volatile("vfmadd213ps %1, %1, %0" : "+x"(chain) : "x"(factor));
}
constexpr double spinFlops = 1e6 * 12 * 8 * 2;

double timeOf(auto &&body) {
  double start = seconds();
  body();
  return seconds() - start;
}

/// Memory as kernels get it from the runtime.
class Floats {
public:
  Floats(int64_t count, float value)
      : arena_(*Arena::allocate(static_cast<uint64_t>(count) * sizeof(float), {})) {
    std::fill_n(data(), count, value);
  }
  float *data() const { return reinterpret_cast<float *>(arena_.data()); }

private:
  Arena arena_;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void measure(const test::CompiledKernels &kernels, ThreadTeam &team, int64_t rows, Size size, const std::string &type,
             double budgetSeconds) {
  std::string name = kernelName(rows, size);
  int64_t units = kernels.units(name);
  // As numbers of bf16 these are two of 0.5 and of 0.25.
  bool isNarrow = type == "bf16";
  Floats lhs(rows * size.depth, isNarrow ? std::bit_cast<float>(0x3f003f00) : 0.5f),
      rhs(units * panelWidth * size.depth, isNarrow ? std::bit_cast<float>(0x3e803e80) : 0.25f), bias(size.columns, 1),
      result(rows * size.columns, 0);
  KernelArgument arguments[] = {
      {lhs.data(), 0}, {rhs.data(), 0}, {bias.data(), 0}, {result.data(), 0}};
  std::vector<Floats> scratch;
  for (unsigned i = 0; i < team.size(); ++i)
    scratch.emplace_back(kernels.scratchBytes(name) / sizeof(float), 0);
  KernelFunction function = kernels.function(name);
  int32_t fault = 0;
  auto compute = [&] {
    divideRange(team, 0, units, kernels.parts(name), [&](const KernelRange &range, unsigned thread) {
      function(arguments, &range, scratch[thread].data(), &fault);
    });
  };
  auto spin = [&] {
    team.run(0, team.size(), [](int64_t first, int64_t last, unsigned) {
      for (; first < last; ++first)
        spinMultiplyAdd();
    });
  };

  timeOf(compute);
  std::vector<double> kernelTimes, peakTimes;
  // The clock frequency drifts: peak and kernel take turns.
  for (double end = seconds() + budgetSeconds; kernelTimes.size() < 7 || seconds() < end;) {
    peakTimes.push_back(timeOf(spin));
    for (int i = 0; i < 3; ++i)
      kernelTimes.push_back(timeOf(compute));
  }
  double rate = 2e-9 * static_cast<double>(rows * size.depth * size.columns) / median(kernelTimes);
  double peak = 1e-9 * spinFlops * team.size() / median(peakTimes);
  double weightRate = (isNarrow ? 2e-9 : 4e-9) * static_cast<double>(size.depth * size.columns) / median(kernelTimes);
  double undisturbed = 2e-9 * static_cast<double>(rows * size.depth * size.columns) /
                       std::ranges::min(kernelTimes) * std::ranges::min(peakTimes) /
                       (1e-9 * spinFlops * team.size());
  fmt::print("{:5} {:6} {:6} {:8} {:9.1f} {:9.1f} {:7.3f} {:7.3f} {:12.1f}\n", rows, size.columns,
             size.depth, team.size(), rate, peak, rate / peak, undisturbed, weightRate);
  std::fflush(stdout);
}

} // namespace

int main(int argc, char **argv) {
  std::vector<int64_t> rowCounts = {1, 8, 128, 1024};
  std::vector<unsigned> threadCounts = {1, 2};
  std::string type = "f32";
  double budgetSeconds = 0.5;
  CLI::App app("GEMM kernels against the fused multiply-add peak");
  app.add_option("--rows", rowCounts, "Rows of the left operand")->delimiter(',');
  app.add_option("--threads", threadCounts, "Threads")->delimiter(',');
  app.add_option("--type", type, "Of the operands; the peak stays that of f32")->check(CLI::IsMember({"f32", "bf16"}));
  app.add_option("--seconds", budgetSeconds, "Time for each line");
  CLI11_PARSE(app, argc, argv);

  std::string text;
  for (int64_t rows : rowCounts)
    for (Size size : sizes)
      text += kernelText(rows, size, type);
  test::CompiledKernels kernels(text);
  if (!kernels.ok()) {
    fmt::print(stderr, "{}\n", kernels.message());
    return 3;
  }
  fmt::print("    m      n      k  threads    GFlop/s      peak   share    best  weights GB/s\n");
  for (unsigned threads : threadCounts) {
    Result<std::unique_ptr<ThreadTeam>> team = ThreadTeam::create(threads);
    if (!team) {
      fmt::print(stderr, "{}\n", team.error().message);
      return static_cast<int>(team.error().kind);
    }
    for (int64_t rows : rowCounts)
      for (Size size : sizes)
        measure(kernels, **team, rows, size, type, budgetSeconds);
  }
  return 0;
}
