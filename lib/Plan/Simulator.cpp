#include "spillway/Plan/Simulator.h"

#include "dialects/Rt/Hazards.h"
#include "spillway/Plan/DriveTime.h"
#include "runtime/table/table_generated.h"

#include <algorithm>
#include <limits>

using namespace spillway;
using namespace spillway::plan;
using rt::AccessedBytes;
using rt::CommandAccesses;
using rt::writeStream;

namespace {

constexpr std::array<std::string_view, 3> tierNames = {"device", "host", "nvme"};

using Commands = flatbuffers::Vector<flatbuffers::Offset<table::Command>>;

using List = rt::Hazard::List;

std::string describe(const Commands &commands, uint32_t index, List list) {
  const table::Command &command = *commands[index];
  return fmt::format("command {} of the {}{}{}", index,
                     list == List::prologue ? "prologue"
                     : list == List::step   ? "step"
                                            : "checkpoint",
                     command.label() ? ", " : "", command.label() ? command.label()->str() : "");
}

class Replay {
public:
  Replay(const table::Program &program, const Machine &machine,
         std::span<const uint64_t> pieceBytes)
      : program_(program), machine_(machine), pieceBytes_(pieceBytes) {}

  Result<Simulation> run() {
    SPILLWAY_RETURN_IF_ERROR(checkRank());
    for (rank_ = 1; ranksDiffer_ && rank_ < program_.ranks(); ++rank_)
      SPILLWAY_RETURN_IF_ERROR(checkRank());
    std::array<double, rt::streamCount> ignoredBusy{};
    std::array<uint64_t, rt::streamCount> ignoredBytes{};
    Left none{0, {}, 0, DriveTime(machine_)};
    simulation_.prologueSeconds =
        play(*program_.prologue(), none, simulation_.prologue, ignoredBusy, ignoredBytes).end;
    Left left = play(*program_.step(), none, simulation_.step, simulation_.busySeconds, simulation_.movedBytes);
    if (std::ranges::any_of(*program_.step(), &table::Command::is_carried)) {
      left.times = std::move(simulation_.step);
      simulation_.busySeconds = {};
      simulation_.movedBytes = {};
      left = play(*program_.step(), left, simulation_.step, simulation_.busySeconds, simulation_.movedBytes);
    }
    simulation_.stepSeconds = left.end;
    auto busiest = std::ranges::max_element(simulation_.busySeconds);
    simulation_.boundSeconds = *busiest;
    simulation_.limit = table::EnumNameStream(static_cast<table::Stream>(busiest - simulation_.busySeconds.begin()));
    auto moved = [&](table::Stream stream) {
      auto number = static_cast<size_t>(stream);
      return Moved{static_cast<double>(simulation_.movedBytes[number]), simulation_.busySeconds[number]};
    };
    double drive = driveSeconds(machine_, moved(table::Stream::read), moved(table::Stream::write));
    if (drive > simulation_.boundSeconds) {
      simulation_.boundSeconds = drive;
      simulation_.limit = "drive";
    }
    // What is carried into a step delays what it carries out: no step is shorter than what moves in one.
    simulation_.stepSeconds = std::max({simulation_.stepSeconds, drive, simulation_.busySeconds[writeStream]});
    return std::move(simulation_);
  }

private:
  //===--------------------------------------------------------------------===//
  // Whether it can run
  //===--------------------------------------------------------------------===//

  /// As rank `rank_` finds it.
  Status checkRank() {
    SPILLWAY_RETURN_IF_ERROR(collectBindings());
    std::vector<CommandAccesses> prologue, step, checkpoint;
    SPILLWAY_RETURN_IF_ERROR(collect(List::prologue, prologue));
    SPILLWAY_RETURN_IF_ERROR(collect(List::step, step));
    SPILLWAY_RETURN_IF_ERROR(collect(List::checkpoint, checkpoint));
    return checkHazards(prologue, step, checkpoint);
  }

