#include "runtime/executor/Executor.h"
#include "runtime/base/Thread.h"
#include "runtime/executor/CommandList.h"
#include "runtime/executor/Evaluation.h"
#include "runtime/executor/Examination.h"
#include "runtime/executor/ReadStream.h"
#include "runtime/executor/RowLookup.h"
#include "runtime/executor/Scratch.h"
#include "runtime/executor/WriteStream.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>

namespace spillway {

namespace {
/// A thread that runs its stream's commands of one list after another.
class Worker {
public:
  using Body = std::function<void(CommandList &)>;

  static Result<std::unique_ptr<Worker>> start(StreamKind kind, Body body) {
    std::unique_ptr<Worker> worker(new Worker(std::move(body)));
    SPILLWAY_ASSIGN_OR_RETURN(
        Thread thread, Thread::start(threadName(kind), [raw = worker.get()] { raw->loop(); }));
    worker->thread_.emplace(std::move(thread));
    return worker;
  }

  ~Worker() {
    list_ = nullptr;
    go_.signal();
  }

  void run(CommandList &list) {
    list_ = &list;
    finished_.reset();
    go_.signal();
  }

  void join() { finished_.wait(); }

private:
  explicit Worker(Body body) : body_(std::move(body)) {}

  static const char *threadName(StreamKind kind) {
    constexpr const char *names[streamCount] = {"sw-compute", "sw-read",      "sw-write",
                                                "sw-copy-up", "sw-copy-down", "sw-communicate"};
    return names[static_cast<size_t>(kind)];
  }

  void loop() {
    while (true) {
      go_.wait();
      go_.reset();
      if (!list_)
        return;
      body_(*list_);
      finished_.signal();
    }
  }

  Body body_;
  Event go_;
  Event finished_;
  CommandList *list_ = nullptr;
  /// Last, so that it is joined before what it uses goes.
  std::optional<Thread> thread_;
};
} // namespace

class Executor::Impl {
public:
  explicit Impl(const ExecutorResources &resources)
      : resources_(resources), state_(resources.communicator),
        scratch_(resources.program, resources.store.folder()) {}

  Status initialise() {
    const Program &program = resources_.program;
    if (resources_.communicator.size() != program.ranks)
      return userError("the program was compiled for {} ranks; this job has {}", program.ranks,
                       resources_.communicator.size());
    if (resources_.device.launchThreads() > program.threads)
      return userError("the program was compiled for at most {} threads; {} were asked for",
                       program.threads, resources_.device.launchThreads());
    if (!resources_.kernels.empty() && resources_.kernels.size() != program.kernels.size())
      return bugError("{} kernels were given for {}", resources_.kernels.size(),
                      program.kernels.size());
    for (size_t tier = 0; tier < tierCount; ++tier) {
      MemoryKind kind =
          static_cast<Tier>(tier) == Tier::device ? MemoryKind::device : MemoryKind::host;
      SPILLWAY_ASSIGN_OR_RETURN(memories_[tier],
                                resources_.device.allocate(kind, program.arenaBytes[tier]));
      arenas_[tier] = memories_[tier]->data();
    }
    prologue_.emplace(program.prologue, arenas_);
    step_.emplace(program.step, arenas_);
    checkpoint_.emplace(program.checkpoint, arenas_);
    Status started = startStreams();
    if (!scratch_.isNeeded())
      return started;
    Status hidden = scratch_.hide();
    return started.ok() ? std::move(hidden) : std::move(started);
  }

  Status runStep() {
    watchedIsFinite_ = true;
    SPILLWAY_RETURN_IF_ERROR(run(*step_, stepSums));
    slots_.noteStep();
    return {};
  }

  void watch(const Slice &value) {
    watched_ = value;
    watchedCommand_ = lastWriter(resources_.program, value);
  }

  bool isWatchedNotFinite() {
    return !watchedIsFinite_ && state_.endedByNotFinite() && checkFaults(*step_).ok();
  }

