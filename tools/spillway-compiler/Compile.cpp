#include "tools/spillway-compiler/Commands.h"

#include <CLI/CLI.hpp>

using namespace spillway;

namespace {

struct Flags {
  CompileFlags compile;
  std::string model, output;
};

Status compile(const Flags &flags) {
  SPILLWAY_ASSIGN_OR_RETURN(CompileOptions options, parseCompileFlags(flags.compile));
  options.model = flags.model;
  options.output = flags.output;
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  if (mlir::failed(compileModel(options, *context)))
    return userError("'{}' was not compiled", flags.model);
  return {};
}

} // namespace

void spillway::addCompileCommand(CLI::App &app, Status &status) {
  auto flags = std::make_shared<Flags>();
  CLI::App *command = app.add_subcommand("compile", "Compiles an ONNX model into a bundle");
  command->add_option("model", flags->model, "The .onnx file")->required();
  command->add_option("-o,--output", flags->output, "The bundle (a folder, m.spill)")->required();
  addCompileOptions(*command, flags->compile);
  command->callback([flags, &status] { status = compile(*flags); });
}
