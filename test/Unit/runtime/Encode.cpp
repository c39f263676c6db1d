#include "test/Unit/runtime/Encode.h"
#include "runtime/table/table_generated.h"

#include <algorithm>

namespace spillway::test {

namespace {
using flatbuffers::Offset;

table::Slice encode(const Slice &slice, uint64_t rankStride = 0) {
  return {static_cast<table::Tier>(slice.tier), slice.offset, slice.bytes, rankStride};
}

class Encoder {
public:
  explicit Encoder(const EncodeOptions &options) : options_(options) {}

  std::vector<std::byte> encodeProgram(const Program &program) {
    std::vector<Offset<table::Arena>> arenas;
    for (size_t tier = 0; tier < tierCount; ++tier)
      if (program.arenaBytes[tier] != 0)
        arenas.push_back(
            table::CreateArena(builder_, static_cast<table::Tier>(tier), program.arenaBytes[tier]));
    if (program.scratchBytes != 0)
      arenas.push_back(table::CreateArena(builder_, table::Tier::nvme, program.scratchBytes));
    std::vector<Offset<table::Kernel>> kernels;
    for (uint32_t kernel = 0; kernel < program.kernels.size(); ++kernel) {
      std::vector<table::KernelArgument> arguments;
      for (const TakenArgument &taken :
           options_.kernelArguments.empty() ? given(program, kernel) : options_.kernelArguments)
        arguments.emplace_back(taken.bytes, taken.unitBytes, taken.isTiled);
      KernelArguments known{options_.kernelInputs, options_.kernelUnits, {}};
      if (kernel < program.kernelArguments.size())
        known = program.kernelArguments[kernel];
      std::vector<uint8_t> types;
      for (DataType type : known.types)
        types.push_back(static_cast<uint8_t>(type));
      kernels.push_back(table::CreateKernelDirect(builder_, program.kernels[kernel].c_str(), known.inputs, &arguments,
                                                  known.units, options_.kernelFlops, 0, 0, 0, &types, options_.kernelParts));
    }
    auto inputs = encodeBindings(program.inputs), outputs = encodeBindings(program.outputs);
    auto prologue = encodeCommands(program.prologue), step = encodeCommands(program.step);
    auto checkpoint = encodeCommands(program.checkpoint);
    builder_.Finish(table::CreateProgramDirect(builder_, options_.version, program.ranks,
                                               program.threads, &arenas, &kernels, &inputs,
                                               &outputs, &prologue, &step, &checkpoint),
                    table::ProgramIdentifier());
    auto *bytes = reinterpret_cast<const std::byte *>(builder_.GetBufferPointer());
    return {bytes, bytes + builder_.GetSize()};
  }

private:
  /// Arguments that start at unit 0 in all launches are whole, others are tiles.
  static std::vector<TakenArgument> given(const Program &program, uint32_t kernel) {
    std::vector<TakenArgument> taken;
    for (const Command &command : program.step) {
      auto *launch = std::get_if<LaunchOperation>(&command.operation);
      if (!launch || launch->kernel != kernel)
        continue;
      taken.resize(launch->arguments.size());
      for (size_t i = 0; i < taken.size(); ++i) {
        const auto &[slice, origin, units] = launch->arguments[i];
        taken[i].isTiled |= origin != 0;
        if (int64_t count = launch->end - launch->begin; count > 0 && origin >= 0) {
          taken[i].unitBytes = slice.bytes / static_cast<uint64_t>(count);
          taken[i].bytes = std::max(taken[i].bytes, slice.bytes + static_cast<uint64_t>(origin) *
                                                                      taken[i].unitBytes);
        }
      }
    }
    for (TakenArgument &argument : taken)
      if (!argument.isTiled)
        argument.unitBytes = 0;
    return taken;
  }

