// How far a step hides its transfers: its time over the longer of computing alone, with all
// weights resident, and transferring alone. The three take turns, with some steps in a row each: what one step still
// writes the next one pays for, and waits for by its end, so the first two are not counted. Medians are printed; the
// ratio is the median of the turns' own, since what others do to this machine's cores changes from turn to turn.
#include "runtime/base/Size.h"
#include "runtime/io/Npy.h"
#include "runtime/session/Session.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <span>

using namespace spillway;

namespace {

struct Settings {
  std::string resident, streamed, transfers, throttleRead, throttleWrite;
  std::vector<std::string> inputs;
  unsigned rounds = 7, stepsInARow = 1;
};

constexpr unsigned uncounted = 2;

double medianOf(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// A bundle that runs step after step.
class Runner {
public:
  Status open(const std::string &bundle, SessionOptions options,
              const std::vector<std::string> &inputs) {
    options.writable = std::filesystem::exists(std::filesystem::path(bundle) / commitsName);
    SPILLWAY_ASSIGN_OR_RETURN(session_, Session::open(bundle, options));
    inputs_ = inputs;
    return session_->executor().runPrologue();
  }

  /// Steps, of which all but the first two are counted.
  Status run(unsigned steps) {
    Executor &executor = session_->executor();
    for (unsigned step = 0; step < steps; ++step) {
      for (const std::string &input : inputs_)
        SPILLWAY_RETURN_IF_ERROR(load(input));
      SPILLWAY_RETURN_IF_ERROR(executor.runStep());
      if (step >= uncounted)
        times_.push_back(executor.lastStep());
    }
    return executor.settle();
  }

  void forget() { times_.clear(); }

  /// In milliseconds.
  double median(int64_t RunTimes::*field) const { return medianOf(times_, field); }
  double medianOfLast(size_t steps, int64_t RunTimes::*field) const {
    return medianOf(std::span(times_).last(steps), field);
  }

  uint64_t readBytes() const { return plannedReadBytes(session_->program().step); }
  uint64_t writtenBytes() const { return plannedWriteBytes(session_->program().step); }

private:
  static double medianOf(std::span<const RunTimes> times, int64_t RunTimes::*field) {
    std::vector<double> milliseconds;
    for (const RunTimes &time : times)
      milliseconds.push_back(static_cast<double>(time.*field) * 1e-6);
    return ::medianOf(std::move(milliseconds));
  }

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

Status setRate(const std::string &text, double &bytesPerSecond) {
  if (text.empty())
    return {};
  SPILLWAY_ASSIGN_OR_RETURN(uint64_t rate, parseSize(text));
  bytesPerSecond = static_cast<double>(rate);
  return {};
}

Status measure(const Settings &settings) {
  SessionOptions options;
  SPILLWAY_RETURN_IF_ERROR(setRate(settings.throttleRead, options.throttle.readBytesPerSecond));
  SPILLWAY_RETURN_IF_ERROR(setRate(settings.throttleWrite, options.throttle.writeBytesPerSecond));
  Runner compute, transfers, both;
  SPILLWAY_RETURN_IF_ERROR(compute.open(settings.resident, {}, settings.inputs));
  SPILLWAY_RETURN_IF_ERROR(both.open(settings.streamed, options, settings.inputs));
  options.replay = true;
  const std::string &alone = settings.transfers.empty() ? settings.streamed : settings.transfers;
  SPILLWAY_RETURN_IF_ERROR(transfers.open(alone, options, settings.inputs));

  // In the first round checksums are verified and pages are touched.
  std::vector<double> ratios;
  for (unsigned round = 0; round <= settings.rounds; ++round) {
    for (Runner *runner : {&compute, &transfers, &both})
      SPILLWAY_RETURN_IF_ERROR(runner->run(uncounted + settings.stepsInARow));
    if (round == 0) {
      for (Runner *runner : {&compute, &transfers, &both})
        runner->forget();
      continue;
    }
    auto ofTurn = [&](const Runner &runner) { return runner.medianOfLast(settings.stepsInARow, &RunTimes::wallNs); };
    ratios.push_back(ofTurn(both) / std::max(ofTurn(compute), ofTurn(transfers)));
  }
  double computeMs = compute.median(&RunTimes::wallNs), transferMs = transfers.median(&RunTimes::wallNs),
         stepMs = both.median(&RunTimes::wallNs);
  fmt::print("read_GB throttle_GB/s written_GB throttle_GB/s compute_ms transfers_ms step_ms launches_ms blocked_ms ratio\n");
  fmt::print("{:7.3f} {:13.3f} {:10.3f} {:13.3f} {:10.1f} {:12.1f} {:7.1f} {:11.1f} {:10.1f} {:5.3f}\n",
             static_cast<double>(both.readBytes()) * 1e-9, options.throttle.readBytesPerSecond * 1e-9,
             static_cast<double>(both.writtenBytes()) * 1e-9, options.throttle.writeBytesPerSecond * 1e-9,
             computeMs, transferMs, stepMs, both.median(&RunTimes::computeNs),
             both.median(&RunTimes::blockedOnIoNs), medianOf(ratios));
  return {};
}

} // namespace

int main(int argc, char **argv) {
  Settings settings;
  CLI::App app("Step time over the longer of compute alone and transfers alone");
  app.add_option("resident", settings.resident, "A bundle with all weights resident")->required();
  app.add_option("streamed", settings.streamed, "The same model in less memory")->required();
  app.add_option("--input", settings.inputs, "NAME=FILE.npy")->allow_extra_args(false);
  app.add_option("--transfers", settings.transfers,
                 "A copy of the streamed bundle, whose transfers run alone: those of a training step write what they find");
  app.add_option("--throttle-read", settings.throttleRead, "Bytes per second; default: the bare disk");
  app.add_option("--throttle-write", settings.throttleWrite, "Bytes per second; default: the bare disk");
  app.add_option("--rounds", settings.rounds, "Turns of each kind")->check(CLI::Range(1, 1000));
  app.add_option("--steps", settings.stepsInARow, "Steps that are counted in a turn, behind two that are not")
      ->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  Status status = measure(settings);
  if (status.ok())
    return 0;
  fmt::print(stderr, "overlap_bench: {}\n", status.error().message);
  return static_cast<int>(status.error().kind);
}
