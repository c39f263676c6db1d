#include "runtime/executor/Access.h"

namespace spillway {

namespace {
Access accessOf(const Program &program, const LaunchOperation &launch) {
  Access access;
  uint32_t inputs = program.kernelArguments[launch.kernel].inputs;
  // Several launches in turn fill one result by ranges of units, or of depth.
  access.begins = launch.begin == 0;
  for (size_t i = 0; i < launch.arguments.size(); ++i) {
    const LaunchOperation::Argument &argument = launch.arguments[i];
    (i < inputs ? access.reads : access.writes).push_back(argument.slice);
    access.begins &= argument.units == 0 || argument.origin == 0;
  }
  return access;
}
} // namespace

bool overlap(const Slice &a, const Slice &b) {
  return a.tier == b.tier && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

Access accessOf(const Program &program, const Command &command) {
  if (auto *launch = std::get_if<LaunchOperation>(&command.operation))
    return accessOf(program, *launch);
  if (auto *read = std::get_if<ReadOperation>(&command.operation))
    return {.reads = {}, .writes = {read->target}};
  if (auto *copy = std::get_if<CopyOperation>(&command.operation))
    return {.reads = {copy->source}, .writes = {copy->target}};
  if (auto *offload = std::get_if<OffloadOperation>(&command.operation))
    return {.reads = {offload->source}, .writes = {offload->target}};
  if (auto *restore = std::get_if<RestoreOperation>(&command.operation))
    return {.reads = {restore->source}, .writes = {restore->target}};
  if (auto *gather = std::get_if<AllGatherOperation>(&command.operation))
    return {.reads = {gather->source}, .writes = {gather->target}};
  if (auto *lookup = std::get_if<LookupOperation>(&command.operation)) {
    Access access{.reads = {lookup->indices}, .writes = {lookup->target}};
    if (lookup->fromArena)
      access.reads.push_back(lookup->resident);
    return access;
  }
  return {};
}

} // namespace spillway
