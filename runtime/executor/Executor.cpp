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
/// A list, and how its run goes.
struct Pass {
  Pass(std::span<const Command> commands, const ArenaAddresses &arenas, Communicator &communicator)
      : list(commands, arenas), state(communicator) {}

  CommandList list;
  RunState state;
};

/// A thread that runs its stream's commands of one pass after another.
class Worker {
public:
  using Body = std::function<void(Pass &)>;
  /// The number of a pass that it was given.
  using Ticket = uint64_t;

  static Result<std::unique_ptr<Worker>> start(StreamKind kind, Body body) {
    std::unique_ptr<Worker> worker(new Worker(std::move(body)));
    SPILLWAY_ASSIGN_OR_RETURN(
        Thread thread, Thread::start(threadName(kind), [raw = worker.get()] { raw->loop(); }));
    worker->thread_.emplace(std::move(thread));
    return worker;
  }

  /// What it was given runs first.
  ~Worker() { give(nullptr); }

  /// When it has ended what it was given before; of the pass before the last one the caller knows that.
  Ticket run(Pass &pass) { return give(&pass); }

  /// Of one of the last two passes.
  void join(Ticket ticket) { places_[ticket % places_.size()].finished.wait(); }

private:
  explicit Worker(Body body) : body_(std::move(body)) {}

  static const char *threadName(StreamKind kind) {
    constexpr const char *names[streamCount] = {"sw-compute", "sw-read",      "sw-write",
                                                "sw-copy-up", "sw-copy-down", "sw-communicate"};
    return names[static_cast<size_t>(kind)];
  }

  Ticket give(Pass *pass) {
    Place &place = places_[given_ % places_.size()];
    place.pass = pass;
    place.finished.reset();
    place.go.signal();
    return given_++;
  }

  void loop() {
    for (Ticket next = 0;; ++next) {
      Place &place = places_[next % places_.size()];
      place.go.wait();
      place.go.reset();
      if (!place.pass)
        return;
      body_(*place.pass);
      place.finished.signal();
    }
  }

  struct Place {
    Event go;
    Event finished;
    Pass *pass = nullptr;
  };

  Body body_;
  std::array<Place, 2> places_;
  Ticket given_ = 0;
  /// Last, so that it is joined before what it uses goes.
  std::optional<Thread> thread_;
};
} // namespace

