#include "runtime/executor/Examination.h"
#include "runtime/executor/Access.h"

#include <algorithm>
#include <ranges>

namespace spillway {

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

void Examination::lookAtInputs(const LaunchOperation &launch, uint32_t index) {
  // What an earlier launch gave has been looked at.
  for (size_t i = 0; i < program_.kernelArguments[launch.kernel].inputs; ++i)
    if (std::string source = sourceOf(launch.arguments[i].slice, index); !source.empty())
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

std::string Examination::sourceOf(const Slice &slice, uint32_t index) const {
  auto fills = [&](const Command &command) {
    return std::ranges::any_of(accessOf(program_, command).writes,
                               [&](const Slice &target) { return overlap(target, slice); });
  };
  auto named = [](const Command &command) -> std::string {
    if (std::holds_alternative<LookupOperation>(command.operation))
      return fmt::format("'{}'", command.label);
    bool isLookedAt = std::holds_alternative<LaunchOperation>(command.operation) ||
                      std::holds_alternative<RestoreOperation>(command.operation);
    return isLookedAt ? "" : fmt::format("the state '{}'", command.label);
  };
  for (const Command &command : std::views::reverse(list_.commands().first(index)))
    if (fills(command))
      return named(command);
  for (const Binding &input : program_.inputs)
    if (overlap(input.slice, slice))
      return fmt::format("the input '{}'", input.name);
  for (const Command &command : std::views::reverse(program_.prologue))
    if (fills(command))
      return named(command);
  return "";
}

} // namespace spillway
