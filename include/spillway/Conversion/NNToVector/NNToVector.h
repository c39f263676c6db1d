// nn kernels to loops over vectors.
#pragma once

#include "spillway/Target/CPU/CpuTarget.h"

#include "dialects/NN/NN.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace spillway::kernels {

/// Writes `kernel` as a function of its name at the builder's insertion point (the
/// body of a module), in func, scf, vector, memref, arith, math and llvm:
///
///   func.func @kernel(%arguments: !llvm.ptr, %begin: index, %end: index,
///                     %scratch: !llvm.ptr, %fault: !llvm.ptr)
///
/// Elementary functions are still those of math; see LegalizeNumbers.h. Constants of
/// more than one value become `memref.global`s beside it. Errors are diagnosed at
/// the operation that cannot be computed; what was written then is erased.
mlir::FailureOr<mlir::func::FuncOp> emitKernel(nn::KernelOp kernel, const CpuTarget &target,
                                               mlir::OpBuilder &builder);

/// Gives operations of nn and arith their ElementOpInterface.
void registerElementModels(mlir::DialectRegistry &registry);

/// Pass `nn-to-vector`: replaces every nn.kernel of a module by its function.
void registerNNToVectorPass();

} // namespace spillway::kernels
