#include "runtime/executor/ReadStream.h"
#include "runtime/base/Checksum.h"
#include "runtime/executor/RowLookup.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace spillway {

namespace {
/// Enough to keep the engine's queue full with small pieces too.
constexpr uint32_t maxTransfers = 64;

constexpr uint64_t roundDownToBlock(uint64_t bytes) { return bytes / blockBytes * blockBytes; }
} // namespace

Result<std::unique_ptr<ReadStream>> ReadStream::create(const Store &store, io::Engine &engine,
                                                       std::span<const std::span<std::byte>> arenas,
                                                       std::chrono::milliseconds timeout) {
  std::unique_ptr<ReadStream> stream(new ReadStream(store, engine, timeout));
  SPILLWAY_RETURN_IF_ERROR(stream->initialise(arenas));
  return stream;
}

Status ReadStream::initialise(std::span<const std::span<std::byte>> arenas) {
  for (const StoreFile &file : store_.files()) {
    SPILLWAY_ASSIGN_OR_RETURN(int handle, engine_.open(file.path, {}));
    files_.push_back(handle);
  }
  for (const StateView &state : store_.states())
    verified_.emplace_back(state.checksums.size());
  SPILLWAY_ASSIGN_OR_RETURN(edgeBlocks_,
                            Arena::allocate(2 * maxTransfers * blockBytes, {.hugePages = false}));
  transfers_.resize(maxTransfers);
  freeTransfers_.reserve(maxTransfers);
  completions_.reserve(maxTransfers * partCount);
  return engine_.registerMemory(arenas);
}

void ReadStream::run(CommandList &list, RunState &state) {
  list_ = &list;
  state_ = &state;
  position_ = 0;
  lookup_.reset();
  lastCompletion_ = engine_.now();
  freeTransfers_.resize(maxTransfers);
  std::iota(freeTransfers_.begin(), freeTransfers_.end(), 0u);
  if (Status status = pump(); !status.ok())
    state.fail(std::move(status).error());
  drain();
}

Status ReadStream::pump() {
  while (!state_->failed()) {
    SPILLWAY_ASSIGN_OR_RETURN(bool allBegun, beginTransfers());
    if (allBegun && engine_.inFlight() == 0)
      break;
    SPILLWAY_RETURN_IF_ERROR(completeRequests());
  }
  return {};
}

void ReadStream::drain() {
  io::TimePoint until = engine_.now() + timeout_;
  while (engine_.inFlight() != 0 && engine_.now() < until) {
    completions_.clear();
    if (!engine_.poll(completions_, until).ok())
      return;
  }
}

Error ReadStream::withLabel(Error error, uint32_t index) const {
  return std::move(error).in((*list_)[index].label);
}

Result<bool> ReadStream::beginTransfers() {
  std::span<const uint32_t> order = list_->order(StreamKind::read);
  while (!freeTransfers_.empty()) {
    if (lookup_) {
      LookupRoom &room = list_->lookupRoom(*lookup_);
      if (room.next == room.order.size()) {
        lookup_.reset();
        continue;
      }
      if (room.freeSlots.empty())
        return false;
      const auto &lookup = std::get<LookupOperation>((*list_)[*lookup_].operation);
      SPILLWAY_RETURN_IF_ERROR(beginPiece(lookup, *lookup_));
      continue;
    }
    if (position_ == order.size())
      return true;
    uint32_t index = order[position_];
    CommandTimes &times = list_->times(index);
    if (times.reached == 0)
      times.reached = now();
    for (uint32_t wait : (*list_)[index].waits)
      if (Event &event = list_->event(wait); event.isPending() && event.watch(watcher_))
        return false;
    if (state_->failed())
      return true;
    times.started = now();
    ++position_;
    SPILLWAY_RETURN_IF_ERROR(beginCommand(index));
  }
  return false;
}

Status ReadStream::beginCommand(uint32_t index) {
  const Command &command = (*list_)[index];
  if (auto *lookup = std::get_if<LookupOperation>(&command.operation))
    return beginLookup(*lookup, index);
  const auto &read = std::get<ReadOperation>(command.operation);
  if (read.bytes == 0) {
    endCommand(index);
    return {};
  }
  uint64_t begin = store_.states()[read.state].fileOffset + read.offset;
  Transfer transfer;
  transfer.command = index;
  transfer.state = read.state;
  transfer.begin = begin;
  transfer.end = begin + read.bytes;
  transfer.target = list_->address(read.target);
  return beginTransfer(transfer);
}

