#include "tools/spillway-compiler/Commands.h"

#include <CLI/CLI.hpp>

using namespace spillway;

namespace {

struct Flags {
  CompileFlags compile;
  std::string model, output, from, to;
};

/// That each option that was given has something to do between two forms.
Status requireUsed(const CLI::App &command, Form from, Form to) {
  /// The options that act on the way from a form to the next one.
  static constexpr std::pair<Form, const char *> acting[] = {
      {Form::model, "--bind"},           {Form::model, "--keep-input"},
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
  SPILLWAY_RETURN_IF_ERROR(requireUsed(command, options.from, options.to));
  for (const ExtraPasses &passes : options.passes)
    if (passes.after < options.from || passes.after > options.to)
      return userError("--passes-after: '{}' is for a form that lies outside of --from and --to",
                       passes.pipeline);
  SPILLWAY_ASSIGN_OR_RETURN(mlir::DialectRegistry plugins, loadPlugins(flags.compile.plugins));
  ErrorKind kind = ErrorKind::user;
  std::unique_ptr<mlir::MLIRContext> context = makeContext(plugins, &kind);
  if (mlir::failed(compileModel(options, *context)))
    return Error{kind, fmt::format("'{}' was not compiled", flags.model)};
  return {};
}

} // namespace

void spillway::addCompileCommand(CLI::App &app, Status &status) {
  auto flags = std::make_shared<Flags>();
  CLI::App *command = app.add_subcommand("compile", "Compiles an ONNX model into a bundle");
  command->add_option("model", flags->model, "The .onnx file (or .mlir, with --from)")->required();
  command->add_option("-o,--output", flags->output, "The bundle (a folder, m.spill; or .mlir, with --to)")->required();
  command->add_option("--from", flags->from,
                      "Enter with an .mlir file in this form: onnx, operations or kernels");
  command->add_option("--to", flags->to,
                      "Leave with an .mlir file in this form instead of a bundle");
  addCompileOptions(*command, flags->compile);
  addTrainingOptions(*command, flags->compile);
  addReportOption(*command, flags->compile);
  command->callback([command, flags, &status] { status = compile(*command, *flags); });
}
