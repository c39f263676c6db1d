#include "spillway/Target/CPU/ObjectCode.h"

#include "spillway/Conversion/NNToVector/LegalizeNumbers.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void spillway::buildLowerToLLVMPipeline(OpPassManager &passes) {
  passes.addNestedPass<func::FuncOp>(kernels::createLegalizeNumbersPass());
  passes.addPass(createSCFToControlFlowPass());
  ConvertVectorToLLVMPassOptions vectors;
  vectors.force32BitVectorIndices = false;
  vectors.x86Vector = true;
  passes.addPass(createConvertVectorToLLVMPass(vectors));
  passes.addPass(createFinalizeMemRefToLLVMConversionPass());
  passes.addPass(createConvertMathToLLVMPass());
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createConvertFuncToLLVMPass());
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
}