  std::vector<Offset<table::Binding>> encodeBindings(const std::vector<Binding> &bindings) {
    std::vector<Offset<table::Binding>> encoded;
    for (const Binding &binding : bindings) {
      table::Slice slice = encode(binding.slice);
      Classes said = binding.classes.value_or(Classes());
      table::Classes classes(said.count, said.ignored, said.first);
      encoded.push_back(table::CreateBindingDirect(builder_, binding.name.c_str(),
                                                   static_cast<uint8_t>(binding.dataType), &binding.shape, &slice,
                                                   binding.classes ? &classes : nullptr));
    }
    return encoded;
  }

  std::vector<Offset<table::Command>> encodeCommands(const std::vector<Command> &commands) {
    std::vector<Offset<table::Command>> encoded;
    for (const Command &command : commands) {
      auto [type, operation] =
          std::visit([&](const auto &value) { return encodeOperation(value); }, command.operation);
      encoded.push_back(table::CreateCommandDirect(builder_, type, operation,
                                                   static_cast<table::Stream>(command.stream),
                                                   &command.waits, command.label.c_str(),
                                                   command.isCarried, &command.carriedWaits));
    }
    return encoded;
  }

  using Encoded = std::pair<table::Operation, Offset<void>>;

  Encoded encodeOperation(const ReadOperation &read) {
    table::Slice target = encode(read.target, options_.partStride);
    return {table::Operation::Read, table::CreateRead(builder_, read.state, read.offset, read.bytes,
                                                      &target, options_.rankStride)
                                        .Union()};
  }

  Encoded encodeCopy(const Slice &from, const Slice &to) {
    table::Slice source = encode(from), target = encode(to);
    return {table::Operation::Copy, table::CreateCopy(builder_, &source, &target).Union()};
  }
  Encoded encodeOperation(const CopyOperation &copy) { return encodeCopy(copy.source, copy.target); }
  Encoded encodeOperation(const OffloadOperation &offload) {
    return encodeCopy(offload.source, offload.target);
  }
  Encoded encodeOperation(const RestoreOperation &restore) {
    return encodeCopy(restore.source, restore.target);
  }

  Encoded encodeOperation(const LaunchOperation &launch) {
    std::vector<table::Argument> arguments;
    for (const LaunchOperation::Argument &argument : launch.arguments)
      arguments.emplace_back(encode(argument.slice), argument.origin, argument.units);
    table::Slice scratch = encode(launch.scratch);
    return {table::Operation::Launch,
            table::CreateLaunchDirect(builder_, launch.kernel, &arguments, launch.begin, launch.end,
                                      &scratch, launch.scratchPerThread)
                .Union()};
  }

  Encoded encodeOperation(const LookupOperation &lookup) {
    table::Slice indices = encode(lookup.indices), target = encode(lookup.target);
    table::Slice resident = encode(lookup.resident), staging = encode(lookup.staging);
    return {table::Operation::Lookup,
            table::CreateLookup(builder_, lookup.state, &indices,
                                static_cast<uint8_t>(lookup.indexType), &target,
                                lookup.fromArena ? &resident : nullptr, &staging)
                .Union()};
  }

  Encoded encodeOperation(const AllGatherOperation &gather) {
    table::Slice source = encode(gather.source, options_.partStride);
    table::Slice target = encode(gather.target);
    return {table::Operation::AllGather,
            table::CreateAllGather(builder_, &source, &target).Union()};
  }

  Encoded encodeOperation(const WriteOperation &write) {
    table::Slice source = encode(write.source, options_.partStride);
    return {table::Operation::Write, table::CreateWrite(builder_, write.state, write.offset,
                                                        write.bytes, &source, options_.rankStride)
                                         .Union()};
  }

  EncodeOptions options_;
  flatbuffers::FlatBufferBuilder builder_;
};
} // namespace

std::vector<std::byte> encode(const Program &program, const EncodeOptions &options) {
  return Encoder(options).encodeProgram(program);
}

} // namespace spillway::test
