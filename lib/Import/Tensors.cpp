#include "lib/Import/Tensors.h"

#include "runtime/io/ExternalData.h"
#include "runtime/io/TensorProto.h"
#include "spillway/Support/ElementCount.h"
#include "spillway/Support/Errors.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::onnx;

namespace {

/// Types of ONNX that the runtime's DataType lacks.
enum OtherType : int32_t { string = 8, uint4 = 21, int4 = 22, uint2 = 25, int2 = 26 };

/// Bits of one element in raw data.
uint64_t storedBits(Type element) {
  unsigned bits = element.getIntOrFloatBitWidth();
  return bits == 1 ? 8 : bits;
}

/// Checked dims as a type.
FailureOr<RankedTensorType> tensorType(ArrayRef<int64_t> dims, int32_t dataType,
                                       Location location) {
  Type element = elementType(dataType, location.getContext());
  if (!element)
    return emitError(location) << "tensors of " << dataTypeName(dataType) << " are not supported";
  for (int64_t dim : dims)
    if (dim < 0)
      return emitError(location) << "dimension of size " << dim;
  if (!elementCount(dims))
    return emitError(location) << "the shape has more than " << maxElementCount << " elements";
  return RankedTensorType::get(dims, element);
}

uint64_t rawBytes(RankedTensorType type) {
  return llvm::divideCeil(
      static_cast<uint64_t>(type.getNumElements()) * storedBits(type.getElementType()), 8);
}

/// Elements from their bits, one APInt each.
DenseElementsAttr denseFromBits(RankedTensorType type, ArrayRef<APInt> bits) {
  if (auto element = dyn_cast<FloatType>(type.getElementType())) {
    SmallVector<APFloat> values;
    for (const APInt &value : bits)
      values.emplace_back(element.getFloatSemantics(), value);
    return DenseElementsAttr::get(type, values);
  }
  return DenseElementsAttr::get(type, bits);
}

} // namespace

DenseElementsAttr spillway::onnx::denseFromRaw(RankedTensorType type, Bytes raw) {
  unsigned width = type.getElementType().getIntOrFloatBitWidth();
  uint64_t stride = storedBits(type.getElementType());
  SmallVector<APInt> bits;
  for (int64_t i = 0, end = type.getNumElements(); i < end; ++i) {
    APInt value(std::max<unsigned>(width, 8), 0);
    uint64_t bit = i * stride;
    for (unsigned byte = 0; byte < llvm::divideCeil(stride, 8); ++byte)
      value.insertBits(static_cast<uint64_t>(raw[bit / 8 + byte]) >> (bit % 8), 8 * byte, 8);
    if (width == 1)
      value = APInt(8, value.isZero() ? 0 : 1);
    bits.push_back(value.trunc(width));
  }
  return denseFromBits(type, bits);
}

