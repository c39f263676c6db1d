#include "spillway/Plan/Report.h"

#include "runtime/base/Size.h"
#include "runtime/table/table_generated.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

using namespace spillway;
using namespace spillway::plan;
using Json = nlohmann::ordered_json;

namespace {

constexpr std::array<std::string_view, 6> streamNames = {"compute", "read",      "write",
                                                         "copy up", "copy down", "communicate"};
constexpr std::array<std::string_view, 6> streamColours = {"#4878a8", "#d08030", "#a04848",
                                                           "#60a060", "#8868a8", "#888888"};
constexpr double chartWidth = 1100, labelWidth = 110, rowHeight = 26, mapHeight = 320;

std::string escape(std::string_view text) {
  std::string result;
  for (char c : text)
    switch (c) {
    case '&':
      result += "&amp;";
      break;
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '"':
      result += "&quot;";
      break;
    default:
      result += c;
    }
  return result;
}

std::string milliseconds(double seconds) { return fmt::format("{:.3f} ms", seconds * 1e3); }

std::string labelOf(const table::Command &command) {
  return command.label() ? command.label()->str() : table::EnumNameOperation(command.operation_type());
}

std::string rectangle(double x, double y, double width, double height, std::string_view colour,
                      std::string_view title) {
  return fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" "
                     "fill=\"{}\"><title>{}</title></rect>\n",
                     x, y, std::max(width, 0.3), std::max(height, 0.3), colour, escape(title));
}

/// Bytes of an arena that hold one thing for a while.
struct Stay {
  uint64_t offset = 0, bytes = 0;
  double begin = 0, end = 0;
  std::string label;
  std::string_view colour;
};

class Page {
public:
  Page(const table::Program &program, const Simulation &simulation)
      : program_(program), simulation_(simulation),
        scale_(chartWidth / std::max(simulation.stepSeconds, 1e-9)) {}

  std::string drawStreams() const {
    std::string rows;
    double y = 0;
    for (size_t stream = 0; stream < streamNames.size(); ++stream) {
      if (simulation_.busySeconds[stream] == 0)
        continue;
      rows += fmt::format("<text x=\"0\" y=\"{:.0f}\">{}</text>\n", y + 17, streamNames[stream]);
      rows += drawStream(stream, y + 3);
      y += rowHeight;
    }
    return fmt::format("<svg width=\"{:.0f}\" height=\"{:.0f}\">\n{}</svg>\n",
                       chartWidth + labelWidth, y, rows);
  }

  std::string drawMemory() {
    collectStays();
    std::string charts;
    for (const table::Arena *arena : *program_.arenas())
      charts += fmt::format("<h3>{} arena, {}</h3>\n", table::EnumNameTier(arena->tier()),
                            formatSize(arena->bytes())) +
                drawArena(arena->tier(), static_cast<double>(arena->bytes()));
    return charts;
  }

private:
  double x(double seconds) const { return labelWidth + seconds * scale_; }

  /// Commands closer than a pixel are drawn as one.
  std::string drawStream(size_t stream, double y) const {
    std::string result, title;
    double begin = 0, end = -1;
    size_t count = 0;
    auto flush = [&] {
      if (count)
        result += rectangle(x(begin), y, (end - begin) * scale_, rowHeight - 6,
                            streamColours[stream],
                            count > 1 ? fmt::format("{} commands from {}", count, title) : title);
      count = 0;
    };
    for (uint32_t i = 0; i < program_.step()->size(); ++i) {
      const table::Command &command = *program_.step()->Get(i);
      if (static_cast<size_t>(command.stream()) != stream)
        continue;
      SimulatedCommand time = simulation_.step[i];
      bool joins = count && (time.begin - end) * scale_ < 0.5 && (time.end - begin) * scale_ < 2;
      if (!joins) {
        flush();
        begin = time.begin;
        title = fmt::format("{}, {} to {}", labelOf(command), milliseconds(time.begin),
                            milliseconds(time.end));
      }
      end = time.end;
      ++count;
    }
    flush();
    return result;
  }

  void collectStays() {
    for (const table::Command *command : *program_.prologue())
      if (const table::Slice *target = targetOf(*command))
        stays_[target->tier()].push_back({target->offset(), target->bytes(), 0,
                                          simulation_.stepSeconds, labelOf(*command), "#c8c8c8"});
    for (const table::Binding *input : *program_.inputs())
      open(*input->slice(), {0, 0}, input->name()->str(), "#90b8d8");
    for (uint32_t i = 0; i < program_.step()->size(); ++i)
      touch(*program_.step()->Get(i), simulation_.step[i]);
    for (const table::Binding *output : *program_.outputs())
      extend(*output->slice(), simulation_.stepSeconds);
    for (auto &[place, stay] : open_)
      stays_[place.first].push_back(std::move(stay));
    open_.clear();
  }

  static const table::Slice *targetOf(const table::Command &command) {
    if (auto read = command.operation_as_Read())
      return read->target();
    if (auto copy = command.operation_as_Copy())
      return copy->target();
    return nullptr;
  }

  void touch(const table::Command &command, SimulatedCommand time) {
    std::string label = labelOf(command);
    if (auto launch = command.operation_as_Launch()) {
      uint32_t inputs = program_.kernels()->Get(launch->kernel())->inputs();
      for (uint32_t i = 0; launch->arguments() && i < launch->arguments()->size(); ++i) {
        const table::Slice &slice = launch->arguments()->Get(i)->slice();
        // A part of a launch goes on with what an earlier one began.
        if (i < inputs || launch->begin() > 0)
          extend(slice, time.end);
        else
          open(slice, time, label, streamColours[0]);
      }
      if (launch->scratch())
        open(*launch->scratch(), time, "scratch of " + label, "#b0b0d8");
    } else if (auto lookup = command.operation_as_Lookup()) {
      extend(*lookup->indices(), time.end);
      open(*lookup->target(), time, label, streamColours[0]);
      if (lookup->staging())
        open(*lookup->staging(), time, "staging of " + label, "#e8c090");
    } else if (const table::Slice *target = targetOf(command)) {
      if (auto copy = command.operation_as_Copy())
        extend(*copy->source(), time.end);
      open(*target, time, label, streamColours[static_cast<size_t>(command.stream())]);
    } else if (auto gather = command.operation_as_AllGather()) {
      extend(*gather->source(), time.end);
      open(*gather->target(), time, label, streamColours[5]);
    }
  }

