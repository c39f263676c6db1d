#include "runtime/executor/Recorder.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace spillway {

RunTimes sumTimes(std::span<const Command> commands, std::span<const CommandTimes> times,
                  std::span<const CommandTimes> previous, int64_t begin, int64_t end) {
  RunTimes sums{.wallNs = end - begin};
  int64_t computeEnd = begin, fileEnd = begin;
  for (size_t index = 0; index < commands.size(); ++index) {
    const Command &command = commands[index];
    if (command.isCarried)
      fileEnd = std::max(fileEnd, previous.empty() ? begin : previous[index].ended);
    else if (isFileStream(command.stream))
      fileEnd = std::max(fileEnd, times[index].ended);
    if (command.stream != StreamKind::compute)
      continue;
    computeEnd = std::max(computeEnd, times[index].ended);
    sums.computeNs += times[index].ended - times[index].started;
    auto last = std::ranges::max_element(command.waits, {},
                                         [&](uint32_t wait) { return times[wait].ended; });
    int64_t lastEnd = last == command.waits.end() ? 0 : times[*last].ended;
    bool isIoLast = lastEnd != 0 && isFileStream(commands[*last].stream);
    if (!previous.empty())
      for (uint32_t wait : command.carriedWaits)
        if (previous[wait].ended > lastEnd) {
          lastEnd = previous[wait].ended;
          isIoLast = true;
        }
    if (isIoLast && lastEnd > times[index].reached)
      sums.blockedOnIoNs += times[index].started - times[index].reached;
  }
  sums.blockedOnIoNs += std::max<int64_t>(0, fileEnd - computeEnd);
  return sums;
}

void appendTraceEvents(std::string &json, int process, std::string_view name,
                       std::span<const Command> commands, std::span<const CommandTimes> times,
                       int64_t origin) {
  auto append = [&](const nlohmann::json &event) {
    if (!json.empty())
      json += ",\n";
    json += event.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  append({{"ph", "M"}, {"pid", process}, {"name", "process_name"}, {"args", {{"name", name}}}});
  for (size_t stream = 0; stream < streamCount; ++stream)
    append({{"ph", "M"},
            {"pid", process},
            {"tid", stream},
            {"name", "thread_name"},
            {"args", {{"name", spillway::name(static_cast<StreamKind>(stream))}}}});
  constexpr std::string_view kinds[] = {"read",       "copy",  "launch",  "lookup",
                                        "all-gather", "write", "offload", "restore"};
  for (size_t index = 0; index < commands.size(); ++index) {
    const Command &command = commands[index];
    const CommandTimes &time = times[index];
    append({{"ph", "X"},
            {"pid", process},
            {"tid", static_cast<size_t>(command.stream)},
            {"name", command.label},
            {"cat", kinds[command.operation.index()]},
            {"ts", static_cast<double>(time.started - origin) / 1e3},
            {"dur", static_cast<double>(time.ended - time.started) / 1e3},
            {"args",
             {{"command", index},
              {"waited_us", static_cast<double>(time.started - time.reached) / 1e3}}}});
  }
}

} // namespace spillway