  Status evaluate(const Slice &output) {
    prepareEvaluation(output);
    RunTimes sums;
    return run(*evaluation_, sums);
  }

  Result<NotFinite> findNotFinite(const Slice &output) {
    prepareEvaluation(output);
    examination_.emplace(resources_.program, *evaluation_);
    SPILLWAY_RETURN_IF_ERROR(evaluate(output));
    return examination_->found();
  }

  Status commit(uint64_t step, std::string_view payload) {
    if (!writes_ || !slots_.hasUncommitted())
      return bugError("a commit without anything that a step has made");
    commit_ = {step, payload};
    SPILLWAY_RETURN_IF_ERROR(run(*checkpoint_, checkpointSums));
    slots_.noteCommit();
    return {};
  }

  Status run(CommandList &list, RunTimes &sums) {
    setFloatingPointEnvironment();
    list.reset();
    state_.start(list);
    int64_t begin = now();
    for (size_t stream = 0; stream < streamCount; ++stream)
      if (workers_[stream] && hasWork(static_cast<StreamKind>(stream), list))
        workers_[stream]->run(list);
    runStream(StreamKind::compute, list);
    for (size_t stream = 0; stream < streamCount; ++stream)
      if (workers_[stream] && hasWork(static_cast<StreamKind>(stream), list))
        workers_[stream]->join();
    sums = sumTimes(list.commands(), list.times(), begin, now());
    // A fault explains values that are not finite.
    if (Status status = state_.status(); !status.ok() && !state_.endedByNotFinite())
      return status;
    SPILLWAY_RETURN_IF_ERROR(checkFaults(list));
    return state_.status();
  }

  const ExecutorResources &resources() const { return resources_; }
  const ArenaAddresses &arenas() const { return arenas_; }
  CommandList &prologue() { return *prologue_; }
  CommandList &step() { return *step_; }
  CommandList &checkpoint() { return *checkpoint_; }
  const Commit &lastCommit() const {
    return writes_ ? writes_->lastCommit() : resources_.store.lastCommit();
  }

  RunTimes prologueSums;
  RunTimes stepSums;
  RunTimes checkpointSums;

private:
  void prepareEvaluation(const Slice &output) {
    if (evaluation_ && evaluated_ == output)
      return;
    evaluation_.reset();
    evaluationCommands_ = commandsFor(resources_.program, output);
    evaluation_.emplace(evaluationCommands_, arenas_);
    evaluated_ = output;
  }

  bool lookAtWatched(DeviceStream &stream) {
    // An error comes again.
    if (!stream.synchronize().ok())
      return true;
    float value;
    std::memcpy(&value, addressOf(arenas_, watched_), sizeof(value));
    return watchedIsFinite_ = std::isfinite(value);
  }

  bool isUsed(StreamKind kind) const {
    return !prologue_->order(kind).empty() || !step_->order(kind).empty() ||
           !checkpoint_->order(kind).empty();
  }

  /// A checkpoint ends with the commit, which is the write stream's.
  bool isCommitting(StreamKind kind, const CommandList &list) const {
    return kind == StreamKind::write && &list == &*checkpoint_;
  }
  bool hasWork(StreamKind kind, const CommandList &list) const {
    return !list.order(kind).empty() || isCommitting(kind, list);
  }