namespace {

/// Small packed types come several to a byte, a byte to a varint.
unsigned elementsPerVarint(RankedTensorType type) {
  unsigned width = type.getElementType().getIntOrFloatBitWidth();
  return width < 8 && width > 1 ? 8 / width : 1;
}

/// Elements of int32_data and the like.
FailureOr<Attribute> denseFromVarints(RankedTensorType type, ArrayRef<Bytes> pieces,
                                      Location location) {
  unsigned width = type.getElementType().getIntOrFloatBitWidth();
  unsigned perVarint = elementsPerVarint(type);
  SmallVector<APInt> bits;
  for (Bytes piece : pieces) {
    WireCursor cursor(piece);
    // One element more than there should be is enough to tell.
    while (!cursor.atEnd() && static_cast<int64_t>(bits.size()) <= type.getNumElements()) {
      std::optional<uint64_t> value = cursor.varint();
      if (!value)
        return emitError(location) << "damaged integers";
      for (unsigned i = 0; i < perVarint; ++i)
        if (perVarint == 1 || static_cast<int64_t>(bits.size()) < type.getNumElements())
          bits.push_back(width == 1 ? APInt(1, *value != 0)
                                    : APInt(64, *value >> (i * width)).trunc(width));
    }
  }
  if (static_cast<int64_t>(bits.size()) != type.getNumElements())
    return emitError(location) << "has data for " << bits.size() << " elements, its shape "
                               << type.getNumElements();
  return denseFromBits(type, bits);
}

FailureOr<Attribute> importTyped(const TensorMessage &tensor, RankedTensorType type,
                                 const SourceFile &file, Location location) {
  uint64_t total = 0;
  for (Bytes piece : tensor.typedData)
    total += piece.size();
  auto extent = [&](Encoding encoding) -> Attribute {
    Bytes piece = tensor.typedData.front();
    return ExtentAttr::get(location.getContext(),
                           StringAttr::get(location.getContext(), file.path.string()),
                           piece.data() - file.bytes.data(), piece.size(), encoding);
  };
  bool onePiece = tensor.typedData.size() == 1;
  if (tensor.typedField != 4 && tensor.typedField != 10) {
    if (rawBytes(type) > maxInlineBytes && onePiece) {
      // A varint takes 1 to 10 bytes.
      uint64_t varints =
          llvm::divideCeil(static_cast<uint64_t>(type.getNumElements()), elementsPerVarint(type));
      if (total < varints || total > 10 * varints)
        return emitError(location) << "has " << total << " bytes of integers for "
                                   << type.getNumElements() << " elements";
      return extent(Encoding::varint);
    }
    if (rawBytes(type) > maxGatheredBytes)
      return emitError(location) << "its elements are scattered over the file; only "
                                 << maxGatheredBytes << " bytes are gathered";
    return denseFromVarints(type, tensor.typedData, location);
  }
  if (total != rawBytes(type) || !isa<FloatType>(type.getElementType()))
    return emitError(location) << "has " << total << " bytes of data, its type " << rawBytes(type);
  if (total > maxInlineBytes && onePiece)
    return extent(Encoding::raw);
  if (total > maxGatheredBytes)
    return emitError(location) << "its elements are scattered over the file; only "
                               << maxGatheredBytes << " bytes are gathered";
  std::vector<std::byte> gathered;
  for (Bytes piece : tensor.typedData)
    gathered.insert(gathered.end(), piece.begin(), piece.end());
  return denseFromRaw(type, gathered);
}

FailureOr<ImportedTensor> importStrings(const TensorMessage &tensor, RankedTensorType type,
                                        const SourceFile &file, Location location) {
  if (tensor.isExternal || tensor.rawData)
    return emitError(location) << "strings must be in string_data";
  if (static_cast<int64_t>(tensor.strings.size()) != type.getNumElements())
    return emitError(location) << "has " << tensor.strings.size() << " strings, its shape "
                               << type.getNumElements() << " elements";
  MLIRContext *context = location.getContext();
  if (tensor.message.size() <= maxInlineBytes)
    return stringTensor(tensor.dims, tensor.strings, context);
  return ImportedTensor{
      type, ExtentAttr::get(context, StringAttr::get(context, file.path.string()),
                            tensor.message.data() - file.bytes.data(), tensor.message.size(),
                            Encoding::message)};
}

} // namespace

Type spillway::onnx::elementType(int32_t dataType, MLIRContext *context) {
  Builder builder(context);
  switch (dataType) {
  case 1:
    return builder.getF32Type();
  case 2:
    return IntegerType::get(context, 8, IntegerType::Unsigned);
  case 3:
    return builder.getI8Type();
  case 4:
    return IntegerType::get(context, 16, IntegerType::Unsigned);
  case 5:
    return builder.getI16Type();
  case 6:
    return builder.getI32Type();
  case 7:
    return builder.getI64Type();
  case string:
    return StringType::get(context);
  case 9:
    return builder.getI1Type();
  case 10:
    return builder.getF16Type();
  case 11:
    return builder.getF64Type();
  case 12:
    return IntegerType::get(context, 32, IntegerType::Unsigned);
  case 13:
    return IntegerType::get(context, 64, IntegerType::Unsigned);
  case 16:
    return builder.getBF16Type();
  case 17:
    return Float8E4M3FNType::get(context);
  case 18:
    return Float8E4M3FNUZType::get(context);
  case 19:
    return Float8E5M2Type::get(context);
  case 20:
    return Float8E5M2FNUZType::get(context);
  case uint4:
    return IntegerType::get(context, 4, IntegerType::Unsigned);
  case int4:
    return IntegerType::get(context, 4);
  case 23:
    return Float4E2M1FNType::get(context);
  case 24:
    return Float8E8M0FNUType::get(context);
  case uint2:
    return IntegerType::get(context, 2, IntegerType::Unsigned);
  case int2:
    return IntegerType::get(context, 2);
  default:
    return {};
  }
}

std::string spillway::onnx::dataTypeName(int32_t dataType) {
  static constexpr StringRef names[] = {
      "undefined",      "float",    "uint8",        "int8",           "uint16",
      "int16",          "int32",    "int64",        "string",         "bool",
      "float16",        "double",   "uint32",       "uint64",         "complex64",
      "complex128",     "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2",
      "float8e5m2fnuz", "uint4",    "int4",         "float4e2m1",     "float8e8m0",
      "uint2",          "int2"};
  if (dataType >= 0 && dataType < static_cast<int32_t>(std::size(names)))
    return names[dataType].str();
  return "unknown type " + std::to_string(dataType);
}

