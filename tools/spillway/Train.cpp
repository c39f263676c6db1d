#include "runtime/base/Duration.h"
#include "runtime/base/Size.h"
#include "runtime/session/InProcessJob.h"
#include "runtime/train/Snapshots.h"
#include "runtime/train/Trainer.h"
#include "tools/spillway/Commands.h"
#include "tools/spillway/FlagChecks.h"
#include "tools/spillway/MetricsLog.h"
#include "tools/spillway/NamedFiles.h"
#include "tools/spillway/ProgressLine.h"
#include "tools/spillway/Report.h"
#include "tools/spillway/SessionFlags.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <random>

namespace spillway {

namespace {
struct TrainOptions {
  std::string bundle;
  std::vector<std::string> data;
  std::vector<std::string> heldOut;
  uint64_t evaluateEvery = 0;
  std::optional<uint64_t> steps;
  std::optional<double> rate;
  std::optional<double> leastRate;
  std::optional<uint64_t> warmup;
  std::optional<std::string> schedule;
  std::optional<uint64_t> seed;
  std::optional<double> lossScale;
  std::optional<uint64_t> lossScaleInterval;
  bool keepsOrder = false;
  std::optional<uint64_t> checkpointEvery;
  uint64_t keep = 0;
  bool resume = false;
  SessionFlags session;
  std::string log;
  std::string trace;
  std::string stats;
};

/// The first of SIGINT and SIGTERM that came; the second one acts as always.
volatile std::sig_atomic_t stopSignal = 0;

void awaitStopSignals() {
  struct sigaction action {};
  action.sa_handler = [](int signal) { stopSignal = signal; };
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  for (int signal : {SIGINT, SIGTERM})
    sigaction(signal, &action, nullptr);
}

/// One that is unlikely to have come before.
uint64_t newNumber() {
  std::random_device random;
  return std::uniform_int_distribution<uint64_t>(1)(random);
}

/// What the flags say, and of what they do not say, what the last commit does.
Result<Recipe> decideRecipe(const TrainOptions &options, const Program &program,
                            const Commit &last, uint64_t samples) {
  Recipe recipe{.schedule = {},
                .seed = options.seed.value_or(0),
                .shuffles = !options.keepsOrder,
                .samples = samples,
                .training = newNumber()};
  if (last.sequence != 0) {
    if (!options.resume)
      return userError("'{}' has been trained for {}: give --resume to go on, or compile it again, with "
                       "--force, to begin anew",
                       options.bundle, last.step == 1 ? "1 step" : fmt::format("{} steps", last.step));
    SPILLWAY_ASSIGN_OR_RETURN(recipe, parseRecipe(last.payload));
    if (samples != recipe.samples)
      return userError("the data are {} samples; the training began with {}", samples,
                       recipe.samples);
    if (options.seed.value_or(recipe.seed) != recipe.seed ||
        (options.keepsOrder && recipe.shuffles))
      return userError("the seed and the order of the samples cannot change on the way: the training began with --seed {}{}",
                       recipe.seed, recipe.shuffles ? "" : " and --no-shuffle");
  } else {
    bool hasRate = std::ranges::find(program.inputs, rateInput, &Binding::name) !=
                   program.inputs.end();
    if (!options.steps)
      return userError("for how many steps? Give --steps N");
    if (!options.rate && hasRate)
      return userError("at which learning rate? Give --lr RATE");
  }
  recipe.steps = options.steps.value_or(recipe.steps);
  if ((options.lossScale || options.lossScaleInterval) &&
      std::ranges::find(program.inputs, lossScaleInput, &Binding::name) == program.inputs.end())
    return userError("'{}' was not compiled with --precision fp16: its loss is not scaled", options.bundle);
  if (options.lossScale)
    recipe.lossScale.goodSteps = 0;
  recipe.lossScale.value = options.lossScale.value_or(recipe.lossScale.value);
  recipe.lossScale.interval = options.lossScaleInterval.value_or(recipe.lossScale.interval);
  Schedule &schedule = recipe.schedule;
  schedule.rate = options.rate.value_or(schedule.rate);
  schedule.leastRate = options.leastRate.value_or(schedule.leastRate);
  schedule.warmup = options.warmup.value_or(schedule.warmup);
  if (options.schedule)
    schedule.shape = *scheduleShapeFromName(*options.schedule);
  if (schedule.leastRate > schedule.rate)
    return userError("--min-lr {} is more than --lr {}, from which the rate falls to it", schedule.leastRate, schedule.rate);
  if (options.leastRate && schedule.shape == Schedule::Shape::constant)
    return userError("--min-lr is where a rate that falls ends, and the schedule is constant: give --schedule linear or cosine");
  return recipe;
}

/// Bytes from and to the drive.
struct Moved {
  uint64_t read = 0, written = 0;

