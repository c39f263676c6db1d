#include "runtime/state/Store.h"
#include "runtime/base/File.h"
#include "runtime/table/Alignment.h"
#include "runtime/table/store_generated.h"

#include <algorithm>

namespace spillway {

namespace {
constexpr uint64_t maxIndexBytes = uint64_t(1) << 30;
constexpr uint64_t maxOffset = uint64_t(1) << 62;

Result<StoreFile> readFileEntry(const store::File &entry, const std::filesystem::path &bundle,
                                LinkedFiles linkedFiles) {
  std::string_view text = entry.path()->string_view();
  if (text.find('\0') != std::string_view::npos)
    return machineError("a file of the store has an invalid name");
  std::filesystem::path path(text);
  // So that no index leads out of the bundle.
  if (entry.linked() ? !path.is_absolute() : !isPlainName(path))
    return machineError("the store names the file '{}'; expected {}", text,
                        entry.linked() ? "an absolute path" : "a name inside the bundle");
  StoreFile file{entry.linked() ? path : bundle / path, entry.linked(), entry.bytes(),
                 entry.modified_ns()};
  if (file.linked) {
    if (linkedFiles == LinkedFiles::checked)
      SPILLWAY_RETURN_IF_ERROR(requireUnchanged(file));
    return file;
  }
  SPILLWAY_ASSIGN_OR_RETURN(FileFacts facts, fileFacts(file.path));
  if (facts.bytes != file.bytes)
    return machineError("'{}' has {} bytes; expected {}", file.path.string(), facts.bytes, file.bytes);
  return file;
}

bool isWellFormed(std::span<const std::byte> index) {
  auto data = reinterpret_cast<const uint8_t *>(index.data());
  flatbuffers::Verifier verifier(data, index.size(), 64, 1u << 28);
  return index.size() >= 8 && store::VerifyStoreBuffer(verifier) &&
         std::ranges::all_of(*store::GetStore(data)->states(), [](const store::State *state) {
           return hasAlignedElements(state->shape()) && hasAlignedElements(state->checksums());
         });
}

Result<StateView> readStateEntry(const store::State &entry, std::span<const StoreFile> files) {
  StateView state;
  state.type.name = entry.name()->str();
  state.type.dataType = static_cast<DataType>(entry.data_type());
  if (entry.shape())
    state.type.shape.assign(entry.shape()->begin(), entry.shape()->end());
  state.type.layout = static_cast<Layout>(entry.layout());
  state.type.panelDim = entry.panel_dim();
  state.type.panelWidth = entry.panel_width();
  state.type.role = static_cast<Role>(entry.role());
  state.file = entry.file();
  state.fileOffset = entry.file_offset();
  state.chunkBytes = entry.chunk_bytes();
  if (entry.checksums())
    state.checksums.assign(entry.checksums()->begin(), entry.checksums()->end());

  if (Status status = state.type.check(); !status.ok())
    return Error{ErrorKind::machine, status.error().message};
  auto refuse = [&](std::string_view why) {
    return machineError("the store describes the state '{}' wrongly: {}", state.type.name, why);
  };
  if (state.file >= files.size())
    return refuse("it lies in a file that is not listed");
  const StoreFile &file = files[state.file];
  uint64_t stored = state.type.storedBytes();
  if (entry.stored_bytes() != stored)
    return refuse(
        fmt::format("{} bytes are stored; its shape takes {}", entry.stored_bytes(), stored));
  uint64_t extent = file.linked ? state.type.logicalBytes() : roundUpToBlock(stored);
  if (state.fileOffset > maxOffset || state.fileOffset > file.bytes ||
      extent > file.bytes - state.fileOffset)
    return refuse(fmt::format("its bytes {} to {} are not inside '{}' of {} bytes",
                              state.fileOffset, state.fileOffset + extent, file.path.string(),
                              file.bytes));
  if (uint64_t second = entry.second_offset(); second != 0) {
    bool overlaps = second < state.fileOffset + extent && state.fileOffset < second + extent;
    if (file.linked || second % blockBytes != 0 || second > file.bytes ||
        extent > file.bytes - second || overlaps)
      return refuse(fmt::format("its second slot is at {} of '{}' of {} bytes", second,
                                file.path.string(), file.bytes));
    state.otherOffset = second;
  }
  if (file.linked) {
    if (!state.checksums.empty())
      return refuse("a linked state has no checksums");
    return state;
  }
  if (state.fileOffset % blockBytes != 0)
    return refuse(fmt::format("it does not start at a block of {} bytes", blockBytes));
  if (stored == 0) {
    if (!state.checksums.empty())
      return refuse("it is empty but has checksums");
    return state;
  }
  if (state.chunkBytes == 0 || state.chunkBytes % blockBytes != 0 || state.chunkBytes > extent)
    return refuse(fmt::format("chunks of {} bytes", state.chunkBytes));
  if (state.chunkBytes < extent && state.chunkBytes % state.type.pieceBytes() != 0)
    return refuse(fmt::format("chunks of {} bytes do not hold whole pieces of {}", state.chunkBytes,
                              state.type.pieceBytes()));
  if (state.checksums.size() != state.chunkCount())
    return refuse(
        fmt::format("{} checksums for {} chunks", state.checksums.size(), state.chunkCount()));
  return state;
}
} // namespace

std::vector<std::byte> encodeStoreIndex(std::span<const StoreFile> files,
                                        std::span<const StateView> states) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<store::File>> encodedFiles;
  for (const StoreFile &file : files)
    encodedFiles.push_back(store::CreateFileDirect(builder, file.path.c_str(), file.linked,
                                                   file.bytes, file.modifiedNs));
  std::vector<flatbuffers::Offset<store::State>> encodedStates;
  for (const StateView &state : states)
    encodedStates.push_back(store::CreateStateDirect(
        builder, state.type.name.c_str(), static_cast<uint8_t>(state.type.dataType),
        &state.type.shape, static_cast<store::Layout>(state.type.layout),
        static_cast<uint8_t>(state.type.panelDim), state.type.panelWidth, state.file,
        state.fileOffset, state.otherOffset.value_or(0), state.type.storedBytes(), state.chunkBytes,
        &state.checksums, static_cast<store::Role>(state.type.role)));
  builder.Finish(store::CreateStoreDirect(builder, &encodedFiles, &encodedStates),
                 store::StoreIdentifier());
  auto *bytes = reinterpret_cast<const std::byte *>(builder.GetBufferPointer());
  return {bytes, bytes + builder.GetSize()};
}