  Result<AccessedBytes> access(const table::Slice *slice, bool write) {
    if (!slice)
      return bugError("it lacks a slice");
    ranksDiffer_ |= slice->rank_stride() != 0;
    uint64_t offset = slice->offset() + rank_ * slice->rank_stride();
    for (const table::Arena *arena : *program_.arenas())
      if (arena->tier() == slice->tier()) {
        if (offset > arena->bytes() || slice->bytes() > arena->bytes() - offset)
          return bugError("bytes [{}, {}) lie outside the {} arena of {}", offset,
                          offset + slice->bytes(), tierNames[static_cast<size_t>(slice->tier())],
                          arena->bytes());
        return AccessedBytes{static_cast<unsigned>(slice->tier()), offset, slice->bytes(), write};
      }
    return bugError("there is no arena for its tier");
  }

  Status collectBindings() {
    inputs_.clear();
    outputs_.clear();
    for (auto [bindings, ranges, write] :
         {std::tuple(program_.inputs(), &inputs_, true), {program_.outputs(), &outputs_, false}})
      for (const table::Binding *binding : *bindings) {
        Result<AccessedBytes> bytes = access(binding->slice(), write);
        if (!bytes)
          return std::move(bytes.error());
        ranges->push_back(*bytes);
      }
    return {};
  }

  const Commands &commandsOf(List list) const {
    return list == List::prologue ? *program_.prologue()
           : list == List::step   ? *program_.step()
                                  : *program_.checkpoint();
  }

  Status collect(List list, std::vector<CommandAccesses> &result) {
    const Commands &commands = commandsOf(list);
    for (uint32_t index = 0; index < commands.size(); ++index) {
      CommandAccesses command;
      if (Status status = collectCommand(*commands[index], index, command); !status)
        return std::move(status).error().in(describe(commands, index, list));
      result.push_back(std::move(command));
    }
    return {};
  }

  Status collectCommand(const table::Command &command, uint32_t index, CommandAccesses &result) {
    result.stream = static_cast<unsigned>(command.stream());
    if (result.stream >= rt::streamCount)
      return bugError("there is no stream {}", result.stream);
    if (command.waits())
      result.waits.assign(command.waits()->begin(), command.waits()->end());
    result.isCarried = command.is_carried();
    if (command.carried_waits())
      result.carriedWaits.assign(command.carried_waits()->begin(), command.carried_waits()->end());
    for (uint32_t wait : result.carriedWaits)
      if (wait >= program_.step()->size() || !program_.step()->Get(wait)->is_carried())
        return bugError("it waits for command {} of the step before, which does not carry it", wait);
    for (uint32_t wait : result.waits)
      if (wait >= index)
        return bugError("it waits for command {}, which is issued after it: it never starts", wait);
    auto add = [&](const table::Slice *slice, bool write) -> Status {
      SPILLWAY_ASSIGN_OR_RETURN(AccessedBytes bytes, access(slice, write));
      result.accesses.push_back(bytes);
      return {};
    };
    switch (command.operation_type()) {
    case table::Operation::Read: {
      const table::Read &read = *command.operation_as_Read();
      result.file = {read.state(), read.offset() + rank_ * read.rank_stride(), read.bytes()};
      return add(read.target(), true);
    }
    case table::Operation::Write: {
      const table::Write &write = *command.operation_as_Write();
      result.file = {write.state(), write.offset() + rank_ * write.rank_stride(), write.bytes()};
      return add(write.source(), false);
    }
    case table::Operation::Copy:
      SPILLWAY_RETURN_IF_ERROR(add(command.operation_as_Copy()->source(), false));
      return add(command.operation_as_Copy()->target(), true);
    case table::Operation::Launch: {
      const table::Launch &launch = *command.operation_as_Launch();
      if (launch.kernel() >= program_.kernels()->size())
        return bugError("there is no kernel {}", launch.kernel());
      const table::Kernel &kernel = *program_.kernels()->Get(launch.kernel());
      if (launch.begin() < 0 || launch.begin() >= launch.end() || launch.end() > kernel.units())
        return bugError("units [{}, {}) of a kernel with {}", launch.begin(), launch.end(),
                        kernel.units());
      if (launch.arguments())
        for (uint32_t i = 0; i < launch.arguments()->size(); ++i)
          SPILLWAY_RETURN_IF_ERROR(
              add(&launch.arguments()->Get(i)->slice(), i >= kernel.inputs()));
      return launch.scratch() ? add(launch.scratch(), true) : Status();
    }
    case table::Operation::Lookup: {
      const table::Lookup &lookup = *command.operation_as_Lookup();
      if (lookup.state() >= pieceBytes_.size())
        return bugError("there is no state {}", lookup.state());
      if (!lookup.resident() == !lookup.staging())
        return bugError("it needs either a resident state or staging");
      if (lookup.staging())
        result.file = {lookup.state(), 0, std::numeric_limits<uint64_t>::max()};
      SPILLWAY_RETURN_IF_ERROR(add(lookup.indices(), false));
      SPILLWAY_RETURN_IF_ERROR(lookup.resident() ? add(lookup.resident(), false)
                                                 : add(lookup.staging(), true));
      return add(lookup.target(), true);
    }
    case table::Operation::AllGather: {
      const table::AllGather &gather = *command.operation_as_AllGather();
      SPILLWAY_ASSIGN_OR_RETURN(AccessedBytes source, access(gather.source(), false));
      SPILLWAY_ASSIGN_OR_RETURN(AccessedBytes target, access(gather.target(), true));
      result.accesses = rt::accessesOfGather(source, target);
      return {};
    }
    case table::Operation::NONE:
      break;
    }
    return bugError("there is no operation {}", static_cast<int>(command.operation_type()));
  }

