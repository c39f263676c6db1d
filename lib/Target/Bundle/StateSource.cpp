#include "spillway/Target/Bundle/StateSource.h"

#include "runtime/io/ProtoWire.h"

#include "llvm/ADT/StringExtras.h"

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

/// Open for reading, closed with the object.
class InputFile {
public:
  static FailureOr<InputFile> open(zero::StateOp state, zero::FileAttr source) {
    InputFile file(::open(source.getPath().getValue().str().c_str(), O_RDONLY | O_CLOEXEC));
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
    return file.read(state, start + offset, bytes);
  }

private:
  zero::StateOp state;
  uint64_t start;
  InputFile file;
};

/// Elements that are in memory: decoded varints, inline constants.
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

/// Protobuf's packed varints. They have no fixed width, so the whole extent is decoded.
FailureOr<std::vector<char>> decodeVarints(zero::StateOp state, zero::FileAttr source,
                                           const InputFile &file) {
  std::vector<char> encoded(source.getBytes());
  if (failed(file.read(state, source.getOffset(), encoded)))
    return failure();
  RankedTensorType type = state.getTensorType();
  int64_t width = nn::elementBytes(type.getElementType());
  std::vector<char> data;
  data.reserve(nn::tensorBytes(type));
  WireCursor cursor(std::as_bytes(std::span(encoded)));
  while (!cursor.atEnd()) {
    std::optional<uint64_t> value = cursor.varint();
    if (!value)
      return emitStateError(state) << "its varints are damaged";
    const char *bytes = reinterpret_cast<const char *>(&*value);
    data.insert(data.end(), bytes, bytes + width);
  }
  if (data.size() != static_cast<size_t>(nn::tensorBytes(type)))
    return emitStateError(state) << "its varints give " << data.size() / width << " elements, not "
                                 << type.getNumElements();
  return data;
}

} // namespace

FailureOr<std::unique_ptr<StateSource>> StateSource::open(zero::StateOp state) {
  Attribute attribute = state.getSource();
  if (auto splat = dyn_cast<zero::SplatAttr>(attribute))
    return std::unique_ptr<StateSource>(
        std::make_unique<SplatSource>(::elementBytes(splat.getValue())));
  if (auto elements = dyn_cast<DenseElementsAttr>(attribute))
    return std::unique_ptr<StateSource>(std::make_unique<MemorySource>(elementsBytes(elements)));
  auto source = dyn_cast<zero::FileAttr>(attribute);
  if (!source)
    return emitStateError(state) << "cannot be read from " << attribute;
  FailureOr<InputFile> file = InputFile::open(state, source);
  if (failed(file))
    return failure();
  if (!source.getVarint())
    return std::unique_ptr<StateSource>(
        std::make_unique<RawFileSource>(state, source, std::move(*file)));
  FailureOr<std::vector<char>> data = decodeVarints(state, source, *file);
  if (failed(data))
    return failure();
  return std::unique_ptr<StateSource>(std::make_unique<MemorySource>(std::move(*data)));
}
