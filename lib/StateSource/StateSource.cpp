#include "spillway/StateSource/StateSource.h"

#include "runtime/base/SmallFloat.h"
#include "runtime/io/ProtoWire.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/Path.h"

#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace mlir;
using namespace spillway;

namespace {

InFlightDiagnostic emitStateError(zero::StateOp state) {
  return emitError(state.getLoc()) << "state '" << state.getName() << "': ";
}

/// Booleans are 0 or 1 in a state, whatever a file has for true.
bool holdsBools(zero::StateOp state) {
  return state.getTensorType().getElementType().isInteger(1);
}

/// Open for reading, closed with the object.
class InputFile {
public:
  static FailureOr<InputFile> open(zero::StateOp state, zero::FileAttr source, StringRef folder) {
    SmallString<256> path(folder);
    if (llvm::sys::path::is_absolute(source.getPath().getValue()))
      path.clear();
    llvm::sys::path::append(path, source.getPath().getValue());
    InputFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status {};
    if (file.descriptor < 0 || ::fstat(file.descriptor, &status) != 0)
      return emitStateError(state) << "cannot open " << source.getPath() << ": "
                                   << std::strerror(errno);
    uint64_t size = status.st_size;
    if (source.getOffset() > size || source.getBytes() > size - source.getOffset())
      return emitStateError(state) << source.getPath() << " has " << size << " bytes, the extent needs "
                                   << source.getBytes() << " from " << source.getOffset() << " on";
    return file;
  }
  InputFile(InputFile &&other) : descriptor(std::exchange(other.descriptor, -1)) {}
  ~InputFile() {
    if (descriptor >= 0)
      ::close(descriptor);
  }

  LogicalResult read(zero::StateOp state, uint64_t offset, MutableArrayRef<char> bytes) const {
    while (!bytes.empty()) {
      ssize_t count = ::pread(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (count < 0 && errno == EINTR)
        continue;
      if (count <= 0)
        return emitStateError(state) << "reading its file at " << offset << ": "
                                     << (count < 0 ? std::strerror(errno) : "unexpected end");
      bytes = bytes.drop_front(count);
      offset += count;
    }
    return success();
  }

private:
  explicit InputFile(int descriptor) : descriptor(descriptor) {}
  int descriptor;
};

class RawFileSource : public StateSource {
public:
  RawFileSource(zero::StateOp state, zero::FileAttr source, InputFile file)
      : state(state), start(source.getOffset()), file(std::move(file)) {}
  LogicalResult read(uint64_t offset, MutableArrayRef<char> bytes) override {
    if (failed(file.read(state, start + offset, bytes)))
      return failure();
    if (holdsBools(state))
      for (char &byte : bytes)
        byte = byte != 0;
    return success();
  }

private:
  zero::StateOp state;
  uint64_t start;
  InputFile file;
};

/// Inline constants.
class MemorySource : public StateSource {
public:
  explicit MemorySource(std::vector<char> data) : data(std::move(data)) {}
  LogicalResult read(uint64_t offset, MutableArrayRef<char> bytes) override {
    std::memcpy(bytes.data(), data.data() + offset, bytes.size());
    return success();
  }

private:
  std::vector<char> data;
};

class SplatSource : public StateSource {
public:
  explicit SplatSource(SmallVector<char> element) : element(std::move(element)) {}
  LogicalResult read(uint64_t offset, MutableArrayRef<char> bytes) override {
    for (auto [i, byte] : llvm::enumerate(bytes))
      byte = element[(offset + i) % element.size()];
    return success();
  }

private:
  SmallVector<char> element;
};

SmallVector<char> elementBytes(const APInt &bits) {
  SmallVector<char> bytes(llvm::divideCeil(bits.getBitWidth(), 8));
  for (auto [i, byte] : llvm::enumerate(bytes))
    byte = static_cast<char>(
        bits.extractBitsAsZExtValue(std::min<unsigned>(8, bits.getBitWidth() - 8 * i), 8 * i));
  return bytes;
}

SmallVector<char> elementBytes(TypedAttr value) {
  if (auto number = dyn_cast<FloatAttr>(value))
    return elementBytes(number.getValue().bitcastToAPInt());
  return elementBytes(cast<IntegerAttr>(value).getValue());
}

std::vector<char> elementsBytes(DenseElementsAttr elements) {
  std::vector<char> data;
  auto append = [&](const APInt &bits) { llvm::append_range(data, elementBytes(bits)); };
  if (isa<FloatType>(elements.getElementType()))
    for (const APFloat &value : elements.getValues<APFloat>())
      append(value.bitcastToAPInt());
  else
    for (const APInt &value : elements.getValues<APInt>())
      append(value);
  return data;
}

/// Protobuf's packed varints, of which one window is in memory. They have no fixed width, so
/// reading before the byte that was read last begins anew.
class VarintSource : public StateSource {
public:
  VarintSource(zero::StateOp state, zero::FileAttr source, RankedTensorType type, InputFile file)
      : state(state), start(source.getOffset()), encodedBytes(source.getBytes()),
        width(nn::elementBytes(type.getElementType())), totalBytes(nn::tensorBytes(type)), isBool(holdsBools(state)),
        file(std::move(file)) {}

