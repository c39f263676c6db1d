// How far a step hides its transfers: its time over the longer of computing alone, with all
// weights resident, and reading alone. The three take turns; medians are compared.
#include "runtime/base/Size.h"
#include "runtime/io/Npy.h"
#include "runtime/session/Session.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>

using namespace spillway;

namespace {

struct Settings {
  std::string resident, streamed, throttle;
  std::vector<std::string> inputs;
  unsigned rounds = 7;
};

/// A bundle that runs step after step.
class Runner {
public:
  Status open(const std::string &bundle, const SessionOptions &options,
              const std::vector<std::string> &inputs) {
    SPILLWAY_ASSIGN_OR_RETURN(session_, Session::open(bundle, options));
    inputs_ = inputs;
    return session_->executor().runPrologue();
  }

  Status step() {
    for (const std::string &input : inputs_)
      SPILLWAY_RETURN_IF_ERROR(load(input));
    Executor &executor = session_->executor();
    SPILLWAY_RETURN_IF_ERROR(executor.runStep());
    times_.push_back(executor.lastStep());
    return {};
  }

  void forget() { times_.clear(); }

  double median(int64_t RunTimes::*field) const {
    std::vector<int64_t> values;
    for (const RunTimes &times : times_)
      values.push_back(times.*field);
    std::ranges::sort(values);
    return static_cast<double>(values[values.size() / 2]) * 1e-6;
  }

  uint64_t readBytes() const { return plannedReadBytes(session_->program().step); }

private:
  Status load(const std::string &input) {
    size_t split = input.find('=');
    std::string name = input.substr(0, split);
    const std::vector<Binding> &known = session_->program().inputs;
    auto binding = std::ranges::find(known, name, &Binding::name);
    if (split == std::string::npos || binding == known.end())
      return userError("--input '{}': expected NAME=FILE, NAME an input of the model", input);
    std::string file = input.substr(split + 1);
    SPILLWAY_ASSIGN_OR_RETURN(NpyHeader header, readNpyHeader(file));
    if (header.type != binding->dataType || header.shape != binding->shape)
      return userError("input '{}' is {}; '{}' holds {}", name,
                       describe(binding->dataType, binding->shape), file,
                       describe(header.type, header.shape));
    return readNpyData(file, header, session_->bytes(*binding));
  }

  std::unique_ptr<Session> session_;
  std::vector<std::string> inputs_;
  std::vector<RunTimes> times_;
};

Status measure(const Settings &settings) {
  SessionOptions options;
  if (!settings.throttle.empty()) {
    SPILLWAY_ASSIGN_OR_RETURN(uint64_t rate, parseSize(settings.throttle));
    options.throttle.readBytesPerSecond = static_cast<double>(rate);
  }
  Runner compute, reads, both;
  SPILLWAY_RETURN_IF_ERROR(compute.open(settings.resident, {}, settings.inputs));
  SPILLWAY_RETURN_IF_ERROR(both.open(settings.streamed, options, settings.inputs));
  options.replay = true;
  SPILLWAY_RETURN_IF_ERROR(reads.open(settings.streamed, options, settings.inputs));

  // In the first round checksums are verified and pages are touched.
  for (unsigned round = 0; round <= settings.rounds; ++round) {
    for (Runner *runner : {&compute, &reads, &both})
      SPILLWAY_RETURN_IF_ERROR(runner->step());
    if (round == 0)
      for (Runner *runner : {&compute, &reads, &both})
        runner->forget();
  }
  double computeMs = compute.median(&RunTimes::wallNs), readMs = reads.median(&RunTimes::wallNs),
         stepMs = both.median(&RunTimes::wallNs);
  fmt::print("read_GB throttle_GB/s compute_ms reads_ms step_ms launches_ms blocked_ms ratio\n");
  fmt::print("{:7.3f} {:13.3f} {:10.1f} {:8.1f} {:7.1f} {:11.1f} {:10.1f} {:5.3f}\n",
             static_cast<double>(both.readBytes()) * 1e-9, options.throttle.readBytesPerSecond * 1e-9,
             computeMs, readMs, stepMs, both.median(&RunTimes::computeNs),
             both.median(&RunTimes::blockedOnIoNs), stepMs / std::max(computeMs, readMs));
  return {};
}

} // namespace

int main(int argc, char **argv) {
  Settings settings;
  CLI::App app("Step time over the longer of compute alone and reads alone");
  app.add_option("resident", settings.resident, "A bundle with all weights resident")->required();
  app.add_option("streamed", settings.streamed, "The same model in less memory")->required();
  app.add_option("--input", settings.inputs, "NAME=FILE.npy")->allow_extra_args(false);
  app.add_option("--throttle-read", settings.throttle, "Bytes per second; default: the bare disk");
  app.add_option("--rounds", settings.rounds, "Steps of each kind")->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  Status status = measure(settings);
  if (status.ok())
    return 0;
  fmt::print(stderr, "overlap_bench: {}\n", status.error().message);
  return static_cast<int>(status.error().kind);
}
