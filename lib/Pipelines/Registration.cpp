#include "spillway/Pipelines/Registration.h"

#include "dialects/NN/NN.h"
#include "dialects/Onnx/Onnx.h"
#include "dialects/Zero/Zero.h"
#include "spillway/Conversion/NNToVector/LegalizeNumbers.h"
#include "spillway/Conversion/NNToVector/NNToVector.h"
#include "spillway/Conversion/OnnxToNN/Passes.h"
#include "spillway/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void spillway::registerDialects(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, func::FuncDialect, math::MathDialect, nn::NNDialect,
                  onnx::OnnxDialect, zero::ZeroDialect>();
  nn::registerExternalModels(registry);
  kernels::registerElementModels(registry);
}

void spillway::registerPasses() {
  registerTransformsPasses();
  kernels::registerNNToVectorPass();
  kernels::registerLegalizeNumbersPass();
  registerSpillwayOnnxToNNPasses();
  registerSpillwayTransformsPasses();
}
