#include "runtime/state/StoreWriter.h"
#include "runtime/base/Checksum.h"
#include "runtime/base/File.h"
#include "runtime/memory/Arena.h"
#include "runtime/state/Panels.h"
#include "runtime/state/Store.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <numeric>

namespace spillway {

uint64_t chooseChunkBytes(const StateType &type, uint64_t least) {
  uint64_t extent = roundUpToBlock(type.storedBytes());
  if (extent == 0)
    return 0;
  uint64_t smallest = std::lcm(type.pieceBytes(), blockBytes);
  uint64_t chunk = (std::max<uint64_t>(least, 1) + smallest - 1) / smallest * smallest;
  return std::min(chunk, extent);
}

namespace {
/// What the system needs besides the data: the index, journals, metadata.
constexpr uint64_t spareBytes = 16 << 20;

/// A file that is written from its start to its end by one buffer while the other
/// fills.
class SequentialFile {
public:
  SequentialFile(io::Engine &engine, int file) : engine_(engine), file_(file) {}

  Status allocate(uint64_t bufferBytes) {
    for (std::optional<Arena> &buffer : buffers_) {
      SPILLWAY_ASSIGN_OR_RETURN(buffer, Arena::allocate(bufferBytes, {.hugePages = false}));
    }
    return {};
  }

  /// Nothing points into the buffers any more.
  ~SequentialFile() { (void)await(); }
  SequentialFile(const SequentialFile &) = delete;

  Status append(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      uint64_t count = std::min<uint64_t>(bytes.size(), buffer().size() - filled_);
      std::memcpy(buffer().data() + filled_, bytes.data(), count);
      filled_ += count;
      bytes = bytes.subspan(count);
      if (filled_ == buffer().size())
        SPILLWAY_RETURN_IF_ERROR(flush());
    }
    return {};
  }

  /// Leaves bytes as they are. What precedes them are whole blocks.
  Status skip(uint64_t bytes) {
    SPILLWAY_RETURN_IF_ERROR(flush());
    offset_ += bytes;
    return {};
  }

  /// The file's bytes are whole blocks by now.
  Status finish() {
    SPILLWAY_RETURN_IF_ERROR(flush());
    SPILLWAY_RETURN_IF_ERROR(await());
    io::Request sync;
    sync.kind = io::Request::sync;
    sync.file = file_;
    SPILLWAY_RETURN_IF_ERROR(engine_.submit(sync));
    return await();
  }

private:
  Arena &buffer() { return *buffers_[current_]; }

  Status flush() {
    SPILLWAY_RETURN_IF_ERROR(await());
    if (filled_ == 0)
      return {};
    io::Request request;
    request.kind = io::Request::write;
    request.file = file_;
    request.offset = offset_;
    request.data = buffer().data();
    request.bytes = filled_;
    SPILLWAY_RETURN_IF_ERROR(engine_.submit(request));
    offset_ += filled_;
    filled_ = 0;
    current_ = 1 - current_;
    return {};
  }

  Status await() {
    Status first;
    while (engine_.inFlight() != 0) {
      completions_.clear();
      SPILLWAY_RETURN_IF_ERROR(engine_.poll(completions_, io::forever));
      for (io::Completion &completion : completions_)
        if (!completion.status.ok() && first.ok())
          first = std::move(completion.status);
    }
    return first;
  }

  io::Engine &engine_;
  int file_;
  std::optional<Arena> buffers_[2];
  size_t current_ = 0;
  uint64_t filled_ = 0;
  uint64_t offset_ = 0;
  std::vector<io::Completion> completions_;
};

class Writer {
public:
  Writer(const std::filesystem::path &bundle, io::Engine &engine, std::span<const NewState> states,
         const ReadCanonical &read, const StoreWriterOptions &options)
      : bundle_(bundle), engine_(engine), states_(states), read_(read), options_(options) {}

  Status write() {
    SPILLWAY_RETURN_IF_ERROR(layOut());
    removeFiles();
    bool isRewritten = std::ranges::any_of(views_, &StateView::isRewritten);
    uint64_t commitsBytes = isRewritten ? commitsFileBytes(rewrittenChunks(views_)) : 0;
    SPILLWAY_RETURN_IF_ERROR(requireSpace(bundle_, files_[0].bytes + commitsBytes + spareBytes,
                                          "the states of a bundle"));
    Status status = writeFile(bundle_ / storeDataName, files_[0].bytes,
                              [this](int file) { return writeStates(file); });
    if (status.ok() && isRewritten)
      status = writeFile(bundle_ / commitsName, commitsBytes,
                         [this](int file) { return writeFirstCommit(file); });
    if (status.ok())
      status = writeFileAtomically(bundle_ / storeIndexName, encodeStoreIndex(files_, views_));
    if (!status.ok())
      removeFiles();
    return status;
  }

private:
  void removeFiles() const {
    std::error_code code;
    for (std::string_view name : {storeDataName, commitsName})
      std::filesystem::remove(bundle_ / name, code);
  }