  Moved operator-(const Moved &before) const {
    return {read - before.read, written - before.written};
  }
  Moved operator+(const Moved &more) const { return {read + more.read, written + more.written}; }
};

/// How some steps went; commits are apart.
struct Pace {
  uint64_t steps = 0;
  double seconds = 0, commitSeconds = 0;
  Moved moved, movedBehind;

  void operator+=(const Pace &more) {
    steps += more.steps;
    seconds += more.seconds;
    commitSeconds += more.commitSeconds;
    moved = moved + more.moved;
    movedBehind = movedBehind + more.movedBehind;
  }
};

/// What a resumed training does in another way than it began: the learning rates and loss scales of the steps that
/// remain. Empty before the first commit.
std::string describeChanges(const Commit &last, const Recipe &recipe) {
  if (last.sequence == 0)
    return "";
  Result<Recipe> before = parseRecipe(last.payload);
  if (!before.ok())
    return "";
  const Schedule &was = before->schedule, &is = recipe.schedule;
  std::vector<std::string> changes;
  auto add = [&](const char *flag, auto old, auto now) {
    if (old != now)
      changes.push_back(fmt::format("{} is {}, not {}", flag, now, old));
  };
  add("--lr", was.rate, is.rate);
  add("--warmup", was.warmup, is.warmup);
  add("--schedule", name(was.shape), name(is.shape));
  if (is.shape != Schedule::Shape::constant) {
    add("--min-lr", was.leastRate, is.leastRate);
    add("--steps", before->steps, recipe.steps);
  }
  add("--loss-scale", before->lossScale.value, recipe.lossScale.value);
  add("--loss-scale-interval", before->lossScale.interval, recipe.lossScale.interval);
  return fmt::format("{}", fmt::join(changes, ", "));
}

class Training {
public:
  Training(const TrainOptions &options, InProcessJob &job)
      : options_(options), job_(job), session_(job.session(0)) {}

  Status run() {
    SPILLWAY_RETURN_IF_ERROR(prepare());
    SPILLWAY_RETURN_IF_ERROR(prepareSnapshots());
    if (trainer_->step() >= recipe_.steps) {
      fmt::print("nothing to do: {} steps are committed\n", trainer_->step());
      return {};
    }
    SPILLWAY_RETURN_IF_ERROR(job_.requireMemory());
    if (std::string changes = describeChanges(session_.executor().lastCommit(), recipe_); !changes.empty())
      progress_.note(fmt::format("from step {} on {}: the result is not that of one training",
                                 trainer_->step() + 1, changes));
    awaitStopSignals();
    SPILLWAY_RETURN_IF_ERROR(trainer_->start());
    SPILLWAY_RETURN_IF_ERROR(makeSteps());
    if (!options_.trace.empty())
      SPILLWAY_RETURN_IF_ERROR(writeTrace(options_.trace, session_));
    if (!options_.stats.empty())
      SPILLWAY_RETURN_IF_ERROR(writeStats(options_.stats, job_, times_, commits_));
    return {};
  }

private:
  Status prepare() {
    std::vector<Binding> inputs = sampleInputs(session_.program());
    SPILLWAY_ASSIGN_OR_RETURN(auto files,
                              parseNamedFiles(options_.data, "data", "input of samples", inputs));
    SPILLWAY_ASSIGN_OR_RETURN(
        auto heldOut, parseNamedFiles(options_.heldOut, "eval-data", "input of samples", inputs));
    std::vector<std::filesystem::path> read;
    for (const auto *named : {&files, &heldOut})
      for (const auto &[name, file] : *named)
        read.push_back(file);
    SPILLWAY_RETURN_IF_ERROR(requireOutputs({options_.log, options_.stats, options_.trace}, read));
    SPILLWAY_ASSIGN_OR_RETURN(DataSet data, DataSet::open(inputs, files, "data"));
    batch_ = data.batch();
    SPILLWAY_RETURN_IF_ERROR(openHeldOut(inputs, heldOut));
    SPILLWAY_ASSIGN_OR_RETURN(
        recipe_, decideRecipe(options_, session_.program(), session_.executor().lastCommit(),
                              data.samples()));
    SPILLWAY_ASSIGN_OR_RETURN(Trainer trainer, Trainer::create(session_, recipe_, std::move(data)));
    trainer_.emplace(std::move(trainer));
    if (!options_.log.empty()) {
      SPILLWAY_ASSIGN_OR_RETURN(MetricsLog log, MetricsLog::open(options_.log, trainer_->step(), recipe_.logLine));
      log_.emplace(std::move(log));
    }
    return {};
  }

