#include "runtime/executor/Program.h"
#include "runtime/comm/Communicator.h"
#include "runtime/executor/Access.h"
#include "runtime/executor/Rewrites.h"
#include "runtime/state/CanonicalPart.h"
#include "runtime/table/Alignment.h"
#include "runtime/table/table_generated.h"

#include <algorithm>
#include <map>
#include <type_traits>
#include <unordered_set>

namespace spillway {

std::string_view name(Tier tier) {
  constexpr std::string_view names[] = {"device", "host", "nvme"};
  return names[static_cast<size_t>(tier)];
}

std::string_view name(StreamKind stream) {
  constexpr std::string_view names[streamCount] = {"compute", "read",      "write",
                                                   "copy up", "copy down", "communicate"};
  return names[static_cast<size_t>(stream)];
}

std::string describe(DataType type, std::span<const int64_t> shape) {
  return fmt::format("{}[{}]", name(type), fmt::join(shape, ","));
}

uint64_t plannedReadBytes(std::span<const Command> commands) {
  uint64_t bytes = 0;
  for (const Command &command : commands)
    if (auto *read = std::get_if<ReadOperation>(&command.operation))
      bytes += read->fileBytes;
    else if (auto *lookup = std::get_if<LookupOperation>(&command.operation))
      bytes += lookup->fromArena ? 0 : lookup->count() * lookup->stagingPieceBytes;
    else if (auto *restore = std::get_if<RestoreOperation>(&command.operation))
      bytes += roundUpToBlock(restore->source.bytes);
  return bytes;
}

uint64_t plannedWriteBytes(std::span<const Command> commands) {
  uint64_t bytes = 0;
  for (const Command &command : commands)
    if (auto *write = std::get_if<WriteOperation>(&command.operation))
      bytes += write->bytes;
    else if (auto *offload = std::get_if<OffloadOperation>(&command.operation))
      bytes += roundUpToBlock(offload->target.bytes);
  return bytes;
}

bool Program::writesStates() const {
  auto writes = [](const Command &command) {
    auto *write = std::get_if<WriteOperation>(&command.operation);
    return write && write->bytes != 0;
  };
  return std::ranges::any_of(step, writes) || std::ranges::any_of(checkpoint, writes);
}

uint32_t Program::offloads() const {
  return static_cast<uint32_t>(std::ranges::count_if(step, [](const Command &command) {
    return std::holds_alternative<OffloadOperation>(command.operation);
  }));
}

namespace {
bool isWellFormed(std::span<const std::byte> bytes) {
  auto data = reinterpret_cast<const uint8_t *>(bytes.data());
  flatbuffers::Verifier verifier(data, bytes.size(), 64, 1u << 30);
  if (bytes.size() < 8 || !table::VerifyProgramBuffer(verifier))
    return false;
  const table::Program *root = table::GetProgram(data);
  auto isAligned = [](const table::Command *command) {
    const table::Launch *launch = command->operation_as_Launch();
    return !launch || hasAlignedElements(launch->arguments());
  };
  auto hasAlignedShape = [](const table::Binding *binding) {
    return hasAlignedElements(binding->shape());
  };
  auto hasAlignedArguments = [](const table::Kernel *kernel) {
    return hasAlignedElements(kernel->arguments());
  };
  return std::ranges::all_of(*root->kernels(), hasAlignedArguments) &&
         std::ranges::all_of(*root->inputs(), hasAlignedShape) &&
         std::ranges::all_of(*root->outputs(), hasAlignedShape) &&
         std::ranges::all_of(*root->prologue(), isAligned) &&
         std::ranges::all_of(*root->step(), isAligned) &&
         std::ranges::all_of(*root->checkpoint(), isAligned);
}

constexpr uint64_t maxArenaBytes = uint64_t(1) << 46;
constexpr int64_t maxUnits = int64_t(1) << 40, maxParts = int64_t(1) << 40;
constexpr uint64_t argumentAlignment = 8;
constexpr uint64_t scratchAlignment = 64;

/// Starting other threads takes about as long as this much work of one.
constexpr double leastDividedNanoseconds = 4000;
constexpr double flopsPerNanosecond = 32;
constexpr double bytesPerNanosecond = 8;

bool isWorthDividing(const table::Kernel &kernel, int64_t begin, int64_t end) {
  double whole = static_cast<double>(kernel.flops()) / flopsPerNanosecond +
                 static_cast<double>(kernel.bytes()) / bytesPerNanosecond;
  double share = static_cast<double>(end - begin) / static_cast<double>(kernel.units());
  return whole * share >= leastDividedNanoseconds;
}

/// Finds for each value that comes back the offload that has put it where it is read.
Status matchOffloads(Program &program) {
  struct Held {
    uint64_t bytes;
    uint32_t number;
  };
  // By first byte.
  std::map<uint64_t, Held> held;
  uint32_t count = 0;
  for (size_t index = 0; index < program.step.size(); ++index) {
    Command &command = program.step[index];
    if (auto *offload = std::get_if<OffloadOperation>(&command.operation)) {
      uint64_t begin = offload->target.offset, end = begin + roundUpToBlock(offload->target.bytes);
      auto next = held.lower_bound(begin);
      if (next != held.begin())
        if (auto last = std::prev(next); last->first + last->second.bytes > begin)
          next = last;
      while (next != held.end() && next->first < end)
        next = held.erase(next);
      offload->number = count++;
      held[begin] = {offload->target.bytes, offload->number};
    } else if (auto *restore = std::get_if<RestoreOperation>(&command.operation)) {
      auto found = held.find(restore->source.offset);
      if (found == held.end() || found->second.bytes != restore->source.bytes)
        return machineError(
            "command {} of the step ({}) takes what no command before it has put on the drive",
            index, command.label);
      restore->number = found->second.number;
    }
  }
  auto isScratch = [](const Command &command) {
    return std::holds_alternative<OffloadOperation>(command.operation) ||
           std::holds_alternative<RestoreOperation>(command.operation);
  };
  if (std::ranges::any_of(program.prologue, isScratch))
    return machineError("the prologue puts values on the drive");
  if (count != 0 && (program.ranks != 1 || !program.writesStates()))
    return machineError(
        "the step puts values on the drive, but is for {} ranks or writes no state", program.ranks);
  return {};
}

class Parser {
public:
  Parser(const table::Program &root, const Store &store, uint32_t rank)
      : root_(root), store_(store), rank_(rank) {}

