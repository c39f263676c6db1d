// `plan`: what a budget comes to, without a bundle that is planned for it.
#include "runtime/base/Duration.h"
#include "runtime/base/Size.h"
#include "tools/spillway-compiler/Commands.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

using namespace spillway;

namespace {

using Json = nlohmann::json;

struct Flags {
  CompileFlags compile;
  std::string bundle;
  bool minimum = false;
};

/// A plan as plan::summarize writes it.
Result<Json> planFor(const Flags &flags, const PlanOptions &options) {
  ErrorKind kind = ErrorKind::user;
  std::unique_ptr<mlir::MLIRContext> context = makeContext(mlir::DialectRegistry(), &kind);
  mlir::FailureOr<PlannedProgram> planned = planBundle(flags.bundle, options, *context);
  if (mlir::failed(planned))
    return Error{kind, fmt::format("'{}' was not planned", flags.bundle)};
  return Json::parse(planned->summary);
}

std::string size(const Json &object, const char *field) { return formatSize(object.value(field, uint64_t(0))); }

void print(const Json &plan) {
  for (const Json &arena : plan.at("arenas"))
    fmt::print("{}: {}: {} of states that stay, {} of activations, {} that states stream through\n",
               arena.value("tier", ""), size(arena, "bytes"), size(arena, "resident_bytes"),
               size(arena, "activation_bytes"), size(arena, "staging_bytes"));
  if (plan.contains("recomputed") && plan["recomputed"].value("segments", 0) > 0)
    fmt::print("{} of {} segments of the forward half are computed again, {} at once\n", plan["recomputed"].value("segments", 0),
               plan["recomputed"].value("of", 0), plan["recomputed"].value("joined", 0));
  const Json &step = plan.at("step");
  fmt::print("step: {}, {:.1f} % over the bound of {} that {} sets\n", formatSeconds(step.value("predicted_seconds", 0.0)),
             100 * step.value("gap", 0.0), formatSeconds(step.value("bound_seconds", 0.0)), step.value("limited_by", ""));
  for (const auto &[stream, channel] : step.at("channels").items())
    if (channel.value("bytes", uint64_t(0)) != 0)
      fmt::print("  {}: {}, busy {}\n", stream, size(channel, "bytes"), formatSeconds(channel.value("busy_seconds", 0.0)));
}

Status showPlan(const Flags &flags) {
  SPILLWAY_ASSIGN_OR_RETURN(PlanOptions options, parsePlanFlags(flags.compile, flags.bundle));
  if (flags.minimum) {
    options.memory = PlanOptions::allMemory;
    options.tiers.reset();
  }
  SPILLWAY_ASSIGN_OR_RETURN(Json made, planFor(flags, options));
  if (flags.minimum) {
    double resident = made.at("step").value("predicted_seconds", 0.0);
    options.memory = made.value("minimum_bytes", uint64_t(0));
    SPILLWAY_ASSIGN_OR_RETURN(made, planFor(flags, options));
    fmt::print("smallest memory that works: {} ({} bytes); {} alone takes {}; with everything in memory a step takes {}\n",
               formatSize(options.memory), options.memory, made.value("floor_operation", ""),
               size(made, "floor_bytes"), formatSeconds(resident));
  }
  print(made);
  return {};
}

} // namespace

void spillway::addPlanCommand(CLI::App &app, Status &status) {
  auto flags = std::make_shared<Flags>();
  CLI::App *command = app.add_subcommand("plan", "Shows what a bundle would come to in other memory, and writes nothing");
  command->add_option("bundle", flags->bundle, "The bundle")->required();
  command
      ->add_flag("--minimum", flags->minimum,
                 "The smallest memory that works, what sets it, and the step there (of two tiers)")
      ->excludes(addPlanOptions(*command, flags->compile));
  command->callback([flags, &status] { status = showPlan(*flags); });
}
