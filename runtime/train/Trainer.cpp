#include "runtime/train/Trainer.h"

#include "runtime/base/Threefry.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace spillway {

namespace {
bool isScalar(const Binding &binding, DataType type) {
  return binding.dataType == type && binding.slice.bytes == byteWidth(type);
}

bool isSetByTrainer(const Binding &input) {
  return ((input.name == rateInput || input.name == stepInput || input.name == lossScaleInput) && isScalar(input, DataType::f64)) ||
         (input.name == trainingInput && isScalar(input, DataType::boolean)) ||
         (input.name == randomInput && input.dataType == DataType::i64 && input.shape.size() == 1);
}

/// Where gradients overflow below it, it is not the scale's doing.
constexpr double leastLossScale = 0x1p-14;

/// Of the places of step `step` that take random numbers.
std::vector<uint64_t> randomKeys(uint64_t seed, uint64_t step, size_t places) {
  std::vector<uint64_t> keys(places);
  for (size_t place = 0; place < places; ++place)
    keys[place] = threefry(threefry(seed, step), place);
  return keys;
}

const Binding *findByName(const std::vector<Binding> &bindings, std::string_view name) {
  auto found = std::ranges::find(bindings, name, &Binding::name);
  return found == bindings.end() ? nullptr : &*found;
}
} // namespace

std::vector<Binding> sampleInputs(const Program &program) {
  std::vector<Binding> inputs;
  std::ranges::remove_copy_if(program.inputs, std::back_inserter(inputs), isSetByTrainer);
  return inputs;
}

Result<Trainer> Trainer::create(Session &session, const Recipe &recipe, DataSet data) {
  const std::vector<Binding> &outputs = session.program().outputs;
  if (outputs.empty() || !isScalar(outputs[0], DataType::f32))
    return userError("the first output of a program that trains is the loss, one f32; that of '{}' "
                     "is {}",
                     session.bundle().folder().string(),
                     outputs.empty() ? "missing"
                                     : describe(outputs[0].dataType, outputs[0].shape));
  return Trainer(session, recipe, std::move(data));
}

Trainer::Trainer(Session &session, const Recipe &recipe, DataSet data)
    : session_(&session), recipe_(recipe), data_(std::move(data)),
      order_(data_.samples(), recipe.seed, recipe.shuffles), step_(committed()),
      batch_(data_.batch()) {}

Status Trainer::start() {
  session_->executor().watch(loss().slice);
  return session_->executor().runPrologue();
}

Result<StepReport> Trainer::runStep() {
  StepReport report{.step = step_ + 1, .gradientNorm = {}, .lossScale = {}};
  report.rate = recipe_.schedule.rateOf(report.step, recipe_.steps);
  SPILLWAY_RETURN_IF_ERROR(feed(report));
  Status status = session_->executor().runStep();
  report.loss = scalarOf(loss());
  // After another error it may be that of another step.
  if (status.ok() ? !std::isfinite(report.loss) : session_->executor().isWatchedNotFinite())
    return lossIsNotFinite(report);
  if (!status.ok())
    return sinceCommit(std::move(status).error().in(fmt::format("step {}", report.step)));
  if (const Binding *norm = findByName(session_->program().outputs, gradientNormOutput);
      norm && isScalar(*norm, DataType::f32))
    report.gradientNorm = scalarOf(*norm);
  if (const Binding *overflow = findByName(session_->program().outputs, overflowOutput);
      overflow && isScalar(*overflow, DataType::boolean)) {
    report.lossScale = recipe_.lossScale.value;
    report.overflowed = session_->bytes(*overflow)[0] != std::byte(0);
    recipe_.lossScale.follow(report.overflowed);
    if (report.overflowed && recipe_.lossScale.value < leastLossScale)
      return userError("the gradients of step {} overflow though the loss is multiplied by {}; the last commit is that of "
                       "step {}", report.step, *report.lossScale, committed());
  }
  // States in memory have followed it by now, and are not looked at before they are written.
  if (report.gradientNorm && !std::isfinite(*report.gradientNorm) && !report.overflowed)
    return userError("the norm of the gradients of step {} is {}; the last commit is that of step {}", report.step,
                     std::isnan(*report.gradientNorm) ? "nan" : "infinite", committed());
  ++step_;
  return report;
}

Status Trainer::feed(const StepReport &report) {
  for (size_t place = 0; place < batch_.size(); ++place)
    batch_[place] = order_.at((report.step - 1) * batch_.size() + place);
  setScalar(rateInput, report.rate);
  // Optimizers count the steps that changed something.
  setScalar(stepInput, static_cast<double>(report.step - recipe_.lossScale.skipped));
  setScalar(lossScaleInput, recipe_.lossScale.value);
  setScalar(trainingInput, true);
  if (const Binding *random = findByName(session_->program().inputs, randomInput); random && isSetByTrainer(*random)) {
    std::span<std::byte> bytes = session_->bytes(*random);
    std::vector<uint64_t> keys = randomKeys(recipe_.seed, report.step, bytes.size() / sizeof(uint64_t));
    std::memcpy(bytes.data(), keys.data(), bytes.size());
  }
  return data_.load(batch_, [&](const Binding &input) { return session_->bytes(input); });
}

Error Trainer::sinceCommit(Error error) const {
  error.message += fmt::format("; the last commit is that of step {}", committed());
  return error;
}

Error Trainer::lossIsNotFinite(const StepReport &report) {
  std::string text = fmt::format("the loss of step {} is {}; the last commit is that of step {}",
                                 report.step, report.loss, committed());
  if (feed(report).ok())
    if (Result<NotFinite> found = session_->executor().findNotFinite(loss().slice); found.ok()) {
      if (!found->notANumber.empty())
        text += fmt::format("; the first value that is no number is of {}", found->notANumber);
      if (!found->infinite.empty())
        text += fmt::format("; the first infinite value is of {}", found->infinite);
    }
  return userError("{}", text);
}

Result<std::optional<double>> Trainer::evaluate(const DataSet &heldOut, const std::function<bool()> &isStopped) {
  uint64_t batches = heldOut.samples() / heldOut.batch();
  std::vector<uint64_t> batch(heldOut.batch());
  double sum = 0;
  for (uint64_t first = 0; first < batches * batch.size(); first += batch.size()) {
    if (isStopped())
      return std::optional<double>();
    std::iota(batch.begin(), batch.end(), first);
    setScalar(trainingInput, false);
    SPILLWAY_RETURN_IF_ERROR(
        heldOut.load(batch, [&](const Binding &input) { return session_->bytes(input); }));
    if (Status status = session_->executor().evaluate(loss().slice); !status.ok())
      return sinceCommit(std::move(status).error().in(fmt::format("the held-out loss behind step {}", step_)));
    sum += scalarOf(loss());
  }
  return std::optional(sum / static_cast<double>(batches));
}

Status Trainer::commit(std::string logLine) {
  if (step_ == committed())
    return {};
  recipe_.logLine = std::move(logLine);
  if (Status status = session_->executor().commit(step_, encodeRecipe(recipe_)); !status.ok())
    return sinceCommit(std::move(status).error().in(fmt::format("step {} is not committed", step_)));
  return {};
}

template <typename T> void Trainer::setScalar(std::string_view name, T value) {
  const Binding *input = findByName(session_->program().inputs, name);
  if (input && isSetByTrainer(*input))
    std::memcpy(session_->bytes(*input).data(), &value, sizeof(value));
}

float Trainer::scalarOf(const Binding &output) const {
  float value;
  std::memcpy(&value, session_->bytes(output).data(), sizeof(value));
  return value;
}

} // namespace spillway