  Result<Program> parse() {
    SPILLWAY_RETURN_IF_ERROR(parseHeader());
    SPILLWAY_RETURN_IF_ERROR(parseBindings(*root_.inputs(), "input", program_.inputs));
    SPILLWAY_RETURN_IF_ERROR(parseBindings(*root_.outputs(), "output", program_.outputs));
    SPILLWAY_RETURN_IF_ERROR(parseCommands(*root_.prologue(), "prologue", program_.prologue));
    SPILLWAY_RETURN_IF_ERROR(parseCommands(*root_.step(), "step", program_.step));
    SPILLWAY_RETURN_IF_ERROR(parseCommands(*root_.checkpoint(), "checkpoint", program_.checkpoint));
    SPILLWAY_RETURN_IF_ERROR(requireTransfersIn(program_.checkpoint));
    SPILLWAY_RETURN_IF_ERROR(checkCarried());
    SPILLWAY_RETURN_IF_ERROR(checkRewrites(root_, store_));
    SPILLWAY_RETURN_IF_ERROR(matchOffloads(program_));
    return std::move(program_);
  }

private:
  Status parseHeader() {
    if (root_.version() != tableVersion)
      return machineError("the table has version {}; this program reads version {}",
                          root_.version(), tableVersion);
    if (root_.ranks() == 0 || root_.ranks() > maxRanks || rank_ >= root_.ranks())
      return machineError("the table is for {} ranks; this one is rank {}", root_.ranks(), rank_);
    if (root_.threads() == 0 || root_.threads() > maxThreads)
      return machineError("the table is for {} threads", root_.threads());
    program_.ranks = root_.ranks();
    program_.threads = root_.threads();
    for (const table::Arena *arena : *root_.arenas()) {
      auto tier = static_cast<size_t>(arena->tier());
      if (tier == static_cast<size_t>(Tier::nvme)) {
        if (program_.scratchBytes != 0 || arena->bytes() > maxArenaBytes ||
            arena->bytes() % blockBytes != 0)
          return machineError("the table has a scratch file of {} bytes, or a second one",
                              arena->bytes());
        program_.scratchBytes = arena->bytes();
        continue;
      }
      if (tier >= tierCount || program_.arenaBytes[tier] != 0)
        return machineError("the table has an arena of the invalid or repeated tier {}", tier);
      if (arena->bytes() > maxArenaBytes)
        return machineError("the table has an arena of {} bytes", arena->bytes());
      program_.arenaBytes[tier] = arena->bytes();
    }
    for (const table::Kernel *kernel : *root_.kernels()) {
      std::string symbol = kernel->symbol()->str();
      if (kernel->inputs() > kernel->arguments()->size())
        return machineError("the kernel '{}' has {} inputs among {} arguments", symbol,
                            kernel->inputs(), kernel->arguments()->size());
      if (kernel->parts() < 1 || kernel->parts() > maxParts)
        return machineError("the kernel '{}' may be divided into {} parts", symbol, kernel->parts());
      for (const table::KernelArgument *argument : *kernel->arguments())
        if (argument->bytes() > maxArenaBytes || argument->unit_bytes() > maxArenaBytes)
          return machineError("the kernel '{}' takes {} bytes, {} for a unit", symbol,
                              argument->bytes(), argument->unit_bytes());
      program_.kernels.push_back(std::move(symbol));
      KernelArguments arguments{kernel->inputs(), kernel->units(), {}};
      if (kernel->argument_types())
        for (uint8_t type : *kernel->argument_types())
          arguments.types.push_back(static_cast<DataType>(type));
      program_.kernelArguments.push_back(std::move(arguments));
    }
    return {};
  }

