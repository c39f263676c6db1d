#include "spillway/Pipelines/Pipelines.h"

#include "spillway/Conversion/OnnxToNN/Passes.h"
#include "spillway/Differentiate/Passes.h"
#include "spillway/Training/Loss.h"
#include "spillway/Transforms/Passes.h"
#include "spillway/Transforms/Zero/Passes.h"

#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace spillway;

/// Adds what the model does not compute itself; returns the name of the output that is differentiated.
static std::string addLosses(OpPassManager &passes, ArrayRef<std::string> losses) {
  if (losses.empty())
    return "";
  if (losses.size() == 1 && !isLossCall(losses.front()))
    return losses.front();
  NNAddLossPassOptions options;
  options.losses.assign(losses.begin(), losses.end());
  passes.addNestedPass<func::FuncOp>(createNNAddLossPass(options));
  return lossOutput.str();
}

void spillway::buildOperationPipeline(OpPassManager &passes, const OperationOptions &options) {
  if (options.optimizer) {
    OnnxReportSharedPassOptions report;
    report.freeze.assign(options.freeze.begin(), options.freeze.end());
    passes.addPass(createOnnxReportSharedPass(report));
  }
  ConvertOnnxToNNPassOptions conversion;
  conversion.dims.assign(options.dims.begin(), options.dims.end());
  conversion.keepParameters = options.gradientsOf.has_value();
  conversion.train = options.optimizer.has_value();
  conversion.evalNorms.assign(options.evalNorms.begin(), options.evalNorms.end());
  conversion.evalDropouts.assign(options.evalDropouts.begin(), options.evalDropouts.end());
  passes.addPass(createConvertOnnxToNNPass(conversion));
  std::string loss = options.gradientsOf ? addLosses(passes, *options.gradientsOf) : "";
  // Chains are recognised in canonical form, where equal ones are one.
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addNestedPass<func::FuncOp>(createNNFuseAttentionPass());
  // Layers have the same mask.
  passes.addPass(createCSEPass());
  passes.addNestedPass<func::FuncOp>(createNNCausalMasksPass());
  if (options.microBatches > 1) {
    passes.addPass(createNNAccumulatePass({.count = options.microBatches}));
    // What is repeated for micro-batches and within them is repeated once, and so is summed once.
    passes.addPass(createCanonicalizerPass());
  }
  if (options.gradientsOf) {
    NNDifferentiatePassOptions differentiation{
        .loss = loss, .onlyLoss = options.optimizer.has_value(),
        .scaleLoss = options.optimizer && options.optimizer->precision == "fp16",
        .precision = options.optimizer ? options.optimizer->precision : "fp32", .freeze = {}, .padding = {}};
    differentiation.freeze.assign(options.freeze.begin(), options.freeze.end());
    differentiation.padding.assign(options.padding.begin(), options.padding.end());
    passes.addPass(createNNDifferentiatePass(differentiation));
  }
  if (options.optimizer) {
    passes.addPass(createNNOptimizePass(*options.optimizer));
    passes.addPass(createNNReportCopiesPass());
    passes.addNestedPass<func::FuncOp>(createNNAddRowsPass());
  }
  passes.addPass(zero::createZeroNarrowPass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  if (options.optimizer)
    passes.addNestedPass<func::FuncOp>(createNNSaveLessPass());
}

void spillway::buildKernelPipeline(OpPassManager &passes, bool linkWeights) {
  passes.addPass(createNNAssignLayoutsPass());
  passes.addPass(createNNTurnProductsPass());
  passes.addPass(createNNFormKernelsPass());
  passes.addPass(createNNNarrowStoresPass());
  passes.addPass(zero::createZeroHoistUpdatesPass());
  passes.addPass(zero::createZeroOutlineConstantsPass());
  if (linkWeights)
    passes.addPass(zero::createZeroLinkPass());
}
