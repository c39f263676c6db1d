// Every instruction set level compiles and links, on any machine.

#include "spillway/Target/CPU/CompileKernels.h"
#include "spillway/Pipelines/Registration.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>

using namespace spillway;

namespace spillway {
static void PrintTo(CpuLevel level, std::ostream *stream) { *stream << name(level).str(); }
} // namespace spillway

namespace {

constexpr char kernels[] = R"(
nn.kernel @map(%x: tensor<7x37xbf16>, %y: tensor<37x7xf32>) -> tensor<7x37xf32>
    attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64} {
  %0 = arith.extf %x : tensor<7x37xbf16> to tensor<7x37xf32>
  %1 = nn.transpose %y perm [1, 0] : tensor<37x7xf32> -> tensor<7x37xf32>
  %2 = arith.mulf %0, %1 : tensor<7x37xf32>
  %3 = math.sin %2 : tensor<7x37xf32>
  nn.yield %3 : tensor<7x37xf32>
}
nn.kernel @row(%x: tensor<7x37xf16>) -> tensor<7x37xf16>
    attributes {schedule = #nn.schedule<row>, units = 1 : i64, scratch = 0 : i64} {
  %0 = nn.softmax %x dim 1 : tensor<7x37xf16>
  nn.yield %0 : tensor<7x37xf16>
}
nn.kernel @gemm(%x: tensor<20x40xbf16>, %w: tensor<40x37xbf16> {nn.layout = #nn.panels<1>}) -> tensor<20x37xbf16>
    attributes {schedule = #nn.schedule<gemm>, units = 1 : i64, scratch = 0 : i64} {
  %0 = nn.matmul %x, %w : tensor<20x40xbf16>, tensor<40x37xbf16> -> tensor<20x37xbf16>
  nn.yield %0 : tensor<20x37xbf16>
}
nn.kernel @attention(%q: tensor<1x2x9x8xbf16>, %k: tensor<1x1x37x8xbf16>, %m: tensor<1x1x9x37xi1>)
    -> tensor<1x9x16xbf16> attributes {schedule = #nn.schedule<attention>, units = 1 : i64, scratch = 0 : i64} {
  %0 = nn.attention <zero> %q, %k, %k mask %m : tensor<1x1x9x37xi1> scale 0.5
      : tensor<1x2x9x8xbf16>, tensor<1x1x37x8xbf16>, tensor<1x1x37x8xbf16> -> tensor<1x2x9x8xbf16>
  %1 = nn.transpose %0 perm [0, 2, 1, 3] : tensor<1x2x9x8xbf16> -> tensor<1x9x2x8xbf16>
  %2 = nn.reshape %1 : tensor<1x9x2x8xbf16> -> tensor<1x9x16xbf16>
  nn.yield %2 : tensor<1x9x16xbf16>
}
nn.kernel @scan(%x: tensor<7x37xf64>) -> tensor<7x37xf64>
    attributes {schedule = #nn.schedule<scan>, units = 1 : i64, scratch = 0 : i64} {
  %0 = nn.cumsum %x dim 0 : tensor<7x37xf64>
  nn.yield %0 : tensor<7x37xf64>
}
)";

class CompileKernels : public testing::TestWithParam<CpuLevel> {
protected:
  void SetUp() override {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    module = mlir::parseSourceString<mlir::ModuleOp>(kernels, mlir::ParserConfig(&context));
    ASSERT_TRUE(module);
  }

  /// The bytes of the shared object; empty where it was not made.
  std::string compile() {
    llvm::SmallString<128> path;
    if (llvm::sys::fs::createTemporaryFile("spillway-test", "so", path))
      return {};
    llvm::FileRemover remover(path);
    if (failed(compileKernels(*module, {GetParam()}, path)))
      return {};
    auto file = llvm::MemoryBuffer::getFile(path);
    return file ? (*file)->getBuffer().str() : std::string();
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

TEST_P(CompileKernels, GivesTheSameBytesEachTime) {
  std::string first = compile();
  EXPECT_FALSE(first.empty());
  EXPECT_EQ(compile(), first);
}

INSTANTIATE_TEST_SUITE_P(Levels, CompileKernels,
                         testing::Values(CpuLevel::avx2, CpuLevel::avx512, CpuLevel::avx512bf16),
                         [](const auto &info) { return name(info.param).str(); });

TEST(CompileKernelsErrors, NameWhatCannotBeWritten) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry);
  std::string message;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    message += diagnostic.str();
    return mlir::success();
  });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(kernels, mlir::ParserConfig(&context));
  ASSERT_TRUE(module);
  EXPECT_TRUE(failed(compileKernels(*module, {}, "/nonexistent/kernels.so")));
  EXPECT_NE(message.find("/nonexistent/kernels.so"), std::string::npos) << message;
}

} // namespace