  using PlaceKey = std::pair<table::Tier, uint64_t>;

  void open(const table::Slice &slice, SimulatedCommand time, std::string label,
            std::string_view colour) {
    PlaceKey place{slice.tier(), slice.offset()};
    auto it = open_.find(place);
    if (it != open_.end())
      stays_[slice.tier()].push_back(std::move(it->second));
    open_[place] = {slice.offset(), slice.bytes(), time.begin, time.end, std::move(label), colour};
  }

  void extend(const table::Slice &slice, double end) {
    if (auto it = open_.find({slice.tier(), slice.offset()}); it != open_.end())
      it->second.end = std::max(it->second.end, end);
  }

  std::string drawArena(table::Tier tier, double bytes) const {
    std::string result;
    auto stays = stays_.find(tier);
    double scale = mapHeight / std::max(bytes, 1.0);
    if (stays != stays_.end())
      for (const Stay &stay : stays->second)
        result += rectangle(x(stay.begin), static_cast<double>(stay.offset) * scale,
                            (stay.end - stay.begin) * scale_,
                            static_cast<double>(stay.bytes) * scale, stay.colour,
                            fmt::format("{}, {} at {}, {} to {}", stay.label,
                                        formatSize(stay.bytes), stay.offset,
                                        milliseconds(stay.begin), milliseconds(stay.end)));
    return fmt::format("<svg width=\"{:.0f}\" height=\"{:.0f}\"><rect x=\"{}\" width=\"{}\" "
                       "height=\"{}\" fill=\"#f4f4f4\"/>\n{}</svg>\n",
                       chartWidth + labelWidth, mapHeight, labelWidth, chartWidth, mapHeight,
                       result);
  }

  const table::Program &program_;
  const Simulation &simulation_;
  double scale_;
  std::map<PlaceKey, Stay> open_;
  std::map<table::Tier, std::vector<Stay>> stays_;
};

std::string describeLimits(const Simulation &simulation, const Json &summary) {
  double gap = simulation.boundSeconds > 0
                   ? 100 * (simulation.stepSeconds / simulation.boundSeconds - 1)
                   : 0;
  std::string text =
      fmt::format("<p>A step takes <b>{}</b>; no order of these commands takes less than {}, "
                  "which {} takes alone ({:.1f} % over).</p>\n",
                  milliseconds(simulation.stepSeconds), milliseconds(simulation.boundSeconds),
                  streamNames[simulation.limitingStream], gap);
  text += "<table><tr><th>stream<th>busy<th>bytes</tr>\n";
  for (size_t stream = 0; stream < streamNames.size(); ++stream)
    if (simulation.busySeconds[stream] > 0)
      text += fmt::format("<tr><td>{}<td>{}<td>{}</tr>\n", streamNames[stream],
                          milliseconds(simulation.busySeconds[stream]),
                          formatSize(simulation.movedBytes[stream]));
  text += "</table>\n";
  if (summary.contains("minimum_bytes"))
    text += fmt::format("<p>The smallest budget that works is {}; {} alone needs {}.</p>\n",
                        formatSize(summary["minimum_bytes"].get<uint64_t>()),
                        escape(summary.value("floor_operation", "")),
                        formatSize(summary["floor_bytes"].get<uint64_t>()));
  return text;
}

std::string listStates(const Json &summary) {
  std::string rows;
  if (!summary.contains("states"))
    return rows;
  for (const Json &state : summary["states"])
    rows += fmt::format("<tr><td>{}<td>{}<td>{}<td>{}<td>{}<td>{}</tr>\n",
                        escape(state.value("name", "")),
                        formatSize(state.value("bytes", uint64_t{0})), state.value("tiles", 0),
                        state["home"].value("device", 0), state["home"].value("host", 0),
                        state["home"].value("nvme", 0));
  return "<table><tr><th>state<th>bytes<th>tiles<th>device<th>host<th>nvme</tr>\n" + rows +
         "</table>\n";
}

} // namespace

std::string spillway::plan::drawReport(std::string_view title, std::span<const uint8_t> table,
                                       const Simulation &simulation, std::string_view summary) {
  Json json = Json::parse(summary, nullptr, /*allow_exceptions=*/false);
  Page page(*table::GetProgram(table.data()), simulation);
  std::string name = escape(title);
  return fmt::format(
      "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>Plan of {0}</title>\n<style>"
      "body{{font:14px sans-serif;margin:2em}} td,th{{padding:1px 12px 1px 0;text-align:left}} "
      "svg{{display:block}} rect:hover{{opacity:.6}}</style></head><body>\n<h1>Plan of {0}</h1>\n"
      "{1}<h2>Streams over a step</h2>\n{2}<h2>Memory over a step</h2>\n<p>Across: time. Down: "
      "addresses. Grey stays; blue is computed; orange comes from NVMe.</p>\n{3}"
      "<h2>States</h2>\n<p>Tiles by where they live between steps.</p>\n{4}</body></html>\n",
      name, describeLimits(simulation, json), page.drawStreams(), page.drawMemory(),
      listStates(json));
}
