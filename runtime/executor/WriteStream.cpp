#include "runtime/executor/WriteStream.h"
#include "runtime/base/Checksum.h"
#include "runtime/base/Finite.h"

#include <algorithm>

namespace spillway {

Result<std::unique_ptr<WriteStream>>
WriteStream::create(const Store &store, const Slots &slots, Scratch &scratch, io::Engine &engine,
                    std::span<const std::span<std::byte>> arenas,
                    std::chrono::milliseconds timeout) {
  SPILLWAY_ASSIGN_OR_RETURN(CommitLog log, CommitLog::open(store, engine));
  std::unique_ptr<WriteStream> stream(
      new WriteStream(store, slots, scratch, engine, timeout, std::move(log)));
  stream->handles_.assign(store.files().size(), -1);
  for (const StateView &state : store.states()) {
    int &handle = stream->handles_[state.file];
    if (!state.isRewritten() || handle >= 0)
      continue;
    SPILLWAY_ASSIGN_OR_RETURN(
        handle, engine.open(store.files()[state.file].path, {.access = io::Access::keep}));
    stream->openFiles_.push_back(handle);
  }
  if (scratch.isNeeded()) {
    SPILLWAY_ASSIGN_OR_RETURN(stream->scratchFile_, scratch.openForWriting(engine));
    SPILLWAY_ASSIGN_OR_RETURN(
        stream->lastBlocks_, Arena::allocate(scratch.offloads() * blockBytes, {.hugePages = false}));
  }
  SPILLWAY_RETURN_IF_ERROR(engine.registerMemory(arenas));
  return stream;
}

Status WriteStream::commit(uint64_t step, std::string_view payload) {
  Status status = log_.commit(patience_, openFiles_, step, payload);
  if (!status.ok())
    patience_.drain();
  noteWritten();
  return status;
}

Result<bool> WriteStream::begin() {
  while (std::optional<uint32_t> index = nextCommand())
    SPILLWAY_RETURN_IF_ERROR(beginCommand(*index));
  return allBegun();
}

Status WriteStream::beginCommand(uint32_t index) {
  const auto &operation = (*list_)[index].operation;
  auto *offload = std::get_if<OffloadOperation>(&operation);
  Status status = offload ? beginOffload(*offload, index)
                          : beginWrite(std::get<WriteOperation>(operation), index);
  return status.ok() ? std::move(status) : withLabel(std::move(status).error(), index);
}

Status WriteStream::beginWrite(const WriteOperation &write, uint32_t index) {
  const StateView &state = store_.states()[write.state];
  std::span<std::byte> source(list_->address(write.source), write.bytes);
  SPILLWAY_RETURN_IF_ERROR(
      submit(index, handles_[state.file], slots_.writeOffset(state) + write.offset, source));
  // While the bytes are on their way, each chunk looked at twice while it is near.
  uint64_t stored = std::min<uint64_t>(source.size(), state.type.storedBytes() - write.offset);
  for (uint64_t done = 0; done < source.size(); done += state.chunkBytes) {
    auto chunk = source.subspan(done, std::min(state.chunkBytes, source.size() - done));
    log_.note(write.state, (write.offset + done) / state.chunkBytes, checksum(chunk));
    auto values = chunk.first(std::min(chunk.size(), stored - std::min(stored, done)));
    foundNotFinite_ |= contentOf(state.type.dataType, values) != Content::finite;
  }
  return foundNotFinite_ ? Status(userError("its new values are not all finite")) : Status();
}

Status WriteStream::beginOffload(const OffloadOperation &offload, uint32_t index) {
  std::span<std::byte> source(list_->address(offload.source), offload.source.bytes);
  uint64_t whole = roundDownToBlock(source.size());
  if (whole != 0)
    SPILLWAY_RETURN_IF_ERROR(
        submit(index, scratchFile_, offload.target.offset, source.first(whole)));
  if (whole != source.size()) {
    auto last = lastBlocks_->bytes().subspan(offload.number * blockBytes, blockBytes);
    std::ranges::copy(source.subspan(whole), last.begin());
    SPILLWAY_RETURN_IF_ERROR(submit(index, scratchFile_, offload.target.offset + whole, last));
  }
  scratch_.note(offload.number, checksum(source));
  return {};
}

Status WriteStream::submit(uint32_t index, int file, uint64_t offset, std::span<std::byte> bytes) {
  SPILLWAY_RETURN_IF_ERROR(engine_.submit({.kind = io::Request::write,
                                           .file = file,
                                           .offset = offset,
                                           .data = bytes.data(),
                                           .bytes = bytes.size(),
                                           .tag = index}));
  ++list_->piecesInFlight(index);
  return {};
}

Status WriteStream::complete(const io::Completion &completion) {
  auto index = static_cast<uint32_t>(completion.tag);
  if (!completion.status.ok())
    return withLabel(Error(completion.status.error()), index);
  if (--list_->piecesInFlight(index) == 0)
    endCommand(index);
  return {};
}

} // namespace spillway
