// The time of a drive that reads and writes share.
#pragma once

#include "spillway/Plan/Machine.h"

#include <vector>

namespace spillway::plan {

/// A transfer keeps the drive busy for a share of the time for which it keeps its channel: so that as many bytes read as
/// written take as long as `Machine::driveBytesPerSecond` says, but no longer than one after the other. Transfers
/// take the time that those before them have left, in the order in which they are issued.
class DriveTime {
public:
  /// Nothing is shared where the machine does not say how fast the drive is at both.
  explicit DriveTime(const Machine &machine);

  /// When a transfer ends, without latency, that may begin at `from` and keeps its channel for `seconds`.
  double endOf(double from, double seconds) const;
  /// The same, and takes its time.
  double take(double from, double seconds);
  /// Counts time from `origin` on, and forgets what lies before.
  void startAt(double origin);

private:
  struct Busy {
    double begin, end;
  };
  /// The intervals [first, last) in which a transfer finds no time before it ends, and when it has all that it needs.
  struct Fill {
    size_t first, last;
    double end;
  };
  /// Of a transfer that needs some time of the drive.
  Fill fill(double from, double seconds) const;

  double share_ = 0;
  /// Ascending. Most transfers change the last ones.
  std::vector<Busy> busy_;
};

} // namespace spillway::plan
