// What decides a training besides the bundle and the data.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/train/Schedule.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace spillway {

struct Recipe {
  /// From the first to the last, in all processes together.
  uint64_t steps = 0;
  Schedule schedule;
  /// Of the order of the samples, and of random numbers.
  uint64_t seed = 0;
  bool shuffles = true;
  /// Of the data set.
  uint64_t samples = 0;
};

/// What a commit carries of it, so that another process goes on the same way.
std::string encodeRecipe(const Recipe &recipe);
/// A machine error where the text is not what `encodeRecipe` writes.
Result<Recipe> parseRecipe(std::string_view text);

} // namespace spillway