  /// A process that was killed right behind its last commit has made no copy of that.
  Status prepareSnapshots() {
    if (options_.keep == 0)
      return {};
    snapshots_.emplace(session_.bundle().folder(), recipe_.training, options_.keep);
    uint64_t committed = trainer_->committed();
    SPILLWAY_RETURN_IF_ERROR(snapshots_->requirePlaces(committed + 1, recipe_.steps));
    return committed == 0 || snapshots_->has(committed) ? Status() : snapshots_->add(committed);
  }

  Status openHeldOut(const std::vector<Binding> &inputs, const NamedFiles &files) {
    if (files.empty())
      return options_.evaluateEvery == 0 ? Status()
                                         : userError("--eval-every needs samples that are held out: give --eval-data");
    SPILLWAY_ASSIGN_OR_RETURN(DataSet data, DataSet::open(inputs, files, "eval-data"));
    if (data.samples() < data.batch())
      return userError("the held-out data are {} samples; a step takes {}", data.samples(),
                       data.batch());
    if (uint64_t over = data.samples() % data.batch(); over != 0)
      progress_.note(fmt::format("the last {} of {} held-out samples are less than a batch and are left out",
                                 over, data.samples()));
    heldOut_.emplace(std::move(data));
    return {};
  }

  Status makeSteps() {
    first_ = trainer_->step();
    begun_ = now();
    newlyMoved();
    uint64_t every = options_.checkpointEvery.value_or(trainer_->commitsAreFree() ? 1 : 0);
    bool isStopped = stopSignal != 0;
    while (trainer_->step() < recipe_.steps && !isStopped) {
      int64_t begun = now();
      SPILLWAY_ASSIGN_OR_RETURN(StepReport report, trainer_->runStep());
      Pace step{1, secondsBetween(begun, now()), 0, newlyMoved(), {}};
      times_.push_back(session_.executor().lastStep());
      if (isLastStep() || (every != 0 && report.step % every == 0))
        SPILLWAY_RETURN_IF_ERROR(commit(report, step));
      SPILLWAY_ASSIGN_OR_RETURN(std::optional<double> heldOutLoss, evaluate(report.step));
      isStopped = stopSignal != 0;
      if (isStopped)
        SPILLWAY_RETURN_IF_ERROR(commit(report, step));
      step.movedBehind = newlyMoved();
      if (log_)
        if (Status written = log_->append(lineOf(report, step, heldOutLoss)); !written.ok()) {
          SPILLWAY_RETURN_IF_ERROR(commit(report, step));
          return written;
        }
      made_ += step;
      if (!wearIsTold_ && (every == 0 || trainer_->committed() == report.step))
        tellWear(every);
      tell(report, step);
    }
    fmt::print("{} committed\n", trainer_->committed() == 1 ? "1 step is" : fmt::format("{} steps are", trainer_->committed()));
    return {};
  }

  bool isLastStep() const { return trainer_->step() >= recipe_.steps || stopSignal; }

  /// Of the step that was made last, where that is to be done.
  Status commit(const StepReport &report, Pace &step) {
    if (trainer_->committed() == report.step)
      return {};
    int64_t begun = now();
    SPILLWAY_RETURN_IF_ERROR(trainer_->commit(lineOfCommit(report, step)));
    commits_.push_back(session_.executor().lastCheckpoint());
    if (snapshots_)
      SPILLWAY_RETURN_IF_ERROR(snapshots_->add(report.step));
    step.commitSeconds = secondsBetween(begun, now());
    return {};
  }