  LogicalResult read(uint64_t offset, MutableArrayRef<char> bytes) override {
    if (offset < position) {
      position = windowEnd = 0;
      rest = {};
    }
    for (uint64_t end = offset + bytes.size(); position < end; ++position) {
      if (position % width == 0 && failed(decode()))
        return failure();
      if (position >= offset)
        bytes[position - offset] = static_cast<char>(value >> (8 * (position % width)));
    }
    if (position == totalBytes && (!rest.empty() || windowEnd < encodedBytes))
      return emitStateError(state) << "its varints give more than " << totalBytes / width
                                   << " elements";
    return success();
  }

private:
  static constexpr size_t windowBytes = 1 << 16, longestVarint = 10;

  LogicalResult decode() {
    if (rest.size() < longestVarint && windowEnd < encodedBytes && failed(moveWindow()))
      return failure();
    WireCursor cursor(rest);
    std::optional<uint64_t> next = cursor.varint();
    if (!next)
      return emitStateError(state) << "its varints are damaged or too few: element "
                                   << position / width << " of " << totalBytes / width
                                   << " cannot be read";
    value = isBool ? *next != 0 : *next;
    rest = cursor.rest();
    return success();
  }

  LogicalResult moveWindow() {
    llvm::copy(rest, window.begin());
    size_t count = std::min<uint64_t>(window.size() - rest.size(), encodedBytes - windowEnd);
    char *to = reinterpret_cast<char *>(window.data() + rest.size());
    if (failed(file.read(state, start + windowEnd, {to, count})))
      return failure();
    windowEnd += count;
    rest = std::span(window).first(rest.size() + count);
    return success();
  }

  zero::StateOp state;
  uint64_t start, encodedBytes;
  int64_t width;
  uint64_t totalBytes;
  bool isBool;
  InputFile file;
  /// The next byte of the state, and the value of the element that it lies in.
  uint64_t position = 0, value = 0;
  std::vector<std::byte> window = std::vector<std::byte>(windowBytes);
  /// What of the window is not decoded; it ends at `windowEnd` of the extent.
  std::span<const std::byte> rest;
  uint64_t windowEnd = 0;
};

/// Elements of f32, rounded to 16 bits.
class RoundedSource : public StateSource {
public:
  RoundedSource(std::unique_ptr<StateSource> exact, Type element) : exact(std::move(exact)), element(element) {}

  LogicalResult read(uint64_t offset, MutableArrayRef<char> bytes) override {
    uint64_t first = offset / sizeof(uint16_t), end = llvm::divideCeil(offset + bytes.size(), sizeof(uint16_t));
    std::vector<float> numbers(std::min(end - first, windowElements));
    std::vector<uint16_t> rounded(numbers.size());
    for (uint64_t at = first; at < end; at += numbers.size()) {
      uint64_t count = std::min<uint64_t>(numbers.size(), end - at);
      if (failed(exact->read(at * sizeof(float), {reinterpret_cast<char *>(numbers.data()), count * sizeof(float)})))
        return failure();
      for (uint64_t i = 0; i < count; ++i)
        rounded[i] = element.isBF16() ? bfloat16FromFloat(numbers[i]) : halfFromDouble(numbers[i]);
      // What of these elements is asked for.
      uint64_t from = std::max(offset, at * sizeof(uint16_t));
      uint64_t to = std::min(offset + bytes.size(), (at + count) * sizeof(uint16_t));
      std::memcpy(bytes.data() + (from - offset),
                  reinterpret_cast<const char *>(rounded.data()) + (from - at * sizeof(uint16_t)), to - from);
    }
    return success();
  }

private:
  static constexpr uint64_t windowElements = 1 << 16;

  std::unique_ptr<StateSource> exact;
  Type element;
};

using Source = std::unique_ptr<StateSource>;

/// What gives the elements of a tensor of `type`.
FailureOr<Source> openSource(zero::StateOp state, Attribute attribute, RankedTensorType type, StringRef folder) {
  if (auto rounded = dyn_cast<zero::RoundedAttr>(attribute)) {
    FailureOr<Source> exact =
        openSource(state, rounded.getSource(), type.clone(Float32Type::get(state.getContext())), folder);
    if (failed(exact))
      return failure();
    return Source(std::make_unique<RoundedSource>(*std::move(exact), type.getElementType()));
  }
  if (auto splat = dyn_cast<zero::SplatAttr>(attribute))
    return Source(std::make_unique<SplatSource>(::elementBytes(splat.getValue())));
  if (auto elements = dyn_cast<DenseElementsAttr>(attribute))
    return Source(std::make_unique<MemorySource>(elementsBytes(elements)));
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(attribute)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (blob && blob->getData().size() == static_cast<size_t>(nn::tensorBytes(type)))
      return Source(std::make_unique<MemorySource>(std::vector<char>(blob->getData())));
  }
  auto source = dyn_cast<zero::FileAttr>(attribute);
  if (!source)
    return emitStateError(state) << "cannot be read from " << attribute;
  FailureOr<InputFile> file = InputFile::open(state, source, folder);
  if (failed(file))
    return failure();
  if (source.getVarint())
    return Source(std::make_unique<VarintSource>(state, source, type, std::move(*file)));
  uint64_t bytes = nn::tensorBytes(type);
  if (source.getBytes() != bytes)
    return emitStateError(state) << "has an extent of " << source.getBytes() << " bytes, not "
                                 << bytes;
  return Source(std::make_unique<RawFileSource>(state, source, std::move(*file)));
}

} // namespace

FailureOr<std::unique_ptr<StateSource>> StateSource::open(zero::StateOp state, StringRef folder) {
  return openSource(state, state.getSource(), state.getTensorType(), folder);
}
