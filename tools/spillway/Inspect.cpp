#include "runtime/base/File.h"
#include "runtime/base/Size.h"
#include "runtime/bundle/Bundle.h"
#include "runtime/executor/Program.h"
#include "runtime/state/StateReader.h"
#include "tools/spillway/Commands.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <memory>

namespace spillway {

namespace {
struct InspectOptions {
  std::string bundle;
  bool table = false;
  bool states = false;
  bool verify = false;
};

constexpr uint64_t maxPlanBytes = uint64_t(1) << 30;

std::string printSlice(const Slice &slice) {
  return fmt::format("{}[{}, {})", name(slice.tier), slice.offset, slice.offset + slice.bytes);
}

std::string printOperation(const Command &command, const Program &program, const Store &store) {
  if (auto *read = std::get_if<ReadOperation>(&command.operation))
    return fmt::format("read {} +{} of '{}' to {}", read->bytes, read->offset,
                       store.states()[read->state].type.name, printSlice(read->target));
  if (auto *copy = std::get_if<CopyOperation>(&command.operation))
    return fmt::format("copy {} to {}", printSlice(copy->source), printSlice(copy->target));
  if (auto *launch = std::get_if<LaunchOperation>(&command.operation)) {
    std::string text = fmt::format("launch {} units [{}, {})", program.kernels[launch->kernel],
                                   launch->begin, launch->end);
    for (const LaunchOperation::Argument &argument : launch->arguments) {
      text += " " + printSlice(argument.slice);
      if (argument.origin != 0)
        text += fmt::format(" from unit {}", argument.origin);
    }
    return text;
  }
  if (auto *lookup = std::get_if<LookupOperation>(&command.operation))
    return fmt::format("look up {} rows of '{}' {} {} to {}", lookup->count(),
                       store.states()[lookup->state].type.name,
                       lookup->fromArena ? "in" : "through",
                       printSlice(lookup->fromArena ? lookup->resident : lookup->staging),
                       printSlice(lookup->target));
  const auto &gather = std::get<AllGatherOperation>(command.operation);
  return fmt::format("all-gather {} to {}", printSlice(gather.source), printSlice(gather.target));
}

void printCommands(std::string_view title, const std::vector<Command> &commands,
                   const Program &program, const Store &store) {
  fmt::print("{}\n", title);
  for (size_t index = 0; index < commands.size(); ++index) {
    const Command &command = commands[index];
    fmt::print("  {:>5} {:<11} {}{}  // {}\n", index, name(command.stream),
               printOperation(command, program, store),
               command.waits.empty() ? ""
                                     : fmt::format(" after {}", fmt::join(command.waits, ", ")),
               command.label);
  }
}

void printStates(const Store &store) {
  for (const StateView &state : store.states()) {
    const StateType &type = state.type;
    std::string layout =
        type.layout == Layout::rowMajor
            ? "row-major"
            : fmt::format("panels of {} along dimension {}", type.panelWidth, type.panelDim);
    fmt::print("  {}: {}, {}, {} at {} of '{}'\n", type.name, describe(type.dataType, type.shape),
               layout, formatSize(type.storedBytes()), state.fileOffset,
               store.files()[state.file].path.filename().string());
  }
}

std::string summarizeList(const std::vector<Command> &commands) {
  size_t counts[5] = {};
  for (const Command &command : commands)
    ++counts[command.operation.index()];
  constexpr std::string_view names[] = {"reads", "copies", "launches", "look-ups", "all-gathers"};
  std::string text = fmt::format("{} commands", commands.size());
  for (size_t kind = 0; kind < std::size(names); ++kind)
    if (counts[kind] != 0)
      text += fmt::format(", {} {}", counts[kind], names[kind]);
  return text + fmt::format("; {} from files", formatSize(plannedReadBytes(commands)));
}

/// The planner's figures, whatever it has written: numbers and strings of the top
/// level, one a line.
Status printPlan(const std::filesystem::path &path) {
  std::error_code code;
  if (!std::filesystem::exists(path, code))
    return {};
  SPILLWAY_ASSIGN_OR_RETURN(std::vector<std::byte> bytes, readFile(path, maxPlanBytes));
  auto *text = reinterpret_cast<const char *>(bytes.data());
  auto plan = nlohmann::json::parse(text, text + bytes.size(), nullptr, false);
  if (!plan.is_object())
    return machineError("'{}' is damaged: it is no JSON object", path.string());
  fmt::print("plan\n");
  for (const auto &[key, value] : plan.items())
    if (value.is_primitive())
      fmt::print("  {}: {}\n", key, value.is_string() ? value.get<std::string>() : value.dump());
  return {};
}

Status verifyStates(const Store &store) {
  SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<io::Engine> engine,
                            io::makeEngine(io::EngineKind::automatic));
  StateReader reader(store, *engine);
  for (const StateView &state : store.states())
    SPILLWAY_RETURN_IF_ERROR(reader.verify(state));
  fmt::print("all states are undamaged\n");
  return {};
}

Status inspect(const InspectOptions &options) {
  SPILLWAY_ASSIGN_OR_RETURN(Bundle bundle, Bundle::open(options.bundle));
  SPILLWAY_ASSIGN_OR_RETURN(Store store, Store::parse(bundle.storeIndex(), bundle.folder()));
  SPILLWAY_ASSIGN_OR_RETURN(Program program, Program::parse(bundle.table(), store));
  const Manifest &manifest = bundle.manifest();
  uint64_t stored = 0;
  for (const StateView &state : store.states())
    stored += state.type.storedBytes();

  fmt::print("{}: {}, made by {}, bundle version {}\n", options.bundle, manifest.model,
             manifest.producer, bundleVersion);
  fmt::print("needs {}; {} threads, {} ranks\n",
             manifest.features.empty() ? "any processor"
                                       : fmt::format("{}", fmt::join(manifest.features, ", ")),
             program.threads, program.ranks);
  for (size_t tier = 0; tier < tierCount; ++tier)
    if (program.arenaBytes[tier] != 0)
      fmt::print("{} arena: {}\n", name(static_cast<Tier>(tier)),
                 formatSize(program.arenaBytes[tier]));
  fmt::print("states: {}, {}\n", store.states().size(), formatSize(stored));
  if (options.states)
    printStates(store);
  for (const Binding &input : program.inputs)
    fmt::print("input {}: {}\n", input.name, describe(input.dataType, input.shape));
  for (const Binding &output : program.outputs)
    fmt::print("output {}: {}\n", output.name, describe(output.dataType, output.shape));
  fmt::print("prologue: {}\n", summarizeList(program.prologue));
  fmt::print("step: {}\n", summarizeList(program.step));
  SPILLWAY_RETURN_IF_ERROR(printPlan(bundle.folder() / planName));
  if (options.table) {
    printCommands("prologue", program.prologue, program, store);
    printCommands("step", program.step, program, store);
  }
  return options.verify ? verifyStates(store) : Status();
}
} // namespace

void addInspectCommand(CLI::App &app, Status &status) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App *command = app.add_subcommand("inspect", "Show what a compiled model is and does");
  command->add_option("bundle", options->bundle, "The folder that `compile` wrote")
      ->type_name("BUNDLE");
  command->add_flag("--table", options->table, "Print the commands of prologue and step");
  command->add_flag("--states", options->states, "Print every state and its place");
  command->add_flag("--verify", options->verify, "Read every state and compare its checksums");
  command->callback([options, &status] {
    status = options->bundle.empty() ? userError("no bundle is given") : inspect(*options);
  });
}

} // namespace spillway
