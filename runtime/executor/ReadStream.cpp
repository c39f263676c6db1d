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
/// Of CanonicalParts::bufferBytes each.
constexpr uint32_t packBufferCount = 8;
} // namespace

Result<std::unique_ptr<ReadStream>> ReadStream::create(const Store &store, const Slots &slots,
                                                       const Scratch &scratch, io::Engine &engine,
                                                       std::span<const std::span<std::byte>> arenas,
                                                       std::chrono::milliseconds timeout) {
  std::unique_ptr<ReadStream> stream(new ReadStream(store, slots, scratch, engine, timeout));
  SPILLWAY_RETURN_IF_ERROR(stream->initialise(arenas));
  return stream;
}

Status ReadStream::initialise(std::span<const std::span<std::byte>> arenas) {
  for (const StoreFile &file : store_.files()) {
    SPILLWAY_ASSIGN_OR_RETURN(int handle, engine_.open(file.path, {}));
    files_.push_back(handle);
  }
  if (scratch_.isNeeded()) {
    SPILLWAY_ASSIGN_OR_RETURN(scratchFile_, scratch_.openForReading(engine_));
  }
  for (const StateView &state : store_.states())
    verified_.emplace_back(state.checksums.size());
  SPILLWAY_ASSIGN_OR_RETURN(edgeBlocks_,
                            Arena::allocate(2 * maxTransfers * blockBytes, {.hugePages = false}));
  transfers_.resize(maxTransfers);
  freeTransfers_.reserve(maxTransfers);
  std::vector<std::span<std::byte>> memory(arenas.begin(), arenas.end());
  if (std::ranges::any_of(store_.files(), &StoreFile::linked)) {
    SPILLWAY_ASSIGN_OR_RETURN(
        packBuffers_,
        Arena::allocate(packBufferCount * CanonicalParts::bufferBytes, {.hugePages = false}));
    memory.push_back(packBuffers_->bytes());
  }
  freePackBuffers_.reserve(packBufferCount);
  return engine_.registerMemory(memory);
}

void ReadStream::restart() {
  unfinished_.reset();
  freeTransfers_.resize(maxTransfers);
  std::iota(freeTransfers_.begin(), freeTransfers_.end(), 0u);
  freePackBuffers_.resize(packBufferCount);
  std::iota(freePackBuffers_.begin(), freePackBuffers_.end(), 0u);
}

Result<bool> ReadStream::begin() {
  while (!freeTransfers_.empty()) {
    if (unfinished_) {
      SPILLWAY_ASSIGN_OR_RETURN(bool hadRoom, beginPart(*unfinished_));
      if (!hadRoom)
        return false;
      continue;
    }
    std::optional<uint32_t> index = nextCommand();
    if (!index)
      return allBegun();
    SPILLWAY_RETURN_IF_ERROR(beginCommand(*index));
  }
  return false;
}

Status ReadStream::beginCommand(uint32_t index) {
  const Command &command = (*list_)[index];
  if (auto *lookup = std::get_if<LookupOperation>(&command.operation))
    return beginLookup(*lookup, index);
  if (auto *restore = std::get_if<RestoreOperation>(&command.operation))
    return beginRestore(*restore, index);
  const auto &read = std::get<ReadOperation>(command.operation);
  if (read.bytes == 0) {
    endCommand(index);
    return {};
  }
  const StateView &state = store_.states()[read.state];
  std::byte *target = list_->address(read.target);
  uint64_t end = read.offset + read.bytes;
  if (store_.files()[state.file].linked) {
    // A file of ours holds the padding too.
    if (uint64_t padded = std::max(firstPaddedByte(state.type), read.offset); padded < end)
      std::memset(target + (padded - read.offset), 0, end - padded);
    end = std::min(end, state.type.storedBytes());
  }
  if (!read.isDirect) {
    parts_ = CanonicalParts(state, read.offset, read.bytes);
    if (parts_.atEnd())
      endCommand(index);
    else
      unfinished_ = index;
    return {};
  }
  if (read.offset >= end) {
    endCommand(index);
    return {};
  }
  Transfer transfer = transferOf(read.state, index);
  transfer.begin = slots_.readOffset(state) + read.offset;
  transfer.end = slots_.readOffset(state) + end;
  transfer.target = target;
  return beginTransfer(transfer);
}

