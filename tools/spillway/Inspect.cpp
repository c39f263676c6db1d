#include "runtime/base/File.h"
#include "runtime/state/StateReader.h"
#include "spillway/Plan/Explain.h"
#include "spillway/Plan/Report.h"
#include "tools/spillway/Commands.h"
#include "tools/spillway/Describe.h"
#include "tools/spillway/NamedFiles.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>

namespace spillway {

namespace {
struct InspectOptions {
  std::string bundle;
  bool json = false;
  bool table = false;
  bool states = false;
  bool verify = false;
  std::vector<std::string> explain;
  std::string report;
};

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

/// Every byte of the bundle that has a checksum.
Status verify(const Bundle &bundle, const Store &store) {
  SPILLWAY_RETURN_IF_ERROR(bundle.verify());
  SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<io::Engine> engine,
                            io::makeEngine(io::EngineKind::automatic));
  StateReader reader(store, *engine);
  size_t linked = 0;
  for (const StateView &state : store.states()) {
    linked += store.files()[state.file].linked;
    SPILLWAY_RETURN_IF_ERROR(reader.verify(state));
  }
  print("all files and states are undamaged\n");
  if (linked != 0)
    print(fmt::format("{} states lie in linked files, which have no checksums\n", linked));
  return {};
}

/// What needs a replay of the step.
Status showReplay(const InspectOptions &options, const PlannedBundle &bundle) {
  SPILLWAY_ASSIGN_OR_RETURN(plan::Simulation simulation, bundle.simulate());
  for (const std::string &tensor : options.explain) {
    SPILLWAY_ASSIGN_OR_RETURN(
        std::string text,
        plan::explainTensor(tensor, bundle.table(), simulation, bundle.planText));
    print(text);
  }
  if (options.report.empty())
    return {};
  std::string page = plan::drawReport(bundle.bundle.manifest().model, bundle.table(), simulation,
                                      bundle.planText);
  return writeFileAtomically(options.report, std::as_bytes(std::span(page)));
}

Status inspect(const InspectOptions &options) {
  SPILLWAY_RETURN_IF_ERROR(requireOutputs({options.report}));
  std::optional<FileLock> lock;
  if (options.verify) {
    SPILLWAY_ASSIGN_OR_RETURN(lock, lockStates(options.bundle, FileLock::shared));
  }
  SPILLWAY_ASSIGN_OR_RETURN(
      PlannedBundle bundle,
      PlannedBundle::open(options.bundle, options.verify ? LinkedFiles::checked : LinkedFiles::unchecked));
  bool asksForMore = options.states || options.table || options.verify || !options.explain.empty();
  if (options.json)
    print(bundleToJson(bundle).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
          "\n");
  else if (!asksForMore)
    print(describeBundle(bundle));
  if (options.states)
    print(describeStates(bundle));
  if (options.table)
    print(describeTable(bundle));
  if (!options.explain.empty() || !options.report.empty())
    SPILLWAY_RETURN_IF_ERROR(showReplay(options, bundle));
  return options.verify ? verify(bundle.bundle, bundle.store) : Status();
}
} // namespace

void addInspectCommand(CLI::App &app, Status &status) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App *command = app.add_subcommand("inspect", "Show what a compiled model is and does");
  command->add_option("bundle", options->bundle, "The folder that `compile` wrote")
      ->type_name("BUNDLE")
      ->required();
  CLI::Option *json = command->add_flag("--json", options->json, "Print it as JSON");
  command->add_flag("--table", options->table, "Print the commands of prologue, step and checkpoint instead")
      ->excludes(json);
  command->add_flag("--states", options->states, "Print every state and its place instead")->excludes(json);
  command
      ->add_option("--explain", options->explain,
                   "Say where a tensor is when, and why: a weight, an input, an output, or the node "
                   "that computes it")
      ->type_name("TENSOR")
      ->allow_extra_args(false)
      ->excludes(json);
  command->add_option("--report", options->report, "Draw the plan as a page of HTML")
      ->type_name("FILE");
  command->add_flag("--verify", options->verify, "Read every file and state and compare the checksums")
      ->excludes(json);
  command->callback([options, &status] { status = inspect(*options); });
}

} // namespace spillway
