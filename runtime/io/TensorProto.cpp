#include "runtime/io/TensorProto.h"
#include "runtime/base/File.h"
#include "runtime/io/ProtoWire.h"

#include <algorithm>
#include <optional>

namespace spillway {

namespace {
/// Field numbers of onnx.TensorProto.
enum Field : uint32_t {
  dims = 1,
  dataType = 2,
  segment = 3,
  floatData = 4,
  int32Data = 5,
  stringData = 6,
  int64Data = 7,
  name = 8,
  rawData = 9,
  doubleData = 10,
  uint64Data = 11,
  dataLocation = 14,
};

Error damaged() { return userError("damaged protobuf"); }

/// The field that elements of a type are in where they are not raw, and how that field
/// holds one of them.
struct TypedField {
  uint32_t number;
  WireType form;
};
TypedField typedField(DataType type) {
  switch (type) {
  case DataType::f32:
    return {floatData, WireType::fixed32};
  case DataType::f64:
    return {doubleData, WireType::fixed64};
  case DataType::i64:
    return {int64Data, WireType::varint};
  case DataType::u32:
  case DataType::u64:
    return {uint64Data, WireType::varint};
  default:
    return {int32Data, WireType::varint};
  }
}

std::optional<uint64_t> readNumber(WireCursor &cursor, WireType form) {
  switch (form) {
  case WireType::varint:
    return cursor.varint();
  case WireType::fixed32:
    return cursor.fixed32();
  case WireType::fixed64:
    return cursor.fixed64();
  case WireType::bytes:
    break;
  }
  return std::nullopt;
}

/// Calls `take` for each number of an occurrence of a repeated field whose numbers have
/// the given form, packed or not; false where the bytes are damaged.
template <typename Take>
bool forEachNumber(WireCursor &cursor, WireType type, WireType form, Take &&take) {
  if (type == form) {
    std::optional<uint64_t> number = readNumber(cursor, form);
    if (number)
      take(*number);
    return number.has_value();
  }
  std::optional<std::span<const std::byte>> packed;
  if (type != WireType::bytes || !(packed = cursor.bytes()))
    return false;
  WireCursor numbers(*packed);
  while (!numbers.atEnd()) {
    std::optional<uint64_t> number = readNumber(numbers, form);
    if (!number)
      return false;
    take(*number);
  }
  return true;
}

bool isElementField(uint32_t number) {
  return number == floatData || number == int32Data || number == stringData ||
         number == int64Data || number == doubleData || number == uint64Data;
}

/// A message but for its typed elements.
struct Outline {
  std::vector<int64_t> shape;
  uint64_t type = 0;
  std::string name;
  std::optional<std::span<const std::byte>> raw;
  bool isExternal = false;
  bool isSegment = false;
  /// The typed fields that occur.
  std::vector<uint32_t> elementFields;
};

Result<Outline> readOutline(std::span<const std::byte> message) {
  Outline outline;
  WireCursor cursor(message);
  while (!cursor.atEnd()) {
    std::optional<WireTag> tag = cursor.tag();
    if (!tag)
      return damaged();
    std::optional<uint64_t> number;
    switch (tag->field) {
    case dims:
      if (!forEachNumber(cursor, tag->type, WireType::varint, [&](uint64_t size) {
            outline.shape.push_back(static_cast<int64_t>(size));
          }))
        return damaged();
      continue;
    case dataType:
    case dataLocation:
      if (tag->type != WireType::varint || !(number = cursor.varint()))
        return damaged();
      if (tag->field == dataType)
        outline.type = *number;
      else
        outline.isExternal = *number != 0;
      continue;
    case name: {
      std::optional<std::string_view> text;
      if (tag->type != WireType::bytes || !(text = cursor.text()))
        return damaged();
      outline.name = *text;
      continue;
    }
    case rawData:
      if (tag->type != WireType::bytes || !(outline.raw = cursor.bytes()))
        return damaged();
      continue;
    case segment:
      outline.isSegment = true;
      break;
    default:
      if (isElementField(tag->field))
        outline.elementFields.push_back(tag->field);
      break;
    }
    if (!cursor.skip(tag->type))
      return damaged();
  }
  return outline;
}

std::optional<DataType> dataTypeOf(uint64_t number) {
  auto type = static_cast<DataType>(number);
  if (number > UINT8_MAX || byteWidth(type) == 0)
    return std::nullopt;
  return type;
}

Result<uint64_t> bytesOf(DataType type, std::span<const int64_t> shape) {
  uint64_t bytes = byteWidth(type);
  for (int64_t size : shape) {
    if (size < 0)
      return userError("a dimension of {}", size);
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes))
      return userError("the shape has too many elements");
  }
  return bytes;
}

/// Appends the elements of the typed field, at most `limit` bytes and one element.
Status readElements(std::span<const std::byte> message, DataType type, uint64_t limit,
                    std::vector<std::byte> &bytes) {
  TypedField field = typedField(type);
  uint64_t width = byteWidth(type);
  WireCursor cursor(message);
  while (!cursor.atEnd()) {
    std::optional<WireTag> tag = cursor.tag();
    if (!tag)
      return damaged();
    bool read = tag->field != field.number
                    ? cursor.skip(tag->type)
                    : forEachNumber(cursor, tag->type, field.form, [&](uint64_t number) {
                        auto first = reinterpret_cast<const std::byte *>(&number);
                        if (bytes.size() <= limit)
                          bytes.insert(bytes.end(), first, first + width);
                      });
    if (!read)
      return damaged();
  }
  return {};
}
} // namespace

uint32_t typedFieldOf(DataType type) { return typedField(type).number; }

Result<HostTensor> parseTensorProto(std::span<const std::byte> message) {
  SPILLWAY_ASSIGN_OR_RETURN(Outline outline, readOutline(message));
  std::optional<DataType> type = dataTypeOf(outline.type);
  if (!type)
    return userError("elements of ONNX type {} are not supported", outline.type);
  if (outline.isExternal)
    return userError("the elements are in another file");
  if (outline.isSegment)
    return userError("the tensor comes in segments");
  SPILLWAY_ASSIGN_OR_RETURN(uint64_t expected, bytesOf(*type, outline.shape));
  for (uint32_t field : outline.elementFields)
    if (outline.raw || field != typedField(*type).number)
      return userError("elements of type {} in field {}", spillway::name(*type), field);
  HostTensor tensor{std::move(outline.name), *type, std::move(outline.shape), {}};
  if (outline.raw)
    tensor.bytes.assign(outline.raw->begin(), outline.raw->end());
  else
    SPILLWAY_RETURN_IF_ERROR(readElements(message, *type, expected, tensor.bytes));
  if (tensor.bytes.size() != expected)
    return userError("{} bytes of elements where the shape needs {}", tensor.bytes.size(),
                     expected);
  if (*type == DataType::boolean)
    for (std::byte &element : tensor.bytes)
      element = element == std::byte(0) ? std::byte(0) : std::byte(1);
  return tensor;
}

Result<HostTensor> readTensorProto(const std::filesystem::path &path) {
  constexpr uint64_t largestMessage = uint64_t(1) << 31;
  SPILLWAY_ASSIGN_OR_RETURN(std::vector<std::byte> message, readFile(path, largestMessage));
  Result<HostTensor> tensor = parseTensorProto(message);
  if (!tensor.ok())
    return std::move(tensor).error().in(fmt::format("'{}'", path.string()));
  return tensor;
}

} // namespace spillway
