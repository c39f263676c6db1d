#include "spillway/Plan/Report.h"

#include "ReportStyle.h"
#include "runtime/base/Duration.h"
#include "runtime/base/Markup.h"
#include "runtime/base/Size.h"
#include "spillway/Plan/Occupancy.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>

using namespace spillway;
using namespace spillway::plan;
using Json = nlohmann::ordered_json;

namespace {

std::string spaced(std::string_view name) {
  std::string text(name);
  std::ranges::replace(text, '_', ' ');
  return text;
}

std::string nameOf(size_t stream) { return spaced(table::EnumNameStream(static_cast<table::Stream>(stream))); }

/// Units of a plot, which is stretched to the width of the page.
constexpr double plotWidth = 4000, rowHeight = 24, mapHeight = 340;

std::string rectangle(double x, double y, double width, double height, std::string_view kind,
                      std::string_view title) {
  return fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
                     "height=\"{:.1f}\"><title>{}</title></rect>\n",
                     kind, x, y, std::max(width, 1.0), std::max(height, 0.5), escapeMarkup(title));
}

std::string_view nameOf(Stay::Kind kind) {
  switch (kind) {
  case Stay::Kind::resident:
    return "resident";
  case Stay::Kind::staged:
    return "staged";
  case Stay::Kind::input:
    return "input";
  case Stay::Kind::computed:
    return "computed";
  case Stay::Kind::scratch:
    break;
  }
  return "scratch";
}

std::string span(SimulatedCommand time) {
  return fmt::format("{} to {}", formatSeconds(time.begin), formatSeconds(time.end));
}

class Charts {
public:
  Charts(const table::Program &program, const Simulation &simulation)
      : program_(program), simulation_(simulation),
        scale_(plotWidth / std::max(simulation.stepSeconds, 1e-9)) {}

  std::string drawStreams() const {
    std::string labels, rows;
    double y = 0;
    for (size_t stream = 0; stream < simulation_.busySeconds.size(); ++stream) {
      double busy = simulation_.busySeconds[stream];
      if (busy == 0)
        continue;
      labels += fmt::format("<span>{}, {:.0f} %</span>", nameOf(stream),
                            100 * busy / std::max(simulation_.stepSeconds, 1e-9));
      rows += drawStream(stream, y + 2);
      y += rowHeight;
    }
    return frame(labels, rows, y);
  }

  std::string drawMemory() const {
    std::map<table::Tier, std::string> rectangles;
    std::map<table::Tier, double> bytes;
    for (const table::Arena *arena : *program_.arenas())
      bytes[arena->tier()] = std::max<double>(1, static_cast<double>(arena->bytes()));
    for (const Stay &stay : findStays(program_, simulation_)) {
      double scale = mapHeight / bytes[stay.place.tier()];
      rectangles[stay.place.tier()] += rectangle(
          stay.time.begin * scale_, static_cast<double>(stay.place.offset()) * scale,
          (stay.time.end - stay.time.begin) * scale_,
          static_cast<double>(stay.place.bytes()) * scale, nameOf(stay.kind),
          fmt::format("{} ({}), {} at {}, {}", stay.label, nameOf(stay.kind),
                      formatSize(stay.place.bytes()), stay.place.offset(), span(stay.time)));
    }
    std::string charts;
    for (const table::Arena *arena : *program_.arenas())
      charts += fmt::format("<h3>{}, {}</h3>\n", table::EnumNameTier(arena->tier()),
                            formatSize(arena->bytes())) +
                frame(fmt::format("<span>0</span><span>{}</span>", formatSize(arena->bytes())),
                      rectangles[arena->tier()], mapHeight);
    return charts;
  }

private:
  /// Commands that would be drawn over each other are drawn as one.
  std::string drawStream(size_t stream, double y) const {
    std::string result, title;
    double begin = 0, end = -1;
    size_t count = 0;
    auto flush = [&] {
      if (count)
        result += rectangle(begin * scale_, y, (end - begin) * scale_, rowHeight - 4,
                            fmt::format("s{}", stream),
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
        title = fmt::format("{}, {}", labelOf(command), span(time));
      }
      end = time.end;
      ++count;
    }
    flush();
    return result;
  }