FailureOr<ImportedTensor> spillway::onnx::importTensor(const TensorMessage &tensor,
                                                       const SourceFile &file, Location location) {
  FailureOr<RankedTensorType> type = tensorType(tensor.dims, tensor.dataType, location);
  if (failed(type))
    return failure();
  if (tensor.dataType == OtherType::string)
    return importStrings(tensor, *type, file, location);
  uint64_t bytes = rawBytes(*type);
  MLIRContext *context = location.getContext();
  if (tensor.isExternal) {
    ExternalData data;
    for (auto [key, value] : tensor.externalData)
      if (Status status = data.add(key, value); !status.ok())
        return spillway::emitError(location, status.error());
    Result<ExternalExtent> extent = resolveExternalData(file.path, data, bytes);
    if (!extent.ok())
      return spillway::emitError(location, extent.error());
    auto path = StringAttr::get(context, extent->path.string());
    return ImportedTensor{*type, ExtentAttr::get(context, path, extent->offset, bytes, Encoding::raw)};
  }
  if (tensor.rawData) {
    if (tensor.rawData->size() != bytes)
      return emitError(location) << "raw_data has " << tensor.rawData->size() << " bytes, its type "
                                 << *type << " takes " << bytes;
    if (bytes <= maxInlineBytes)
      return ImportedTensor{*type, denseFromRaw(*type, *tensor.rawData)};
    return ImportedTensor{
        *type, ExtentAttr::get(context, StringAttr::get(context, file.path.string()),
                               tensor.rawData->data() - file.bytes.data(), bytes, Encoding::raw)};
  }
  if (tensor.typedData.empty() && type->getNumElements() != 0)
    return emitError(location) << "has no data for its " << type->getNumElements() << " elements";
  if (type->getNumElements() == 0)
    return ImportedTensor{*type, denseFromRaw(*type, {})};
  if (uint32_t field = typedFieldOf(static_cast<DataType>(tensor.dataType));
      tensor.typedField != field || tensor.mixesTypedFields)
    return emitError(location) << "has elements in field " << tensor.typedField
                               << " of TensorProto; those of " << dataTypeName(tensor.dataType)
                               << " belong in field " << field;
  FailureOr<Attribute> value = importTyped(tensor, *type, file, location);
  if (failed(value))
    return failure();
  return ImportedTensor{*type, *value};
}

ImportedTensor spillway::onnx::stringTensor(ArrayRef<int64_t> shape, ArrayRef<StringRef> strings,
                                            MLIRContext *context) {
  auto type = RankedTensorType::get(shape, StringType::get(context));
  return {type, DenseStringElementsAttr::get(type, strings)};
}

FailureOr<ImportedTensor> spillway::onnx::importSparseTensor(const SparseTensorMessage &tensor,
                                                             const SourceFile &file,
                                                             Location location) {
  FailureOr<RankedTensorType> type = tensorType(tensor.dims, tensor.values.dataType, location);
  if (failed(type))
    return failure();
  if (tensor.values.dataType == OtherType::string)
    return emitError(location) << "sparse tensors of strings are not supported";
  if (rawBytes(*type) > maxGatheredBytes)
    return emitError(location) << "a sparse tensor of " << rawBytes(*type)
                               << " bytes when dense; at most " << maxGatheredBytes
                               << " are supported";
  FailureOr<ImportedTensor> values = importTensor(tensor.values, file, location);
  FailureOr<ImportedTensor> indices = importTensor(tensor.indices, file, location);
  if (failed(values) || failed(indices))
    return failure();
  auto elements = dyn_cast<DenseElementsAttr>(values->value);
  auto places = dyn_cast<DenseIntElementsAttr>(indices->value);
  if (!elements || !places || !places.getElementType().isInteger(64))
    return emitError(location) << "a sparse tensor of more than " << maxInlineBytes
                               << " bytes of values or indices is not supported";

  // Indices are linear, [n], or one per dimension, [n, rank].
  int64_t count = elements.getNumElements(), rank = type->getRank();
  bool linear = places.getType().getRank() == 1;
  if (places.getNumElements() != count * (linear ? 1 : rank))
    return emitError(location) << "a sparse tensor with " << count << " values and "
                               << places.getNumElements() << " indices";
  unsigned width = type->getElementType().getIntOrFloatBitWidth();
  SmallVector<APInt> bits(type->getNumElements(), APInt(width, 0));
  SmallVector<int64_t> flat(places.getValues<int64_t>());
  for (int64_t i = 0; i < count; ++i) {
    int64_t position = 0;
    if (linear)
      position = flat[i];
    for (int64_t d = 0; !linear && d < rank; ++d) {
      int64_t index = flat[i * rank + d];
      if (index < 0 || index >= type->getDimSize(d))
        return emitError(location) << "a sparse index " << index << " outside of dimension " << d;
      position = position * type->getDimSize(d) + index;
    }
    if (position < 0 || position >= type->getNumElements())
      return emitError(location) << "a sparse index " << position << " outside of the tensor";
    if (isa<FloatType>(type->getElementType()))
      bits[position] = elements.getValues<APFloat>()[i].bitcastToAPInt();
    else
      bits[position] = elements.getValues<APInt>()[i];
  }
  return ImportedTensor{*type, denseFromBits(*type, bits)};
}
