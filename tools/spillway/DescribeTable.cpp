#include "tools/spillway/Describe.h"

namespace spillway {

namespace {

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
  if (auto *write = std::get_if<WriteOperation>(&command.operation))
    return fmt::format("write {} to {} +{} of '{}'", printSlice(write->source), write->bytes,
                       write->offset, store.states()[write->state].type.name);
  if (auto *offload = std::get_if<OffloadOperation>(&command.operation))
    return fmt::format("offload {} to {}", printSlice(offload->source), printSlice(offload->target));
  if (auto *restore = std::get_if<RestoreOperation>(&command.operation))
    return fmt::format("restore {} to {}", printSlice(restore->source), printSlice(restore->target));
  const auto &gather = std::get<AllGatherOperation>(command.operation);
  return fmt::format("all-gather {} to {}", printSlice(gather.source), printSlice(gather.target));
}

std::string printCommands(std::string_view title, const std::vector<Command> &commands,
                          const Program &program, const Store &store) {
  std::string text = fmt::format("{}\n", title);
  for (size_t index = 0; index < commands.size(); ++index) {
    const Command &command = commands[index];
    text += fmt::format("  {:>5} {:<11} {}{}  // {}\n", index, name(command.stream),
                        printOperation(command, program, store),
                        command.waits.empty()
                            ? ""
                            : fmt::format(" after {}", fmt::join(command.waits, ", ")),
                        command.label);
  }
  return text;
}

} // namespace

std::string describeTable(const PlannedBundle &bundle) {
  const Program &program = bundle.program;
  std::string text = printCommands("prologue", program.prologue, program, bundle.store) +
                     printCommands("step", program.step, program, bundle.store);
  if (!program.checkpoint.empty())
    text += printCommands("checkpoint", program.checkpoint, program, bundle.store);
  return text;
}

} // namespace spillway