  /// A plot with labels on its left and the time under it.
  std::string frame(std::string_view labels, std::string_view content, double height) const {
    return fmt::format("<div class=\"row\"><div class=\"label\" style=\"height:{0:.0f}px\">{1}</div>"
                       "<div class=\"plots\"><div class=\"plot\"><svg viewBox=\"0 0 {2:.0f} {0:.0f}\" "
                       "style=\"height:{0:.0f}px\" preserveAspectRatio=\"none\">\n{3}</svg>"
                       "<div class=\"axis\">{4}</div></div></div></div>\n",
                       height, labels, plotWidth, content, drawTicks());
  }

  /// Five to twelve round times.
  std::string drawTicks() const {
    double total = std::max(simulation_.stepSeconds, 1e-9);
    double tick = std::pow(10, std::floor(std::log10(total / 5)));
    for (double factor : {5.0, 2.0})
      if (total / (tick * factor) >= 5) {
        tick *= factor;
        break;
      }
    std::string ticks;
    for (int i = 0; i * tick < total; ++i)
      ticks += fmt::format("<span style=\"left:{:.3f}%\">{}</span>", 100 * i * tick / total,
                           i ? formatSeconds(i * tick) : "0");
    return ticks;
  }

  const table::Program &program_;
  const Simulation &simulation_;
  double scale_;
};

/// What computation waits for, and how long, longest first.
std::string listStalls(const table::Program &program, const Simulation &simulation) {
  struct Stall {
    double seconds = 0;
    size_t count = 0;
  };
  std::map<std::pair<std::string, std::string>, Stall> stalls;
  double free = 0, total = 0;
  for (uint32_t i = 0; i < program.step()->size(); ++i) {
    const table::Command &command = *program.step()->Get(i);
    if (command.stream() != table::Stream::compute)
      continue;
    double seconds = simulation.step[i].begin - free;
    free = simulation.step[i].end;
    if (seconds < 1e-9 || !command.waits() || command.waits()->size() == 0)
      continue;
    uint32_t last = *std::ranges::max_element(
        *command.waits(), {}, [&](uint32_t wait) { return simulation.step[wait].end; });
    const table::Command &cause = *program.step()->Get(last);
    Stall &stall = stalls[{labelOf(command),
                           fmt::format("{} ({})", labelOf(cause),
                                       nameOf(static_cast<size_t>(cause.stream())))}];
    stall.seconds += seconds;
    ++stall.count;
    total += seconds;
  }
  if (stalls.empty())
    return "<p>Computation never waits.</p>\n";
  std::vector<std::pair<std::pair<std::string, std::string>, Stall>> longest(stalls.begin(),
                                                                             stalls.end());
  std::ranges::sort(longest, {}, [](const auto &entry) {
    return std::pair(-entry.second.seconds, entry.first);
  });
  constexpr size_t shown = 15;
  std::string rows;
  for (const auto &[names, stall] : std::span(longest).first(std::min(shown, longest.size())))
    rows += fmt::format("<tr><td class=\"n\">{}<td class=\"n\">{}<td>{}<td>{}</tr>\n",
                        formatSeconds(stall.seconds), stall.count, escapeMarkup(names.first),
                        escapeMarkup(names.second));
  return fmt::format("<p>{} of a step nothing is computed. The longest waits:</p>\n<table><tr>"
                     "<th class=\"n\">time<th class=\"n\">waits<th>of<th>for</tr>\n{}</table>\n",
                     formatSeconds(total), rows);
}

std::string card(std::string_view figure, std::string_view what) {
  return fmt::format("<div class=\"card\"><b>{}</b><span>{}</span></div>\n", escapeMarkup(figure),
                     escapeMarkup(what));
}

