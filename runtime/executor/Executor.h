// Runs a step: one dispatch loop a stream over the commands of a checked program.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/comm/Communicator.h"
#include "runtime/device/Device.h"
#include "runtime/executor/NotFinite.h"
#include "runtime/executor/Program.h"
#include "runtime/executor/Recorder.h"
#include "runtime/io/Patience.h"
#include "runtime/state/Store.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace spillway {

/// What a program runs on. All outlive the executor.
struct ExecutorResources {
  const Program &program;
  const Store &store;
  Device &device;
  Communicator &communicator;
  /// For the read stream, which uses it alone while a list runs.
  io::Engine &engine;
  /// In the order of the program's kernels. Empty: a replay, whose launches do
  /// nothing.
  std::span<const KernelFunction> kernels;
  /// After so long without any completion of what is in flight, reading fails.
  std::chrono::milliseconds ioTimeout = io::driveTimeout;
  /// For the write stream and commits; needed by a program that writes states.
  io::Engine *writeEngine = nullptr;
};

/// Owns the arenas and a thread for each stream that the program uses; compute
/// runs on the caller. Used by one thread at a time. Neither allocates nor takes a
/// lock while a list runs without error; an engine may.
class Executor {
public:
  /// Allocates the arenas, opens the files of the states, starts the threads.
  static Result<std::unique_ptr<Executor>> create(const ExecutorResources &resources);
  ~Executor();

  /// Run once, before the first step. An error ends every stream and all I/O
  /// before it is returned; it begins with the label of its command. The executor
  /// cannot be used after one.
  Status runPrologue();
  /// Run as often as wanted, with all inputs in their slices each time: a step may
  /// overwrite them. Kernel faults and bad indices are user errors; what damaged
  /// or short files cause are machine errors. Writes that the program carries may go on when it returns; an error of
  /// theirs is one of the next step, or of what settles them first: `settle`, `evaluate`, `commit`.
  Status runStep();
  /// Waits for what the last step still writes.
  Status settle();
  /// From now on, a step ends with an error as soon as it has computed a value of f32 there that is
  /// not finite: no number, or infinite. It may be the only one there is.
  void watch(const Slice &value);
  /// After a step that ended with an error: whether it ended because values were not finite, of which the watched one,
  /// computed by then, is one.
  bool isWatchedNotFinite() const;
  /// Computes what lies in a slice at the end of a step as the step would, with the states as they are, and
  /// changes none of them. Inputs as for `runStep`.
  Status evaluate(const Slice &output);
  /// The same, after a step that `watch` ended, with all values on the way looked at. The executor can be used for
  /// nothing else then.
  Result<NotFinite> findNotFinite(const Slice &output);
  /// Of a program that writes states, after at least one step since the last commit: runs the
  /// checkpoint and makes what steps have made of the states durable, as what the next start
  /// finds after `step` steps; it also finds `payload`. All or nothing: after an error, reading
  /// the store again tells which.
  Status commit(uint64_t step, std::string_view payload);
  const Commit &lastCommit() const;

  /// Memory that the host can read and write, valid between runs.
  std::span<std::byte> bytes(const Slice &slice) const;

  /// Bytes that have gone to files so far, also of a step whose writes go on.
  uint64_t writtenBytes() const;

  /// Of the last run of each list, of a step after `settle`; parallel to the program's commands.
  std::span<const CommandTimes> prologueTimes() const;
  std::span<const CommandTimes> stepTimes() const;
  std::span<const CommandTimes> checkpointTimes() const;
  const RunTimes &lastPrologue() const;
  const RunTimes &lastStep() const;
  /// Of the checkpoint, until all was durable.
  const RunTimes &lastCheckpoint() const;

private:
  class Impl;
  explicit Executor(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

} // namespace spillway
