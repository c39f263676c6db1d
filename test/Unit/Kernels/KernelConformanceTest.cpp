// Random kernels against the interpreter: the same bits where the contract promises them, else within
// what it allows; and the same bits for every cut of the units and every division into parts, on one to three threads.
// Products of bf16 in pairs take denormals for zero: with special values they are held to the latter alone.
//
// SPILLWAY_RANDOM_KERNELS=N takes N kernels of each schedule, from seed
// SPILLWAY_RANDOM_SEED on.

#include "test/Unit/Kernels/GuardedMemory.h"
#include "test/Unit/Kernels/KernelHarness.h"
#include "test/Unit/Kernels/RandomKernel.h"

#include "runtime/base/Near.h"
#include "runtime/device/cpu/DivideRange.h"

#include "spillway/Conversion/NNToVector/RegisterTile.h"
#include "spillway/Interpreter/Interpreter.h"
#include "spillway/Pipelines/Registration.h"

#include "mlir/Parser/Parser.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

using namespace spillway;
using namespace spillway::test;

namespace {

int64_t environment(const char *name, int64_t standard) {
  const char *value = std::getenv(name);
  return value ? std::atoll(value) : standard;
}

/// How far apart two floats may be that an elementary function, a softmax or an
/// attention gave, where both are about 1 or more; relative beyond.
double tolerance(mlir::Type element) {
  if (element.isF64())
    return 1e-12;
  return element.isF32() ? 1e-5 : element.isF16() ? 0x1p-9 : 0x1p-6;
}

double floatAt(mlir::RankedTensorType type, const std::byte *bytes, int64_t i) {
  mlir::Type element = type.getElementType();
  int64_t width = nn::elementBytes(element);
  uint64_t bits = 0;
  std::memcpy(&bits, bytes + i * width, width);
  llvm::APFloat value(mlir::cast<mlir::FloatType>(element).getFloatSemantics(),
                      llvm::APInt(static_cast<unsigned>(8 * width), bits));
  bool inexact;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  return value.convertToDouble();
}

/// The first element that differs from what it must be; empty where none does.
std::string difference(const TensorValue &expected, const std::byte *got, bool exact) {
  mlir::RankedTensorType type = expected.getType();
  const auto *wanted = reinterpret_cast<const std::byte *>(expected.getBytes().data());
  int64_t width = nn::elementBytes(type.getElementType());
  bool isFloat = mlir::isa<mlir::FloatType>(type.getElementType());
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    if (std::memcmp(wanted + i * width, got + i * width, width) == 0)
      continue;
    if (isFloat) {
      double e = floatAt(type, wanted, i), g = floatAt(type, got, i);
      double limit = tolerance(type.getElementType()) * std::max(1.0, std::fabs(e));
      if (exact ? std::isnan(e) && std::isnan(g) : isNear(g, e, limit))
        continue;
      return fmt::format("element {} is {:a} ({}), not {:a} ({})", i, g, g, e, e);
    }
    return fmt::format("element {} differs", i);
  }
  return {};
}

/// A tensor in the order of `layout`, padded with zeros.
std::vector<std::byte> packed(const TensorValue &matrix, nn::PanelsAttr layout) {
  int64_t dim = layout.getDim(), panelWidth = layout.getWidth();
  int64_t rows = matrix.getShape()[0], columns = nn::panelDepth(matrix.getType(), 0);
  int64_t along = dim == 0 ? rows : columns, others = dim == 0 ? columns : rows;
  int64_t width = nn::elementBytes(matrix.getElementType());
  int64_t panels = (along + panelWidth - 1) / panelWidth;
  std::vector<std::byte> stored(panels * others * panelWidth * width);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) {
      int64_t a = dim == 0 ? r : c, o = dim == 0 ? c : r;
      int64_t to = (a / panelWidth * others + o) * panelWidth + a % panelWidth;
      std::memcpy(stored.data() + to * width, matrix.getBytes().data() + (r * columns + c) * width,
                  width);
    }
  return stored;
}