Status ReadStream::beginLookup(const LookupOperation &lookup, uint32_t index) {
  const StateType &type = store_.states()[lookup.state].type;
  LookupRoom &room = list_->lookupRoom(index);
  if (Status status = readRowIndices(lookup, type, list_->address(lookup.indices), room.rows);
      !status.ok())
    return withLabel(std::move(status).error(), index);
  if (lookup.target.bytes == 0) {
    endCommand(index);
    return {};
  }
  std::iota(room.order.begin(), room.order.end(), 0u);
  std::ranges::sort(room.order, {}, [&](uint32_t position) { return room.rows[position]; });
  room.freeSlots.resize(lookup.staging.bytes / lookup.stagingPieceBytes);
  std::iota(room.freeSlots.begin(), room.freeSlots.end(), 0u);
  room.next = 0;
  room.piecesInFlight = 0;
  lookup_ = index;
  return {};
}

Status ReadStream::beginPiece(const LookupOperation &lookup, uint32_t index) {
  const StateView &state = store_.states()[lookup.state];
  LookupRoom &room = list_->lookupRoom(index);
  bool linked = store_.files()[state.file].linked;
  // Where in the state the piece with a row starts.
  auto start = [&](uint32_t place) {
    uint64_t offset = pieceOffset(state.type, room.rows[room.order[place]]);
    return linked ? offset : offset / state.chunkBytes * state.chunkBytes;
  };
  uint64_t offset = start(room.next);
  uint64_t bytes =
      linked ? state.type.rowBytes()
             : std::min(state.chunkBytes, roundUpToBlock(state.type.storedBytes()) - offset);
  Transfer transfer;
  transfer.command = index;
  transfer.state = lookup.state;
  transfer.begin = state.fileOffset + offset;
  transfer.end = transfer.begin + bytes;
  transfer.firstPlace = room.next++;
  while (room.next < room.order.size() && start(room.next) == offset)
    ++room.next;
  transfer.lastPlace = room.next;
  transfer.stagingSlot = room.freeSlots.back();
  transfer.target = list_->address(lookup.staging) +
                    transfer.stagingSlot * lookup.stagingPieceBytes + transfer.begin % blockBytes;
  room.freeSlots.pop_back();
  ++room.piecesInFlight;
  return beginTransfer(transfer);
}

Status ReadStream::beginTransfer(const Transfer &transfer) {
  uint32_t number = freeTransfers_.back();
  freeTransfers_.pop_back();
  transfers_[number] = transfer;
  uint64_t firstBlock = roundUpToBlock(transfer.begin), lastBlock = roundDownToBlock(transfer.end);
  if (transfer.begin < firstBlock)
    SPILLWAY_RETURN_IF_ERROR(
        submit(number, head, transfer.begin, std::min(firstBlock, transfer.end)));
  if (firstBlock < lastBlock)
    SPILLWAY_RETURN_IF_ERROR(submit(number, middle, firstBlock, lastBlock));
  if (lastBlock < transfer.end && lastBlock >= firstBlock)
    SPILLWAY_RETURN_IF_ERROR(submit(number, tail, lastBlock, transfer.end));
  return {};
}

std::byte *ReadStream::edgeBlock(uint32_t transfer, Part part) const {
  return edgeBlocks_->data() + (2 * transfer + (part == tail ? 1 : 0)) * blockBytes;
}

Status ReadStream::submit(uint32_t number, Part part, uint64_t begin, uint64_t end) {
  Transfer &transfer = transfers_[number];
  uint32_t file = store_.states()[transfer.state].file;
  io::Request request;
  request.kind = io::Request::read;
  request.file = files_[file];
  request.tag = number * partCount + part;
  request.offset = roundDownToBlock(begin);
  request.bytes = roundUpToBlock(end) - request.offset;
  request.data =
      part == middle ? transfer.target + (begin - transfer.begin) : edgeBlock(number, part);
  uint64_t fileBytes = store_.files()[file].bytes;
  if (uint64_t requestEnd = request.offset + request.bytes; requestEnd > fileBytes)
    request.slack = requestEnd - fileBytes;
  if (Status status = engine_.submit(request); !status.ok())
    return withLabel(std::move(status).error(), transfer.command);
  ++transfer.requestsInFlight;
  return {};
}