Result<Store> Store::open(const std::filesystem::path &bundle) {
  SPILLWAY_ASSIGN_OR_RETURN(std::vector<std::byte> index,
                            readFile(bundle / storeIndexName, maxIndexBytes));
  return parse(index, bundle);
}

Status requireUnchanged(const StoreFile &file) {
  Result<FileFacts> facts = fileFacts(file.path);
  if (!facts.ok())
    return userError("{}, which holds weights of the model", facts.error().message);
  if (facts->bytes == file.bytes && facts->modifiedNs == file.modifiedNs)
    return {};
  return userError("'{}', which holds weights of the model, was changed after the model was compiled: "
                   "it {}; compile it again",
                   file.path.string(),
                   facts->bytes != file.bytes
                       ? fmt::format("has {} bytes; expected {}", facts->bytes, file.bytes)
                       : std::string("was modified"));
}

Result<Store> Store::parse(std::span<const std::byte> index, const std::filesystem::path &bundle,
                           LinkedFiles linkedFiles) {
  if (!isWellFormed(index))
    return machineError("the index of the store in '{}' is damaged", bundle.string());
  const store::Store *root = store::GetStore(index.data());
  Store store;
  store.folder_ = bundle;
  for (const store::File *entry : *root->files()) {
    SPILLWAY_ASSIGN_OR_RETURN(StoreFile file, readFileEntry(*entry, bundle, linkedFiles));
    store.files_.push_back(std::move(file));
  }
  for (const store::State *entry : *root->states()) {
    SPILLWAY_ASSIGN_OR_RETURN(StateView state, readStateEntry(*entry, store.files_));
    store.states_.push_back(std::move(state));
  }
  SPILLWAY_RETURN_IF_ERROR(store.applyLastCommit());
  return store;
}

Status Store::applyLastCommit() {
  if (std::ranges::none_of(states_, &StateView::isRewritten))
    return {};
  SPILLWAY_ASSIGN_OR_RETURN(CommittedVersion version,
                            readLastCommit(folder_ / commitsName, rewrittenChunks(states_)));
  lastCommit_ = std::move(version.commit);
  auto sums = version.checksums.begin();
  for (StateView &state : states_) {
    if (!state.isRewritten())
      continue;
    if (lastCommit_.slot == 1)
      std::swap(state.fileOffset, *state.otherOffset);
    if (lastCommit_.sequence == 0)
      continue;
    std::copy_n(sums, state.checksums.size(), state.checksums.begin());
    sums += static_cast<long>(state.checksums.size());
  }
  return {};
}

uint64_t rewrittenChunks(std::span<const StateView> states) {
  uint64_t chunks = 0;
  for (const StateView &state : states)
    if (state.isRewritten())
      chunks += state.chunkCount();
  return chunks;
}

const StateView *Store::find(std::string_view name) const {
  auto found = std::ranges::find(
      states_, name, [](const StateView &view) -> std::string_view { return view.type.name; });
  return found == states_.end() ? nullptr : &*found;
}

Error damagedChunk(const Store &store, const StateView &state, size_t chunk, uint64_t sum) {
  uint64_t begin = state.fileOffset + chunk * state.chunkBytes;
  uint64_t end = std::min(begin + state.chunkBytes,
                          state.fileOffset + roundUpToBlock(state.type.storedBytes()));
  return machineError("the state '{}' is damaged: bytes {} to {} of '{}' have the checksum "
                      "{:016x}; expected {:016x}",
                      state.type.name, begin, end, store.files()[state.file].path.string(), sum,
                      state.checksums[chunk]);
}

} // namespace spillway