/// Infinities, NaN, denormals and the like in place of some elements.
void sprinkleSpecials(TensorValue &tensor, std::mt19937_64 &random) {
  auto element = mlir::dyn_cast<mlir::FloatType>(tensor.getElementType());
  if (!element)
    return;
  const llvm::fltSemantics &format = element.getFloatSemantics();
  const llvm::APFloat specials[] = {
      llvm::APFloat::getInf(format), llvm::APFloat::getInf(format, /*Negative=*/true),
      llvm::APFloat::getQNaN(format), llvm::APFloat::getZero(format, /*Negative=*/true),
      llvm::APFloat::getSmallest(format), llvm::APFloat::getLargest(format),
      llvm::APFloat::getSmallestNormalized(format, /*Negative=*/true)};
  int64_t width = nn::elementBytes(element);
  for (int64_t i = 0; i < tensor.getNumElements(); ++i)
    if (random() % 16 == 0) {
      uint64_t bits = specials[random() % std::size(specials)].bitcastToAPInt().getZExtValue();
      std::memcpy(tensor.getMutableBytes().data() + i * width, &bits, width);
    }
}

/// One kernel with its operands.
class Trial {
public:
  Trial(nn::KernelOp kernel, const RandomKernel &source, const CompiledKernels &compiled,
        uint64_t seed)
      : kernel(kernel), source(source), compiled(compiled), name(kernel.getSymName().str()),
        random(seed) {
    special = kernel.getSchedule() != nn::Schedule::attention && random() % 4 == 0;
    for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes())) {
      TensorValue input(mlir::cast<mlir::RankedTensorType>(type));
      input.fillUniform(random, source.ranges[i].low, source.ranges[i].high);
      if (special)
        sprinkleSpecials(input, random);
      inputs.push_back(input);
      auto panels = kernel.getArgAttrOfType<nn::PanelsAttr>(i, nn::layoutAttrName);
      if (panels) {
        memory.emplace_back(packed(input, panels));
      } else {
        const auto *bytes = reinterpret_cast<const std::byte *>(input.getBytes().data());
        memory.emplace_back(std::vector<std::byte>(bytes, bytes + input.getBytes().size()));
      }
      // Bytes of the part of a unit, where parts can stand for the whole.
      bool tiled = kernel.getArgAttr(i, nn::tiledAttrName) != nullptr;
      auto rows = kernel.getArgAttrOfType<mlir::IntegerAttr>(i, nn::rowsAttrName);
      int64_t width = panels ? panels.getWidth() : rows ? rows.getInt() : 0;
      int64_t other = nn::panelDepth(input.getType(), panels ? panels.getDim() : 0);
      unitBytes.push_back(tiled ? other * width * nn::elementBytes(input.getElementType()) : 0);
    }
  }

  /// `level` is the one that the kernels are compiled for.
  void check(CpuLevel level) {
    llvm::SmallVector<TensorValue> expected;
    ASSERT_TRUE(succeeded(evaluateFunction(
        kernel, inputs, [](zero::StateOp) { return mlir::failure(); }, expected)));
    std::vector<std::vector<std::byte>> whole = run(1, compiled.units(name));
    bool pairs = multipliesPairs(level);
    if (!pairs || !special)
      for (auto [i, result] : llvm::enumerate(expected))
        ASSERT_EQ(difference(result, whole[i].data(), source.exact && !pairs), "") << "in result " << i;
    int64_t some = 1 + static_cast<int64_t>(random() % compiled.units(name));
    for (unsigned threads : {1, 2, 3})
      ASSERT_TRUE(run(threads, threads == 1 ? 1 : some) == whole)
          << "other bits on " << threads << " threads";
  }