  /// Gives each state its places.
  Status layOut() {
    files_.push_back({std::filesystem::path(storeDataName), false, 0, 0});
    std::map<std::filesystem::path, uint32_t> linked;
    for (const NewState &state : states_) {
      SPILLWAY_RETURN_IF_ERROR(state.type.check());
      StateView view{.type = state.type, .checksums = {}, .otherOffset = {}};
      if (state.link && (state.rewritten || state.zero))
        return bugError("the linked state '{}' is to be written", state.type.name);
      if (state.link) {
        SPILLWAY_ASSIGN_OR_RETURN(view.file, linkFile(state.link->file, linked));
        view.fileOffset = state.link->offset;
      } else {
        uint64_t extent = roundUpToBlock(state.type.storedBytes());
        view.fileOffset = files_[0].bytes;
        view.chunkBytes = state.chunkBytes == 0 ? extent : state.chunkBytes;
        files_[0].bytes += extent;
      }
      views_.push_back(std::move(view));
    }
    for (size_t state = 0; state < states_.size(); ++state)
      if (states_[state].rewritten) {
        views_[state].otherOffset = files_[0].bytes;
        files_[0].bytes += roundUpToBlock(states_[state].type.storedBytes());
      }
    return {};
  }

  Result<uint32_t> linkFile(const std::filesystem::path &file,
                            std::map<std::filesystem::path, uint32_t> &linked) {
    std::error_code code;
    std::filesystem::path path = std::filesystem::canonical(file, code);
    if (code)
      return systemError(code.value(), fmt::format("cannot open '{}'", file.string()));
    auto [place, isNew] = linked.try_emplace(path, static_cast<uint32_t>(files_.size()));
    if (isNew) {
      SPILLWAY_ASSIGN_OR_RETURN(FileFacts facts, fileFacts(path));
      files_.push_back({path, true, facts.bytes, facts.modifiedNs});
    }
    return place->second;
  }

  template <typename Body>
  Status writeFile(const std::filesystem::path &path, uint64_t bytes, Body &&body) {
    SPILLWAY_ASSIGN_OR_RETURN(
        int file,
        engine_.open(path, {.access = io::Access::truncate, .direct = true, .reserve = bytes}));
    Status status = body(file);
    if (Status closed = engine_.close(file); status.ok() && !closed.ok())
      status = std::move(closed);
    return status;
  }

  Status writeStates(int file) {
    SequentialFile output(engine_, file);
    output_ = &output;
    SPILLWAY_RETURN_IF_ERROR(output.allocate(options_.bufferBytes));
    for (size_t state = 0; state < states_.size(); ++state) {
      if (states_[state].link)
        continue;
      if (Status status = writeState(state); !status.ok())
        return std::move(status).error().in(
            fmt::format("writing the state '{}'", states_[state].type.name));
    }
    return output.finish();
  }

  /// That of what is compiled.
  Status writeFirstCommit(int file) {
    SequentialFile output(engine_, file);
    SPILLWAY_RETURN_IF_ERROR(output.allocate(blockBytes));
    std::array<std::byte, blockBytes> record;
    encodeCommit(Commit(), /*checksums=*/0, record);
    SPILLWAY_RETURN_IF_ERROR(output.append(record));
    return output.finish();
  }

  Status writeState(size_t state) {
    const StateType &type = states_[state].type;
    chunkBytes_ = chunkLeft_ = views_[state].chunkBytes;
    sums_ = &views_[state].checksums;
    sum_.reset();
    uint64_t stored = type.storedBytes();
    if (states_[state].zero)
      return skipZeros(roundUpToBlock(stored));
    SPILLWAY_RETURN_IF_ERROR(type.layout == Layout::rowMajor ? writeRows(state)
                                                             : writePanels(state));
    SPILLWAY_RETURN_IF_ERROR(append(std::span(zeros).first(roundUpToBlock(stored) - stored)));
    if (chunkLeft_ != chunkBytes_)
      sums_->push_back(sum_.value());
    return {};
  }

  /// A file that is set aside reads as zeros.
  Status skipZeros(uint64_t extent) {
    for (uint64_t begin = 0; begin < extent; begin += chunkBytes_)
      sums_->push_back(sumOfZeros(std::min(chunkBytes_, extent - begin)));
    return output_->skip(extent);
  }

  /// Of so many blocks of zeros.
  uint64_t sumOfZeros(uint64_t bytes) {
    auto [place, isNew] = sumsOfZeros_.try_emplace(bytes);
    if (isNew) {
      sum_.reset();
      for (uint64_t done = 0; done < bytes; done += blockBytes)
        sum_.update(zeros);
      place->second = sum_.value();
    }
    return place->second;
  }