  /// The loss of the held-out samples where it is to be told after this step, unless a signal comes.
  Result<std::optional<double>> evaluate(uint64_t step) {
    bool isDue = step == recipe_.steps || (options_.evaluateEvery != 0 && step % options_.evaluateEvery == 0);
    if (!heldOut_ || !isDue)
      return std::optional<double>();
    SPILLWAY_ASSIGN_OR_RETURN(std::optional<double> loss,
                              trainer_->evaluate(*heldOut_, [] { return stopSignal != 0; }));
    if (loss)
      progress_.note(fmt::format("step {}: held-out loss {:.6g}", step, *loss));
    return loss;
  }

  static double secondsBetween(int64_t begin, int64_t end) {
    return static_cast<double>(end - begin) * 1e-9;
  }

  /// Since it was asked last: what a step carries counts where it ends.
  Moved newlyMoved() {
    Moved all{session_.readEngine().counters().readBytes, session_.executor().writtenBytes()};
    return all - std::exchange(moved_, all);
  }

  /// What steps write to the drive, and commits behind each `every` of them; once, when one was made.
  void tellWear(uint64_t every) {
    wearIsTold_ = true;
    const Program &program = session_.program();
    auto written = static_cast<double>(plannedWriteBytes(program.step));
    if (every != 0)
      written += static_cast<double>(plannedWriteBytes(program.checkpoint)) / static_cast<double>(every);
    double seconds = (made_.seconds + made_.commitSeconds) / static_cast<double>(made_.steps);
    if (written != 0)
      progress_.note(fmt::format("a step writes {} to the drive: {} a day at this pace",
                                 formatSize(static_cast<uint64_t>(written)),
                                 formatSize(static_cast<uint64_t>(written / seconds * 86400))));
  }

  double samplesPerSecond(const Pace &pace) const {
    return static_cast<double>(pace.steps * batch_) / pace.seconds;
  }

  void tell(const StepReport &report, const Pace &step) {
    untold_ += step;
    if (!isLastStep() && !progress_.isDue())
      return;
    std::string text = fmt::format("step {}/{}  loss {:.6g}  lr {:.3g}", report.step, recipe_.steps,
                                   report.loss, report.rate);
    if (report.gradientNorm)
      text += fmt::format("  gradient norm {:.4g}", *report.gradientNorm);
    if (report.lossScale)
      text += fmt::format("  loss scale {:g}{}", *report.lossScale, report.overflowed ? " overflows" : "");
    text += fmt::format("  {:.4g} samples/s", samplesPerSecond(untold_));
    for (auto [bytes, what] : {std::pair(untold_.moved.read, "read"), {untold_.moved.written, "written"}})
      if (bytes != 0)
        text += fmt::format("  {:.2f} GB/s {}", static_cast<double>(bytes) / untold_.seconds * 1e-9, what);
    if (untold_.commitSeconds > 0)
      text += fmt::format("  {} to commit", formatSeconds(untold_.commitSeconds));
    auto left = static_cast<double>(recipe_.steps - report.step);
    text += fmt::format("  {} left", formatLongTime(secondsBetween(begun_, now()) /
                                                    static_cast<double>(report.step - first_) * left));
    progress_.show(text, isLastStep());
    untold_ = {};
  }

  /// Of the log.
  nlohmann::ordered_json lineOf(const StepReport &report, const Pace &step,
                                const std::optional<double> &heldOutLoss) const {
    Moved moved = step.moved + step.movedBehind;
    nlohmann::ordered_json line = {
        {"step", report.step}, {"loss", report.loss}, {"lr", report.rate}};
    if (report.gradientNorm)
      line["grad_norm"] = *report.gradientNorm;
    if (report.lossScale) {
      line["loss_scale"] = *report.lossScale;
      line["skipped"] = report.overflowed;
    }
    if (heldOutLoss)
      line["eval_loss"] = *heldOutLoss;
    line["seconds"] = step.seconds;
    line["commit_seconds"] = step.commitSeconds;
    line["samples_per_second"] = samplesPerSecond(step);
    line["read_bytes"] = moved.read;
    line["written_bytes"] = moved.written;
    line["blocked_on_io_seconds"] = static_cast<double>(times_.back().blockedOnIoNs) * 1e-9;
    line["committed"] = trainer_->committed() == report.step;
    return line;
  }

  /// What the log lacks if the process ends right behind the commit that is to come.
  std::string lineOfCommit(const StepReport &report, const Pace &step) const {
    if (!log_)
      return "";
    nlohmann::ordered_json line = lineOf(report, step, std::nullopt);
    line["commit_seconds"] = nullptr;
    line["committed"] = true;
    return line.dump();
  }

