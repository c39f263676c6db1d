#include "spillway/Pipelines/Registration.h"

#include "dialects/NN/NN.h"
#include "dialects/Onnx/Onnx.h"
#include "dialects/Rt/Rt.h"
#include "dialects/Zero/Zero.h"
#include "spillway/Conversion/NNToVector/LegalizeNumbers.h"
#include "spillway/Conversion/NNToVector/NNToVector.h"
#include "spillway/Conversion/ZeroToRt/ZeroToRt.h"
#include "spillway/Differentiate/Differentiate.h"
#include "spillway/Differentiate/Passes.h"
#include "spillway/Training/Passes.h"
#include "spillway/Training/Stacking.h"
#include "spillway/Transforms/Passes.h"
#include "spillway/Transforms/Zero/Passes.h"
#include "spillway/Conversion/OnnxToNN/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void spillway::registerDialects(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, func::FuncDialect, math::MathDialect, nn::NNDialect,
                  onnx::OnnxDialect, rt::RtDialect, tensor::TensorDialect, zero::ZeroDialect>();
  // Those of generated kernels.
  registry.insert<LLVM::LLVMDialect, memref::MemRefDialect, scf::SCFDialect,
                  vector::VectorDialect>();
  nn::registerExternalModels(registry);
  kernels::registerElementModels(registry);
  registerDerivatives(registry);
  registerStackRules(registry);
}

void spillway::registerPasses() {
  registerTransformsPasses();
  registerSpillwayDifferentiatePasses();
  registerSpillwayTrainingPasses();
  kernels::registerNNToVectorPass();
  kernels::registerLegalizeNumbersPass();
  registerSpillwayTransformsPasses();
  registerSpillwayZeroToRtPasses();
  zero::registerSpillwayZeroPasses();
  registerSpillwayOnnxToNNPasses();
}
