#include "lib/Import/Bind.h"

#include "runtime/io/Npy.h"
#include "spillway/Support/ElementType.h"
#include "spillway/Support/Errors.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::onnx;

namespace {

/// Null where `text` is no number of this type.
Attribute element(StringRef text, Type type) {
  if (auto real = dyn_cast<FloatType>(type)) {
    APFloat value(real.getFloatSemantics());
    llvm::Expected<APFloat::opStatus> status =
        value.convertFromString(text, APFloat::rmNearestTiesToEven);
    if (!status) {
      llvm::consumeError(status.takeError());
      return {};
    }
    return FloatAttr::get(type, value);
  }
  if (type.isInteger(1) && (text == "true" || text == "false"))
    return IntegerAttr::get(type, text == "true");
  unsigned width = type.getIntOrFloatBitWidth();
  bool isUnsigned = type.isUnsignedInteger() || width == 1;
  int64_t number;
  uint64_t unsignedNumber;
  if (isUnsigned) {
    if (text.getAsInteger(10, unsignedNumber) || !llvm::isUIntN(width, unsignedNumber))
      return {};
    return IntegerAttr::get(type, APInt(width, unsignedNumber));
  }
  if (text.getAsInteger(10, number) || !llvm::isIntN(width, number))
    return {};
  return IntegerAttr::get(type, APInt(width, number, /*isSigned=*/true));
}

/// Whether a tensor that a file holds may stand for the input, whose type may leave sizes open.
LogicalResult checkFits(RankedTensorType input, RankedTensorType found, StringRef path,
                        Location location) {
  if (input.getElementType() == found.getElementType() &&
      succeeded(verifyCompatibleShape(input.getShape(), found.getShape())))
    return success();
  return emitError(location) << "is " << input << "; '" << path << "' holds " << found;
}

FailureOr<ImportedTensor> fromNpy(StringRef path, RankedTensorType input, Location location) {
  Result<NpyHeader> header = readNpyHeader(path.str());
  if (!header.ok())
    return spillway::emitError(location, header.error());
  MLIRContext *context = location.getContext();
  auto type = RankedTensorType::get(header->shape,
                                    elementType(static_cast<int32_t>(header->type), context));
  // NumPy has no bf16: its bits come as u16.
  if (input.getElementType().isBF16() && header->type == DataType::u16)
    type = RankedTensorType::get(header->shape, input.getElementType());
  if (failed(checkFits(input, type, path, location)))
    return failure();
  if (header->dataBytes > maxInlineBytes)
    return ImportedTensor{type, ExtentAttr::get(context, StringAttr::get(context, path),
                                                header->dataOffset, header->dataBytes,
                                                Encoding::raw)};
  std::vector<std::byte> bytes(header->dataBytes);
  if (Status read = readNpyData(path.str(), *header, bytes); !read.ok())
    return spillway::emitError(location, read.error());
  return ImportedTensor{type, denseFromRaw(type, bytes)};
}

FailureOr<ImportedTensor> fromTensorProto(StringRef path, RankedTensorType input,
                                          Location location) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return emitError(location) << "cannot open '" << path << "': " << buffer.getError().message();
  StringRef text = (*buffer)->getBuffer();
  SourceFile file{path.str(), {reinterpret_cast<const std::byte *>(text.data()), text.size()}};
  std::string error;
  FailureOr<TensorMessage> message = readTensor(file.bytes, error);
  if (failed(message))
    return emitError(location) << "'" << path << "' holds no tensor: " << error;
  FailureOr<ImportedTensor> tensor = importTensor(*message, file, location);
  if (failed(tensor) || failed(checkFits(input, tensor->type, path, location)))
    return failure();
  return tensor;
}

FailureOr<ImportedTensor> fromText(StringRef text, RankedTensorType type, Location location) {
  if (!type.getElementType().isInteger() && !dataTypeOf(type.getElementType()))
    return emitError(location) << "has elements of " << type.getElementType()
                               << ", which cannot be bound";
  SmallVector<StringRef> texts = {text.trim()};
  bool isList = text.trim().consume_front("[");
  if (isList) {
    StringRef inner = text.trim().drop_front();
    if (!inner.consume_back("]"))
      return emitError(location) << "bound to '" << text << "', a list without its end";
    texts.clear();
    if (!inner.trim().empty())
      inner.split(texts, ',');
  }
  SmallVector<Attribute> elements;
  for (StringRef item : texts) {
    Attribute value = element(item.trim(), type.getElementType());
    if (!value)
      return emitError(location) << "bound to '" << item.trim() << "', which is no value of "
                                 << type.getElementType();
    elements.push_back(value);
  }
  auto count = static_cast<int64_t>(elements.size());
  if (isList && type.getRank() == 1 && type.isDynamicDim(0))
    type = RankedTensorType::get({count}, type.getElementType());
  if (!type.hasStaticShape())
    return emitError(location) << "cannot be bound to a value: the file does not say its shape, " << type
                               << "; bind a .npy file";
  if (isList && count != type.getNumElements())
    return emitError(location) << "bound to " << count << " values, but it has "
                               << type.getNumElements() << " elements";
  if (!isList && type.getNumElements() == 0)
    elements.clear();
  return ImportedTensor{type, DenseElementsAttr::get(type, elements)};
}

} // namespace

FailureOr<ImportedTensor> spillway::onnx::boundTensor(StringRef text, RankedTensorType type,
                                                      Location location) {
  if (text.ends_with(".npy"))
    return fromNpy(text, type, location);
  if (text.ends_with(".pb"))
    return fromTensorProto(text, type, location);
  return fromText(text, type, location);
}