  Status parseSlice(const table::Slice *encoded, std::string_view what, Slice &slice) const {
    if (!encoded)
      return machineError("{} is missing", what);
    auto tier = static_cast<size_t>(encoded->tier());
    if (tier >= tierCount)
      return machineError("{} lies in the invalid tier {}", what, tier);
    uint64_t arena = program_.arenaBytes[tier];
    if (encoded->rank_stride() > maxArenaBytes)
      return machineError("{} lies {} bytes further on each rank", what, encoded->rank_stride());
    uint64_t shift = rank_ * encoded->rank_stride();
    if (encoded->offset() > arena || shift > arena - encoded->offset() ||
        encoded->bytes() > arena - encoded->offset() - shift)
      return machineError("{} has {} bytes at {}, outside the {} arena of {} bytes", what,
                          encoded->bytes(), encoded->offset() + shift,
                          name(static_cast<Tier>(tier)), arena);
    slice = {static_cast<Tier>(tier), encoded->offset() + shift, encoded->bytes()};
    return {};
  }

  template <typename Bindings>
  Status parseBindings(const Bindings &encoded, std::string_view kind,
                       std::vector<Binding> &bindings) const {
    std::unordered_set<std::string_view> names;
    for (const table::Binding *entry : encoded) {
      Binding binding{entry->name()->str(), static_cast<DataType>(entry->data_type()), {}, {}};
      std::string what = fmt::format("the {} '{}'", kind, binding.name);
      if (!names.insert(entry->name()->string_view()).second)
        return machineError("{} occurs twice in the table", what);
      uint64_t width = byteWidth(binding.dataType);
      if (width == 0)
        return machineError("{} has an invalid data type", what);
      if (entry->shape())
        binding.shape.assign(entry->shape()->begin(), entry->shape()->end());
      StateType type{binding.name, binding.dataType, binding.shape};
      if (!type.check().ok())
        return machineError("{} has an invalid shape", what);
      SPILLWAY_RETURN_IF_ERROR(parseSlice(entry->slice(), what, binding.slice));
      if (binding.slice.bytes != type.logicalBytes() || binding.slice.offset % width != 0)
        return machineError("{} has a slice of {} bytes at {}; {} takes {}", what,
                            binding.slice.bytes, binding.slice.offset,
                            describe(binding.dataType, binding.shape), type.logicalBytes());
      if (const table::Classes *classes = entry->classes()) {
        if (binding.dataType != DataType::i64 && binding.dataType != DataType::i32)
          return machineError("{} holds classes that are no integers", what);
        binding.classes = Classes{classes->count(), classes->ignored(), classes->first()};
      }
      bindings.push_back(std::move(binding));
    }
    return {};
  }

