#include "spillway/Target/CPU/ObjectCode.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"

#include <mutex>

using namespace mlir;
using namespace spillway;

static const llvm::Triple &triple() {
  static const llvm::Triple triple("x86_64-unknown-linux-gnu");
  return triple;
}

static std::unique_ptr<llvm::TargetMachine> createMachine(const CpuTarget &target) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  std::string error;
  const llvm::Target *x86 = llvm::TargetRegistry::lookupTarget(triple(), error);
  if (!x86)
    return nullptr;
  std::string features = "+" + llvm::join(target.features(), ",+");
  llvm::TargetOptions options;
  // Fused multiply-adds are those of the IR and no others.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(
      x86->createTargetMachine(triple(), "x86-64", features, options, llvm::Reloc::PIC_,
                               std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  // Kernels are vectors already. What they compute must not depend on how a loop was found.
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  tuning.LoopInterleaving = false;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine, tuning);
  // No loop becomes a call of memset or memcpy: there is no library to link.
  llvm::TargetLibraryInfoImpl library(triple());
  library.disableAllFunctions();
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

FailureOr<SmallVector<char, 0>> spillway::emitObject(ModuleOp module, const CpuTarget &target) {
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(target);
  if (!machine)
    return module.emitError("this LLVM has no x86-64 code generator");
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(module, context, "kernels");
  if (!code)
    return module.emitError("has no translation to LLVM IR");
  code->setTargetTriple(triple());
  code->setDataLayout(machine->createDataLayout());
  for (llvm::Function &function : *code)
    if (!function.isDeclaration()) {
      function.setDoesNotThrow();
      function.addFnAttr("no-builtins");
    }
  optimize(*code, *machine);

  SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return module.emitError("this LLVM emits no object files");
  passes.run(*code);
  return object;
}