  Status checkHazards(const std::vector<CommandAccesses> &prologue,
                      const std::vector<CommandAccesses> &step,
                      const std::vector<CommandAccesses> &checkpoint) const {
    auto hazard = rt::findHazard(prologue, step, checkpoint, inputs_, outputs_);
    if (!hazard)
      return {};
    const Commands &commands = commandsOf(hazard->list);
    std::string bytes = fmt::format("bytes [{}, {}) of {}", hazard->bytes.offset,
                                    hazard->bytes.offset + hazard->bytes.bytes,
                                    tierNames[hazard->bytes.tier]);
    if (const auto &file = hazard->file)
      bytes = fmt::format("bytes [{}, {}) of state {}", file->offset, file->offset + file->bytes, file->state);
    if (hazard->command == commands.size())
      return bugError("an output or kept state, {}, is not ready at the end of the step", bytes);
    std::string command = describe(commands, hazard->command, hazard->list);
    switch (hazard->kind) {
    case rt::Hazard::Kind::unordered:
      return bugError("{} touches {} in no order to {}{}", command, bytes, describe(commands, hazard->other, hazard->list),
                      hazard->otherIsCarried ? " of the step before" : "");
    case rt::Hazard::Kind::stale:
      return bugError("{} reads what an earlier step left in {}", command, bytes);
    case rt::Hazard::Kind::unwritten:
      break;
    }
    return bugError("{} reads {} before they were written", command, bytes);
  }

  //===--------------------------------------------------------------------===//
  // How long it takes
  //===--------------------------------------------------------------------===//

  struct Work {
    double seconds;
    uint64_t bytes;
  };

  /// The share of a product's depth that a launch goes through: that of the panels which it holds.
  static double depthOf(const table::Launch &launch, const table::Kernel &kernel) {
    for (uint32_t i = 0; i < kernel.arguments()->size(); ++i) {
      const table::KernelArgument &whole = *kernel.arguments()->Get(i);
      int64_t held = launch.arguments()->Get(i)->units();
      if (held > 0 && whole.unit_bytes() && !whole.is_tiled())
        return static_cast<double>(held) * static_cast<double>(whole.unit_bytes()) / static_cast<double>(whole.bytes());
    }
    return 1;
  }

