#include "runtime/executor/WriteStream.h"
#include "runtime/base/Checksum.h"
#include "runtime/base/Finite.h"

#include <algorithm>

namespace spillway {

Result<std::unique_ptr<WriteStream>>
WriteStream::create(const Store &store, const Slots &slots, io::Engine &engine,
                    std::span<const std::span<std::byte>> arenas,
                    std::chrono::milliseconds timeout) {
  SPILLWAY_ASSIGN_OR_RETURN(CommitLog log, CommitLog::open(store, engine));
  std::unique_ptr<WriteStream> stream(
      new WriteStream(store, slots, engine, timeout, std::move(log)));
  stream->handles_.assign(store.files().size(), -1);
  for (const StateView &state : store.states()) {
    int &handle = stream->handles_[state.file];
    if (!state.isRewritten() || handle >= 0)
      continue;
    SPILLWAY_ASSIGN_OR_RETURN(
        handle, engine.open(store.files()[state.file].path, {.access = io::Access::keep}));
    stream->openFiles_.push_back(handle);
  }
  SPILLWAY_RETURN_IF_ERROR(engine.registerMemory(arenas));
  return stream;
}

Status WriteStream::commit(uint64_t step, std::string_view payload) {
  Status status = log_.commit(patience_, openFiles_, step, payload);
  if (!status.ok())
    patience_.drain();
  return status;
}

Result<bool> WriteStream::begin() {
  while (std::optional<uint32_t> index = nextCommand())
    SPILLWAY_RETURN_IF_ERROR(beginWrite(*index));
  return allBegun();
}

Status WriteStream::beginWrite(uint32_t index) {
  const auto &write = std::get<WriteOperation>((*list_)[index].operation);
  const StateView &state = store_.states()[write.state];
  std::span<std::byte> source(list_->address(write.source), write.bytes);
  Status submitted = engine_.submit({.kind = io::Request::write,
                                     .file = handles_[state.file],
                                     .offset = slots_.writeOffset(state) + write.offset,
                                     .data = source.data(),
                                     .bytes = source.size(),
                                     .tag = index});
  if (!submitted.ok())
    return withLabel(std::move(submitted).error(), index);
  // While the bytes are on their way.
  for (uint64_t done = 0; done < source.size(); done += state.chunkBytes) {
    auto chunk = source.subspan(done, std::min(state.chunkBytes, source.size() - done));
    log_.note(write.state, (write.offset + done) / state.chunkBytes, checksum(chunk));
  }
  uint64_t stored = std::min<uint64_t>(source.size(), state.type.storedBytes() - write.offset);
  if (contentOf(state.type.dataType, source.first(stored)) != Content::finite)
    return withLabel(userError("its new values are not all finite"), index);
  return {};
}

Status WriteStream::complete(const io::Completion &completion) {
  auto index = static_cast<uint32_t>(completion.tag);
  if (!completion.status.ok())
    return withLabel(Error(completion.status.error()), index);
  endCommand(index);
  return {};
}

} // namespace spillway
