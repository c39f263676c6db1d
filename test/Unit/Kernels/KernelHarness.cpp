#include "test/Unit/Kernels/KernelHarness.h"

#include "spillway/Conversion/NNToVector/KernelSpace.h"
#include "spillway/Pipelines/Registration.h"
#include "spillway/Target/CPU/CompileKernels.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <dlfcn.h>

using namespace spillway;
using namespace spillway::test;

// Rounded up to whole cache lines, as aligned_alloc asks for; never none.
Scratch::Scratch(int64_t bytes)
    : memory_(static_cast<std::byte *>(std::aligned_alloc(64, (bytes / 64 + 1) * 64)), std::free) {}

CompiledKernels::CompiledKernels(std::string_view text, std::optional<CpuLevel> level) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry);
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    message_ += diagnostic.str() + "\n";
    return mlir::success();
  });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&context));
  if (!module)
    return;
  for (auto kernel : module->getOps<nn::KernelOp>()) {
    mlir::FailureOr<kernels::KernelSpace> space = kernels::kernelSpace(kernel);
    if (failed(space))
      return;
    spaces_.push_back({kernel.getSymName().str(), space->units, space->scratch, space->parts});
  }
  llvm::SmallString<128> path;
  if (llvm::sys::fs::createTemporaryFile("spillway-test", "so", path))
    return;
  llvm::FileRemover remover(path);
  if (!level) {
    message_ = "this machine has no AVX2";
    return;
  }
  if (failed(compileKernels(*module, {*level}, path)))
    return;
  library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library_)
    message_ = dlerror();
}

CompiledKernels::~CompiledKernels() {
  if (library_)
    dlclose(library_);
}

const CompiledKernels::Space *CompiledKernels::space(const std::string &kernel) const {
  auto found = std::ranges::find(spaces_, kernel, &Space::kernel);
  return found == spaces_.end() ? nullptr : &*found;
}

int64_t CompiledKernels::units(const std::string &kernel) const { return space(kernel)->units; }

int64_t CompiledKernels::parts(const std::string &kernel) const { return space(kernel)->parts; }

int64_t CompiledKernels::scratchBytes(const std::string &kernel) const {
  return space(kernel)->scratch;
}

KernelFunction CompiledKernels::function(const std::string &kernel) const {
  return reinterpret_cast<KernelFunction>(dlsym(library_, kernel.c_str()));
}

int32_t CompiledKernels::call(const std::string &kernel, std::span<const KernelArgument> arguments,
                              const KernelRange &range) const {
  Scratch scratch(scratchBytes(kernel));
  std::fill_n(scratch.data(), scratchBytes(kernel), std::byte(0xa5));
  int32_t fault = 0;
  function(kernel)(arguments.data(), &range, scratch.data(), &fault);
  return fault;
}

int32_t CompiledKernels::run(const std::string &kernel, std::span<void *const> operands,
                             int64_t unitsPerCall) const {
  std::vector<KernelArgument> arguments;
  for (void *data : operands)
    arguments.push_back({data, 0});
  int32_t fault = 0;
  for (int64_t end = units(kernel); end > 0;) {
    int64_t begin = std::max<int64_t>(0, end - std::min(unitsPerCall, units(kernel)));
    if (int32_t raised = call(kernel, arguments, {begin, end}))
      fault = raised;
    end = begin;
  }
  return fault;
}
