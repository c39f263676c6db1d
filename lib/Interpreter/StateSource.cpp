// The values of states, from where they come from.

#include "Elements.h"
#include "spillway/Interpreter/Interpreter.h"

#include "llvm/Support/LEB128.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace spillway;

namespace {

/// Protobuf's varints are LEB128; negative numbers are written as 64 bits.
FailureOr<std::vector<int64_t>> readVarints(StringRef bytes, int64_t count) {
  std::vector<int64_t> values;
  const auto *at = bytes.bytes_begin(), *end = bytes.bytes_end();
  while (at != end) {
    unsigned length = 0;
    const char *error = nullptr;
    uint64_t value = llvm::decodeULEB128(at, &length, end, &error);
    if (error)
      return failure();
    values.push_back(static_cast<int64_t>(value));
    at += length;
  }
  if (static_cast<int64_t>(values.size()) != count)
    return failure();
  return values;
}

FailureOr<TensorValue> readFile(zero::StateOp state, zero::FileAttr file, StringRef directory) {
  SmallString<256> path(directory);
  llvm::sys::path::append(path, file.getPath().getValue());
  if (llvm::sys::path::is_absolute(file.getPath().getValue()))
    path = file.getPath().getValue();
  auto buffer = llvm::MemoryBuffer::getFileSlice(path, file.getBytes(), file.getOffset());
  if (!buffer)
    return state.emitError("cannot read ") << path << ": " << buffer.getError().message();
  StringRef bytes = (*buffer)->getBuffer();
  RankedTensorType type = state.getTensorType();
  if (!file.getVarint()) {
    TensorValue tensor(type);
    if (bytes.size() != tensor.getBytes().size())
      return state.emitError("has ") << bytes.size() << " bytes in " << path << ", not "
                                     << tensor.getBytes().size();
    llvm::copy(bytes, tensor.getMutableBytes().begin());
    return tensor;
  }
  FailureOr<std::vector<int64_t>> values = readVarints(bytes, type.getNumElements());
  if (failed(values))
    return state.emitError("does not have ") << type.getNumElements() << " varints in " << path;
  // Floats of 16 bits are written as their bits.
  unsigned width = type.getElementTypeBitWidth();
  auto bits = type.clone(IntegerType::get(type.getContext(), width));
  return storeIntegers(bits, *values).as(type);
}

} // namespace

FailureOr<TensorValue> spillway::readState(zero::StateOp state, StringRef directory) {
  Attribute source = state.getSource();
  if (auto file = dyn_cast<zero::FileAttr>(source))
    return readFile(state, file, directory);
  ElementsAttr elements = dyn_cast<ElementsAttr>(source);
  if (auto splat = dyn_cast<zero::SplatAttr>(source))
    elements = DenseElementsAttr::get(state.getTensorType(), splat.getValue());
  FailureOr<TensorValue> tensor =
      elements ? TensorValue::fromAttr(elements) : FailureOr<TensorValue>();
  if (failed(tensor))
    return state.emitError("has a source that cannot be read");
  return tensor;
}
