#include "tools/spillway/Report.h"
#include "runtime/base/Duration.h"
#include "runtime/base/File.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <string>

namespace spillway {

namespace {
double milliseconds(int64_t ns) { return static_cast<double>(ns) / 1e6; }

nlohmann::json listOf(const StepTimes &steps, int64_t RunTimes::*field) {
  nlohmann::json list = nlohmann::json::array();
  for (const RunTimes &step : steps)
    list.push_back(milliseconds(step.*field));
  return list;
}

int64_t medianOf(const StepTimes &steps, int64_t RunTimes::*field) {
  std::vector<int64_t> values;
  for (const RunTimes &step : steps)
    values.push_back(step.*field);
  if (values.empty())
    return 0;
  std::ranges::nth_element(values, values.begin() + static_cast<long>(values.size() / 2));
  return values[values.size() / 2];
}

int64_t firstOf(std::span<const CommandTimes> times) {
  return times.empty() ? 0 : std::ranges::min(times, {}, &CommandTimes::reached).reached;
}
} // namespace

Status writeTrace(const std::filesystem::path &path, Session &session) {
  const Program &program = session.program();
  Executor &executor = session.executor();
  int64_t origin =
      firstOf(program.prologue.empty() ? executor.stepTimes() : executor.prologueTimes());
  std::string events;
  appendTraceEvents(events, 0, "prologue", program.prologue, executor.prologueTimes(), origin);
  appendTraceEvents(events, 1, "last step", program.step, executor.stepTimes(), origin);
  if (!program.checkpoint.empty() && firstOf(executor.checkpointTimes()) != 0)
    appendTraceEvents(events, 2, "last checkpoint", program.checkpoint, executor.checkpointTimes(),
                      origin);
  std::string text = "{\"traceEvents\": [\n" + events + "\n]}\n";
  return writeFileAtomically(path, std::as_bytes(std::span(text)));
}

Status writeStats(const std::filesystem::path &path, InProcessJob &job, const StepTimes &steps,
                  const StepTimes &commits) {
  Session &session = job.session(0);
  const Program &program = session.program();
  io::Counters counters = session.readEngine().counters();
  io::Counters writes;
  if (const io::Engine *engine = session.writeEngine())
    writes = engine->counters();
  uint64_t plannedPrologue = plannedReadBytes(program.prologue);
  uint64_t plannedStep = plannedReadBytes(program.step);
  nlohmann::json arenas = nlohmann::json::object();
  for (size_t tier = 0; tier < tierCount; ++tier)
    arenas[std::string(name(static_cast<Tier>(tier)))] = program.arenaBytes[tier];
  nlohmann::json ranks = nlohmann::json::array();
  for (uint32_t rank = 0; rank < job.size(); ++rank) {
    const Program &own = job.session(rank).program();
    ranks.push_back({{"planned_read_bytes_prologue", plannedReadBytes(own.prologue)},
                     {"planned_read_bytes_step", plannedReadBytes(own.step)},
                     {"read_bytes", job.session(rank).readEngine().counters().readBytes}});
  }
  auto rate = [](uint64_t amount, uint64_t over) {
    return over == 0 ? 0.0 : static_cast<double>(amount) / static_cast<double>(over);
  };
  nlohmann::json root = {
      {"steps", steps.size()},
      {"ranks", ranks},
      {"threads", session.threads()},
      {"engine", session.readEngine().name()},
      {"prologue_ms", milliseconds(session.executor().lastPrologue().wallNs)},
      {"step_ms", listOf(steps, &RunTimes::wallNs)},
      {"step_ms_median", milliseconds(medianOf(steps, &RunTimes::wallNs))},
      {"compute_ms", listOf(steps, &RunTimes::computeNs)},
      {"compute_ms_median", milliseconds(medianOf(steps, &RunTimes::computeNs))},
      {"blocked_on_io_ms", listOf(steps, &RunTimes::blockedOnIoNs)},
      {"blocked_on_io_ms_median", milliseconds(medianOf(steps, &RunTimes::blockedOnIoNs))},
      {"planned_read_bytes_prologue", plannedPrologue},
      {"planned_read_bytes_step", plannedStep},
      {"planned_read_bytes", plannedPrologue + steps.size() * plannedStep},
      {"read_bytes", counters.readBytes},
      {"disk_read_bytes", diskReadBytes()},
      {"planned_write_bytes_step", plannedWriteBytes(program.step)},
      {"planned_write_bytes_checkpoint", plannedWriteBytes(program.checkpoint)},
      {"written_bytes", writes.writtenBytes},
      {"commit_ms", listOf(commits, &RunTimes::wallNs)},
      {"short_transfers", counters.shortTransfers + writes.shortTransfers},
      {"io_busy_ms", milliseconds(static_cast<int64_t>(counters.busyNs))},
      {"read_gb_per_s", rate(counters.readBytes, counters.busyNs)},
      {"write_gb_per_s", rate(writes.writtenBytes, writes.busyNs)},
      {"mean_blocks_in_flight", rate(counters.blockNs, counters.busyNs)},
      {"arena_bytes", arenas},
      {"peak_rss_bytes", peakResidentBytes()}};
  std::string text = root.dump(2) + "\n";
  return writeFileAtomically(path, std::as_bytes(std::span(text)));
}

std::string summarize(const StepTimes &steps) {
  auto seconds = [](int64_t ns) { return formatSeconds(static_cast<double>(ns) * 1e-9); };
  auto [least, most] = std::ranges::minmax(steps, {}, &RunTimes::wallNs);
  return fmt::format("{} steps: {} the median, {} to {}", steps.size(),
                     seconds(medianOf(steps, &RunTimes::wallNs)), seconds(least.wallNs),
                     seconds(most.wallNs));
}

namespace {
/// A number of a file of `key value` lines in /proc/self; 0 where there is none.
uint64_t processNumber(const char *file, std::string_view key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(key))
      return std::strtoull(line.c_str() + key.size(), nullptr, 10);
  return 0;
}
} // namespace

uint64_t peakResidentBytes() { return processNumber("/proc/self/status", "VmHWM:") * 1024; }

uint64_t diskReadBytes() { return processNumber("/proc/self/io", "read_bytes:"); }

} // namespace spillway