  Status startStreams() {
    for (size_t stream = 0; stream < streamCount; ++stream) {
      auto kind = static_cast<StreamKind>(stream);
      if (kind != StreamKind::compute && !isUsed(kind))
        continue;
      if (kind == StreamKind::read) {
        SPILLWAY_ASSIGN_OR_RETURN(reads_,
                                  ReadStream::create(resources_.store, slots_, scratch_,
                                                     resources_.engine, arenaBytes(),
                                                     resources_.ioTimeout));
        SPILLWAY_ASSIGN_OR_RETURN(workers_[stream], Worker::start(kind, [this](CommandList &list) {
                                    reads_->run(list, state_);
                                  }));
        continue;
      }
      if (kind == StreamKind::write) {
        if (!resources_.writeEngine)
          return bugError("a program that writes states has no engine to do so");
        SPILLWAY_ASSIGN_OR_RETURN(writes_, WriteStream::create(resources_.store, slots_, scratch_,
                                                               *resources_.writeEngine,
                                                               arenaBytes(), resources_.ioTimeout));
        SPILLWAY_ASSIGN_OR_RETURN(workers_[stream],
                                  Worker::start(kind, [this](CommandList &list) { write(list); }));
        continue;
      }
      SPILLWAY_ASSIGN_OR_RETURN(streams_[stream],
                                resources_.device.createStream(kind == StreamKind::compute));
      if (kind != StreamKind::compute) {
        SPILLWAY_ASSIGN_OR_RETURN(
            workers_[stream],
            Worker::start(kind, [this, kind](CommandList &list) { runStream(kind, list); }));
      }
    }
    return {};
  }

  void write(CommandList &list) {
    writes_->run(list, state_);
    if (!isCommitting(StreamKind::write, list) || state_.failed())
      return;
    if (Status status = writes_->commit(commit_.step, commit_.payload); !status.ok())
      state_.fail(std::move(status).error().in("commit"));
  }

  std::vector<std::span<std::byte>> arenaBytes() const {
    std::vector<std::span<std::byte>> bytes;
    for (const auto &memory : memories_)
      if (memory->size() != 0)
        bytes.emplace_back(memory->data(), memory->size());
    return bytes;
  }

  void runStream(StreamKind kind, CommandList &list) {
    DeviceStream &stream = *streams_[static_cast<size_t>(kind)];
    for (uint32_t index : list.order(kind)) {
      const Command &command = list[index];
      CommandTimes &times = list.times(index);
      times.reached = now();
      for (uint32_t wait : command.waits)
        if (!stream.wait(list.event(wait)))
          return;
      if (state_.failed())
        return;
      times.started = now();
      if (Status status = execute(command, index, list, stream); !status.ok())
        return state_.fail(std::move(status).error().in(command.label));
      if (&list == &*step_ && index == watchedCommand_ && !lookAtWatched(stream))
        return state_.fail(userError("a value that is watched is not finite"), /*isNotFinite=*/true);
      times.ended = now();
      stream.signal(list.event(index));
    }
    if (Status status = stream.synchronize(); !status.ok())
      state_.fail(std::move(status).error().in(fmt::format("the {} stream", name(kind))));
  }

  Status execute(const Command &command, uint32_t index, CommandList &list, DeviceStream &stream) {
    if (auto *launch = std::get_if<LaunchOperation>(&command.operation)) {
      if (resources_.kernels.empty())
        return {};
      if (examination_)
        examination_->lookAtInputs(*launch, index);
      SPILLWAY_RETURN_IF_ERROR(stream.launch({.function = resources_.kernels[launch->kernel],
                                              .arguments = list.arguments(index),
                                              .begin = launch->begin,
                                              .end = launch->end,
                                              .scratch = addressOf(arenas_, launch->scratch),
                                              .scratchPerThread = launch->scratchPerThread,
                                              .isDivided = launch->isDivided,
                                              .fault = &list.fault(index)}));
      if (!examination_)
        return {};
      SPILLWAY_RETURN_IF_ERROR(stream.synchronize());
      examination_->lookAtResults(*launch, command.label);
      return {};
    }
    if (auto *copy = std::get_if<CopyOperation>(&command.operation))
      return stream.copy(addressOf(arenas_, copy->target), addressOf(arenas_, copy->source),
                         copy->source.bytes);
    if (auto *gather = std::get_if<AllGatherOperation>(&command.operation))
      return resources_.communicator.allGather(stream, addressOf(arenas_, gather->source),
                                               addressOf(arenas_, gather->target),
                                               gather->source.bytes);
    if (auto *lookup = std::get_if<LookupOperation>(&command.operation))
      return lookUp(*lookup, list.lookupRoom(index));
    return bugError("a transfer of a file came to the {} stream", name(command.stream));
  }

