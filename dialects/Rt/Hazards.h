// Whether commands on streams, ordered by events, can harm each other: the one
// proof that the verifier of rt.program and the simulator of step tables share.
// Knows nothing of MLIR.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace spillway::rt {

/// Streams as numbered in runtime/table/table.fbs.
inline constexpr unsigned streamCount = 6;
inline constexpr unsigned writeStream = 2;

/// Whether a stream runs one command at a time: a command starts only when its
/// predecessor has ended. Others start commands in order and keep many in flight.
constexpr bool isSerialStream(unsigned stream) { return stream != 1 && stream != 2; }

/// Bytes [offset, offset + bytes) of a tier.
struct AccessedBytes {
  unsigned tier = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  bool write = false;
};

/// What an all-gather touches: its source may be its own place in the target, which stays as it is.
std::vector<AccessedBytes> accessesOfGather(AccessedBytes source, AccessedBytes target);

/// Bytes of a state's file. Only the first step behind a commit reads other bytes there than steps write: what one has
/// written the next one reads, and writes over.
struct FileBytes {
  uint32_t state = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

struct CommandAccesses {
  unsigned stream = 0;
  /// Indices of earlier commands of the same list.
  std::vector<uint32_t> waits;
  std::vector<AccessedBytes> accesses;
  /// Of a state, read or written.
  std::optional<FileBytes> file = std::nullopt;
  /// Of a write of a step: whether it may go on when the step has ended.
  bool isCarried = false;
  /// Commands of the step that have ended in the step before. Not of the write stream, which begins nothing before that.
  std::vector<uint32_t> carriedWaits = {};
};

struct Hazard {
  enum class Kind {
    /// Two commands touch the same bytes, one writes, and nothing orders them.
    unordered,
    /// Bytes are read that nothing wrote.
    unwritten,
    /// Bytes are read that an earlier step overwrote.
    stale,
  } kind;
  /// Where it happens.
  enum class List { prologue, step, checkpoint };
  List list = List::step;
  /// The command at fault; the number of commands of the step where an output is.
  uint32_t command = 0;
  /// The command that it is not ordered after, of the same list, or of the step before where `otherIsCarried`; itself
  /// where its own accesses collide (unordered).
  uint32_t other = 0;
  bool otherIsCarried = false;
  /// The bytes that it happens on; or those of a file.
  AccessedBytes bytes;
  std::optional<FileBytes> file = std::nullopt;
};

/// Looks at a prologue and at repeated steps, each with a checkpoint behind it. `inputs` are written before each
/// step and `outputs` read after it; what the checkpoint reads before it writes there is left by each step for the next
/// one. What a step carries may go on until the next one ends; before a checkpoint it has ended. A command may write exactly the bytes that it reads: it computes in place. Time n log n in the number of accesses, and the
/// square of a state's reads and writes and of the checkpoint's.
std::optional<Hazard> findHazard(const std::vector<CommandAccesses> &prologue,
                                 const std::vector<CommandAccesses> &step,
                                 const std::vector<CommandAccesses> &checkpoint,
                                 const std::vector<AccessedBytes> &inputs,
                                 const std::vector<AccessedBytes> &outputs);

} // namespace spillway::rt