private:
  bool multipliesPairs(CpuLevel level) {
    return llvm::any_of(kernel.getBody().getOps<nn::MatmulOp>(), [&](nn::MatmulOp matmul) {
      return kernels::multipliesPairs(matmul.getLhs().getType().getElementType(), matmul.getRhs().getType().getElementType(), {level});
    });
  }

  /// The results of launches of at most `perLaunch` units each, on a team of threads.
  std::vector<std::vector<std::byte>> run(unsigned threads, int64_t perLaunch) {
    std::vector<GuardedMemory> results;
    for (mlir::Type type : kernel.getResultTypes())
      results.emplace_back(std::vector<std::byte>(
          nn::tensorBytes(mlir::cast<mlir::RankedTensorType>(type)), std::byte(0x5c)));
    std::vector<GuardedMemory> scratch;
    for (unsigned thread = 0; thread < threads; ++thread)
      scratch.emplace_back(std::vector<std::byte>(compiled.scratchBytes(name), std::byte(0xa5)),
                           /*alignment=*/64);
    int32_t fault = 0;
    auto team = ThreadTeam::create(threads);
    KernelFunction function = compiled.function(name);
    for (int64_t begin = 0; begin < compiled.units(name); begin += perLaunch) {
      std::vector<KernelArgument> arguments;
      for (auto [i, operand] : llvm::enumerate(memory)) {
        int64_t origin = unitBytes[i] ? begin : 0;
        arguments.push_back({operand.data() + origin * unitBytes[i], origin});
      }
      for (GuardedMemory &result : results)
        arguments.push_back({result.data(), 0});
      int64_t end = std::min(begin + perLaunch, compiled.units(name));
      divideRange(**team, begin, end, compiled.parts(name), [&](const KernelRange &range, unsigned thread) {
        function(arguments.data(), &range, scratch[thread].data(), &fault);
      });
    }
    EXPECT_EQ(fault, 0);
    std::vector<std::vector<std::byte>> bytes;
    for (GuardedMemory &result : results)
      bytes.emplace_back(result.data(), result.data() + result.size());
    return bytes;
  }

  nn::KernelOp kernel;
  const RandomKernel &source;
  const CompiledKernels &compiled;
  std::string name;
  std::mt19937_64 random;
  /// The operands hold infinities, NaN and denormals.
  bool special;
  llvm::SmallVector<TensorValue> inputs;
  std::vector<GuardedMemory> memory;
  std::vector<int64_t> unitBytes;
};

struct Batch {
  std::string schedule;
  int64_t count;

  friend void PrintTo(const Batch &batch, std::ostream *stream) { *stream << batch.schedule; }
};

class KernelConformance : public testing::TestWithParam<Batch> {};

TEST_P(KernelConformance, AgreesWithTheInterpreter) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry);
  int64_t count = environment("SPILLWAY_RANDOM_KERNELS", GetParam().count);
  auto seed = static_cast<uint64_t>(environment("SPILLWAY_RANDOM_SEED", 1));
  std::vector<RandomKernel> sources;
  std::string text;
  for (int64_t i = 0; i < count; ++i) {
    sources.push_back(randomKernel(GetParam().schedule, fmt::format("k{}", i), seed + i));
    text += sources.back().text;
  }
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&context));
  ASSERT_TRUE(module) << text;
  ASSERT_TRUE(hostCpuLevel());
  std::vector<CpuLevel> levels = {*hostCpuLevel()};
  if (levels.front() == CpuLevel::avx512bf16)
    levels.push_back(CpuLevel::avx512);
  for (CpuLevel level : levels) {
    CompiledKernels compiled(text, level);
    ASSERT_TRUE(compiled.ok()) << compiled.message();
    for (auto [i, kernel] : llvm::enumerate(module->getOps<nn::KernelOp>())) {
      SCOPED_TRACE(fmt::format("{}, seed {}\n{}", std::string(name(level)), seed + i, sources[i].text));
      Trial(kernel, sources[i], compiled, seed + i).check(level);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Schedules, KernelConformance,
                         testing::Values(Batch{"map", 60}, Batch{"row", 60}, Batch{"gemm", 40},
                                         Batch{"conv", 60}, Batch{"attention", 12}, Batch{"scan", 30},
                                         Batch{"sort", 30}, Batch{"scatter", 40}),
                         [](const auto &info) { return info.param.schedule; });

} // namespace
