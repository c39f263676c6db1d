// What decides a training besides the bundle and the data.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/train/Schedule.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace spillway {

/// What the loss is multiplied by where a step computes in f16: halved where gradients overflow, and doubled after many steps
/// in which they do not.
struct LossScale {
  double value = 65536;
  /// Steps without an overflow after which it is doubled.
  uint64_t interval = 2000;
  /// How many there have been.
  uint64_t goodSteps = 0;
  /// Steps that overflowed, and so changed no parameter.
  uint64_t skipped = 0;

  /// What it is after a step.
  void follow(bool overflowed);
};

struct Recipe {
  /// From the first to the last, in all processes together.
  uint64_t steps = 0;
  Schedule schedule;
  /// Of the order of the samples, and of random numbers.
  uint64_t seed = 0;
  bool shuffles = true;
  /// Of the data set.
  uint64_t samples = 0;
  /// As the last step left it.
  LossScale lossScale = {};
  /// A number that no other training has.
  uint64_t training = 0;
  /// What a log says of the last step that was committed; empty where there is no log.
  std::string logLine = {};
};

/// What a commit carries of it, so that another process goes on the same way.
std::string encodeRecipe(const Recipe &recipe);
/// A machine error where the text is not what `encodeRecipe` writes.
Result<Recipe> parseRecipe(std::string_view text);

} // namespace spillway
