// Functions of func, scf, vector, memref, arith, math and llvm as machine code.
#pragma once

#include "spillway/Target/CPU/CpuTarget.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/SmallVector.h"

namespace spillway {

/// Passes that turn a module of such functions into one of the llvm dialect alone.
void buildLowerToLLVMPipeline(mlir::OpPassManager &passes);

/// The object file of a module of the llvm dialect. It calls nothing outside
/// itself; what would need a library is an error of whoever links it.
mlir::FailureOr<llvm::SmallVector<char, 0>> emitObject(mlir::ModuleOp module,
                                                       const CpuTarget &target);

/// Links object files into a shared object that needs no other library. Errors are reported at
/// `location`.
mlir::LogicalResult linkSharedObject(llvm::ArrayRef<std::string> objects,
                                     llvm::StringRef outputPath,
                                     mlir::Location location);

} // namespace spillway
