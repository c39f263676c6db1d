#include "runtime/train/Schedule.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>

namespace spillway {

namespace {
constexpr std::string_view shapeNames[] = {"constant", "linear", "cosine"};
} // namespace

double Schedule::rateOf(uint64_t step, uint64_t steps) const {
  if (step < warmup)
    return rate * static_cast<double>(step) / static_cast<double>(warmup);
  if (shape == Shape::constant || steps < warmup)
    return rate;
  uint64_t first = std::max<uint64_t>(warmup, 1);
  double done = static_cast<double>(step - first) / static_cast<double>(steps - first + 1);
  double left = shape == Shape::linear ? 1 - done : 0.5 * (1 + std::cos(std::numbers::pi * done));
  return leastRate + (rate - leastRate) * left;
}

std::optional<Schedule::Shape> scheduleShapeFromName(std::string_view name) {
  auto found = std::ranges::find(shapeNames, name);
  if (found == std::end(shapeNames))
    return std::nullopt;
  return static_cast<Schedule::Shape>(found - std::begin(shapeNames));
}

std::string_view name(Schedule::Shape shape) { return shapeNames[static_cast<size_t>(shape)]; }

} // namespace spillway
