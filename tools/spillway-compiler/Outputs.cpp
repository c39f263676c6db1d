// What becomes of the place that a bundle is written to.
#include "tools/spillway-compiler/Commands.h"

#include "runtime/base/Console.h"
#include "runtime/base/Duration.h"
#include "runtime/base/File.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Size.h"
#include "runtime/bundle/Bundle.h"

#include <nlohmann/json.hpp>

using namespace spillway;
using Json = nlohmann::ordered_json;

namespace {

uint64_t bytesIn(const Json &object, const char *key) { return object.value(key, uint64_t{0}); }

/// "1.27 GiB from NVMe": what a step moves over a channel.
std::string describeTraffic(const Json &channels, const char *channel, const char *direction) {
  auto found = channels.find(channel);
  uint64_t bytes = found == channels.end() ? 0 : bytesIn(*found, "bytes");
  return fmt::format("{} {} NVMe", bytes ? formatSize(bytes) : "nothing", direction);
}

std::string describeArenas(const Json &arenas, uint64_t ranks) {
  std::string text;
  for (const Json &arena : arenas)
    text += fmt::format("{}{} of {} memory{} ({} of weights that stay, {} of activations, {} that weights stream "
                        "through)",
                        text.empty() ? "" : ", ", formatSize(bytesIn(arena, "bytes")), arena.value("tier", ""),
                        ranks > 1 ? fmt::format(" on each of {} ranks", ranks) : "",
                        formatSize(bytesIn(arena, "resident_bytes")), formatSize(bytesIn(arena, "activation_bytes")),
                        formatSize(bytesIn(arena, "staging_bytes")));
  return text;
}

} // namespace

Status spillway::requireUntrained(const std::string &output) {
  Result<uint64_t> steps = committedSteps(output);
  if (!steps.ok())
    return userError("{}; give another -o, or --force to replace '{}'", steps.error().message, output);
  if (*steps == 0)
    return {};
  return userError("'{}' has been trained: {} committed, and would be lost. Give another -o, or --force", output,
                   *steps == 1 ? "1 step is" : fmt::format("{} steps are", *steps));
}

std::string spillway::describePlan(std::string_view summary) {
  Json plan = Json::parse(summary, nullptr, /*allow_exceptions=*/false);
  Json step = plan.value("step", Json::object()), channels = step.value("channels", Json::object());
  Json recomputed = plan.value("recomputed", Json::object());
  std::string text = describeArenas(plan.value("arenas", Json::array()), plan.value("ranks", uint64_t{1}));
  text += fmt::format("\na step: {}", describeTraffic(channels, "read", "from"));
  if (channels.contains("write"))
    text += ", " + describeTraffic(channels, "write", "to");
  text += fmt::format("; predicted {}, {:.1f} % over the bound that {} sets\n",
                      formatSeconds(step.value("predicted_seconds", 0.0)), 100 * step.value("gap", 0.0),
                      step.value("limited_by", ""));
  if (uint64_t segments = bytesIn(recomputed, "segments"))
    text += fmt::format("activations: {} of {} segments of the forward half are computed again, {} at once\n", segments,
                        bytesIn(recomputed, "of"), bytesIn(recomputed, "joined"));
  Json offloaded = plan.value("offloaded", Json::object());
  if (uint64_t values = bytesIn(offloaded, "values"))
    text += fmt::format("activations: {} values ({}) wait on the drive, in a scratch file of {}\n", values,
                        formatSize(bytesIn(offloaded, "bytes")), formatSize(bytesIn(offloaded, "scratch_bytes")));
  return text;
}

Status spillway::tellPlan(const std::string &folder) {
  SPILLWAY_ASSIGN_OR_RETURN(Bundle bundle, Bundle::open(folder));
  SPILLWAY_ASSIGN_OR_RETURN(std::vector<std::byte> text, bundle.read(planName));
  std::string_view summary(reinterpret_cast<const char *>(text.data()), text.size());
  fmt::print("{}: {}", folder, describePlan(summary));
  std::fflush(stdout);
  Json plan = Json::parse(summary, nullptr, /*allow_exceptions=*/false);
  uint64_t needed = 0;
  for (const Json &arena : plan.value("arenas", Json::array()))
    needed += plan.value("ranks", uint64_t{1}) * bytesIn(arena, "bytes");
  if (uint64_t total = machineMemory().total; needed > total)
    note("spillway: warning: a step computes in {} of memory; this machine has {}\n", formatSize(needed),
         formatSize(total));
  return {};
}
