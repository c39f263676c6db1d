#include "runtime/io/Patience.h"

namespace spillway::io {

namespace {
/// How many times as long as another request a sync may take without any sign of life.
constexpr int syncFactor = 10;
} // namespace

uint64_t Patience::movedBytes() const {
  Counters counters = engine_.counters();
  return counters.readBytes + counters.writtenBytes;
}

void Patience::restart() {
  lastProgress_ = engine_.now();
  bytesAtLastProgress_ = movedBytes();
}

Status Patience::poll(std::vector<Completion> &completions) { return poll(completions, timeout_); }

Status Patience::poll(std::vector<Completion> &completions, std::chrono::milliseconds timeout) {
  size_t before = completions.size();
  bool inFlight = engine_.inFlight() != 0;
  TimePoint until = inFlight ? lastProgress_ + timeout : forever;
  SPILLWAY_RETURN_IF_ERROR(engine_.poll(completions, until));
  // A large request completes long after its first bytes have come.
  if (completions.size() != before || !inFlight || movedBytes() != bytesAtLastProgress_)
    restart();
  else if (engine_.now() >= until)
    return machineError("the drive has moved no byte for {} ms with {} transfers in flight",
                        timeout.count(), engine_.inFlight());
  return {};
}

void Patience::drain() {
  TimePoint until = engine_.now() + timeout_;
  while (engine_.inFlight() != 0 && engine_.now() < until) {
    completions_.clear();
    if (!engine_.poll(completions_, until).ok())
      return;
  }
}

Status Patience::transfer(std::span<const Request> requests) {
  restart();
  Status first;
  uint64_t syncs = 0;
  for (Request request : requests) {
    request.tag = request.kind == Request::sync;
    if (first = engine_.submit(request); !first.ok())
      break;
    syncs += request.tag;
  }
  while (engine_.inFlight() != 0) {
    completions_.clear();
    SPILLWAY_RETURN_IF_ERROR(poll(completions_, syncs == 0 ? timeout_ : syncFactor * timeout_));
    for (Completion &completion : completions_) {
      syncs -= completion.tag;
      if (!completion.status.ok() && first.ok())
        first = std::move(completion.status);
    }
  }
  return first;
}

} // namespace spillway::io