  template <typename Commands>
  Status parseCommands(const Commands &encoded, std::string_view list,
                       std::vector<Command> &commands) const {
    commands.reserve(encoded.size());
    for (const table::Command *entry : encoded) {
      Command command;
      if (entry->label())
        command.label = entry->label()->str();
      if (Status status = parseCommand(*entry, commands.size(), command); !status.ok())
        return std::move(status).error().in(
            fmt::format("command {} of the {} ({})", commands.size(), list, command.label));
      commands.push_back(std::move(command));
    }
    return {};
  }

  Status parseCommand(const table::Command &encoded, size_t index, Command &command) const {
    auto stream = static_cast<size_t>(encoded.stream());
    if (stream >= streamCount)
      return machineError("stream {} does not exist", stream);
    command.stream = static_cast<StreamKind>(stream);
    if (encoded.waits())
      command.waits.assign(encoded.waits()->begin(), encoded.waits()->end());
    for (uint32_t wait : command.waits)
      if (wait >= index)
        return machineError("it waits for command {}, which is not before it", wait);
    command.isCarried = encoded.is_carried();
    if (encoded.carried_waits())
      command.carriedWaits.assign(encoded.carried_waits()->begin(), encoded.carried_waits()->end());
    switch (encoded.operation_type()) {
    case table::Operation::Read:
      return parseRead(*encoded.operation_as_Read(), command);
    case table::Operation::Copy:
      return parseCopy(*encoded.operation_as_Copy(), command);
    case table::Operation::Launch:
      return parseLaunch(*encoded.operation_as_Launch(), command);
    case table::Operation::Lookup:
      return parseLookup(*encoded.operation_as_Lookup(), command);
    case table::Operation::AllGather:
      return parseAllGather(*encoded.operation_as_AllGather(), command);
    case table::Operation::Write:
      return parseWrite(*encoded.operation_as_Write(), command);
    case table::Operation::NONE:
      break;
    }
    return machineError("operation {} does not exist", static_cast<int>(encoded.operation_type()));
  }

  Status requireStream(const Command &command, std::initializer_list<StreamKind> allowed) const {
    if (std::ranges::find(allowed, command.stream) == allowed.end())
      return machineError("it cannot run on the {} stream", name(command.stream));
    return {};
  }

  Result<const StateView *> findState(uint32_t state) const {
    if (state >= store_.states().size())
      return machineError("state {} does not exist; there are {}", state, store_.states().size());
    return &store_.states()[state];
  }

  /// Cuts what all ranks transfer between a state and a slice down to this rank's part of it.
  Status placePart(const StateView &state, std::string_view verb, uint64_t rankStride,
                   uint64_t &offset, uint64_t &bytes, Slice &slice) const {
    uint64_t extent = roundUpToBlock(state.type.storedBytes());
    bool isOutside = offset > extent || bytes > maxArenaBytes || rankStride > maxArenaBytes;
    if (isOutside || (program_.ranks == 1 && bytes > extent - offset))
      return machineError("it {} {} bytes at {} of the state '{}' of {} bytes", verb, bytes, offset,
                          state.type.name, extent);
    if (slice.bytes != bytes)
      return machineError("its slice has {} bytes for {}", slice.bytes, bytes);
    offset = std::min(offset + rank_ * rankStride, extent);
    bytes = std::min(bytes, extent - offset);
    slice.bytes = bytes;
    return {};
  }

  Status parseRead(const table::Read &encoded, Command &command) const {
    SPILLWAY_RETURN_IF_ERROR(requireStream(command, {StreamKind::read}));
    SPILLWAY_ASSIGN_OR_RETURN(const StateView *state, findState(encoded.state()));
    ReadOperation read{.state = encoded.state(),
                       .offset = encoded.offset(),
                       .bytes = encoded.bytes(),
                       .target = {}};
    SPILLWAY_RETURN_IF_ERROR(parseSlice(encoded.target(), "the target", read.target));
    SPILLWAY_RETURN_IF_ERROR(
        placePart(*state, "reads", encoded.rank_stride(), read.offset, read.bytes, read.target));
    if (read.bytes == 0) {
      command.operation = read;
      return {};
    }
    SPILLWAY_RETURN_IF_ERROR(store_.files()[state->file].linked ? placeLinked(*state, read)
                                                                : placeOwn(*state, read));
    command.operation = read;
    return {};
  }

