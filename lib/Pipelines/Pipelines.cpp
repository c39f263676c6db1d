#include "spillway/Pipelines/Pipelines.h"

#include "spillway/Conversion/OnnxToNN/Passes.h"
#include "spillway/Transforms/Passes.h"
#include "spillway/Transforms/Zero/Passes.h"

#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace spillway;

void spillway::buildOperationPipeline(OpPassManager &passes, const std::vector<std::string> &dims) {
  ConvertOnnxToNNPassOptions conversion;
  conversion.dims.assign(dims.begin(), dims.end());
  passes.addPass(createConvertOnnxToNNPass(conversion));
  // Chains are recognised in canonical form, where equal ones are one.
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addNestedPass<func::FuncOp>(createNNFuseAttentionPass());
  passes.addPass(zero::createZeroNarrowPass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
}

void spillway::buildKernelPipeline(OpPassManager &passes, bool linkWeights) {
  passes.addPass(createNNAssignLayoutsPass());
  passes.addPass(createNNFormKernelsPass());
  passes.addPass(zero::createZeroOutlineConstantsPass());
  if (linkWeights)
    passes.addPass(zero::createZeroLinkPass());
}
