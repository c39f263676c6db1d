#include "runtime/executor/Examination.h"

namespace spillway {

namespace {
bool overlap(const Slice &a, const Slice &b) {
  return a.tier == b.tier && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}
} // namespace

Content Examination::contentOf(const LaunchOperation &launch, size_t argument) const {
  const KernelArguments &arguments = program_.kernelArguments[launch.kernel];
  if (argument >= arguments.types.size())
    return Content::finite;
  const Slice &slice = launch.arguments[argument].slice;
  return spillway::contentOf(arguments.types[argument], {list_.address(slice), slice.bytes});
}

void Examination::note(Content content, const std::string &where) {
  if (content == Content::notANumber && found_.notANumber.empty())
    found_.notANumber = where;
  if (content == Content::infinite && found_.infinite.empty())
    found_.infinite = where;
}

void Examination::lookAtInputs(const LaunchOperation &launch) {
  // What an earlier launch gave has been looked at.
  for (size_t i = 0; i < program_.kernelArguments[launch.kernel].inputs; ++i)
    if (std::string source = sourceOf(launch.arguments[i].slice); !source.empty())
      note(contentOf(launch, i), source);
}

void Examination::lookAtResults(const LaunchOperation &launch, const std::string &label) {
  const KernelArguments &arguments = program_.kernelArguments[launch.kernel];
  // Of several launches that fill a result in turn the last one completes it.
  if (launch.end != arguments.units)
    return;
  for (size_t i = arguments.inputs; i < launch.arguments.size(); ++i)
    note(contentOf(launch, i), fmt::format("'{}'", label));
}

std::string Examination::sourceOf(const Slice &slice) const {
  for (const Binding &input : program_.inputs)
    if (overlap(input.slice, slice))
      return fmt::format("the input '{}'", input.name);
  for (std::span<const Command> commands :
       {std::span<const Command>(program_.prologue), list_.commands()})
    for (const Command &command : commands)
      if (auto *read = std::get_if<ReadOperation>(&command.operation);
          read && overlap(read->target, slice))
        return fmt::format("the state '{}'", command.label);
  return "";
}

} // namespace spillway
