// An engine made slower.
#pragma once

#include "runtime/io/EngineDouble.h"

namespace spillway::io {

struct Throttle {
  /// 0: unlimited.
  double readBytesPerSecond = 0;
  double writeBytesPerSecond = 0;
};

/// Reads and writes each go through a channel of the given bandwidth, one request
/// after another in the order of submission: a request ends no earlier than
/// `bytes / bandwidth` after its submission and after the end of the one before. The
/// inner engine works ahead; completions are held back, asleep, and so are the bytes that it counts.
/// Syncs are not.
class ThrottledEngine final : public EngineDouble {
public:
  ThrottledEngine(std::unique_ptr<Engine> inner, const Throttle &throttle)
      : EngineDouble(std::move(inner)), reads_{.bytesPerSecond = throttle.readBytesPerSecond},
        writes_{.bytesPerSecond = throttle.writeBytesPerSecond} {}

  Status submit(const Request &request) override;
  Status poll(std::vector<Completion> &completions, TimePoint until) override;
  uint64_t inFlight() const override { return requests_.size() + held_.size(); }
  Counters counters() const override;
  std::string name() const override { return "throttled " + inner().name(); }

private:
  struct Pending {
    uint64_t tag = 0;
    TimePoint due;
  };
  struct Held {
    TimePoint due;
    Completion completion;
  };

  /// The requests of one direction.
  struct Channel {
    double bytesPerSecond = 0;
    /// When all have passed.
    TimePoint end{};
    uint64_t submittedBytes = 0;

    /// Bytes that have passed by `now`.
    uint64_t passedBytes(TimePoint now) const;
  };

  /// Polls the inner engine and holds back what it completed.
  Status collect(TimePoint until);
  /// Hands out what is due; false where nothing is.
  bool deliver(std::vector<Completion> &completions);

  Channel reads_, writes_;
  TagTable<Pending> requests_;
  /// By ascending due time.
  std::vector<Held> held_;
  std::vector<Completion> collected_;
};

} // namespace spillway::io