  Status writeRows(size_t state) {
    uint64_t bytes = states_[state].type.logicalBytes();
    for (uint64_t offset = 0; offset < bytes; offset += options_.bufferBytes) {
      canonical_.resize(std::min(options_.bufferBytes, bytes - offset));
      SPILLWAY_RETURN_IF_ERROR(read_(state, offset, canonical_));
      SPILLWAY_RETURN_IF_ERROR(append(canonical_));
    }
    return {};
  }

  /// As many panels at a time as the buffer holds.
  Status writePanels(size_t state) {
    const StateType &type = states_[state].type;
    uint64_t piece = type.pieceBytes(), panels = type.panelCount();
    if (piece == 0)
      return {};
    uint64_t group = std::max<uint64_t>(1, options_.bufferBytes / piece);
    for (uint64_t first = 0; first < panels; first += group) {
      uint64_t count = std::min(group, panels - first);
      packed_.resize(count * piece);
      SPILLWAY_RETURN_IF_ERROR(type.panelDim == 0 ? packRows(state, first, count)
                                                  : packColumns(state, first, count));
      SPILLWAY_RETURN_IF_ERROR(append(packed_));
    }
    return {};
  }

  Status packRows(size_t state, uint64_t first, uint64_t count) {
    const StateType &type = states_[state].type;
    uint64_t rowBytes = type.rowBytes(), columns = type.panelDepth();
    for (uint64_t panel = first; panel < first + count; ++panel) {
      PanelSegment segment = PanelSegment::of(type, panel, columns, rowBytes);
      canonical_.resize(segment.width * rowBytes);
      SPILLWAY_RETURN_IF_ERROR(read_(state, panel * type.panelWidth * rowBytes, canonical_));
      pack(segment, canonical_.data(), packed_.data() + (panel - first) * type.pieceBytes());
    }
    return {};
  }

  /// Reads some rows of the panels' columns at a time.
  Status packColumns(size_t state, uint64_t first, uint64_t count) {
    const StateType &type = states_[state].type;
    uint64_t rowBytes = type.rowBytes(), rows = static_cast<uint64_t>(type.shape[0]);
    uint64_t panelRowBytes = type.panelWidth * type.elementBytes();
    uint64_t begin = first * panelRowBytes;
    uint64_t stripBytes = std::min(count * panelRowBytes, rowBytes - begin);
    uint64_t rowsAtOnce = std::clamp<uint64_t>(options_.bufferBytes / stripBytes, 1, rows);
    for (uint64_t row = 0; row < rows; row += rowsAtOnce) {
      uint64_t height = std::min(rowsAtOnce, rows - row);
      canonical_.resize(height * stripBytes);
      if (stripBytes == rowBytes)
        SPILLWAY_RETURN_IF_ERROR(read_(state, row * rowBytes, canonical_));
      else
        for (uint64_t i = 0; i < height; ++i)
          SPILLWAY_RETURN_IF_ERROR(
              read_(state, (row + i) * rowBytes + begin,
                    std::span(canonical_).subspan(i * stripBytes, stripBytes)));
      for (uint64_t panel = 0; panel < count; ++panel)
        pack(PanelSegment::of(type, first + panel, height, stripBytes),
             canonical_.data() + panel * panelRowBytes,
             packed_.data() + panel * type.pieceBytes() + row * panelRowBytes);
    }
    return {};
  }

  Status append(std::span<const std::byte> bytes) {
    SPILLWAY_RETURN_IF_ERROR(output_->append(bytes));
    while (!bytes.empty()) {
      uint64_t count = std::min<uint64_t>(bytes.size(), chunkLeft_);
      sum_.update(bytes.first(count));
      bytes = bytes.subspan(count);
      chunkLeft_ -= count;
      if (chunkLeft_ == 0) {
        sums_->push_back(sum_.value());
        sum_.reset();
        chunkLeft_ = chunkBytes_;
      }
    }
    return {};
  }

  static constexpr std::byte zeros[blockBytes] = {};

  const std::filesystem::path &bundle_;
  io::Engine &engine_;
  std::span<const NewState> states_;
  const ReadCanonical &read_;
  const StoreWriterOptions &options_;

  std::vector<StoreFile> files_;
  std::vector<StateView> views_;
  std::vector<std::byte> canonical_;
  std::vector<std::byte> packed_;

  /// Of the state in progress.
  SequentialFile *output_ = nullptr;
  Checksum sum_;
  std::vector<uint64_t> *sums_ = nullptr;
  uint64_t chunkBytes_ = 0;
  uint64_t chunkLeft_ = 0;
  std::map<uint64_t, uint64_t> sumsOfZeros_;
};
} // namespace

Status writeStore(const std::filesystem::path &bundle, io::Engine &engine,
                  std::span<const NewState> states, const ReadCanonical &read,
                  const StoreWriterOptions &options) {
  return Writer(bundle, engine, states, read, options).write();
}

} // namespace spillway
