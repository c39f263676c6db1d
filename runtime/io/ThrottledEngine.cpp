#include "runtime/io/ThrottledEngine.h"

#include <algorithm>
#include <cmath>

namespace spillway::io {

Status ThrottledEngine::submit(const Request &request) {
  Channel &channel = request.kind == Request::read ? reads_ : writes_;
  TimePoint due = now();
  if (request.kind != Request::sync && channel.bytesPerSecond > 0) {
    std::chrono::duration<double> time(static_cast<double>(request.bytes) / channel.bytesPerSecond);
    due = std::max(due, channel.end) + std::chrono::duration_cast<std::chrono::nanoseconds>(time);
  }
  Request passed = request;
  passed.tag = requests_.add({request.tag, due});
  if (Status status = inner().submit(passed); !status.ok()) {
    requests_.take(passed.tag);
    return status;
  }
  if (request.kind != Request::sync) {
    channel.end = due;
    channel.submittedBytes += request.bytes;
  }
  return {};
}

uint64_t ThrottledEngine::Channel::passedBytes(TimePoint now) const {
  if (now >= end)
    return submittedBytes;
  double left = std::chrono::duration<double>(end - now).count() * bytesPerSecond;
  return submittedBytes - std::min(submittedBytes, static_cast<uint64_t>(std::ceil(left)));
}

Counters ThrottledEngine::counters() const {
  Counters counters = inner().counters();
  counters.readBytes = std::min(counters.readBytes, reads_.passedBytes(now()));
  counters.writtenBytes = std::min(counters.writtenBytes, writes_.passedBytes(now()));
  return counters;
}

Status ThrottledEngine::collect(TimePoint until) {
  SPILLWAY_RETURN_IF_ERROR(inner().poll(collected_, until));
  for (Completion &completion : collected_) {
    Pending pending = requests_.take(completion.tag);
    completion.tag = pending.tag;
    auto place = std::ranges::upper_bound(held_, pending.due, {}, &Held::due);
    held_.insert(place, {pending.due, std::move(completion)});
  }
  collected_.clear();
  return {};
}

bool ThrottledEngine::deliver(std::vector<Completion> &completions) {
  auto end = std::ranges::upper_bound(held_, now(), {}, &Held::due);
  bool some = end != held_.begin();
  for (auto held = held_.begin(); held != end; ++held)
    completions.push_back(std::move(held->completion));
  held_.erase(held_.begin(), end);
  return some;
}

Status ThrottledEngine::poll(std::vector<Completion> &completions, TimePoint until) {
  SPILLWAY_RETURN_IF_ERROR(collect(noWait));
  if (deliver(completions) || until == noWait) {
    if (until != noWait)
      takeWake();
    return {};
  }
  while (!takeWake() && (until == forever || now() < until)) {
    SPILLWAY_RETURN_IF_ERROR(collect(held_.empty() ? until : std::min(until, held_.front().due)));
    if (deliver(completions))
      break;
  }
  return {};
}

} // namespace spillway::io
