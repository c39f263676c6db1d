#include "tools/spillway-compiler/Commands.h"

#include "runtime/base/File.h"
#include "runtime/base/Size.h"
#include "runtime/base/Thread.h"
#include "runtime/bundle/Bundle.h"
#include "runtime/executor/Program.h"
#include "tools/spillway/FlagChecks.h"

#include <CLI/CLI.hpp>

using namespace spillway;

namespace {

/// device=64MiB,host=256MiB.
Result<PlanOptions::Tiers> parseTiers(const std::string &text) {
  PlanOptions::Tiers tiers;
  size_t begin = 0;
  while (begin <= text.size()) {
    size_t end = std::min(text.find(',', begin), text.size());
    std::string part = text.substr(begin, end - begin);
    size_t equals = part.find('=');
    std::string name = part.substr(0, equals);
    if (equals == std::string::npos || (name != "device" && name != "host"))
      return userError("--tiers '{}': expected device=SIZE,host=SIZE", text);
    SPILLWAY_ASSIGN_OR_RETURN(uint64_t bytes, parseSize(part.substr(equals + 1)));
    uint64_t &tier = name == "device" ? tiers.device : tiers.host;
    if (tier != 0)
      return userError("--tiers '{}': {} is given twice", text, name);
    tier = bytes;
    begin = end + 1;
  }
  if (!tiers.device || !tiers.host)
    return userError("--tiers '{}': needs both device and host", text);
  return tiers;
}

Result<plan::Machine> readMachine(const std::string &file) {
  Result<std::vector<std::byte>> text = readFile(file, 1 << 20);
  if (!text.ok())
    return userError("--machine: {}", text.error().message);
  Result<plan::Machine> machine =
      plan::Machine::parse({reinterpret_cast<const char *>(text->data()), text->size()});
  if (!machine.ok())
    return std::move(machine).error().in(fmt::format("--machine '{}'", file));
  return machine;
}

} // namespace

CLI::Option *spillway::addPlanOptions(CLI::App &command, CompileFlags &flags) {
  command.option_defaults()->group("Plan");
  CLI::Option *memory = command.add_option(
      "--memory", flags.memory,
      "Memory that a run may use, e.g. 256MiB, or all: all weights stay in memory (default)");
  command.add_option("--tiers", flags.tiers, "Two memories instead of one: device=SIZE,host=SIZE")
      ->excludes(memory);
  command.add_option("--tile", flags.tiles,
                     "REGEX=UNITS: tiles of so many panels (of 16 columns) for weights whose whole names match, and for what is "
                     "cut with them (repeatable); `--tile none`: as the plan chooses")
      ->allow_extra_args(false);
  command.add_option("--threads", flags.threads,
                     "Threads that compute (default: all processors)")
      ->check(CLI::Range(1u, maxThreads));
  command
      .add_option("--ranks", flags.ranks,
                  "Ranks that share the weights: each reads its part, has the memory given, and "
                  "computes on all")
      ->check(CLI::Range(1, 1 << 16));
  command
      .add_option("--activations", flags.activations,
                  "What becomes of values that the backward half of a training step takes: keep, recompute (runs the "
                  "forward half again, segment by segment), offload (to the drive and back), or auto, the fastest that "
                  "fits of these and their mixtures (default)")
      ->transform(CLI::CheckedTransformer(std::map<std::string, ActivationPolicy>{
          {"auto", ActivationPolicy::automatic},
          {"keep", ActivationPolicy::keep},
          {"recompute", ActivationPolicy::recompute},
          {"offload", ActivationPolicy::offload}}))
      ->option_text("auto|keep|recompute|offload");
  command.add_option("--machine", flags.machine, "Machine to plan for, a JSON file");
  return memory;
}

void spillway::addReportOption(CLI::App &command, CompileFlags &flags) {
  command.option_defaults()->group("Plan");
  command.add_option("--report", flags.report, "Draw the plan as a page of HTML");
}

