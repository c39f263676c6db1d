#include "spillway/Plan/Explain.h"

#include "runtime/base/Duration.h"
#include "runtime/base/Nearest.h"
#include "runtime/base/Size.h"
#include "spillway/Plan/Occupancy.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <tuple>

using namespace spillway;
using namespace spillway::plan;
using Json = nlohmann::ordered_json;

namespace {

/// Parts of a state that are described one by one; the others are counted.
constexpr size_t mostParts = 16;

class Explanation {
public:
  Explanation(const table::Program &program, const Simulation &simulation, const Json &states,
              const Json &parts)
      : program_(program), simulation_(simulation), states_(states), parts_(parts),
        stays_(findStays(program, simulation)) {
    std::ranges::sort(stays_, {}, [](const Stay &stay) {
      return std::tuple(stay.time.begin, stay.stateOffset, stay.place.tier(), stay.place.offset());
    });
  }

  Result<std::string> run(std::string_view name) {
    for (uint32_t index = 0; index < states_.size(); ++index)
      if (namesState(name, stateName(index)))
        explainState(index);
    for (const table::Binding *output : *program_.outputs())
      if (output->name()->string_view() == name)
        explainOutput(*output);
    explainValues(name);
    if (auto kernel = parts_.find(name); text_.empty() && kernel != parts_.end() && kernel->is_string()) {
      line("{} is part of the kernel of {}: it is computed there and takes no memory of its own", name,
           kernel->get<std::string>());
      explainValues(kernel->get<std::string>());
    }
    if (text_.empty())
      return userError("the plan has no tensor '{}'{}", name, similar(name));
    return std::move(text_);
  }

private:
  std::string stateName(uint32_t index) const { return states_[index].value("name", ""); }

  /// A state of some rows of a weight answers to the weight's name.
  static bool namesState(std::string_view name, std::string_view state) {
    return state == name ||
           (state.starts_with(name) && state.substr(name.size()).starts_with("["));
  }

