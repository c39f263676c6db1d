// The subcommands that need the compiler.
#pragma once

#include "runtime/base/Status.h"

#include "spillway/Pipelines/Compile.h"
#include "tools/spillway-compiler/Plugins.h"

#include <memory>
#include <string_view>

namespace CLI {
class App;
class Option;
}

namespace spillway {

/// What the options of a compilation are typed as; see addCompileOptions.
struct CompileFlags {
  std::vector<std::string> dims;
  std::string memory, tiers, target, machine, dumpFolder, gradientsOf;
  std::vector<std::string> tiles, passes, freeze, padding;
  /// Of a step that trains.
  bool train = false;
  std::string optimizer;
  std::vector<std::string> losses, optimizerOptions, evalNorms, evalDropouts;
  double clip = 0;
  int64_t microBatches = 1;
  bool gradNorm = false;
  std::string precision = "fp32";
  /// Of those that make one bundle.
  std::string report;
  /// 0 where it is not said.
  unsigned threads = 0, ranks = 0;
  std::optional<ActivationPolicy> activations;
  bool linkWeights = false;
  ImportOptions import;
  PluginFlags plugins;
};

/// Options that say what to plan for; returns the one of the budget.
CLI::Option *addPlanOptions(CLI::App &command, CompileFlags &flags);
/// Where to draw the plan that is made.
void addReportOption(CLI::App &command, CompileFlags &flags);
/// Options that say what to plan for, and the ones that every subcommand that compiles has.
void addCompileOptions(CLI::App &command, CompileFlags &flags);

/// Options that make a training step of the model.
void addTrainingOptions(CLI::App &command, CompileFlags &flags);

/// onnx, operations or kernels, as `flag` gives it.
Result<Form> parseForm(const char *flag, const std::string &name);

/// The same as values; user errors for what does not parse or contradicts itself. Of a plan, what
/// flags do not say stays as it is in `plan`.
Result<PlanOptions> parsePlanFlags(const CompileFlags &flags, PlanOptions plan);
/// The same for a bundle, of what it was planned for.
Result<PlanOptions> parsePlanFlags(const CompileFlags &flags, const std::string &bundle);
Result<CompileOptions> parseCompileFlags(const CompileFlags &flags);

/// A user error where a bundle at `output` has been trained.
Status requireUntrained(const std::string &output);
/// What a plan takes: memory, what a step moves, how long it is predicted to be, a line each. `summary` is plan::summarize's.
std::string describePlan(std::string_view summary);
/// Says so on standard output of the bundle at `folder`, and warns where it takes more memory than this machine has.
Status tellPlan(const std::string &folder);

/// Each adds its subcommand, whose result is stored in `status` when it is called.
void addCompileCommand(CLI::App &app, Status &status);
void addPlanCommand(CLI::App &app, Status &status);
void addReplanCommand(CLI::App &app, Status &status);
void addVerifyCommand(CLI::App &app, Status &status);

/// A context with all dialects and those of plugins, whose diagnostics go to standard error as
/// `spillway: error: <where>: <what>`, or into `errors` where given: the first 20 errors and, when the
/// context ends, how many more there were. `kind` becomes the gravest of the errors' kinds.
std::unique_ptr<mlir::MLIRContext>
makeContext(const mlir::DialectRegistry &plugins = mlir::DialectRegistry(),
            ErrorKind *kind = nullptr, std::string *errors = nullptr);

} // namespace spillway
