// The subcommands that need the compiler.
#pragma once

#include "runtime/base/Status.h"

#include "spillway/Pipelines/Compile.h"
#include "tools/spillway-compiler/Plugins.h"

#include <memory>

namespace CLI {
class App;
}

namespace spillway {

/// What the options of a compilation are typed as; see addCompileOptions.
struct CompileFlags {
  std::vector<std::string> dims;
  std::string memory, tiers, target, machine, dumpFolder, gradientsOf;
  std::vector<std::string> tiles, passes, freeze, padding;
  /// Of a step that trains.
  bool train = false;
  std::string loss, optimizer;
  std::vector<std::string> optimizerOptions, evalNorms;
  double clip = 0;
  int64_t microBatches = 1;
  bool gradNorm = false;
  /// Of those that make one bundle.
  std::string report;
  unsigned threads = 0, ranks = 1;
  bool linkWeights = false;
  ImportOptions import;
  PluginFlags plugins;
};

/// Options that say what to plan for.
void addPlanOptions(CLI::App &command, CompileFlags &flags);
/// Where to draw the plan that is made.
void addReportOption(CLI::App &command, CompileFlags &flags);
/// Options that say what to plan for, and the ones that every subcommand that compiles has.
void addCompileOptions(CLI::App &command, CompileFlags &flags);

/// Options that make a training step of the model.
void addTrainingOptions(CLI::App &command, CompileFlags &flags);

/// onnx, operations or kernels, as `flag` gives it.
Result<Form> parseForm(const char *flag, const std::string &name);

/// The same as values; a user error for what does not parse or contradicts itself.
Result<CompileOptions> parseCompileFlags(const CompileFlags &flags);

/// Each adds its subcommand, whose result is stored in `status` when it is called.
void addCompileCommand(CLI::App &app, Status &status);
void addReplanCommand(CLI::App &app, Status &status);
void addVerifyCommand(CLI::App &app, Status &status);

/// A context with all dialects and those of plugins, whose diagnostics go to standard error as
/// `spillway: error: <where>: <what>`, or into `errors` where given. `kind` becomes the gravest of the
/// errors' kinds.
std::unique_ptr<mlir::MLIRContext>
makeContext(const mlir::DialectRegistry &plugins = mlir::DialectRegistry(),
            ErrorKind *kind = nullptr, std::string *errors = nullptr);

} // namespace spillway
