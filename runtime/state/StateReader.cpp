#include "runtime/state/StateReader.h"
#include "runtime/base/Checksum.h"
#include "runtime/io/Patience.h"
#include "runtime/memory/Arena.h"
#include "runtime/state/Panels.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace spillway {

namespace {
constexpr uint64_t bufferBytes = 8 << 20;

/// One file of the store, open for reading of any bytes of it.
class OpenFile {
public:
  static Result<OpenFile> open(const StoreFile &file, io::Engine &engine) {
    SPILLWAY_ASSIGN_OR_RETURN(int handle, engine.open(file.path, {}));
    return OpenFile(file, engine, handle);
  }

  OpenFile(OpenFile &&other) noexcept
      : file_(other.file_), engine_(other.engine_), patience_(other.patience_), handle_(std::exchange(other.handle_, -1)) {}
  ~OpenFile() {
    if (handle_ < 0)
      return;
    // What is still in flight writes to the buffer.
    if (!engine_.close(handle_).ok() && buffer_)
      [[maybe_unused]] auto *const abandoned = new Arena(*std::move(buffer_));
  }

  struct Range {
    uint64_t begin = 0;
    uint64_t bytes = 0;
    /// After `read`: the bytes, until the next one.
    const std::byte *data = nullptr;
  };

  /// Reads all ranges at once.
  Status read(std::span<Range> ranges) {
    uint64_t total = 0;
    for (const Range &range : ranges)
      total += coverOf(range);
    if (!buffer_ || buffer_->size() < total) {
      SPILLWAY_ASSIGN_OR_RETURN(buffer_, Arena::allocate(total, {.hugePages = false}));
    }
    std::vector<io::Request> requests;
    std::byte *place = buffer_->data();
    for (Range &range : ranges) {
      io::Request request;
      request.file = handle_;
      request.offset = roundDownToBlock(range.begin);
      request.bytes = coverOf(range);
      request.data = place;
      if (uint64_t end = request.offset + request.bytes; end > file_.bytes)
        request.slack = end - file_.bytes;
      range.data = place + range.begin % blockBytes;
      place += request.bytes;
      requests.push_back(request);
    }
    return patience_.transfer(requests);
  }

private:
  OpenFile(const StoreFile &file, io::Engine &engine, int handle)
      : file_(file), engine_(engine), patience_(engine, io::driveTimeout), handle_(handle) {}

  static uint64_t coverOf(const Range &range) {
    return roundUpToBlock(range.begin + range.bytes) - range.begin / blockBytes * blockBytes;
  }

  const StoreFile &file_;
  io::Engine &engine_;
  io::Patience patience_;
  int handle_;
  std::optional<Arena> buffer_;
};

/// Calls `body(offset, bytes)` for consecutive parts of [0, total) of at most
/// bufferBytes.
template <typename Body> Status forEachPart(uint64_t total, Body &&body) {
  for (uint64_t offset = 0; offset < total; offset += bufferBytes)
    SPILLWAY_RETURN_IF_ERROR(body(offset, std::min(bufferBytes, total - offset)));
  return {};
}

/// Panels along the rows: one after the other.
Status readRowPanels(OpenFile &file, const StateView &state, const TensorSink &sink) {
  const StateType &type = state.type;
  std::vector<std::byte> canonical(type.panelWidth * type.rowBytes());
  for (uint64_t panel = 0; panel < type.panelCount(); ++panel) {
    OpenFile::Range range{state.fileOffset + panel * type.pieceBytes(), type.pieceBytes()};
    SPILLWAY_RETURN_IF_ERROR(file.read({&range, 1}));
    PanelSegment segment = PanelSegment::of(type, panel, type.panelDepth(), type.rowBytes());
    unpack(segment, range.data, canonical.data());
    SPILLWAY_RETURN_IF_ERROR(sink(std::span(canonical).first(segment.width * type.rowBytes())));
  }
  return {};
}

/// Panels along the columns: some rows at a time, of some panels after the other.
Status readColumnPanels(OpenFile &file, const StateView &state, const TensorSink &sink) {
  const StateType &type = state.type;
  uint64_t rows = static_cast<uint64_t>(type.shape[0]), panels = type.panelCount();
  uint64_t panelRowBytes = type.panelWidth * type.elementBytes();
  uint64_t rowsAtOnce = std::clamp<uint64_t>(bufferBytes / (panels * panelRowBytes), 1, rows);
  // What is read of a panel is filled up to blocks at both ends.
  uint64_t mostOfPanel = roundUpToBlock(rowsAtOnce * panelRowBytes) + blockBytes;
  uint64_t group = std::max<uint64_t>(1, bufferBytes / mostOfPanel);
  std::vector<OpenFile::Range> ranges;
  std::vector<std::byte> canonical;
  for (uint64_t row = 0; row < rows; row += rowsAtOnce) {
    uint64_t height = std::min(rowsAtOnce, rows - row);
    canonical.resize(height * type.rowBytes());
    for (uint64_t first = 0; first < panels; first += group) {
      ranges.clear();
      for (uint64_t panel = first; panel < std::min(first + group, panels); ++panel)
        ranges.push_back({state.fileOffset + panel * type.pieceBytes() + row * panelRowBytes,
                          height * panelRowBytes});
      SPILLWAY_RETURN_IF_ERROR(file.read(ranges));
      for (const OpenFile::Range &range : ranges) {
        uint64_t panel = first + static_cast<uint64_t>(&range - ranges.data());
        unpack(PanelSegment::of(type, panel, height, type.rowBytes()), range.data,
               canonical.data() + panel * panelRowBytes);
      }
    }
    SPILLWAY_RETURN_IF_ERROR(sink(canonical));
  }
  return {};
}
} // namespace

Status StateReader::verify(const StateView &state) {
  if (state.checksums.empty())
    return {};
  SPILLWAY_ASSIGN_OR_RETURN(OpenFile file, OpenFile::open(store_.files()[state.file], engine_));
  uint64_t extent = roundUpToBlock(state.type.storedBytes());
  Checksum sum;
  for (size_t chunk = 0; chunk < state.checksums.size(); ++chunk) {
    uint64_t begin = chunk * state.chunkBytes;
    sum.reset();
    SPILLWAY_RETURN_IF_ERROR(forEachPart(
        std::min(state.chunkBytes, extent - begin), [&](uint64_t offset, uint64_t bytes) -> Status {
          OpenFile::Range range{state.fileOffset + begin + offset, bytes};
          SPILLWAY_RETURN_IF_ERROR(file.read({&range, 1}));
          sum.update({range.data, bytes});
          return {};
        }));
    if (sum.value() != state.checksums[chunk])
      return damagedChunk(store_, state, chunk, sum.value());
  }
  return {};
}

Status StateReader::readCanonical(const StateView &state, const TensorSink &sink) {
  if (state.type.logicalBytes() == 0)
    return {};
  SPILLWAY_ASSIGN_OR_RETURN(OpenFile file, OpenFile::open(store_.files()[state.file], engine_));
  if (state.type.layout == Layout::panels && !store_.files()[state.file].linked)
    return state.type.panelDim == 0 ? readRowPanels(file, state, sink)
                                    : readColumnPanels(file, state, sink);
  return forEachPart(state.type.logicalBytes(), [&](uint64_t offset, uint64_t bytes) -> Status {
    OpenFile::Range range{state.fileOffset + offset, bytes};
    SPILLWAY_RETURN_IF_ERROR(file.read({&range, 1}));
    return sink({range.data, bytes});
  });
}

} // namespace spillway
