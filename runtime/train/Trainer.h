// Steps of a training, one after the other, and their commits.
#pragma once

#include "runtime/session/Session.h"
#include "runtime/train/DataSet.h"
#include "runtime/train/Recipe.h"
#include "runtime/train/SampleOrder.h"
#include "runtime/train/StepNames.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace spillway {

/// The inputs of a program that take samples.
std::vector<Binding> sampleInputs(const Program &program);

struct StepReport {
  /// From 1.
  uint64_t step = 0;
  float loss = 0;
  std::optional<float> gradientNorm;
  double rate = 0;
  /// What the loss was multiplied by, and whether gradients overflowed, so that the step changed no parameter; where it computes
  /// in f16.
  std::optional<double> lossScale;
  bool overflowed = false;
};

/// Makes a bundle's steps from the last commit on. What step t computes depends on the recipe, the
/// data and t alone, whatever process makes it.
class Trainer {
public:
  /// The session, which was opened to write, outlives it. `data` fits its program, and has as many
  /// samples as the recipe says.
  static Result<Trainer> create(Session &session, const Recipe &recipe, DataSet data);

  /// Once, before the first step.
  Status start();
  /// Steps that have been made, and committed, by all processes together.
  uint64_t step() const { return step_; }
  uint64_t committed() const { return session_->executor().lastCommit().step; }

  /// Makes the next step. A user error where its loss is no finite number, which names what gave
  /// the first such value, or where gradients overflow at the least loss scale: nothing can be committed then.
  Result<StepReport> runStep();
  /// The mean loss of whole batches of other samples, of which there is at least one, in their order, with the
  /// parameters as they are. Nothing where `isStopped` says so before a batch.
  Result<std::optional<double>> evaluate(const DataSet &heldOut, const std::function<bool()> &isStopped);
  /// Makes what has been trained since the last commit last; nothing where that is no step. `logLine` comes back with
  /// the recipe.
  Status commit(std::string logLine = {});
  /// Whether a commit writes no states of its own, as all of them come from and go to files in
  /// every step.
  bool commitsAreFree() const { return session_->program().checkpoint.empty(); }

private:
  Trainer(Session &session, const Recipe &recipe, DataSet data);

  /// Gives the step its samples and numbers.
  Status feed(const StepReport &report);
  Error lossIsNotFinite(const StepReport &report);
  /// The error, with what a resumed training goes on from.
  Error sinceCommit(Error error) const;
  template <typename T> void setScalar(std::string_view input, T value);
  float scalarOf(const Binding &output) const;
  const Binding &loss() const { return session_->program().outputs[0]; }

  Session *session_;
  Recipe recipe_;
  DataSet data_;
  SampleOrder order_;
  uint64_t step_;
  /// Of the samples of a step.
  std::vector<uint64_t> batch_;
};

} // namespace spillway