  /// For how long a command keeps its stream busy, without a channel's latency.
  Work workOf(const table::Command &command) const {
    auto move = [&](uint64_t bytes) {
      auto count = static_cast<double>(bytes);
      double seconds =
          command.stream() == table::Stream::compute
              ? 2 * count / machine_.memoryBytesPerSecond
              : channelSeconds(machine_.channels[static_cast<size_t>(command.stream())], count);
      return Work{seconds, bytes};
    };
    switch (command.operation_type()) {
    case table::Operation::Read:
      return move(command.operation_as_Read()->bytes());
    case table::Operation::Write:
      return move(command.operation_as_Write()->bytes());
    case table::Operation::Copy:
      return move(command.operation_as_Copy()->source()->bytes());
    case table::Operation::AllGather:
      return move(command.operation_as_AllGather()->target()->bytes());
    case table::Operation::Launch: {
      const table::Launch &launch = *command.operation_as_Launch();
      const table::Kernel &kernel = *program_.kernels()->Get(launch.kernel());
      KernelCost cost{static_cast<double>(kernel.flops()),
                      static_cast<DataType>(kernel.flops_type()),
                      static_cast<double>(kernel.bytes()),
                      static_cast<double>(kernel.shared_bytes())};
      double fraction = static_cast<double>(launch.end() - launch.begin()) /
                        static_cast<double>(kernel.units()) * depthOf(launch, kernel);
      return {launchSeconds(machine_, cost, fraction, program_.threads()), 0};
    }
    case table::Operation::Lookup: {
      const table::Lookup &lookup = *command.operation_as_Lookup();
      if (lookup.resident())
        return {residentLookupSeconds(machine_, static_cast<double>(lookup.target()->bytes())), 0};
      uint64_t piece = pieceBytes_[lookup.state()];
      uint64_t count =
          lookup.indices()->bytes() / byteWidth(static_cast<DataType>(lookup.index_type()));
      return {lookupSeconds(machine_.channels[1], count, piece, lookup.staging()->bytes()),
              count * piece};
    }
    case table::Operation::NONE:
      break;
    }
    return {0, 0};
  }

  /// What a list leaves to the next one.
  struct Left {
    /// When it has ended, but for what it carries.
    double end = 0;
    /// Of its commands; none before the first step.
    std::vector<SimulatedCommand> times;
    /// When the channel of writes is free, and the drive.
    double writesFree = 0;
    DriveTime drive;
  };

  Left play(const Commands &list, const Left &before, std::vector<SimulatedCommand> &times,
            std::array<double, rt::streamCount> &busy, std::array<uint64_t, rt::streamCount> &bytes) const {
    // When the last command of each stream started, and when its channel is free.
    std::array<double, rt::streamCount> started{}, free{};
    free[writeStream] = std::max(0.0, before.writesFree - before.end);
    DriveTime drive = before.drive;
    drive.startAt(before.end);
    double end = 0;
    times.assign(list.size(), {});
    for (uint32_t index = 0; index < list.size(); ++index) {
      const table::Command &command = *list[index];
      auto stream = static_cast<size_t>(command.stream());
      double start = started[stream];
      if (command.waits())
        for (uint32_t wait : *command.waits())
          start = std::max(start, times[wait].end);
      if (command.carried_waits() && !before.times.empty())
        for (uint32_t wait : *command.carried_waits())
          start = std::max(start, before.times[wait].end - before.end);
      started[stream] = start;
      Work work = workOf(command);
      double latency = machine_.channels[stream].latencySeconds;
      double begin = std::max(start, free[stream]);
      if (rt::isSerialStream(static_cast<unsigned>(stream))) {
        free[stream] = begin + latency + work.seconds;
        times[index] = {begin, free[stream]};
      } else {
        free[stream] = drive.take(begin, work.seconds);
        times[index] = {begin, free[stream] + latency};
      }
      busy[stream] += work.seconds;
      bytes[stream] += work.bytes;
      if (!command.is_carried())
        end = std::max(end, times[index].end);
    }
    return {end, {}, free[writeStream], std::move(drive)};
  }

  const table::Program &program_;
  const Machine &machine_;
  std::span<const uint64_t> pieceBytes_;
  uint64_t rank_ = 0;
  bool ranksDiffer_ = false;
  std::vector<AccessedBytes> inputs_, outputs_;
  Simulation simulation_;
};

} // namespace

Result<Simulation> spillway::plan::simulate(std::span<const uint8_t> table, const Machine &machine,
                                            std::span<const uint64_t> pieceBytes) {
  flatbuffers::Verifier verifier(table.data(), table.size(), /*max_depth=*/64,
                                 /*max_tables=*/1u << 30);
  if (!table::VerifyProgramBuffer(verifier))
    return bugError("the step table is malformed");
  return Replay(*table::GetProgram(table.data()), machine, pieceBytes).run();
}
