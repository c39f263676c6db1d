#include "runtime/export/ModelExport.h"
#include "runtime/base/Console.h"
#include "runtime/base/Size.h"
#include "runtime/bundle/Bundle.h"
#include "tools/spillway/Commands.h"

#include <CLI/CLI.hpp>

#include <memory>

namespace spillway {

namespace {
struct ExportOptions {
  std::string bundle, output, model;
  bool force = false;
};

/// A user error where a file is in the place of `output` that no export has put there: the model
/// itself, or one of another kind.
Status requireOldExport(const std::filesystem::path &output, const std::filesystem::path &model) {
  std::error_code code;
  if (!std::filesystem::exists(output, code))
    return {};
  if (std::filesystem::equivalent(output, model, code))
    return userError("'{}' is the model itself; give another -o, or --force to replace it",
                     output.string());
  if (output.extension() != ".onnx")
    return userError("'{}' exists and is not named as an ONNX model is; give another -o, or --force to replace it",
                     output.string());
  return {};
}

Status exportBundle(const ExportOptions &options) {
  SPILLWAY_ASSIGN_OR_RETURN(Bundle bundle, Bundle::open(options.bundle));
  SPILLWAY_ASSIGN_OR_RETURN(auto lock, lockStates(bundle.folder(), FileLock::shared));
  SPILLWAY_RETURN_IF_ERROR(bundle.requireUnchanged());
  SPILLWAY_ASSIGN_OR_RETURN(Store store, Store::parse(bundle.storeIndex(), bundle.folder()));
  SPILLWAY_RETURN_IF_ERROR(requireOutput(options.output));
  std::string model = options.model.empty() ? bundle.manifest().model : options.model;
  if (std::error_code code; options.model.empty() && !std::filesystem::exists(model, code))
    return userError("the model that '{}' was compiled from, '{}', is not there: give it as --model FILE",
                     options.bundle, model);
  if (!options.force)
    SPILLWAY_RETURN_IF_ERROR(requireOldExport(options.output, model));
  SPILLWAY_ASSIGN_OR_RETURN(uint64_t steps, committedSteps(bundle.folder()));
  SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<io::Engine> engine, io::makeEngine(io::EngineKind::automatic));
  ExportSettings settings{.replacesAny = options.force,
                          .initialized = bundle.manifest().initialized,
                          .modelHasInitialized = !options.model.empty()};
  SPILLWAY_ASSIGN_OR_RETURN(ExportedModel written, exportModel(model, store, *engine, options.output, settings));
  if (steps == 0)
    note("spillway: '{}' has no committed step: its weights are those that training begins with\n", options.bundle);
  fmt::print("{}: {} weights, {}{}\n", options.output, written.tensors, formatSize(written.bytes),
             written.data.empty() ? "" : fmt::format(", with {}", written.data.filename().string()));
  return {};
}
} // namespace

void addExportCommand(CLI::App &app, Status &status) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App *command = app.add_subcommand("export", "Write trained weights back into the ONNX model");
  command->add_option("bundle", options->bundle, "The folder that `compile --train` wrote")
      ->type_name("BUNDLE")
      ->required();
  command->add_option("-o,--output", options->output, "The model with its new weights")
      ->type_name("FILE")
      ->required();
  command->add_option("--model", options->model, "The model that was compiled (default: where it lay then)")
      ->type_name("FILE");
  command->add_flag("--force", options->force, "Replace any file, the model itself too");
  command->callback([options, &status] { status = exportBundle(*options); });
}

} // namespace spillway
