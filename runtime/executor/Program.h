// A step as plain, checked values: what `table.fbs` says, without its encoding.
#pragma once

#include "runtime/base/DataType.h"
#include "runtime/base/Status.h"
#include "runtime/state/Store.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace spillway {

/// A program is for as many threads at most.
inline constexpr uint32_t maxThreads = 1024;

/// The version of the table's format that this runtime reads and writes.
inline constexpr uint32_t tableVersion = 7;

/// Memories of a process, and the file in which values of a step wait. See table.fbs.
enum class Tier : uint8_t { device = 0, host = 1, nvme = 2 };
/// Of memories.
inline constexpr size_t tierCount = 2;

/// See table.fbs.
enum class StreamKind : uint8_t {
  compute = 0,
  read = 1,
  write = 2,
  copyUp = 3,
  copyDown = 4,
  communicate = 5,
};
inline constexpr size_t streamCount = 6;

/// Of transfers from or to files: many are in flight, where other streams run one command at a time.
constexpr bool isFileStream(StreamKind stream) {
  return stream == StreamKind::read || stream == StreamKind::write;
}

std::string_view name(Tier tier);
std::string_view name(StreamKind stream);

/// Bytes [offset, offset + bytes) of a tier's arena, inside it.
struct Slice {
  Tier tier = Tier::host;
  uint64_t offset = 0;
  uint64_t bytes = 0;

  bool operator==(const Slice &) const = default;
};

struct ReadOperation {
  uint32_t state = 0;
  /// This rank's part, cut at the state's end.
  uint64_t offset = 0;
  uint64_t bytes = 0;
  Slice target;
  /// Whether the bytes go straight to the target: the file holds them as they are stored in
  /// memory, at a place that is congruent modulo a block. Else they are packed on the way.
  bool isDirect = true;
  /// Bytes that are asked of the file.
  uint64_t fileBytes = 0;
};

struct CopyOperation {
  Slice source;
  Slice target;
};

struct LaunchOperation {
  struct Argument {
    Slice slice;
    int64_t origin = 0;
    /// Of a tile; 0 where it is whole.
    int64_t units = 0;
  };
  uint32_t kernel = 0;
  std::vector<Argument> arguments;
  int64_t begin = 0;
  int64_t end = 0;
  /// Into how many parts the units may be divided at most.
  int64_t parts = 1;
  Slice scratch;
  uint64_t scratchPerThread = 0;
  /// Whether its work is worth other threads than the one that launches.
  bool isDivided = true;
};

struct LookupOperation {
  uint32_t state = 0;
  Slice indices;
  DataType indexType = DataType::i64;
  Slice target;
  /// Where the rows come from: an arena, or the state's file through `staging`.
  bool fromArena = false;
  Slice resident;
  Slice staging;
  /// Bytes of `staging` that one piece of the file takes, a multiple of 4096.
  uint64_t stagingPieceBytes = 0;

  uint64_t count() const { return indices.bytes / byteWidth(indexType); }
};

struct AllGatherOperation {
  Slice source;
  Slice target;
};

struct WriteOperation {
  uint32_t state = 0;
  /// This rank's part, cut at the state's end.
  uint64_t offset = 0;
  uint64_t bytes = 0;
  Slice source;
};

/// A value goes to the scratch file, to whole blocks.
struct OffloadOperation {
  Slice source;
  Slice target;
  /// Among the offloads of the step.
  uint32_t number = 0;
};

/// It comes back.
struct RestoreOperation {
  Slice source;
  Slice target;
  /// Of the offload that has put it there.
  uint32_t number = 0;
};

struct Command {
  std::variant<ReadOperation, CopyOperation, LaunchOperation, LookupOperation, AllGatherOperation,
               WriteOperation, OffloadOperation, RestoreOperation>
      operation;
  StreamKind stream = StreamKind::compute;
  /// Earlier commands of the same list.
  std::vector<uint32_t> waits;
  std::string label;
  /// Of a write of the step: whether it may go on when the step has ended.
  bool isCarried = false;
  /// Of the step: carried commands of it that the step before must have ended.
  std::vector<uint32_t> carriedWaits = {};
};

/// What an input of labels holds: from 0 to below `count`, or `ignored`.
struct Classes {
  int64_t count = 0;
  int64_t ignored = 0;
  /// Of dimension 1: what lies before it is no label of any sample.
  int64_t first = 0;
};

/// An input or output of the model.
struct Binding {
  std::string name;
  DataType dataType = DataType::f32;
  std::vector<int64_t> shape;
  Slice slice;
  /// Of integers.
  std::optional<Classes> classes = std::nullopt;
};

/// "f32[1,128]".
std::string describe(DataType type, std::span<const int64_t> shape);

/// Bytes that running the commands asks of files: what Reads and restores name, and the pieces
/// of lookups where no two indices share one.
uint64_t plannedReadBytes(std::span<const Command> commands);
/// Bytes that running them writes to files.
uint64_t plannedWriteBytes(std::span<const Command> commands);

/// What the launches of a kernel take: inputs, then results.
struct KernelArguments {
  uint32_t inputs = 0;
  /// Of the kernel's space.
  int64_t units = 0;
  /// Empty where they are not known.
  std::vector<DataType> types;
};

struct Program {
  /// Checks everything that running relies on: the encoding, the version, that
  /// every slice lies in its arena and has the size that its use needs, that launches give kernels all
  /// arguments, that states and kernels exist, that commands wait for earlier ones only, and that versions
  /// of rewritten states are kept apart (see Rewrites.h).
  /// Machine errors name the command and what is wrong with it. `bytes` are
  /// aligned to 8; `rank` is the rank whose part is read.
  static Result<Program> parse(std::span<const std::byte> bytes, const Store &store,
                               uint32_t rank = 0);

  uint32_t ranks = 1;
  uint32_t threads = 1;
  std::array<uint64_t, tierCount> arenaBytes{};
  /// Of the file in which values of a step wait; 0 where none does.
  uint64_t scratchBytes = 0;
  /// Symbols in kernels.so.
  std::vector<std::string> kernels;
  /// Of each kernel.
  std::vector<KernelArguments> kernelArguments;
  std::vector<Binding> inputs;
  std::vector<Binding> outputs;
  std::vector<Command> prologue;
  std::vector<Command> step;
  std::vector<Command> checkpoint;

  /// Whether running it makes new versions of states.
  bool writesStates() const;
  /// Values that a step puts into the scratch file.
  uint32_t offloads() const;
};

} // namespace spillway