  template <typename Transfer>
  Status requirePieces(const StateView &state, const Transfer &transfer, std::string_view kind,
                       uint64_t pieceBytes) const {
    uint64_t extent = roundUpToBlock(state.type.storedBytes());
    if (transfer.offset % pieceBytes == 0 &&
        (transfer.bytes % pieceBytes == 0 || transfer.offset + transfer.bytes == extent))
      return {};
    return machineError("its {} bytes at {} of the state '{}' are no whole {} of {} bytes",
                        transfer.bytes, transfer.offset, state.type.name, kind, pieceBytes);
  }

  static bool isCongruent(const StateView &state, uint64_t offset, const Slice &slice) {
    return (slice.offset - state.fileOffset - offset) % blockBytes == 0;
  }

  /// For a file of ours, whose slots are all congruent.
  Status requireChunks(const StateView &state, const auto &transfer, const Slice &slice) const {
    SPILLWAY_RETURN_IF_ERROR(requirePieces(state, transfer, "chunks", state.chunkBytes));
    if (!isCongruent(state, transfer.offset, slice))
      return machineError("its slice at {} is not congruent to its place in the file, {}",
                          slice.offset, state.fileOffset + transfer.offset);
    return {};
  }

  Status placeOwn(const StateView &state, ReadOperation &read) const {
    SPILLWAY_RETURN_IF_ERROR(requireChunks(state, read, read.target));
    read.fileBytes = read.bytes;
    return {};
  }

  Status parseWrite(const table::Write &encoded, Command &command) const {
    SPILLWAY_RETURN_IF_ERROR(requireStream(command, {StreamKind::write}));
    SPILLWAY_ASSIGN_OR_RETURN(const StateView *state, findState(encoded.state()));
    if (!state->isRewritten())
      return machineError("it writes the state '{}', which has no second slot", state->type.name);
    WriteOperation write{.state = encoded.state(),
                         .offset = encoded.offset(),
                         .bytes = encoded.bytes(),
                         .source = {}};
    SPILLWAY_RETURN_IF_ERROR(parseSlice(encoded.source(), "the source", write.source));
    SPILLWAY_RETURN_IF_ERROR(placePart(*state, "writes", encoded.rank_stride(), write.offset,
                                       write.bytes, write.source));
    if (write.bytes != 0)
      SPILLWAY_RETURN_IF_ERROR(requireChunks(*state, write, write.source));
    command.operation = write;
    return {};
  }

  /// Only writes of the step go on behind its end, and only the next step waits for them, whose own writes come behind.
  Status checkCarried() const {
    for (const std::vector<Command> *list : {&program_.prologue, &program_.step, &program_.checkpoint})
      for (const Command &command : *list) {
        bool isInStep = list == &program_.step;
        if (command.isCarried && (!isInStep || !std::holds_alternative<WriteOperation>(command.operation)))
          return machineError("a command ({}) that is no write of the step goes on behind it", command.label);
        for (uint32_t wait : command.carriedWaits)
          if (!isInStep || command.stream == StreamKind::write || wait >= list->size() || !(*list)[wait].isCarried)
            return machineError("a command ({}) waits for command {} of the step before, which has ended by then", command.label,
                                wait);
      }
    return {};
  }

  Status requireTransfersIn(const std::vector<Command> &checkpoint) const {
    for (size_t index = 0; index < checkpoint.size(); ++index)
      if (!std::holds_alternative<WriteOperation>(checkpoint[index].operation) &&
          !std::holds_alternative<CopyOperation>(checkpoint[index].operation))
        return machineError("command {} of the checkpoint ({}) is neither a write nor a copy", index,
                            checkpoint[index].label);
    return {};
  }

