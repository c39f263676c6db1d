// A bundle that is ready to run in this process.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/base/ThreadTeam.h"
#include "runtime/bundle/Bundle.h"
#include "runtime/comm/Communicator.h"
#include "runtime/executor/Executor.h"
#include "runtime/executor/KernelLibrary.h"
#include "runtime/io/FailingEngine.h"
#include "runtime/io/ThrottledEngine.h"

#include <filesystem>
#include <memory>
#include <optional>

namespace spillway {

struct SessionOptions {
  /// Threads that compute; at most those of the plan. By default those of the plan,
  /// but not more than there are processors.
  std::optional<unsigned> threads;
  io::EngineKind engine = io::EngineKind::automatic;
  /// Holds reads and writes back to these bandwidths; 0 does not.
  io::Throttle throttle;
  /// For tests of faults: in reading, and in writing and committing.
  std::optional<io::Fault> readFault;
  std::optional<io::Fault> writeFault;
  /// Whether the program may write states, which only one process may at a time.
  bool writable = false;
  /// Runs everything but the kernels.
  bool replay = false;
  /// The rank that the session is; outlives it. By default the only one of a world.
  Communicator *communicator = nullptr;
};

/// Owns everything that a program runs on. Used by one thread at a time.
class Session {
public:
  /// Checks the bundle, loads its kernels and allocates its arenas; reads no state.
  static Result<std::unique_ptr<Session>> open(const std::filesystem::path &bundle,
                                               const SessionOptions &options);
  static Result<std::unique_ptr<Session>> open(Bundle bundle, const SessionOptions &options);

  const Bundle &bundle() const { return bundle_; }
  const Store &store() const { return store_; }
  const Program &program() const { return program_; }
  const io::Engine &readEngine() const { return *readEngine_; }
  /// Null where the program writes nothing.
  const io::Engine *writeEngine() const { return writeEngine_.get(); }
  Executor &executor() { return *executor_; }
  unsigned threads() const { return team_->size(); }

  /// The slice of an input or output, for its bytes.
  std::span<std::byte> bytes(const Binding &binding) { return executor_->bytes(binding.slice); }

private:
  explicit Session(Bundle bundle) : bundle_(std::move(bundle)) {}

  Status initialise(const SessionOptions &options);

  Bundle bundle_;
  /// Of what other processes may do with the states meanwhile.
  std::optional<FileLock> lock_;
  Store store_;
  Program program_;
  std::optional<KernelLibrary> kernels_;
  std::unique_ptr<io::Engine> readEngine_;
  std::unique_ptr<io::Engine> writeEngine_;
  std::unique_ptr<ThreadTeam> team_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Communicator> self_;
  /// Last, so that it goes before what it runs on.
  std::unique_ptr<Executor> executor_;
};

} // namespace spillway