  Status lookUp(const LookupOperation &lookup, LookupRoom &room) {
    const StateType &type = resources_.store.states()[lookup.state].type;
    SPILLWAY_RETURN_IF_ERROR(
        readRowIndices(lookup, type, addressOf(arenas_, lookup.indices), room.rows));
    const std::byte *state = addressOf(arenas_, lookup.resident);
    std::byte *target = addressOf(arenas_, lookup.target);
    for (int64_t row : room.rows) {
      copyRow(type, type.layout, row, state + pieceOffset(type, type.layout, row), target);
      target += type.rowBytes();
    }
    return {};
  }

  Status checkFaults(CommandList &list) {
    for (uint32_t index : list.order(StreamKind::compute))
      if (int32_t fault = list.fault(index); fault != 0) {
        if (static_cast<KernelFault>(fault) == KernelFault::indexOutOfRange)
          return userError("{}: an index is out of the range of its dimension", list[index].label);
        return bugError("{}: its kernel reports the unknown fault {}", list[index].label, fault);
      }
    return {};
  }

  ExecutorResources resources_;
  std::array<std::unique_ptr<DeviceMemory>, tierCount> memories_;
  ArenaAddresses arenas_{};
  std::optional<CommandList> prologue_;
  std::optional<CommandList> step_;
  std::optional<CommandList> checkpoint_;
  std::vector<Command> evaluationCommands_;
  /// Of these; what it computes.
  std::optional<CommandList> evaluation_;
  Slice evaluated_;
  std::optional<Examination> examination_;
  Slice watched_;
  std::optional<uint32_t> watchedCommand_;
  bool watchedIsFinite_ = true;
  RunState state_;
  Slots slots_;
  Scratch scratch_;
  /// What the checkpoint that runs is to commit.
  struct {
    uint64_t step = 0;
    std::string_view payload;
  } commit_;
  std::array<std::unique_ptr<DeviceStream>, streamCount> streams_;
  std::unique_ptr<ReadStream> reads_;
  std::unique_ptr<WriteStream> writes_;
  /// Last, so that their threads end before what they use goes.
  std::array<std::unique_ptr<Worker>, streamCount> workers_;
};

Executor::Executor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Executor::~Executor() = default;

Result<std::unique_ptr<Executor>> Executor::create(const ExecutorResources &resources) {
  auto impl = std::make_unique<Impl>(resources);
  SPILLWAY_RETURN_IF_ERROR(impl->initialise());
  return std::unique_ptr<Executor>(new Executor(std::move(impl)));
}

Status Executor::runPrologue() { return impl_->run(impl_->prologue(), impl_->prologueSums); }
Status Executor::runStep() { return impl_->runStep(); }
void Executor::watch(const Slice &value) { impl_->watch(value); }
bool Executor::isWatchedNotFinite() const { return impl_->isWatchedNotFinite(); }
Status Executor::evaluate(const Slice &output) { return impl_->evaluate(output); }
Result<NotFinite> Executor::findNotFinite(const Slice &output) {
  return impl_->findNotFinite(output);
}
Status Executor::commit(uint64_t step, std::string_view payload) {
  return impl_->commit(step, payload);
}
const Commit &Executor::lastCommit() const { return impl_->lastCommit(); }

std::span<std::byte> Executor::bytes(const Slice &slice) const {
  return {addressOf(impl_->arenas(), slice), slice.bytes};
}

std::span<const CommandTimes> Executor::prologueTimes() const { return impl_->prologue().times(); }
std::span<const CommandTimes> Executor::stepTimes() const { return impl_->step().times(); }
std::span<const CommandTimes> Executor::checkpointTimes() const {
  return impl_->checkpoint().times();
}
const RunTimes &Executor::lastPrologue() const { return impl_->prologueSums; }
const RunTimes &Executor::lastStep() const { return impl_->stepSums; }
const RunTimes &Executor::lastCheckpoint() const { return impl_->checkpointSums; }

} // namespace spillway