  Status placeLinked(const StateView &state, ReadOperation &read) const {
    bool isRowMajor = state.type.layout == Layout::rowMajor;
    if (!isRowMajor)
      SPILLWAY_RETURN_IF_ERROR(requirePieces(state, read, "panels", state.type.pieceBytes()));
    read.isDirect = isRowMajor && isCongruent(state, read.offset, read.target);
    for (CanonicalParts parts(state, read.offset, read.bytes); !parts.atEnd();)
      read.fileBytes += parts.next().blockBytesRead();
    return {};
  }

  Status parseScratchSlice(const table::Slice *encoded, std::string_view what, Slice &slice) const {
    if (!encoded || encoded->tier() != table::Tier::nvme)
      return machineError("{} does not lie in the scratch file", what);
    if (encoded->offset() % blockBytes != 0 || encoded->offset() > program_.scratchBytes ||
        encoded->bytes() > program_.scratchBytes - encoded->offset())
      return machineError("{} has {} bytes at {} of the scratch file of {} bytes, in blocks of {}",
                          what, encoded->bytes(), encoded->offset(), program_.scratchBytes,
                          blockBytes);
    slice = {Tier::nvme, encoded->offset(), encoded->bytes()};
    return {};
  }

  /// To the scratch file, or from there.
  template <typename Transfer>
  Status parseScratchCopy(const table::Copy &encoded, Command &command) const {
    constexpr bool isOffload = std::is_same_v<Transfer, OffloadOperation>;
    Transfer transfer;
    Slice &memory = isOffload ? transfer.source : transfer.target;
    Slice &scratch = isOffload ? transfer.target : transfer.source;
    const table::Slice *above = isOffload ? encoded.source() : encoded.target();
    const table::Slice *below = isOffload ? encoded.target() : encoded.source();
    SPILLWAY_RETURN_IF_ERROR(parseSlice(above, "its memory", memory));
    SPILLWAY_RETURN_IF_ERROR(parseScratchSlice(below, "its place on the drive", scratch));
    if (memory.bytes != scratch.bytes || memory.bytes == 0)
      return machineError("it moves {} bytes, {} of the scratch file", memory.bytes, scratch.bytes);
    if (memory.offset % blockBytes != 0)
      return machineError("its memory is not aligned to {} bytes", blockBytes);
    command.operation = transfer;
    return {};
  }

  Status parseCopy(const table::Copy &encoded, Command &command) const {
    if (command.stream == StreamKind::write)
      return parseScratchCopy<OffloadOperation>(encoded, command);
    if (command.stream == StreamKind::read)
      return parseScratchCopy<RestoreOperation>(encoded, command);
    SPILLWAY_RETURN_IF_ERROR(
        requireStream(command, {StreamKind::compute, StreamKind::copyUp, StreamKind::copyDown}));
    CopyOperation copy;
    SPILLWAY_RETURN_IF_ERROR(parseSlice(encoded.source(), "the source", copy.source));
    SPILLWAY_RETURN_IF_ERROR(parseSlice(encoded.target(), "the target", copy.target));
    if (copy.source.bytes != copy.target.bytes)
      return machineError("it copies {} bytes to {}", copy.source.bytes, copy.target.bytes);
    if (overlap(copy.source, copy.target))
      return machineError("its source and target overlap");
    command.operation = copy;
    return {};
  }

  /// What a kernel may touch of a tile.
  static Result<uint64_t> bytesOfTile(const table::KernelArgument &taken, const LaunchOperation &launch,
                                      const LaunchOperation::Argument &given, std::string_view what) {
    uint64_t units = (taken.bytes() + taken.unit_bytes() - 1) / taken.unit_bytes();
    int64_t end = taken.is_tiled() ? launch.end : given.origin + given.units;
    if (taken.is_tiled() && given.units != 0)
      return machineError("{} says that it has {} units; it is a tile of those that the launch computes", what,
                          given.units);
    if (taken.is_tiled() && given.origin > launch.begin)
      return machineError("{} starts at unit {}, after the units {} to {}", what, given.origin, launch.begin,
                          launch.end);
    if (static_cast<uint64_t>(end) > units)
      return machineError("{} is a tile up to unit {} of {}", what, end, units);
    auto bytesUpTo = [&](int64_t unit) {
      return static_cast<uint64_t>(unit) >= units ? taken.bytes() : static_cast<uint64_t>(unit) * taken.unit_bytes();
    };
    return bytesUpTo(end) - bytesUpTo(given.origin);
  }

