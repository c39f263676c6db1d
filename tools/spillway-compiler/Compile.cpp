#include "runtime/base/File.h"
#include "runtime/bundle/Bundle.h"
#include "spillway/Target/Bundle/BundleWriter.h"
#include "tools/spillway-compiler/Commands.h"
#include "tools/spillway-compiler/FolderRemover.h"

#include <CLI/CLI.hpp>

#include <unistd.h>

using namespace spillway;

namespace {

struct Flags {
  CompileFlags compile;
  std::string model, output, from, to;
  bool force = false;
};

/// That each option that was given has something to do between two forms.
Status requireUsed(const CLI::App &command, Form from, Form to) {
  /// The options that act on the way from a form to the next one.
  static constexpr std::pair<Form, const char *> acting[] = {
      {Form::model, "--bind"},           {Form::model, "--keep-input"},
      {Form::model, "--init-from"},
      {Form::onnx, "--dim"},             {Form::onnx, "--train"},
      {Form::onnx, "--gradients-of"},    {Form::operations, "--link-weights"},
      {Form::kernels, "--memory"},       {Form::kernels, "--tiers"},
      {Form::kernels, "--tile"},         {Form::kernels, "--threads"},
      {Form::kernels, "--ranks"},        {Form::kernels, "--machine"},
      {Form::kernels, "--report"},       {Form::kernels, "--cpu-level"},
      {Form::kernels, "--activations"},
  };
  for (auto [form, name] : acting)
    if (command.count(name) != 0 && (from > form || to <= form))
      return userError("{} has nothing to do {}", name,
                       from > form ? "in what --from enters with" : "before --to leaves");
  return {};
}

/// Before anything is computed: that what is written has a place, and takes that of nothing else.
Status requirePlaces(const Flags &flags, const CompileOptions &options) {
  if (!options.dumpFolder.empty()) {
    std::error_code code;
    std::filesystem::create_directories(options.dumpFolder, code);
    if (code)
      return openError(code.value(), fmt::format("--dump-mlir: cannot create the folder '{}'", options.dumpFolder));
  }
  if (options.to == Form::bundle) {
    SPILLWAY_RETURN_IF_ERROR(requireFolderFor(flags.output));
    return flags.force ? Status() : requireUntrained(flags.output);
  }
  SPILLWAY_RETURN_IF_ERROR(requireOutput(flags.output));
  std::error_code code;
  if (!flags.force && std::filesystem::exists(flags.output, code) &&
      std::filesystem::path(flags.output).extension() != ".mlir")
    return userError("'{}' exists and is not named as an .mlir file is; give another -o, or --force to replace it",
                     flags.output);
  return {};
}

Status compile(const CLI::App &command, const Flags &flags) {
  SPILLWAY_ASSIGN_OR_RETURN(CompileOptions options, parseCompileFlags(flags.compile));
  options.model = flags.model;
  options.output = flags.output;
  if (!flags.from.empty()) {
    SPILLWAY_ASSIGN_OR_RETURN(options.from, parseForm("--from", flags.from));
  }
  if (!flags.to.empty()) {
    SPILLWAY_ASSIGN_OR_RETURN(options.to, parseForm("--to", flags.to));
  }
  if (options.from >= options.to)
    return userError("--from {} --to {}: nothing lies between them", flags.from, flags.to);
  if (flags.from.empty() && std::filesystem::path(flags.model).extension() == ".mlir")
    return userError("'{}' is no ONNX model by its name: --from says which form it is in, onnx, operations or kernels",
                     flags.model);
  SPILLWAY_RETURN_IF_ERROR(requireUsed(command, options.from, options.to));
  for (const ExtraPasses &passes : options.passes)
    if (passes.after < options.from || passes.after > options.to)
      return userError("--passes-after: '{}' is for a form that lies outside of --from and --to",
                       passes.pipeline);
  SPILLWAY_RETURN_IF_ERROR(requirePlaces(flags, options));
  SPILLWAY_ASSIGN_OR_RETURN(FolderRemover remover, FolderRemover::start(BundleWriter::partialFolder(flags.output)));
  if (::isatty(STDERR_FILENO) == 1)
    options.onStage = [](llvm::StringRef stage) { llvm::errs() << stage << " ...\n"; };
  SPILLWAY_ASSIGN_OR_RETURN(mlir::DialectRegistry plugins, loadPlugins(flags.compile.plugins));
  ErrorKind kind = ErrorKind::user;
  std::unique_ptr<mlir::MLIRContext> context = makeContext(plugins, &kind);
  if (mlir::failed(compileModel(options, *context)))
    return Error{kind, fmt::format("'{}' was not compiled", flags.model)};
  return options.to == Form::bundle ? tellPlan(flags.output) : Status();
}

} // namespace

void spillway::addCompileCommand(CLI::App &app, Status &status) {
  auto flags = std::make_shared<Flags>();
  CLI::App *command = app.add_subcommand("compile", "Compiles an ONNX model into a bundle");
  command->add_option("model", flags->model, "The .onnx file (or .mlir, with --from)")->required();
  command->add_option("-o,--output", flags->output, "The bundle (a folder, m.spill; or .mlir, with --to)")->required();
  command->add_flag("--force", flags->force, "Replace what is there, committed steps of training too");
  command->add_option("--from", flags->from,
                      "Enter with an .mlir file in this form: onnx, operations or kernels");
  command->add_option("--to", flags->to,
                      "Leave with an .mlir file in this form instead of a bundle");
  addCompileOptions(*command, flags->compile);
  addTrainingOptions(*command, flags->compile);
  addReportOption(*command, flags->compile);
  command->callback([command, flags, &status] { status = compile(*command, *flags); });
}