Status ReadStream::beginRestore(const RestoreOperation &restore, uint32_t index) {
  Transfer transfer;
  transfer.command = index;
  transfer.file = scratchFile_;
  transfer.fileBytes = roundUpToBlock(restore.source.offset + restore.source.bytes);
  transfer.begin = restore.source.offset;
  transfer.end = restore.source.offset + restore.source.bytes;
  transfer.target = list_->address(restore.target);
  return beginTransfer(transfer);
}

ReadStream::Transfer ReadStream::transferOf(uint32_t state, uint32_t index) const {
  uint32_t file = store_.states()[state].file;
  Transfer transfer;
  transfer.command = index;
  transfer.file = files_[file];
  transfer.fileBytes = store_.files()[file].bytes;
  transfer.state = state;
  return transfer;
}

Result<bool> ReadStream::beginPart(uint32_t index) {
  auto *lookup = std::get_if<LookupOperation>(&(*list_)[index].operation);
  if (lookup ? list_->lookupRoom(index).freeSlots.empty() : freePackBuffers_.empty())
    return false;
  SPILLWAY_RETURN_IF_ERROR(lookup ? beginPiece(*lookup, index) : beginPacking(index));
  return true;
}

Status ReadStream::beginPacking(uint32_t index) {
  uint32_t number = freeTransfers_.back();
  freeTransfers_.pop_back();
  Transfer &transfer = transfers_[number];
  transfer = transferOf(std::get<ReadOperation>((*list_)[index].operation).state, index);
  transfer.part = parts_.next();
  transfer.packBuffer = freePackBuffers_.back();
  freePackBuffers_.pop_back();
  ++list_->piecesInFlight(index);
  if (parts_.atEnd())
    unfinished_.reset();
  for (uint64_t i = 0; i < transfer.part.rangeCount(); ++i) {
    CanonicalPart::FileRange range = transfer.part.range(i);
    uint64_t place = transfer.part.bufferOffset(i) - range.begin % blockBytes;
    SPILLWAY_RETURN_IF_ERROR(
        submit(number, packed, range.begin, range.end, packBuffer(*transfer.packBuffer) + place));
  }
  return {};
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
  unfinished_ = index;
  return {};
}

Status ReadStream::beginPiece(const LookupOperation &lookup, uint32_t index) {
  const StateView &state = store_.states()[lookup.state];
  LookupRoom &room = list_->lookupRoom(index);
  bool linked = store_.files()[state.file].linked;
  // Where in the state the piece with a row starts.
  auto start = [&](uint32_t place) {
    uint64_t offset = pieceOffset(state.type, layoutInFile(state), room.rows[room.order[place]]);
    return linked ? offset : offset / state.chunkBytes * state.chunkBytes;
  };
  uint64_t offset = start(room.next);
  uint64_t bytes =
      linked ? state.type.rowBytes()
             : std::min(state.chunkBytes, roundUpToBlock(state.type.storedBytes()) - offset);
  Transfer transfer = transferOf(lookup.state, index);
  transfer.begin = slots_.readOffset(state) + offset;
  transfer.end = transfer.begin + bytes;
  transfer.firstPlace = room.next++;
  while (room.next < room.order.size() && start(room.next) == offset)
    ++room.next;
  transfer.lastPlace = room.next;
  transfer.stagingSlot = room.freeSlots.back();
  transfer.target = list_->address(lookup.staging) +
                    transfer.stagingSlot * lookup.stagingPieceBytes + transfer.begin % blockBytes;
  room.freeSlots.pop_back();
  ++list_->piecesInFlight(index);
  if (room.next == room.order.size())
    unfinished_.reset();
  return beginTransfer(transfer);
}

