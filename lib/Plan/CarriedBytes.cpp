#include "spillway/Plan/CarriedBytes.h"

#include <algorithm>
#include <iterator>

using namespace spillway::plan;

void CarriedBytes::add(uint64_t begin, uint64_t end, uint32_t number) {
  erase(begin, end);
  if (begin < end)
    runs_[begin] = {end, number};
}

std::vector<uint32_t> CarriedBytes::find(uint64_t begin, uint64_t end) const {
  std::vector<uint32_t> numbers;
  if (begin >= end)
    return numbers;
  auto run = runs_.upper_bound(begin);
  if (run != runs_.begin() && std::prev(run)->second.end > begin)
    --run;
  for (; run != runs_.end() && run->first < end; ++run)
    if (std::ranges::find(numbers, run->second.number) == numbers.end())
      numbers.push_back(run->second.number);
  return numbers;
}

std::vector<uint32_t> CarriedBytes::take(uint64_t begin, uint64_t end) {
  std::vector<uint32_t> numbers = find(begin, end);
  if (!numbers.empty())
    erase(begin, end);
  return numbers;
}

void CarriedBytes::erase(uint64_t begin, uint64_t end) {
  auto run = runs_.upper_bound(begin);
  if (run != runs_.begin() && std::prev(run)->second.end > begin)
    --run;
  while (run != runs_.end() && run->first < end) {
    auto [runBegin, old] = *run;
    run = runs_.erase(run);
    if (runBegin < begin)
      runs_[runBegin] = {begin, old.number};
    if (old.end > end)
      runs_[end] = old;
  }
}
