#include "runtime/executor/FileStream.h"

namespace spillway {

namespace {
/// What rarely completes at a time.
constexpr size_t manyCompletions = 512;
} // namespace

FileStream::FileStream(StreamKind kind, io::Engine &engine, std::chrono::milliseconds timeout)
    : engine_(engine), patience_(engine, timeout), kind_(kind), watcher_(engine) {
  completions_.reserve(manyCompletions);
}

void FileStream::run(CommandList &list, RunState &state) {
  // What a run before has left in flight has been waited for.
  if (state.failed())
    return;
  list_ = &list;
  state_ = &state;
  position_ = 0;
  patience_.restart();
  restart();
  if (Status status = pump(); !status.ok())
    state.fail(std::move(status).error(), foundNotFinite());
  patience_.drain();
}

Status FileStream::pump() {
  while (!state_->failed()) {
    SPILLWAY_ASSIGN_OR_RETURN(bool allBegun, begin());
    if (state_->failed() || (allBegun && engine_.inFlight() == 0))
      break;
    completions_.clear();
    SPILLWAY_RETURN_IF_ERROR(patience_.poll(completions_));
    noteWritten();
    for (const io::Completion &completion : completions_)
      SPILLWAY_RETURN_IF_ERROR(complete(completion));
  }
  return {};
}

std::optional<uint32_t> FileStream::nextCommand() {
  std::span<const uint32_t> order = list_->order(kind_);
  if (allBegun())
    return std::nullopt;
  uint32_t index = order[position_];
  CommandTimes &times = list_->times(index);
  if (times.reached == 0)
    times.reached = now();
  unsigned seat = kind_ == StreamKind::read ? 0 : 1;
  for (uint32_t wait : (*list_)[index].waits)
    if (Event &event = list_->event(wait); event.isPending() && event.watch(watcher_, seat))
      return std::nullopt;
  for (uint32_t wait : (*list_)[index].carriedWaits)
    if (Event *event = list_->carriedEvent(wait); event && event->isPending() && event->watch(watcher_, seat))
      return std::nullopt;
  if (state_->failed())
    return std::nullopt;
  times.started = now();
  ++position_;
  return index;
}

void FileStream::endCommand(uint32_t index) {
  list_->times(index).ended = now();
  list_->event(index).signal();
}

Error FileStream::withLabel(Error error, uint32_t index) const {
  return std::move(error).in((*list_)[index].label);
}

} // namespace spillway