class Executor::Impl {
public:
  explicit Impl(const ExecutorResources &resources)
      : resources_(resources), scratch_(resources.program, resources.store.folder()) {}

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
    prologue_.emplace(program.prologue, arenas_, resources_.communicator);
    step_ = std::make_unique<Pass>(program.step, arenas_, resources_.communicator);
    carries_ = std::ranges::any_of(program.step, &Command::isCarried);
    if (carries_)
      previousStep_ = std::make_unique<Pass>(program.step, arenas_, resources_.communicator);
    checkpoint_.emplace(program.checkpoint, arenas_, resources_.communicator);
    Status started = startStreams();
    if (!scratch_.isNeeded())
      return started;
    Status hidden = scratch_.hide();
    return started.ok() ? std::move(hidden) : std::move(started);
  }

  Status runStep() {
    watchedIsFinite_ = true;
    if (carries_)
      std::swap(step_, previousStep_);
    SPILLWAY_RETURN_IF_ERROR(run(*step_, stepSums));
    slots_.noteStep();
    return {};
  }

  Status settle() {
    if (!carried_)
      return {};
    workers_[static_cast<size_t>(StreamKind::write)]->join(carried_->ticket);
    Status status = std::exchange(carried_, std::nullopt)->pass->state.status();
    return status.ok() ? std::move(status) : std::move(status).error().in("what the last step has made");
  }

  void watch(const Slice &value) {
    watched_ = value;
    watchedCommand_ = lastWriter(resources_.program, value);
  }

  bool isWatchedNotFinite() {
    return !watchedIsFinite_ && step_->state.endedByNotFinite() && checkFaults(step_->list).ok();
  }

  Status evaluate(const Slice &output) {
    prepareEvaluation(output);
    RunTimes sums;
    SPILLWAY_RETURN_IF_ERROR(settle());
    return run(*evaluation_, sums);
  }

  Result<NotFinite> findNotFinite(const Slice &output) {
    prepareEvaluation(output);
    examination_.emplace(resources_.program, evaluation_->list);
    SPILLWAY_RETURN_IF_ERROR(evaluate(output));
    return examination_->found();
  }

  Status commit(uint64_t step, std::string_view payload) {
    if (!writes_ || !slots_.hasUncommitted())
      return bugError("a commit without anything that a step has made");
    SPILLWAY_RETURN_IF_ERROR(settle());
    commit_ = {step, payload};
    SPILLWAY_RETURN_IF_ERROR(run(*checkpoint_, checkpointSums));
    slots_.noteCommit();
    return {};
  }

  /// Where the step before has carried writes, behind what it waits for of them.
  Status run(Pass &pass, RunTimes &sums) {
    setFloatingPointEnvironment();
    CommandList &list = pass.list;
    RunState &state = pass.state;
    std::optional<Carried> before = std::exchange(carried_, std::nullopt);
    list.reset(before ? &before->pass->list : nullptr);
    state.start(list);
    if (before)
      before->pass->state.precede(state);
    int64_t begin = now();
    std::array<std::optional<Worker::Ticket>, streamCount> tickets;
    for (size_t stream = 0; stream < streamCount; ++stream)
      if (workers_[stream] && hasWork(static_cast<StreamKind>(stream), pass))
        tickets[stream] = workers_[stream]->run(pass);
    runStream(StreamKind::compute, pass);
    constexpr auto writes = static_cast<size_t>(StreamKind::write);
    bool carries = carries_ && &pass == step_.get() && tickets[writes];
    for (size_t stream = 0; stream < streamCount; ++stream)
      if (tickets[stream] && !(carries && stream == writes))
        workers_[stream]->join(*tickets[stream]);
    std::span<const CommandTimes> previousTimes;
    if (before) {
      workers_[writes]->join(before->ticket);
      previousTimes = before->pass->list.times();
    }
    if (carries)
      leaveWrites(pass, *tickets[writes]);
    sums = sumTimes(list.commands(), list.times(), previousTimes, begin, now());
    // What it computed with may not be what the step before has made.
    if (before && before->pass->state.failed()) {
      watchedIsFinite_ = true;
      return before->pass->state.status().error().in("what the step before has made");
    }
    // A fault explains values that are not finite.
    if (Status status = state.status(); !status.ok() && !state.endedByNotFinite())
      return status;
    SPILLWAY_RETURN_IF_ERROR(checkFaults(list));
    return state.status();
  }

  const ExecutorResources &resources() const { return resources_; }
  const ArenaAddresses &arenas() const { return arenas_; }
  Pass &prologue() { return *prologue_; }
  Pass &step() { return *step_; }
  Pass &checkpoint() { return *checkpoint_; }
  const Commit &lastCommit() const {
    return writes_ ? writes_->lastCommit() : resources_.store.lastCommit();
  }

  uint64_t writtenBytes() const { return writes_ ? writes_->writtenBytes() : 0; }

  RunTimes prologueSums;
  RunTimes stepSums;
  RunTimes checkpointSums;

