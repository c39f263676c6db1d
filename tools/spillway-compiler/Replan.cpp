#include "runtime/base/File.h"
#include "spillway/Target/Bundle/BundleWriter.h"
#include "tools/spillway-compiler/Commands.h"
#include "tools/spillway-compiler/FolderRemover.h"

#include <CLI/CLI.hpp>

using namespace spillway;

namespace {

struct Flags {
  CompileFlags compile;
  std::string bundle, output;
  bool force = false;
};

Status replan(const Flags &flags) {
  SPILLWAY_ASSIGN_OR_RETURN(PlanOptions plan, parsePlanFlags(flags.compile, flags.bundle));
  const std::string &output = flags.output.empty() ? flags.bundle : flags.output;
  SPILLWAY_RETURN_IF_ERROR(requireFolderFor(output));
  std::error_code code;
  if (!flags.force && !std::filesystem::equivalent(flags.bundle, output, code))
    SPILLWAY_RETURN_IF_ERROR(requireUntrained(output));
  SPILLWAY_ASSIGN_OR_RETURN(FolderRemover remover, FolderRemover::start(BundleWriter::partialFolder(output)));
  ErrorKind kind = ErrorKind::user;
  std::unique_ptr<mlir::MLIRContext> context = makeContext(mlir::DialectRegistry(), &kind);
  if (mlir::failed(replanBundle(flags.bundle, output, plan, *context)))
    return Error{kind, fmt::format("'{}' was not planned", flags.bundle)};
  return tellPlan(output);
}

} // namespace

void spillway::addReplanCommand(CLI::App &app, Status &status) {
  auto flags = std::make_shared<Flags>();
  CLI::App *command =
      app.add_subcommand("replan", "Plans a bundle for other memory, without compiling again. What is not said stays as it is planned");
  command->add_option("bundle", flags->bundle, "The bundle")->required();
  command->add_option("-o,--output", flags->output,
                      "The new bundle, with copies of what training has made (default: in place)");
  command->add_flag("--force", flags->force, "Replace another bundle with its committed steps of training");
  addPlanOptions(*command, flags->compile);
  addReportOption(*command, flags->compile);
  command->callback([flags, &status] { status = replan(*flags); });
}
