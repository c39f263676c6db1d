#include "runtime/train/Trainer.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace spillway {

namespace {
bool isScalar(const Binding &binding, DataType type) {
  return binding.dataType == type && binding.slice.bytes == byteWidth(type);
}

bool isSetByTrainer(const Binding &input) {
  return (input.name == rateInput || input.name == stepInput) && isScalar(input, DataType::f64);
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

Status Trainer::start() { return session_->executor().runPrologue(); }

Result<StepReport> Trainer::runStep() {
  StepReport report{.step = step_ + 1, .gradientNorm = {}};
  for (size_t place = 0; place < batch_.size(); ++place)
    batch_[place] = order_.at(step_ * batch_.size() + place);
  SPILLWAY_RETURN_IF_ERROR(
      data_.load(batch_, [&](const Binding &input) { return session_->bytes(input); }));
  report.rate = recipe_.schedule.rateOf(report.step, recipe_.steps);
  setScalar(rateInput, report.rate);
  setScalar(stepInput, static_cast<double>(report.step));
  if (Status status = session_->executor().runStep(); !status.ok())
    return Error{status.error().kind, fmt::format("step {}: {}; the last commit is that of step {}", report.step,
                                                  status.error().message, committed())};

  const std::vector<Binding> &outputs = session_->program().outputs;
  report.loss = scalarOf(outputs[0]);
  if (!std::isfinite(report.loss))
    return userError("the loss of step {} is {}; the last commit is that of step {}", report.step,
                     report.loss, committed());
  if (const Binding *norm = findByName(outputs, gradientNormOutput);
      norm && isScalar(*norm, DataType::f32))
    report.gradientNorm = scalarOf(*norm);
  ++step_;
  return report;
}

Status Trainer::commit() {
  if (step_ == committed())
    return {};
  if (Status status = session_->executor().commit(step_, encodeRecipe(recipe_)); !status.ok())
    return Error{status.error().kind, fmt::format("step {} is not committed: {}; the last commit is that of step {}", step_,
                                                  status.error().message, committed())};
  return {};
}

void Trainer::setScalar(std::string_view name, double value) {
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
