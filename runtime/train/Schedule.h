// The learning rate of each step.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace spillway {

struct Schedule {
  enum class Shape : uint8_t { constant, linear, cosine };

  Shape shape = Shape::constant;
  /// After the warm-up, and one step behind the last where the shape falls: no step is made at a rate of 0.
  double rate = 0;
  double leastRate = 0;
  /// Steps in which the rate rises in a line: that of step t has t / warmup of what it would be.
  uint64_t warmup = 0;

  /// Of step `step`, from 1 to `steps`.
  double rateOf(uint64_t step, uint64_t steps) const;
};

/// "constant", "linear", "cosine".
std::optional<Schedule::Shape> scheduleShapeFromName(std::string_view name);
std::string_view name(Schedule::Shape shape);

} // namespace spillway