void spillway::addTrainingOptions(CLI::App &command, CompileFlags &flags) {
  command.option_defaults()->group("Training");
  CLI::Option *train = command.add_flag("--train", flags.train,
                                        "Make a training step: the loss, and updates of the parameters");
  command.add_option("--loss", flags.losses,
                     "What is made small: an output (default: the only one of one float), or a loss that is added, "
                     "'cross_entropy(OUTPUT, LABELS, OPTION=VALUE, ...)'; also nll, mse, l1, huber, smooth_l1, "
                     "bce_with_logits (repeatable: their sum)")
      ->allow_extra_args(false)
      ->needs(train);
  command.add_option("--optimizer", flags.optimizer,
                     "adamw (default), adam, sgd, lion, or an .mlir file with a function of one element")
      ->needs(train);
  command.add_option("--optimizer-option", flags.optimizerOptions,
                     "NAME=VALUE, e.g. weight_decay=0.1 (repeatable)")
      ->allow_extra_args(false)
      ->needs(train);
  command.add_option("--clip", flags.clip, "Scale gradients down to this norm over all parameters, at most")
      ->check(positive)
      ->needs(train);
  command.add_option("--accumulate", flags.microBatches,
                     "Micro-batches of a step, each of the size that --dim gives: the loss and the gradients are the "
                     "means of theirs")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20))
      ->needs(train);
  command.add_option("--untie", flags.import.untie,
                     "REGEX: initializers whose whole names match train apart for each node that reads them, as they were "
                     "before an exporter merged equal ones (repeatable)")
      ->allow_extra_args(false)
      ->needs(train);
  command.add_option("--eval-norm", flags.evalNorms,
                     "REGEX: batch normalization whose node or an initializer of which has such a whole name keeps its "
                     "running statistics and normalizes with them (repeatable)")
      ->allow_extra_args(false)
      ->needs(train);
  command.add_option("--eval-dropout", flags.evalDropouts,
                     "REGEX: dropout whose node has such a whole name drops nothing (repeatable)")
      ->allow_extra_args(false)
      ->needs(train);
  command.add_flag("--grad-norm", flags.gradNorm, "Report the norm of the gradients of each step")->needs(train);
  command.add_option("--precision", flags.precision,
                     "What lies in memory between kernels, and weights that products read: fp32 (default), bf16 or "
                     "fp16, beside weights of fp32 that the optimizer updates")
      ->check(CLI::IsMember({"fp32", "bf16", "fp16"}))
      ->needs(train);
}

void spillway::addCompileOptions(CLI::App &command, CompileFlags &flags) {
  addPlanOptions(command, flags);
  command.option_defaults()->group("Model");
  command.add_option("--dim", flags.dims, "Size of a dynamic dimension, NAME=SIZE (repeatable)")
      ->allow_extra_args(false);
  command.option_defaults()->group("Gradients");
  command.add_option("--gradients-of", flags.gradientsOf,
                     "An output of one float, or a loss as --loss adds it: its gradients with respect to the parameters "
                     "become outputs grad.NAME");
  command.add_option("--freeze", flags.freeze,
                     "REGEX: parameters whose whole names match have no gradients and do not train (repeatable)")
      ->allow_extra_args(false);
  command.add_option("--padding-row", flags.padding,
                     "NAME=ROW: look-ups of this row of a parameter give it no gradient, as PyTorch's "
                     "padding_idx (repeatable)")
      ->allow_extra_args(false);
  command.option_defaults()->group("Model");
  command.add_flag("--link-weights", flags.linkWeights,
                   "Leave the weights in the model's files instead of packing them into the bundle");
  command.add_option("--bind", flags.import.binds,
                     "NAME=VALUE, NAME=FILE.npy or NAME=FILE.pb: the input becomes a constant "
                     "(repeatable)")
      ->allow_extra_args(false);
  command.add_option("--keep-input", flags.import.keepInputs,
                     "An input that stays one though the model has a default for it (repeatable)")
      ->allow_extra_args(false);
  command.add_option("--init-from", flags.import.initFrom,
                     "Another ONNX model: parameters that it has too, by name and shape, begin with its values")
      ->type_name("FILE");
  command.add_option("--cpu-level", flags.target,
                     "Instructions that kernels may use: avx2, avx512, avx512bf16 "
                     "(default: those of this machine)");
  command.option_defaults()->group("Work on the compiler");
  command.add_option("--dump-mlir", flags.dumpFolder, "Folder that receives the model in each form");
  command.add_option("--passes-after", flags.passes,
                     "FORM=PASSES: passes to run over the model in the form onnx, operations or "
                     "kernels, e.g. operations=cse (repeatable)")
      ->allow_extra_args(false);
  addPluginOptions(command, flags.plugins);
}

Result<Form> spillway::parseForm(const char *flag, const std::string &name) {
  if (std::optional<Form> form = formFromName(name))
    return *form;
  return userError("{} '{}': expected onnx, operations or kernels", flag, name);
}

