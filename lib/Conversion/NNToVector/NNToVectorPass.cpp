#include "spillway/Conversion/NNToVector/NNToVector.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/X86Vector/X86VectorDialect.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace spillway;

namespace {

struct NNToVector : PassWrapper<NNToVector, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(NNToVector)

  NNToVector() = default;
  NNToVector(const NNToVector &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "nn-to-vector"; }
  StringRef getDescription() const override {
    return "Replaces each nn.kernel by the function that computes it";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    kernels::registerElementModels(registry);
    registry.insert<func::FuncDialect, LLVM::LLVMDialect, memref::MemRefDialect, scf::SCFDialect,
                    vector::VectorDialect, x86vector::X86VectorDialect>();
  }

  void runOnOperation() override {
    std::optional<CpuLevel> level = cpuLevelFromName(levelName);
    if (!level) {
      getOperation().emitError("unknown CPU level '") << levelName << "'";
      return signalPassFailure();
    }
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<nn::KernelOp>())) {
      OpBuilder builder(kernel);
      if (failed(kernels::emitKernel(kernel, {*level}, builder)))
        return signalPassFailure();
      kernel.erase();
    }
  }

  Option<std::string> levelName{*this, "cpu", llvm::cl::desc("avx2, avx512 or avx512bf16"),
                                llvm::cl::init("avx2")};
};

} // namespace

void kernels::registerNNToVectorPass() { PassRegistration<NNToVector>(); }
