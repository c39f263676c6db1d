#include "spillway/Pipelines/Plan.h"

#include "spillway/Conversion/RtToTable/RtToTable.h"
#include "spillway/Conversion/ZeroToRt/ZeroToRt.h"
#include "spillway/Plan/Summary.h"
#include "spillway/Support/Errors.h"
#include "spillway/Transforms/Zero/Passes.h"

#include <nlohmann/json.hpp>

using namespace mlir;
using namespace spillway;
using Json = nlohmann::ordered_json;

namespace {

constexpr std::pair<ActivationPolicy, StringLiteral> policyNames[] = {{ActivationPolicy::automatic, "auto"},
                                                                      {ActivationPolicy::keep, "keep"},
                                                                      {ActivationPolicy::recompute, "recompute"},
                                                                      {ActivationPolicy::offload, "offload"}};

StringRef nameOf(ActivationPolicy policy) {
  return llvm::find_if(policyNames, [&](auto &known) { return known.first == policy; })->second;
}

/// Beside what a summary says in any case: threads, ranks and the machine.
Json printRequest(const PlanOptions &options) {
  Json request = {{"tiles", options.tiles}};
  if (options.tiers)
    request["tiers"] = {{"device", options.tiers->device}, {"host", options.tiers->host}};
  else if (options.memory < PlanOptions::allMemory)
    request["memory"] = options.memory;
  request["activations"] = nameOf(options.activations).str();
  return request;
}

} // namespace

std::optional<PlanOptions> spillway::requestedPlan(StringRef summary) {
  Json plan = Json::parse(summary.begin(), summary.end(), nullptr, /*allow_exceptions=*/false);
  PlanOptions options;
  // A field that is missing or of another type throws inside the library.
  try {
    const Json &request = plan.at("request");
    options.tiles = request.at("tiles").get<std::vector<std::string>>();
    options.memory = request.value("memory", PlanOptions::allMemory);
    if (request.contains("tiers"))
      options.tiers = {request.at("tiers").at("device").get<uint64_t>(), request.at("tiers").at("host").get<uint64_t>()};
    auto found = llvm::find_if(policyNames, [&, wanted = request.at("activations").get<std::string>()](auto &policy) {
      return policy.second == wanted;
    });
    Result<plan::Machine> machine = plan::Machine::parse(plan.at("machine").dump());
    if (found == std::end(policyNames) || !machine.ok())
      return std::nullopt;
    options.activations = found->first;
    options.machine = *std::move(machine);
    options.threads = plan.at("threads").get<int64_t>();
    options.ranks = plan.at("ranks").get<int64_t>();
    return options;
  } catch (const Json::exception &) {
    return std::nullopt;
  }
}

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
  zero::ZeroActivationsPassOptions activations{.policy = nameOf(options.activations).str(),
                                               .memory = options.tiers ? options.tiers->device : options.memory,
                                               .host = plan.host,
                                               .threads = options.threads,
                                               .states = plan.states};
  passes.addPass(zero::createZeroActivationsPass(activations, options.machine));
  passes.addPass(zero::createZeroRecomputePass());
  passes.addPass(zero::createZeroOffloadPass({.threads = options.threads}, options.machine));
  passes.addPass(zero::createZeroPlanPass(plan, options.machine));
  passes.addPass(zero::createZeroTilePass());
  passes.addPass(zero::createZeroSchedulePass({options.threads}));
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
  std::string summary = plan::summarize(module, options.machine, *simulation, printRequest(options).dump());
  return PlannedProgram{std::move(*table), std::move(summary), *std::move(simulation)};
}

FailureOr<PlannedProgram> spillway::planProgram(ModuleOp module, const PlanOptions &options) {
  PassManager passes(module.getContext());
  buildPlanPipeline(passes, options);
  if (failed(passes.run(module)))
    return failure();
  return encodePlan(module, options);
}