Status ReadStream::completeRequests() {
  bool inFlight = engine_.inFlight() != 0;
  io::TimePoint until = inFlight ? lastCompletion_ + timeout_ : io::forever;
  completions_.clear();
  SPILLWAY_RETURN_IF_ERROR(engine_.poll(completions_, until));
  if (!completions_.empty() || !inFlight)
    lastCompletion_ = engine_.now();
  else if (engine_.now() >= until)
    return machineError("no read has completed for {} ms while {} were in flight", timeout_.count(),
                        engine_.inFlight());
  for (const io::Completion &completion : completions_)
    SPILLWAY_RETURN_IF_ERROR(completeRequest(completion));
  return {};
}

Status ReadStream::completeRequest(const io::Completion &completion) {
  auto number = static_cast<uint32_t>(completion.tag / partCount);
  auto part = static_cast<Part>(completion.tag % partCount);
  Transfer &transfer = transfers_[number];
  if (!completion.status.ok())
    return withLabel(Error(completion.status.error()), transfer.command);
  if (part == head) {
    uint64_t offset = transfer.begin % blockBytes;
    std::memcpy(transfer.target, edgeBlock(number, head) + offset,
                std::min(blockBytes - offset, transfer.end - transfer.begin));
  } else if (part == tail) {
    uint64_t bytes = transfer.end % blockBytes;
    std::memcpy(transfer.target + (transfer.end - transfer.begin) - bytes, edgeBlock(number, tail),
                bytes);
  }
  if (--transfer.requestsInFlight != 0)
    return {};
  if (Status status = completeTransfer(transfer); !status.ok())
    return withLabel(std::move(status).error(), transfer.command);
  freeTransfers_.push_back(number);
  return {};
}

Status ReadStream::completeTransfer(const Transfer &transfer) {
  const StateView &state = store_.states()[transfer.state];
  uint64_t offset = transfer.begin - state.fileOffset;
  std::span<const std::byte> bytes(transfer.target, transfer.end - transfer.begin);
  SPILLWAY_RETURN_IF_ERROR(verify(transfer.state, offset, bytes));
  auto *lookup = std::get_if<LookupOperation>(&(*list_)[transfer.command].operation);
  if (!lookup) {
    endCommand(transfer.command);
    return {};
  }
  LookupRoom &room = list_->lookupRoom(transfer.command);
  for (uint32_t place = transfer.firstPlace; place < transfer.lastPlace; ++place) {
    uint32_t position = room.order[place];
    int64_t row = room.rows[position];
    copyRow(state.type, row, bytes.data() + (pieceOffset(state.type, row) - offset),
            list_->address(lookup->target) + position * state.type.rowBytes());
  }
  room.freeSlots.push_back(transfer.stagingSlot);
  if (--room.piecesInFlight == 0 && room.next == room.order.size())
    endCommand(transfer.command);
  return {};
}

Status ReadStream::verify(uint32_t state, uint64_t offset, std::span<const std::byte> bytes) {
  const StateView &view = store_.states()[state];
  if (view.checksums.empty())
    return {};
  for (uint64_t done = 0; done < bytes.size(); done += view.chunkBytes) {
    uint64_t chunk = (offset + done) / view.chunkBytes;
    if (verified_[state][chunk])
      continue;
    uint64_t length = std::min<uint64_t>(view.chunkBytes, bytes.size() - done);
    if (uint64_t sum = checksum(bytes.subspan(done, length)); sum != view.checksums[chunk])
      return damagedChunk(store_, view, chunk, sum);
    verified_[state][chunk] = true;
  }
  return {};
}

void ReadStream::endCommand(uint32_t index) {
  list_->times(index).ended = now();
  list_->event(index).signal();
}

} // namespace spillway