Status ReadStream::beginTransfer(const Transfer &transfer) {
  uint32_t number = freeTransfers_.back();
  freeTransfers_.pop_back();
  transfers_[number] = transfer;
  uint64_t firstBlock = roundUpToBlock(transfer.begin), lastBlock = roundDownToBlock(transfer.end);
  if (transfer.begin < firstBlock)
    SPILLWAY_RETURN_IF_ERROR(submit(number, head, transfer.begin,
                                    std::min(firstBlock, transfer.end), edgeBlock(number, head)));
  if (firstBlock < lastBlock)
    SPILLWAY_RETURN_IF_ERROR(submit(number, middle, firstBlock, lastBlock,
                                    transfer.target + (firstBlock - transfer.begin)));
  if (lastBlock < transfer.end && lastBlock >= firstBlock)
    SPILLWAY_RETURN_IF_ERROR(
        submit(number, tail, lastBlock, transfer.end, edgeBlock(number, tail)));
  return {};
}

std::byte *ReadStream::edgeBlock(uint32_t transfer, Part part) const {
  return edgeBlocks_->data() + (2 * transfer + (part == tail ? 1 : 0)) * blockBytes;
}

std::byte *ReadStream::packBuffer(uint32_t number) const {
  return packBuffers_->data() + number * CanonicalParts::bufferBytes;
}

Layout ReadStream::layoutInFile(const StateView &state) const {
  return store_.files()[state.file].linked ? Layout::rowMajor : state.type.layout;
}

Status ReadStream::submit(uint32_t number, Part part, uint64_t begin, uint64_t end,
                          std::byte *data) {
  Transfer &transfer = transfers_[number];
  io::Request request;
  request.kind = io::Request::read;
  request.file = transfer.file;
  request.tag = number * partCount + part;
  request.offset = roundDownToBlock(begin);
  request.bytes = roundUpToBlock(end) - request.offset;
  request.data = data;
  if (uint64_t requestEnd = request.offset + request.bytes; requestEnd > transfer.fileBytes)
    request.slack = requestEnd - transfer.fileBytes;
  if (Status status = engine_.submit(request); !status.ok())
    return withLabel(std::move(status).error(), transfer.command);
  ++transfer.requestsInFlight;
  return {};
}

Status ReadStream::complete(const io::Completion &completion) {
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
  const auto &operation = (*list_)[transfer.command].operation;
  if (auto *restore = std::get_if<RestoreOperation>(&operation)) {
    SPILLWAY_RETURN_IF_ERROR(
        scratch_.compare(*restore, checksum({transfer.target, transfer.end - transfer.begin})));
    endCommand(transfer.command);
    return {};
  }
  const StateView &state = store_.states()[transfer.state];
  if (transfer.packBuffer) {
    const auto &read = std::get<ReadOperation>(operation);
    packPart(state.type, transfer.part, packBuffer(*transfer.packBuffer), read.offset,
             list_->address(read.target));
    freePackBuffers_.push_back(*transfer.packBuffer);
    endPiece(transfer.command);
    return {};
  }
  SPILLWAY_RETURN_IF_ERROR(verify(transfer.state, transfer.begin - slots_.readOffset(state),
                                  {transfer.target, transfer.end - transfer.begin}));
  if (auto *lookup = std::get_if<LookupOperation>(&operation))
    completePiece(*lookup, transfer);
  else
    endCommand(transfer.command);
  return {};
}

void ReadStream::completePiece(const LookupOperation &lookup, const Transfer &transfer) {
  const StateView &state = store_.states()[transfer.state];
  Layout layout = layoutInFile(state);
  LookupRoom &room = list_->lookupRoom(transfer.command);
  for (uint32_t place = transfer.firstPlace; place < transfer.lastPlace; ++place) {
    uint32_t position = room.order[place];
    int64_t row = room.rows[position];
    uint64_t offset = slots_.readOffset(state) + pieceOffset(state.type, layout, row);
    copyRow(state.type, layout, row, transfer.target + (offset - transfer.begin),
            list_->address(lookup.target) + position * state.type.rowBytes());
  }
  room.freeSlots.push_back(transfer.stagingSlot);
  endPiece(transfer.command);
}

void ReadStream::endPiece(uint32_t index) {
  if (--list_->piecesInFlight(index) == 0 && unfinished_ != index)
    endCommand(index);
}

Status ReadStream::verify(uint32_t state, uint64_t offset, std::span<const std::byte> bytes) {
  const StateView &view = store_.states()[state];
  if (view.checksums.empty() || !slots_.readsAsOpened(view))
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

} // namespace spillway