  template <typename... Args> void line(fmt::format_string<Args...> format, Args &&...args) {
    text_ += fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  void explainState(uint32_t index) {
    const Json &state = states_[index];
    auto tiles = state.value("tiles", uint64_t{1}), ranks = state.value("ranks", uint64_t{1});
    line("{}: {}{}{}", stateName(index), formatSize(state.value("bytes", uint64_t{0})),
         tiles > 1 ? fmt::format(" in {} tiles of {}", tiles,
                                 formatSize(state.value("tile_bytes", uint64_t{0})))
                   : "",
         ranks > 1 ? fmt::format(", split over {} ranks", ranks) : "");
    if (state.contains("why"))
      line("  the plan {}", state.value("why", ""));
    size_t count = 0;
    for (const Stay &stay : stays_) {
      bool isState = stay.kind == Stay::Kind::resident || stay.kind == Stay::Kind::staged;
      if (isState && stay.state == index && ++count <= mostParts)
        line("  bytes [{}, {}) {}", stay.stateOffset, stay.stateOffset + stay.place.bytes(),
             describe(stay));
    }
    if (count > mostParts)
      line("  and {} more parts in the same way", count - mostParts);
    for (uint32_t i = 0; i < program_.step()->size(); ++i)
      if (auto lookup = program_.step()->Get(i)->operation_as_Lookup();
          lookup && lookup->state() == index)
        line("  {} picks rows of it from {}, {} to {}", nameOf(i),
             lookup->resident() ? "memory" : "NVMe", formatSeconds(simulation_.step[i].begin),
             formatSeconds(simulation_.step[i].end));
  }

  void explainValues(std::string_view name) {
    for (const Stay &stay : stays_)
      if ((stay.kind == Stay::Kind::input || stay.kind == Stay::Kind::computed) &&
          stay.label == name)
        line("{} ({}) {}", name, formatSize(stay.place.bytes()), describe(stay));
  }

  void explainOutput(const table::Binding &output) {
    const table::Slice &slice = *output.slice();
    for (const Stay &stay : stays_)
      if (stay.place.tier() == slice.tier() && stay.place.offset() == slice.offset() &&
          stay.time.end == simulation_.stepSeconds)
        line("{} ({}) {}, where the caller takes it", output.name()->string_view(),
             formatSize(slice.bytes()), describe(stay));
  }

  std::string describe(const Stay &stay) const {
    std::string place = fmt::format("in {}[{}, {})", table::EnumNameTier(stay.place.tier()),
                                    stay.place.offset(), stay.place.offset() + stay.place.bytes());
    switch (stay.kind) {
    case Stay::Kind::resident:
      return fmt::format("{} from before the first step on{}", place, describeReaders(stay));
    case Stay::Kind::staged:
      return fmt::format("{}: {}{}", place, describeTransfer(stay), describeReaders(stay));
    case Stay::Kind::input:
      return fmt::format("{} from the start of a step to {}{}", place,
                         formatSeconds(stay.time.end), describeReaders(stay));
    case Stay::Kind::computed:
    case Stay::Kind::scratch:
      break;
    }
    return fmt::format("{} from {} to {}, written by {}{}", place, formatSeconds(stay.time.begin),
                       formatSeconds(stay.time.end), nameOf(stay.writers.front()),
                       describeReaders(stay));
  }

  /// When the transfer goes, what it waits for, and whether it comes in time.
  std::string describeTransfer(const Stay &stay) const {
    uint32_t index = stay.writers.front();
    SimulatedCommand time = simulation_.step[index];
    const table::Command &transfer = *program_.step()->Get(index);
    std::string text = nameOf(index);
    double free = 0;
    if (transfer.waits() && transfer.waits()->size() != 0) {
      uint32_t last = *std::ranges::max_element(
          *transfer.waits(), {}, [&](uint32_t wait) { return simulation_.step[wait].end; });
      free = simulation_.step[last].end;
      text += fmt::format(" waits for {} until {},", nameOf(last), formatSeconds(free));
    }
    if (time.begin > free)
      text += fmt::format(" queues until {},", formatSeconds(time.begin));
    text += fmt::format(" is done at {}", formatSeconds(time.end));
    if (stay.readers.empty())
      return text;
    uint32_t user = stay.readers.front();
    if (double early = simulation_.step[user].begin - time.end; early > 0)
      return text + fmt::format(", {} early", formatSeconds(early));
    double late = time.end - readyWithout(user, index);
    return text + (late > 0 ? fmt::format(", {} late", formatSeconds(late)) : ", just in time");
  }

  /// When a command of a serial stream could start if it did not wait for `transfer`.
  double readyWithout(uint32_t command, uint32_t transfer) const {
    double ready = 0;
    for (uint32_t i = command; i-- > 0;)
      if (program_.step()->Get(i)->stream() == program_.step()->Get(command)->stream()) {
        ready = simulation_.step[i].end;
        break;
      }
    if (auto waits = program_.step()->Get(command)->waits())
      for (uint32_t wait : *waits)
        if (wait != transfer)
          ready = std::max(ready, simulation_.step[wait].end);
    return ready;
  }

  std::string describeReaders(const Stay &stay) const {
    if (stay.readers.empty())
      return "";
    uint32_t first = stay.readers.front(), last = stay.readers.back();
    std::string text = fmt::format("; {} takes it at {}", nameOf(first),
                                   formatSeconds(simulation_.step[first].begin));
    if (last != first)
      text += fmt::format(", the last of {} is {} at {}", stay.readers.size(), nameOf(last),
                          formatSeconds(simulation_.step[last].begin));
    return text;
  }

  std::string nameOf(uint32_t index) const {
    const table::Command &command = *program_.step()->Get(index);
    return command.stream() == table::Stream::compute
               ? fmt::format("{} ({} {})", labelOf(command), kindOf(command), index)
               : fmt::format("{} {}", kindOf(command), index);
  }

  std::string similar(std::string_view name) const {
    std::set<std::string> names;
    for (uint32_t index = 0; index < states_.size(); ++index)
      names.insert(stateName(index));
    for (const table::Binding *output : *program_.outputs())
      names.insert(output->name()->str());
    for (const Stay &stay : stays_)
      if (stay.kind == Stay::Kind::input || stay.kind == Stay::Kind::computed)
        names.insert(stay.label);
    for (const auto &[part, kernel] : parts_.items())
      names.insert(part);
    std::vector<std::string> containing;
    std::ranges::copy_if(names, std::back_inserter(containing), [&](const std::string &candidate) {
      return !name.empty() && candidate.find(name) != std::string::npos;
    });
    constexpr size_t shown = 8;
    if (containing.empty())
      return didYouMean(name, std::vector<std::string>(names.begin(), names.end()));
    bool isCut = containing.size() > shown;
    containing.resize(std::min(containing.size(), shown));
    return fmt::format("; names with it: {}{}", fmt::join(containing, ", "), isCut ? ", ..." : "");
  }

  const table::Program &program_;
  const Simulation &simulation_;
  const Json &states_;
  /// The kernel that computes it, by the name of a node.
  const Json &parts_;
  std::vector<Stay> stays_;
  std::string text_;
};

} // namespace

Result<std::string> spillway::plan::explainTensor(std::string_view name,
                                                  std::span<const uint8_t> table,
                                                  const Simulation &simulation,
                                                  std::string_view summary) {
  Json json = Json::parse(summary, nullptr, /*allow_exceptions=*/false);
  auto partOf = [&](const char *key, Json other) { return json.is_object() ? json.value(key, other) : other; };
  Json states = partOf("states", Json::array()), parts = partOf("parts", Json::object());
  return Explanation(*table::GetProgram(table.data()), simulation, states, parts).run(name);
}