  const TrainOptions &options_;
  InProcessJob &job_;
  Session &session_;
  Recipe recipe_;
  std::optional<Trainer> trainer_;
  std::optional<DataSet> heldOut_;
  std::optional<MetricsLog> log_;
  std::optional<Snapshots> snapshots_;
  ProgressLine progress_;
  uint64_t batch_ = 0;
  /// Steps of other processes before.
  uint64_t first_ = 0;
  int64_t begun_ = 0;
  /// When it was asked last.
  Moved moved_;
  /// All steps of this process, and those since the last line.
  Pace made_, untold_;
  bool wearIsTold_ = false;
  StepTimes times_;
  StepTimes commits_;
};

Status trainBundle(const TrainOptions &options) {
  SPILLWAY_ASSIGN_OR_RETURN(SessionOptions sessionOptions, options.session.parse());
  sessionOptions.writable = true;
  SPILLWAY_ASSIGN_OR_RETURN(InProcessJob job, InProcessJob::open(options.bundle, sessionOptions));
  Status status = Training(options, job).run();
  // As after a failed `run`.
  if (!status.ok())
    [[maybe_unused]] static auto *const abandoned = new InProcessJob(std::move(job));
  return status;
}
} // namespace

void addTrainCommand(CLI::App &app, Status &status) {
  auto options = std::make_shared<TrainOptions>();
  CLI::App *train = app.add_subcommand("train", "Train a model that was compiled to be trained");
  train->add_option("bundle", options->bundle, "The folder that `compile --train` wrote")
      ->type_name("BUNDLE")
      ->required();
  train->add_option("--data", options->data,
                    "The samples of an input along dimension 0 of a .npy file; needed for each")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
  train->add_option("--eval-data", options->heldOut,
                    "Samples that are held out: their mean loss is told, and nothing is learnt from them")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
  train->add_option("--eval-every", options->evaluateEvery,
                    "Tell it after so many steps; 0 (default): at the end only")->check(whole);
  train->add_option("--steps", options->steps,
                    "Steps in all, those before a --resume included; needed but for --resume")->check(whole);
  train->add_option("--lr", options->rate, "Learning rate; needed but for --resume")->check(nonNegative);
  train->add_option("--warmup", options->warmup, "Steps in which the rate rises to that")->check(whole);
  train->add_option("--schedule", options->schedule, "How the rate falls then (default: constant)")
      ->check(CLI::IsMember({"constant", "linear", "cosine"}));
  train->add_option("--min-lr", options->leastRate, "Where it falls to (default: 0)")
      ->check(nonNegative);
  train->add_option("--seed", options->seed, "Of the order of the samples, and of dropout (default: 0)")->check(whole);
  train->add_option("--loss-scale", options->lossScale,
                    "Where compiled with --precision fp16: what the loss is multiplied by at first (default: 65536)")
      ->check(positive);
  train->add_option("--loss-scale-interval", options->lossScaleInterval,
                    "Steps without an overflow after which that is doubled (default: 2000)")
      ->check(whole)->check(positive);
  train->add_flag("--no-shuffle", options->keepsOrder, "Take the samples as they lie");
  CLI::Option *every =
      train->add_option("--checkpoint-every", options->checkpointEvery,
                        "Commit after so many steps; 0: at the end. Default: 1 where all states come from "
                        "files each step, else 0")->check(whole);
  train->add_option("--keep", options->keep,
                    "Keep copies of the bundle, BUNDLE.step-N, as the last so many commits left it")->check(whole)
      ->needs(every);
  train->add_flag("--resume", options->resume, "Go on after the last commit");
  train->add_option("--log", options->log, "Write a line of JSON a step")->type_name("FILE");
  train->add_option("--trace", options->trace, "Write a timeline for Perfetto")->type_name("FILE");
  train->add_option("--stats", options->stats, "Write times, bytes and memory as JSON")
      ->type_name("FILE");
  options->session.addTo(*train, /*writes=*/true);
  train->callback([options, &status] {
    status = trainBundle(*options);
    // Whoever asked for the end finds that it was not the natural one.
    if (status.ok() && stopSignal) {
      std::fflush(stdout);
      std::raise(stopSignal);
    }
  });
}

} // namespace spillway