private:
  void prepareEvaluation(const Slice &output) {
    if (evaluation_ && evaluated_ == output)
      return;
    evaluation_.reset();
    evaluationCommands_ = commandsFor(resources_.program, output);
    evaluation_.emplace(evaluationCommands_, arenas_, resources_.communicator);
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

  /// A pass whose writes go on.
  struct Carried {
    Pass *pass;
    Worker::Ticket ticket;
  };

  bool isUsed(StreamKind kind) const {
    return !prologue_->list.order(kind).empty() || !step_->list.order(kind).empty() ||
           !checkpoint_->list.order(kind).empty();
  }

  /// A checkpoint ends with the commit, which is the write stream's.
  bool isCommitting(StreamKind kind, const Pass &pass) const {
    return kind == StreamKind::write && &pass == &*checkpoint_;
  }
  bool hasWork(StreamKind kind, const Pass &pass) const {
    return !pass.list.order(kind).empty() || isCommitting(kind, pass);
  }

  /// Waits for the writes of a step that it does not carry; for all where it has failed.
  void leaveWrites(Pass &pass, Worker::Ticket ticket) {
    for (uint32_t index : pass.list.order(StreamKind::write))
      if (!pass.list[index].isCarried)
        pass.list.event(index).wait();
    if (pass.state.failed())
      workers_[static_cast<size_t>(StreamKind::write)]->join(ticket);
    else
      carried_ = {&pass, ticket};
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
        SPILLWAY_ASSIGN_OR_RETURN(workers_[stream], Worker::start(kind, [this](Pass &pass) {
                                    reads_->run(pass.list, pass.state);
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
                                  Worker::start(kind, [this](Pass &pass) { write(pass); }));
        continue;
      }
      SPILLWAY_ASSIGN_OR_RETURN(streams_[stream],
                                resources_.device.createStream(kind == StreamKind::compute));
      if (kind != StreamKind::compute) {
        SPILLWAY_ASSIGN_OR_RETURN(
            workers_[stream],
            Worker::start(kind, [this, kind](Pass &pass) { runStream(kind, pass); }));
      }
    }
    return {};
  }

  void write(Pass &pass) {
    writes_->run(pass.list, pass.state);
    if (!isCommitting(StreamKind::write, pass) || pass.state.failed())
      return;
    if (Status status = writes_->commit(commit_.step, commit_.payload); !status.ok())
      pass.state.fail(std::move(status).error().in("commit"));
  }

  std::vector<std::span<std::byte>> arenaBytes() const {
    std::vector<std::span<std::byte>> bytes;
    for (const auto &memory : memories_)
      if (memory->size() != 0)
        bytes.emplace_back(memory->data(), memory->size());
    return bytes;
  }

  void runStream(StreamKind kind, Pass &pass) {
    CommandList &list = pass.list;
    DeviceStream &stream = *streams_[static_cast<size_t>(kind)];
    for (uint32_t index : list.order(kind)) {
      const Command &command = list[index];
      CommandTimes &times = list.times(index);
      times.reached = now();
      for (uint32_t wait : command.waits)
        if (!stream.wait(list.event(wait)))
          return;
      for (uint32_t wait : command.carriedWaits)
        if (Event *event = list.carriedEvent(wait); event && !stream.wait(*event))
          return;
      if (pass.state.failed())
        return;
      times.started = now();
      if (Status status = execute(command, index, list, stream); !status.ok())
        return pass.state.fail(std::move(status).error().in(command.label));
      if (&pass == &*step_ && index == watchedCommand_ && !lookAtWatched(stream))
        return pass.state.fail(userError("a value that is watched is not finite"), /*isNotFinite=*/true);
      times.ended = now();
      stream.signal(list.event(index));
    }
    if (Status status = stream.synchronize(); !status.ok())
      pass.state.fail(std::move(status).error().in(fmt::format("the {} stream", name(kind))));
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
                                              .parts = launch->parts,
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
  std::optional<Pass> prologue_;
  std::optional<Pass> checkpoint_;
  /// Of a step whose writes go on when it has ended, two take turns.
  std::unique_ptr<Pass> step_, previousStep_;
  bool carries_ = false;
  /// The last step, where its writes may go on.
  std::optional<Carried> carried_;
  std::vector<Command> evaluationCommands_;
  /// Of these; what it computes.
  std::optional<Pass> evaluation_;
  Slice evaluated_;
  std::optional<Examination> examination_;
  Slice watched_;
  std::optional<uint32_t> watchedCommand_;
  bool watchedIsFinite_ = true;
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
Status Executor::settle() { return impl_->settle(); }
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

uint64_t Executor::writtenBytes() const { return impl_->writtenBytes(); }

std::span<std::byte> Executor::bytes(const Slice &slice) const {
  return {addressOf(impl_->arenas(), slice), slice.bytes};
}

std::span<const CommandTimes> Executor::prologueTimes() const { return impl_->prologue().list.times(); }
std::span<const CommandTimes> Executor::stepTimes() const { return impl_->step().list.times(); }
std::span<const CommandTimes> Executor::checkpointTimes() const {
  return impl_->checkpoint().list.times();
}
const RunTimes &Executor::lastPrologue() const { return impl_->prologueSums; }
const RunTimes &Executor::lastStep() const { return impl_->stepSums; }
const RunTimes &Executor::lastCheckpoint() const { return impl_->checkpointSums; }

} // namespace spillway
