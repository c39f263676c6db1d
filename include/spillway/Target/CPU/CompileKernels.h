// Kernels as a shared object.
#pragma once

#include "spillway/Target/CPU/CpuTarget.h"

#include "mlir/IR/BuiltinOps.h"

namespace spillway {

/// Compiles every `nn.kernel` of `module` to a function of its symbol's name
/// (KernelFunction of runtime/device/KernelAbi.h) and links them into the shared
/// object `outputPath`. The result depends on no other library. The module is not
/// changed. Kernels compile in parallel on the context's thread pool; errors are
/// diagnosed at the kernel or at the operation that has no code.
mlir::LogicalResult compileKernels(mlir::ModuleOp module, const CpuTarget &target,
                                   llvm::StringRef outputPath);

} // namespace spillway
