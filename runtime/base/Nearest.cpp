#include "runtime/base/Nearest.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <vector>

namespace spillway {

namespace {
/// Levenshtein's distance, by the two-row form of Wagner and Fischer.
size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}
} // namespace

std::string_view nearest(std::string_view name, std::span<const std::string> candidates) {
  // Longer names are not typed by hand, and cost the square of their length.
  constexpr size_t maxLength = 256;
  std::string_view best;
  size_t bestDistance = name.size() / 2 + 1;
  for (const std::string &candidate : candidates) {
    if (std::max(name.size(), candidate.size()) > maxLength)
      continue;
    if (size_t distance = editDistance(name, candidate); distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

std::string didYouMean(std::string_view name, std::span<const std::string> candidates) {
  std::string_view found = nearest(name, candidates);
  return found.empty() ? std::string() : fmt::format("; did you mean '{}'?", found);
}

} // namespace spillway
