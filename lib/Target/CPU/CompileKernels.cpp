#include "spillway/Target/CPU/CompileKernels.h"

#include "spillway/Conversion/NNToVector/NNToVector.h"
#include "spillway/Support/Errors.h"
#include "spillway/Target/CPU/ObjectCode.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/X86Vector/X86VectorDialect.h"
#include "mlir/IR/Threading.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace spillway;

static void loadDialects(MLIRContext *context) {
  DialectRegistry registry;
  kernels::registerElementModels(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  context->appendDialectRegistry(registry);
  context->loadDialect<func::FuncDialect, LLVM::LLVMDialect, memref::MemRefDialect, scf::SCFDialect,
                       vector::VectorDialect, x86vector::X86VectorDialect>();
}

/// Compiles one module and writes its object file to `path`.
static LogicalResult writeObject(ModuleOp module, const CpuTarget &target, StringRef path) {
  FailureOr<SmallVector<char, 0>> object = emitObject(module, target);
  if (failed(object))
    return failure();
  std::error_code error;
  llvm::raw_fd_ostream file(path, error);
  file.write(object->data(), object->size());
  file.close();
  if (error || file.has_error()) {
    std::error_code reason = error ? error : file.error();
    file.clear_error();
    return emitMachineError(module.getLoc(), "write '" + path + "'", reason);
  }
  return success();
}

LogicalResult spillway::compileKernels(ModuleOp module, const CpuTarget &target,
                                       StringRef outputPath) {
  MLIRContext *context = module.getContext();
  loadDialects(context);

  // One module for each kernel, so that they lower and compile beside each other.
  OwningOpRef<ModuleOp> work = ModuleOp::create(module.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(work->getBody());
  SmallVector<ModuleOp> parts;
  auto addPart = [&](Location loc) {
    builder.setInsertionPointToEnd(work->getBody());
    parts.push_back(ModuleOp::create(builder, loc));
    builder.setInsertionPointToStart(parts.back().getBody());
  };
  for (auto kernel : module.getOps<nn::KernelOp>()) {
    if (kernel.isDeclaration())
      continue;
    addPart(kernel.getLoc());
    if (failed(kernels::emitKernel(kernel, target, builder)))
      return failure();
  }
  if (parts.empty())
    addPart(module.getLoc());

  PassManager passes(context);
  buildLowerToLLVMPipeline(passes.nest<ModuleOp>());
  if (failed(passes.run(*work)))
    return failure();

  std::vector<std::string> objects;
  std::vector<llvm::FileRemover> removers;
  for (size_t i = 0; i < parts.size(); ++i) {
    objects.push_back((outputPath + "." + Twine(i) + ".o").str());
    removers.emplace_back(objects.back());
  }
  if (failed(failableParallelForEachN(context, 0, parts.size(), [&](size_t i) {
        return writeObject(parts[i], target, objects[i]);
      })))
    return failure();
  return linkSharedObject(objects, outputPath, module.getLoc());
}
