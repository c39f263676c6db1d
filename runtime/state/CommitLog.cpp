#include "runtime/state/CommitLog.h"
#include "runtime/base/Checksum.h"

namespace spillway {

Result<CommitLog> CommitLog::open(const Store &store, io::Engine &engine) {
  uint64_t bytes = blockBytes + checksumsBytes(rewrittenChunks(store.states()));
  SPILLWAY_ASSIGN_OR_RETURN(Arena memory, Arena::allocate(bytes, {.hugePages = false}));
  SPILLWAY_ASSIGN_OR_RETURN(
      int file, engine.open(store.folder() / commitsName, {.access = io::Access::keep}));
  return CommitLog(store, file, std::move(memory));
}

CommitLog::CommitLog(const Store &store, int file, Arena memory)
    : last_(store.lastCommit()), file_(file), chunks_(rewrittenChunks(store.states())),
      memory_(std::move(memory)) {
  uint64_t chunks = 0;
  for (const StateView &state : store.states()) {
    firstChunk_.push_back(chunks);
    chunks += state.isRewritten() ? state.checksums.size() : 0;
  }
}

Status CommitLog::commit(io::Patience &patience, std::span<const int> files, uint64_t step,
                         std::string_view payload) {
  if (payload.size() > maxPayloadBytes)
    return bugError("a commit is to carry {} bytes; at most {} fit", payload.size(),
                    maxPayloadBytes);
  Commit next{last_.sequence + 1, step, 1 - last_.slot, std::string(payload)};
  auto syncOf = [](int file) { return io::Request{.kind = io::Request::sync, .file = file}; };
  auto writeOf = [&](uint64_t offset, std::span<std::byte> bytes) {
    return io::Request{.kind = io::Request::write,
                       .file = file_,
                       .offset = offset,
                       .data = bytes.data(),
                       .bytes = bytes.size()};
  };

  auto transfer = [&](const io::Request &request) { return patience.transfer({&request, 1}); };

  std::vector<io::Request> requests;
  for (int file : files)
    requests.push_back(syncOf(file));
  requests.push_back(writeOf(checksumsPlace(next.slot, chunks_), sumBlocks()));
  SPILLWAY_RETURN_IF_ERROR(patience.transfer(requests));
  SPILLWAY_RETURN_IF_ERROR(transfer(syncOf(file_)));

  auto record = memory_.bytes().first<blockBytes>();
  encodeCommit(next, checksum(sumBlocks()), record);
  SPILLWAY_RETURN_IF_ERROR(transfer(writeOf(recordPlace(next.sequence), record)));
  SPILLWAY_RETURN_IF_ERROR(transfer(syncOf(file_)));
  last_ = std::move(next);
  return {};
}

} // namespace spillway
