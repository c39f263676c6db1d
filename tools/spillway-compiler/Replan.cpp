#include "tools/spillway-compiler/Commands.h"

#include <CLI/CLI.hpp>

using namespace spillway;

namespace {

struct Flags {
  CompileFlags compile;
  std::string bundle, output;
};

Status replan(const Flags &flags) {
  SPILLWAY_ASSIGN_OR_RETURN(PlanOptions plan, parsePlanFlags(flags.compile));
  ErrorKind kind = ErrorKind::user;
  std::unique_ptr<mlir::MLIRContext> context = makeContext(mlir::DialectRegistry(), &kind);
  const std::string &output = flags.output.empty() ? flags.bundle : flags.output;
  if (mlir::failed(replanBundle(flags.bundle, output, plan, *context)))
    return Error{kind, fmt::format("'{}' was not planned", flags.bundle)};
  return {};
}

} // namespace

void spillway::addReplanCommand(CLI::App &app, Status &status) {
  auto flags = std::make_shared<Flags>();
  CLI::App *command =
      app.add_subcommand("replan", "Plans a bundle for other memory, without compiling again");
  command->add_option("bundle", flags->bundle, "The bundle")->required();
  command->add_option("-o,--output", flags->output, "The new bundle (default: in place)");
  addPlanOptions(*command, flags->compile);
  addReportOption(*command, flags->compile);
  command->callback([flags, &status] { status = replan(*flags); });
}