  /// That a slice has all bytes that a kernel may touch of an argument.
  static Status requireArgument(const table::KernelArgument &taken, const LaunchOperation &launch,
                                const LaunchOperation::Argument &given, std::string_view what) {
    bool isTile = taken.unit_bytes() != 0 && (taken.is_tiled() || given.units != 0);
    if (!isTile && (given.origin != 0 || given.units != 0))
      return machineError("{} is a tile; its kernel takes the whole", what);
    uint64_t needed = taken.bytes();
    if (isTile) {
      SPILLWAY_ASSIGN_OR_RETURN(needed, bytesOfTile(taken, launch, given, what));
    }
    if (given.slice.bytes < needed)
      return machineError("{} has {} bytes; its kernel takes {}", what, given.slice.bytes, needed);
    return {};
  }

  Status parseLaunch(const table::Launch &encoded, Command &command) const {
    SPILLWAY_RETURN_IF_ERROR(requireStream(command, {StreamKind::compute}));
    LaunchOperation launch;
    launch.kernel = encoded.kernel();
    launch.begin = encoded.begin();
    launch.end = encoded.end();
    if (launch.kernel >= program_.kernels.size())
      return machineError("kernel {} does not exist; there are {}", launch.kernel,
                          program_.kernels.size());
    if (launch.begin < 0 || launch.end < launch.begin || launch.end > maxUnits)
      return machineError("it computes the units {} to {}", launch.begin, launch.end);
    const table::Kernel &kernel = *root_.kernels()->Get(launch.kernel);
    if (launch.end > kernel.units())
      return machineError("it computes the units {} to {} of {}", launch.begin, launch.end,
                          kernel.units());
    launch.parts = kernel.parts();
    launch.isDivided = isWorthDividing(kernel, launch.begin, launch.end);
    size_t count = encoded.arguments() ? encoded.arguments()->size() : 0;
    if (count != kernel.arguments()->size())
      return machineError("it has {} arguments; its kernel takes {}", count,
                          kernel.arguments()->size());
    if (encoded.arguments()) {
      launch.arguments.reserve(encoded.arguments()->size());
      for (const table::Argument *entry : *encoded.arguments()) {
        LaunchOperation::Argument argument{{}, entry->origin(), entry->units()};
        std::string what = fmt::format("argument {}", launch.arguments.size());
        SPILLWAY_RETURN_IF_ERROR(parseSlice(&entry->slice(), what, argument.slice));
        if (argument.slice.offset % argumentAlignment != 0)
          return machineError("{} is not aligned to {} bytes", what, argumentAlignment);
        if (argument.origin < 0 || argument.origin > maxUnits)
          return machineError("{} starts at unit {}", what, argument.origin);
        if (argument.units < 0 || argument.units > maxUnits)
          return machineError("{} has {} units", what, argument.units);
        const table::KernelArgument &taken = *kernel.arguments()->Get(launch.arguments.size());
        SPILLWAY_RETURN_IF_ERROR(requireArgument(taken, launch, argument, what));
        launch.arguments.push_back(argument);
      }
    }
    launch.scratchPerThread = encoded.scratch_per_thread();
    if (launch.scratchPerThread != 0) {
      SPILLWAY_RETURN_IF_ERROR(parseSlice(encoded.scratch(), "the scratch", launch.scratch));
      if (launch.scratch.offset % scratchAlignment != 0 ||
          launch.scratchPerThread % scratchAlignment != 0)
        return machineError("its scratch is not aligned to {} bytes", scratchAlignment);
      if (launch.scratchPerThread > launch.scratch.bytes / program_.threads)
        return machineError("its scratch has {} bytes; {} threads need {} each",
                            launch.scratch.bytes, program_.threads, launch.scratchPerThread);
    }
    command.operation = std::move(launch);
    return {};
  }

