#include "spillway/Plan/DriveTime.h"

#include <algorithm>

using namespace spillway::plan;

DriveTime::DriveTime(const Machine &machine) {
  if (machine.driveBytesPerSecond <= 0)
    return;
  double oneAfterTheOther = 1 / machine.channels[1].bytesPerSecond + 1 / machine.channels[2].bytesPerSecond;
  share_ = std::min(1.0, 2 / machine.driveBytesPerSecond / oneAfterTheOther);
}

DriveTime::Fill DriveTime::fill(double from, double seconds) const {
  double left = share_ * seconds;
  auto next = std::ranges::lower_bound(busy_, from, {}, &Busy::end);
  Fill fill{static_cast<size_t>(next - busy_.begin()), 0, from};
  for (; next != busy_.end() && next->begin - fill.end < left; ++next) {
    left -= std::max(0.0, next->begin - fill.end);
    fill.end = next->end;
  }
  fill.last = static_cast<size_t>(next - busy_.begin());
  fill.end += left;
  return fill;
}

double DriveTime::endOf(double from, double seconds) const {
  return share_ * seconds == 0 ? from + seconds : std::max(from + seconds, fill(from, seconds).end);
}

double DriveTime::take(double from, double seconds) {
  if (share_ * seconds == 0)
    return from + seconds;
  auto [first, last, end] = fill(from, seconds);
  double begin = first < last ? std::min(from, busy_[first].begin) : from;
  auto place = busy_.erase(busy_.begin() + static_cast<ptrdiff_t>(first), busy_.begin() + static_cast<ptrdiff_t>(last));
  busy_.insert(place, {begin, end});
  return std::max(from + seconds, end);
}

void DriveTime::startAt(double origin) {
  std::erase_if(busy_, [&](const Busy &busy) { return busy.end <= origin; });
  for (Busy &busy : busy_)
    busy = {std::max(busy.begin, origin) - origin, busy.end - origin};
}