static Result<OperationOptions> parseOperationFlags(const CompileFlags &flags) {
  OperationOptions options;
  options.dims = flags.dims;
  options.freeze = flags.freeze;
  if (!flags.gradientsOf.empty())
    options.gradientsOf = std::vector{flags.gradientsOf};
  options.padding = flags.padding;
  if (!options.gradientsOf && !flags.train && !(flags.freeze.empty() && flags.padding.empty()))
    return userError("--freeze and --padding-row are for --train or --gradients-of");
  if (!flags.train)
    return options;
  if (options.gradientsOf)
    return userError("--train and --gradients-of exclude each other");
  if (flags.linkWeights)
    return userError("--train and --link-weights exclude each other: weights that train are the bundle's own");
  if (flags.ranks > 1)
    return userError("--train is for one rank");
  options.gradientsOf = flags.losses;
  options.optimizer.emplace();
  if (!flags.optimizer.empty())
    options.optimizer->optimizer = flags.optimizer;
  options.optimizer->settings.assign(flags.optimizerOptions.begin(), flags.optimizerOptions.end());
  options.optimizer->clip = flags.clip;
  options.evalNorms = flags.evalNorms;
  options.evalDropouts = flags.evalDropouts;
  options.microBatches = flags.microBatches;
  options.optimizer->gradNorm = flags.gradNorm;
  options.optimizer->precision = flags.precision;
  return options;
}

Result<PlanOptions> spillway::parsePlanFlags(const CompileFlags &flags, PlanOptions plan) {
  plan.report = flags.report;
  if (!flags.report.empty()) {
    SPILLWAY_RETURN_IF_ERROR(requireOutput(flags.report));
  }
  if (flags.tiles == std::vector<std::string>{"none"})
    plan.tiles.clear();
  else if (!flags.tiles.empty())
    plan.tiles = flags.tiles;
  if (flags.ranks)
    plan.ranks = flags.ranks;
  if (flags.threads)
    plan.threads = flags.threads;
  if (flags.activations)
    plan.activations = *flags.activations;
  if (!flags.memory.empty()) {
    plan.memory = PlanOptions::allMemory;
    if (flags.memory != "all") {
      SPILLWAY_ASSIGN_OR_RETURN(plan.memory, parseSize(flags.memory));
    }
    plan.tiers.reset();
  }
  if (!flags.tiers.empty()) {
    SPILLWAY_ASSIGN_OR_RETURN(plan.tiers, parseTiers(flags.tiers));
  }
  if (!flags.machine.empty()) {
    SPILLWAY_ASSIGN_OR_RETURN(plan.machine, readMachine(flags.machine));
  }
  return plan;
}

Result<PlanOptions> spillway::parsePlanFlags(const CompileFlags &flags, const std::string &folder) {
  SPILLWAY_ASSIGN_OR_RETURN(Bundle bundle, Bundle::open(folder));
  PlanOptions plan;
  plan.threads = bundle.manifest().threads;
  plan.ranks = bundle.manifest().ranks;
  if (bundle.has(planName)) {
    SPILLWAY_ASSIGN_OR_RETURN(std::vector<std::byte> summary, bundle.read(planName));
    plan = requestedPlan({reinterpret_cast<const char *>(summary.data()), summary.size()}).value_or(plan);
  }
  SPILLWAY_ASSIGN_OR_RETURN(plan, parsePlanFlags(flags, std::move(plan)));
  if (!llvm::is_contained(bundle.manifest().features, name(CpuLevel::avx512bf16)))
    plan.machine.computeBf16InF32();
  return plan;
}

Result<CompileOptions> spillway::parseCompileFlags(const CompileFlags &flags) {
  CompileOptions options;
  SPILLWAY_ASSIGN_OR_RETURN(options.operations, parseOperationFlags(flags));
  options.import = flags.import;
  options.dumpFolder = flags.dumpFolder;
  options.linkWeights = flags.linkWeights;
  for (const std::string &passes : flags.passes) {
    size_t equals = passes.find('=');
    if (equals == std::string::npos)
      return userError("--passes-after '{}': expected FORM=PASSES", passes);
    SPILLWAY_ASSIGN_OR_RETURN(Form form, parseForm("--passes-after", passes.substr(0, equals)));
    options.passes.push_back({form, passes.substr(equals + 1)});
  }
  PlanOptions plan;
  plan.threads = std::min(availableProcessors(), maxThreads);
  SPILLWAY_ASSIGN_OR_RETURN(options.plan, parsePlanFlags(flags, std::move(plan)));
  std::optional<CpuLevel> level =
      flags.target.empty() ? hostCpuLevel() : cpuLevelFromName(flags.target);
  if (!level && flags.target.empty())
    return userError("this processor lacks AVX2, which kernels need at least; give "
                     "--cpu-level to compile for another machine");
  if (!level)
    return userError("--cpu-level '{}': expected avx2, avx512 or avx512bf16", flags.target);
  options.target.level = *level;
  if (!options.target.hasBf16Dot())
    options.plan.machine.computeBf16InF32();
  return options;
}
