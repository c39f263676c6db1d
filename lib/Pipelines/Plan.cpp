#include "spillway/Pipelines/Plan.h"

#include "spillway/Conversion/RtToTable/RtToTable.h"
#include "spillway/Conversion/ZeroToRt/ZeroToRt.h"
#include "spillway/Plan/Summary.h"
#include "spillway/Support/Errors.h"
#include "spillway/Transforms/Zero/Passes.h"

using namespace mlir;
using namespace spillway;

void spillway::buildPlanPipeline(OpPassManager &passes, const PlanOptions &options) {
  zero::ZeroPlanPassOptions plan;
  plan.memory = options.memory;
  if (options.tiers) {
    plan.device = options.tiers->device;
    plan.host = options.tiers->host;
  }
  plan.threads = options.threads;
  plan.states.assign(options.tiles.begin(), options.tiles.end());
  passes.addPass(zero::createZeroPartitionPass({options.ranks}));
  zero::ZeroRecomputePassOptions recompute;
  recompute.memory = options.activations == ActivationPolicy::automatic ? options.memory : 0;
  recompute.segments = options.activations == ActivationPolicy::recompute ? std::numeric_limits<int64_t>::max() : -1;
  recompute.threads = options.threads;
  recompute.states = plan.states;
  passes.addPass(zero::createZeroRecomputePass(recompute, options.machine));
  passes.addPass(zero::createZeroPlanPass(plan, options.machine));
  passes.addPass(zero::createZeroTilePass());
  passes.addPass(zero::createZeroSchedulePass());
  passes.addPass(createConvertZeroToRtPass({options.threads, options.ranks}));
}

FailureOr<PlannedProgram> spillway::encodePlan(ModuleOp module, const PlanOptions &options) {
  FailureOr<std::vector<uint8_t>> table = translateToTable(module);
  if (failed(table))
    return failure();
  Result<plan::Simulation> simulation =
      plan::simulate(*table, options.machine, plan::lookupPieces(module));
  if (!simulation)
    return spillway::emitError(module.getLoc(),
                               bugError("the planner's table: {}", simulation.error().message));
  std::string summary = plan::summarize(module, options.machine, *simulation);
  return PlannedProgram{std::move(*table), std::move(summary), *std::move(simulation)};
}

FailureOr<PlannedProgram> spillway::planProgram(ModuleOp module, const PlanOptions &options) {
  PassManager passes(module.getContext());
  buildPlanPipeline(passes, options);
  if (failed(passes.run(module)))
    return failure();
  return encodePlan(module, options);
}
