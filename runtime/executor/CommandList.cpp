#include "runtime/executor/CommandList.h"

#include <algorithm>

namespace spillway {

namespace {
std::unique_ptr<LookupRoom> makeRoom(const LookupOperation &lookup) {
  auto room = std::make_unique<LookupRoom>();
  room->rows.resize(lookup.count());
  if (!lookup.fromArena) {
    room->order.resize(lookup.count());
    if (lookup.stagingPieceBytes != 0)
      room->freeSlots.reserve(lookup.staging.bytes / lookup.stagingPieceBytes);
  }
  return room;
}
} // namespace

CommandList::CommandList(std::span<const Command> commands, const ArenaAddresses &arenas)
    : commands_(commands), arenas_(arenas), events_(std::make_unique<Event[]>(commands.size())),
      times_(commands.size()), faults_(commands.size()), piecesInFlight_(commands.size()),
      lookupRooms_(commands.size()) {
  firstArgument_.reserve(commands.size() + 1);
  for (uint32_t index = 0; index < commands.size(); ++index) {
    order_[static_cast<size_t>(commands[index].stream)].push_back(index);
    firstArgument_.push_back(static_cast<uint32_t>(arguments_.size()));
    if (auto *lookup = std::get_if<LookupOperation>(&commands[index].operation))
      lookupRooms_[index] = makeRoom(*lookup);
    if (auto *launch = std::get_if<LaunchOperation>(&commands[index].operation))
      for (const LaunchOperation::Argument &argument : launch->arguments)
        arguments_.push_back({addressOf(arenas, argument.slice), argument.origin,
                              argument.units ? argument.units : KernelArgument::wholeOperand});
  }
  firstArgument_.push_back(static_cast<uint32_t>(arguments_.size()));
}

void CommandList::reset(CommandList *previous) {
  previous_ = previous;
  for (uint32_t index = 0; index < size(); ++index)
    events_[index].reset();
  std::ranges::fill(faults_, 0);
  std::ranges::fill(piecesInFlight_, 0);
  std::ranges::fill(times_, CommandTimes());
}

void CommandList::failEvents() {
  for (uint32_t index = 0; index < size(); ++index)
    events_[index].fail();
}

void RunState::start(CommandList &list) {
  failed_ = false;
  error_.reset();
  isNotFinite_ = false;
  list_ = &list;
  next_ = nullptr;
}

void RunState::precede(RunState &next) {
  {
    std::lock_guard lock(mutex_);
    next_ = &next;
    if (!error_)
      return;
  }
  next.fail(*error_, isNotFinite_);
}

void RunState::fail(Error error, bool isNotFinite) {
  RunState *next;
  {
    std::lock_guard lock(mutex_);
    if (error_)
      return;
    error_ = std::move(error);
    isNotFinite_ = isNotFinite;
    failed_.store(true, std::memory_order_release);
    next = next_;
  }
  // Before those who wait for this find that they wait in vain. The error does not change any more.
  if (next)
    next->fail(*error_, isNotFinite);
  list_->failEvents();
  communicator_.abort(*error_);
}

Status RunState::status() const {
  std::lock_guard lock(mutex_);
  return error_ ? Status(*error_) : Status();
}

bool RunState::endedByNotFinite() const {
  std::lock_guard lock(mutex_);
  return isNotFinite_;
}

} // namespace spillway
