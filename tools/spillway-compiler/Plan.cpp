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
Result<std::string> planFor(const Flags &flags, const PlanOptions &options) {
  ErrorKind kind = ErrorKind::user;
  std::unique_ptr<mlir::MLIRContext> context = makeContext(mlir::DialectRegistry(), &kind);
  mlir::FailureOr<PlannedProgram> planned = planBundle(flags.bundle, options, *context);
  if (mlir::failed(planned))
    return Error{kind, fmt::format("'{}' was not planned", flags.bundle)};
  return planned->summary;
}

Status showPlan(const Flags &flags) {
  SPILLWAY_ASSIGN_OR_RETURN(PlanOptions options, parsePlanFlags(flags.compile, flags.bundle));
  if (flags.minimum) {
    options.memory = PlanOptions::allMemory;
    options.tiers.reset();
  }
  SPILLWAY_ASSIGN_OR_RETURN(std::string summary, planFor(flags, options));
  if (flags.minimum) {
    Json resident = Json::parse(summary);
    options.memory = resident.at("minimum_bytes").get<uint64_t>();
    SPILLWAY_ASSIGN_OR_RETURN(summary, planFor(flags, options));
    Json least = Json::parse(summary);
    fmt::print("smallest memory that works: {} ({} bytes); {} alone takes {}; with everything in memory a step takes {}\n",
               formatSize(options.memory), options.memory, least.value("floor_operation", ""),
               formatSize(least.at("floor_bytes").get<uint64_t>()),
               formatSeconds(resident.at("step").at("predicted_seconds").get<double>()));
  }
  fmt::print("{}: {}", flags.bundle, describePlan(summary));
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