std::string drawCards(const table::Program &program, const Simulation &simulation,
                      const Json &summary) {
  double gap = simulation.boundSeconds > 0
                   ? 100 * (simulation.stepSeconds / simulation.boundSeconds - 1)
                   : 0;
  std::string cards = card(formatSeconds(simulation.stepSeconds), "predicted step");
  cards += card(formatSeconds(simulation.boundSeconds),
                fmt::format("bound, set by {}", spaced(simulation.limit)));
  cards += card(fmt::format("{:.1f} %", gap), "over the bound");
  for (const table::Arena *arena : *program.arenas())
    cards += card(formatSize(arena->bytes()),
                  arena->tier() == table::Tier::nvme
                      ? "on NVMe for values that wait"
                      : fmt::format("of {} memory", table::EnumNameTier(arena->tier())));
  for (size_t stream = 1; stream < simulation.movedBytes.size(); ++stream)
    if (simulation.movedBytes[stream])
      cards += card(formatSize(simulation.movedBytes[stream]),
                    fmt::format("{} each step", nameOf(stream)));
  if (summary.contains("minimum_bytes"))
    cards += card(formatSize(summary.value("minimum_bytes", uint64_t{0})),
                  fmt::format("smallest memory that works; {} alone takes {}",
                              summary.value("floor_operation", ""),
                              formatSize(summary.value("floor_bytes", uint64_t{0}))));
  return "<div class=\"cards\">\n" + cards + "</div>\n";
}

std::string listStates(const Json &summary) {
  std::string rows;
  for (const Json &state : summary.value("states", Json::array())) {
    Json home = state.value("home", Json::object());
    rows += fmt::format("<tr><td>{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}"
                        "<td class=\"n\">{}<td class=\"n\">{}<td>{}</tr>\n",
                        escapeMarkup(state.value("name", "")),
                        formatSize(state.value("bytes", uint64_t{0})), state.value("tiles", 0),
                        home.value("device", 0), home.value("host", 0), home.value("nvme", 0),
                        escapeMarkup(state.value("why", "")));
  }
  return "<table><tr><th>weight<th class=\"n\">bytes<th class=\"n\">tiles<th class=\"n\">in device"
         "<th class=\"n\">in host<th class=\"n\">on NVMe<th>the plan</tr>\n" +
         rows + "</table>\n";
}

constexpr std::string_view zoomControl =
    "<p>Zoom <input type=\"range\" min=\"1\" max=\"40\" value=\"1\" "
    "oninput=\"document.body.style.setProperty('--zoom', this.value)\"> (hover for names and "
    "times)</p>\n";

constexpr std::string_view legend =
    "<p>Across: time. Down: addresses."
    "<i class=\"key resident\"></i>weights that stay<i class=\"key staged\"></i>weights that stream"
    "<i class=\"key input\"></i>inputs<i class=\"key computed\"></i>computed"
    "<i class=\"key scratch\"></i>scratch</p>\n";

} // namespace

std::string spillway::plan::drawReport(std::string_view model, std::span<const uint8_t> table,
                                       const Simulation &simulation, std::string_view summary) {
  Json json = Json::parse(summary, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    json = Json::object();
  const table::Program &program = *table::GetProgram(table.data());
  Charts charts(program, simulation);
  std::string name = escapeMarkup(model.substr(model.rfind('/') + 1)), page;
  page += fmt::format("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                      "<title>Plan of {0}</title>\n<style>{1}</style></head>\n<body>\n"
                      "<h1>Plan of {0}</h1>\n",
                      name, reportStyle);
  page += drawCards(program, simulation, json);
  if (json.value("machine", Json::object()).value("estimate", false))
    page += "<p class=\"note\">Times are for a machine of default figures, which are estimates. "
            "<code>spillway calibrate</code> measures this one.</p>\n";
  page += "<h2>Streams over a step</h2>\n";
  page += zoomControl;
  page += charts.drawStreams();
  page += "<h2>What computation waits for</h2>\n";
  page += listStalls(program, simulation);
  page += "<h2>Memory over a step</h2>\n";
  page += legend;
  page += charts.drawMemory();
  page += "<h2>Weights</h2>\n<p>Where their tiles live between steps.</p>\n";
  page += listStates(json);
  return page + "</body></html>\n";
}