  Status parseLookup(const table::Lookup &encoded, Command &command) const {
    SPILLWAY_ASSIGN_OR_RETURN(const StateView *state, findState(encoded.state()));
    const StateType &type = state->type;
    LookupOperation lookup;
    lookup.state = encoded.state();
    lookup.indexType = static_cast<DataType>(encoded.index_type());
    if (lookup.indexType != DataType::i32 && lookup.indexType != DataType::i64)
      return machineError("its indices are neither i32 nor i64");
    if (type.shape.empty())
      return machineError("it looks up rows of the scalar '{}'", type.name);
    if (type.layout == Layout::panels && type.panelDim != 0)
      return machineError("it looks up rows of '{}', whose panels are not along them", type.name);
    SPILLWAY_RETURN_IF_ERROR(parseSlice(encoded.indices(), "the indices", lookup.indices));
    SPILLWAY_RETURN_IF_ERROR(parseSlice(encoded.target(), "the target", lookup.target));
    uint64_t width = byteWidth(lookup.indexType);
    if (lookup.indices.bytes % width != 0 || lookup.indices.offset % width != 0)
      return machineError("its indices are no whole, aligned elements");
    uint64_t count = lookup.count();
    if (type.rowBytes() != 0 && count > maxArenaBytes / type.rowBytes())
      return machineError("it looks up {} rows", count);
    if (lookup.target.bytes != count * type.rowBytes())
      return machineError("its target has {} bytes; {} rows take {}", lookup.target.bytes, count,
                          count * type.rowBytes());
    lookup.fromArena = encoded.resident() != nullptr;
    if (lookup.fromArena) {
      SPILLWAY_RETURN_IF_ERROR(requireStream(command, {StreamKind::compute}));
      SPILLWAY_RETURN_IF_ERROR(
          parseSlice(encoded.resident(), "the resident state", lookup.resident));
      if (lookup.resident.bytes < type.storedBytes())
        return machineError("the resident state has {} bytes; '{}' takes {}", lookup.resident.bytes,
                            type.name, type.storedBytes());
    } else {
      SPILLWAY_RETURN_IF_ERROR(requireStream(command, {StreamKind::read}));
      SPILLWAY_RETURN_IF_ERROR(parseSlice(encoded.staging(), "the staging", lookup.staging));
      bool linked = store_.files()[state->file].linked;
      lookup.stagingPieceBytes =
          linked ? roundUpToBlock(type.rowBytes()) + blockBytes : state->chunkBytes;
      if (lookup.staging.offset % blockBytes != 0)
        return machineError("its staging is not aligned to {} bytes", blockBytes);
      if (lookup.target.bytes != 0 && lookup.staging.bytes < lookup.stagingPieceBytes)
        return machineError("its staging has {} bytes; a piece takes {}", lookup.staging.bytes,
                            lookup.stagingPieceBytes);
    }
    command.operation = lookup;
    return {};
  }

  Status parseAllGather(const table::AllGather &encoded, Command &command) const {
    SPILLWAY_RETURN_IF_ERROR(requireStream(command, {StreamKind::communicate}));
    AllGatherOperation gather;
    SPILLWAY_RETURN_IF_ERROR(parseSlice(encoded.source(), "the source", gather.source));
    SPILLWAY_RETURN_IF_ERROR(parseSlice(encoded.target(), "the target", gather.target));
    if (gather.source.bytes > maxArenaBytes / program_.ranks ||
        gather.target.bytes != gather.source.bytes * program_.ranks)
      return machineError("it gathers {} bytes of each of {} ranks into {}", gather.source.bytes,
                          program_.ranks, gather.target.bytes);
    if (overlap(gather.source, gather.target) &&
        gather.source.offset != gather.target.offset + rank_ * gather.source.bytes)
      return machineError("its source overlaps its target elsewhere than in its own place");
    command.operation = gather;
    return {};
  }

  const table::Program &root_;
  const Store &store_;
  uint64_t rank_;
  Program program_;
};
} // namespace

Result<Program> Program::parse(std::span<const std::byte> bytes, const Store &store,
                               uint32_t rank) {
  if (!isWellFormed(bytes))
    return machineError("the table is damaged");
  return Parser(*table::GetProgram(bytes.data()), store, rank).parse();
}

} // namespace spillway
