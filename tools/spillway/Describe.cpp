#include "tools/spillway/Describe.h"

#include "runtime/base/Duration.h"
#include "runtime/base/Size.h"
#include "runtime/train/Trainer.h"

#include <algorithm>

namespace spillway {

namespace {

using Json = nlohmann::ordered_json;

uint64_t bytesIn(const Json &object, const char *key) { return object.value(key, uint64_t{0}); }

/// What the plan says under a key; an empty object where it says nothing.
const Json &part(const Json &object, const char *key) {
  static const Json nothing = Json::object();
  auto it = object.find(key);
  return it == object.end() ? nothing : *it;
}

/// "1 rank", "2 ranks".
std::string counted(uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string summarizeList(const std::vector<Command> &commands) {
  size_t counts[std::variant_size_v<decltype(Command::operation)>] = {};
  for (const Command &command : commands)
    ++counts[command.operation.index()];
  constexpr std::pair<std::string_view, std::string_view> names[] = {
      {"read", "reads"},       {"copy", "copies"},            {"launch", "launches"},
      {"look-up", "look-ups"}, {"all-gather", "all-gathers"}, {"write", "writes"},
      {"offload", "offloads"}, {"restore", "restores"}};
  std::string text = counted(commands.size(), "command");
  for (size_t kind = 0; kind < std::size(names); ++kind)
    if (counts[kind] != 0)
      text += fmt::format(", {} {}", counts[kind],
                          counts[kind] == 1 ? names[kind].first : names[kind].second);
  text += fmt::format("; {} from files", formatSize(plannedReadBytes(commands)));
  if (uint64_t written = plannedWriteBytes(commands))
    text += fmt::format(", {} to files", formatSize(written));
  return text;
}

std::string describeModel(const PlannedBundle &bundle) {
  const Manifest &manifest = bundle.bundle.manifest();
  const Program &program = bundle.program;
  std::string text = fmt::format(
      "{}: {}, made by {}, bundle version {}\n", bundle.bundle.folder().string(), manifest.model,
      manifest.producer, bundleVersion);
  text += fmt::format("needs {}; {}, {}\n",
                      manifest.features.empty()
                          ? "any processor"
                          : fmt::format("{}", fmt::join(manifest.features, ", ")),
                      counted(program.threads, "thread"), counted(program.ranks, "rank"));
  std::vector<Binding> given = program.writesStates() ? sampleInputs(program) : program.inputs;
  for (const Binding &input : program.inputs)
    text += fmt::format("input {}: {}{}\n", input.name, describe(input.dataType, input.shape),
                        std::ranges::count(given, input.name, &Binding::name) ? "" : ", which `train` sets");
  for (const StoreFile &file : bundle.store.files())
    if (Status status = file.linked ? requireUnchanged(file) : Status(); !status.ok())
      text += fmt::format("cannot run: {}\n", status.error().message);
  for (const Binding &output : program.outputs)
    text += fmt::format("output {}: {}\n", output.name, describe(output.dataType, output.shape));
  return text;
}

std::string describeMemory(const PlannedBundle &bundle) {
  std::string text;
  uint64_t stored = 0, kept = 0;
  const Json &arenas = part(bundle.plan, "arenas");
  for (size_t tier = 0; tier < tierCount; ++tier) {
    if (bundle.program.arenaBytes[tier] == 0)
      continue;
    std::string_view tierName = name(static_cast<Tier>(tier));
    text += fmt::format("{} arena: {}", tierName, formatSize(bundle.program.arenaBytes[tier]));
    for (const Json &arena : arenas)
      if (arena.value("tier", "") == tierName) {
        kept += bytesIn(arena, "resident_bytes");
        text += fmt::format(" ({} of weights that stay, {} of activations, {} that weights stream "
                            "through)",
                            formatSize(bytesIn(arena, "resident_bytes")),
                            formatSize(bytesIn(arena, "activation_bytes")),
                            formatSize(bytesIn(arena, "staging_bytes")));
      }
    text += "\n";
  }
  for (const StateView &state : bundle.store.states())
    stored += roundUpToBlock(state.type.storedBytes());
  text += fmt::format("states: {}, {} with padding", bundle.store.states().size(),
                      formatSize(stored));
  if (!arenas.empty())
    text += fmt::format(": {} stay in memory, {} come from NVMe each step", formatSize(kept),
                        formatSize(stored - std::min(stored, kept)));
  text += "\n";
  if (bundle.program.writesStates()) {
    const Commit &commit = bundle.store.lastCommit();
    text += commit.sequence == 0 ? "trains: no step is committed yet\n"
                                 : fmt::format("trains: {} committed\n",
                                               commit.step == 1 ? "1 step is" : fmt::format("{} steps are", commit.step));
  }
  const Json &recomputed = part(bundle.plan, "recomputed");
  if (uint64_t segments = bytesIn(recomputed, "segments"))
    text += fmt::format("activations: {} of {} segments of the forward half are computed again, {} at once\n", segments,
                        bytesIn(recomputed, "of"), bytesIn(recomputed, "joined"));
  const Json &offloaded = part(bundle.plan, "offloaded");
  if (uint64_t values = bytesIn(offloaded, "values"))
    text += fmt::format("activations: {} values ({}) wait on the drive, in a scratch file of {}\n", values,
                        formatSize(bytesIn(offloaded, "bytes")), formatSize(bundle.program.scratchBytes));
  if (uint64_t minimum = bytesIn(bundle.plan, "minimum_bytes"))
    text += fmt::format("smallest memory that works: {}; {} alone takes {}\n", formatSize(minimum),
                        bundle.plan.value("floor_operation", ""),
                        formatSize(bytesIn(bundle.plan, "floor_bytes")));
  return text;
}

std::string describePrediction(const PlannedBundle &bundle) {
  const Json &step = part(bundle.plan, "step");
  if (step.empty())
    return "";
  std::string text = fmt::format(
      "predicted step: {}, {:.1f} % over the bound of {} that {} sets\n",
      formatSeconds(step.value("predicted_seconds", 0.0)), 100 * step.value("gap", 0.0),
      formatSeconds(step.value("bound_seconds", 0.0)), step.value("limited_by", ""));
  for (const auto &[stream, channel] : part(step, "channels").items()) {
    text += fmt::format("  {}: busy {}", stream, formatSeconds(channel.value("busy_seconds", 0.0)));
    if (uint64_t bytes = bytesIn(channel, "bytes"))
      text += fmt::format(", {}", formatSize(bytes));
    text += "\n";
  }
  text += fmt::format("predicted prologue: {}\n",
                      formatSeconds(part(bundle.plan, "prologue").value("predicted_seconds", 0.0)));
  if (part(bundle.plan, "machine").value("estimate", false))
    text += "times are for a machine of default figures, which are estimates: measure this one by "
            "`spillway calibrate` and plan with --machine\n";
  return text;
}

std::string describeLayout(const StateType &type) {
  return type.layout == Layout::rowMajor
             ? "row-major"
             : fmt::format("panels of {} along dimension {}", type.panelWidth, type.panelDim);
}

Json bindingsToJson(const std::vector<Binding> &bindings) {
  Json list = Json::array();
  for (const Binding &binding : bindings)
    list.push_back(
        {{"name", binding.name}, {"type", name(binding.dataType)}, {"shape", binding.shape}});
  return list;
}

} // namespace

std::string describeBundle(const PlannedBundle &bundle) {
  return describeModel(bundle) + describeMemory(bundle) +
         fmt::format("prologue: {}\nstep: {}\n", summarizeList(bundle.program.prologue),
                     summarizeList(bundle.program.step)) +
         (bundle.program.checkpoint.empty()
              ? ""
              : fmt::format("checkpoint: {}\n", summarizeList(bundle.program.checkpoint))) +
         describePrediction(bundle);
}

std::string describeStates(const PlannedBundle &bundle) {
  std::string text;
  const Json &planned = part(bundle.plan, "states");
  size_t index = 0;
  for (const StateView &state : bundle.store.states()) {
    text += fmt::format("  {}: {}, {}, {} at {} of '{}'", state.type.name,
                        describe(state.type.dataType, state.type.shape), describeLayout(state.type),
                        formatSize(state.type.storedBytes()), state.fileOffset,
                        bundle.store.files()[state.file].path.filename().string());
    if (planned.is_array() && index < planned.size() && planned[index].contains("why"))
      text += fmt::format("; the plan {}", planned[index].value("why", ""));
    text += "\n";
    ++index;
  }
  return text;
}

nlohmann::ordered_json bundleToJson(const PlannedBundle &bundle) {
  const Manifest &manifest = bundle.bundle.manifest();
  uint64_t stored = 0;
  for (const StateView &state : bundle.store.states())
    stored += state.type.storedBytes();
  return {{"bundle", bundle.bundle.folder().string()},
          {"version", bundleVersion},
          {"model", manifest.model},
          {"producer", manifest.producer},
          {"cpu_features", manifest.features},
          {"threads", bundle.program.threads},
          {"ranks", bundle.program.ranks},
          {"inputs", bindingsToJson(bundle.program.inputs)},
          {"outputs", bindingsToJson(bundle.program.outputs)},
          {"state_bytes", stored},
          {"read_bytes_prologue", plannedReadBytes(bundle.program.prologue)},
          {"read_bytes_step", plannedReadBytes(bundle.program.step)},
          {"write_bytes_step", plannedWriteBytes(bundle.program.step)},
          {"write_bytes_checkpoint", plannedWriteBytes(bundle.program.checkpoint)},
          {"committed_steps", bundle.store.lastCommit().step},
          {"plan", bundle.plan}};
}

} // namespace spillway
