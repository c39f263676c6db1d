#include "tools/spillway-modelgen/JsonTensor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

using namespace spillway;
using namespace spillway::modelgen;
using nlohmann::json;

namespace {
struct Element {
  std::string_view name;
  int32_t number;
  int bits;
  /// The field of TensorProto that holds elements which are not raw.
  uint32_t field;
};
} // namespace

static constexpr std::array elements = {
    Element{"f32", 1, 32, 4},      Element{"u8", 2, 8, 5},      Element{"i8", 3, 8, 5},
    Element{"u16", 4, 16, 5},      Element{"i16", 5, 16, 5},    Element{"i32", 6, 32, 5},
    Element{"i64", 7, 64, 7},      Element{"string", 8, 0, 6},  Element{"bool", 9, 8, 5},
    Element{"f16", 10, 16, 5},     Element{"f64", 11, 64, 10},  Element{"u32", 12, 32, 11},
    Element{"u64", 13, 64, 11},    Element{"c64", 14, 64, 4},   Element{"bf16", 16, 16, 5},
    Element{"f8e4m3fn", 17, 8, 5}, Element{"f8e5m2", 19, 8, 5}, Element{"u4", 21, 4, 5},
    Element{"i4", 22, 4, 5}};

static const Element &elementOf(const json &type) {
  const auto *found = std::ranges::find_if(elements, [&](const Element &element) {
    return type.is_string() ? element.name == type.get_ref<const std::string &>()
                            : element.number == type.get<int32_t>();
  });
  if (found == elements.end())
    throw json::other_error::create(599, "no element type " + type.dump(), &type);
  return *found;
}

int32_t modelgen::elementTypeNumber(const json &type) {
  return type.is_number() ? type.get<int32_t>() : elementOf(type).number;
}

/// The element's bits. Floats of 8 bits are given as bits; "inf", "-inf" and "nan" are floats.
static uint64_t bitsOf(const json &value, const Element &element) {
  double real = 0;
  bool isReal =
      element.number == 1 || element.number == 10 || element.number == 11 || element.number == 16;
  if (!isReal)
    return value.is_boolean()           ? uint64_t{value.get<bool>()}
           : value.is_number_unsigned() ? value.get<uint64_t>()
                                        : static_cast<uint64_t>(value.get<int64_t>());
  if (value.is_string())
    real = value == "nan" ? std::numeric_limits<double>::quiet_NaN()
                          : (value == "-inf" ? -1 : 1) * std::numeric_limits<double>::infinity();
  else
    real = value.get<double>();
  if (element.number == 11)
    return std::bit_cast<uint64_t>(real);
  auto single = static_cast<float>(real);
  if (element.number == 1)
    return std::bit_cast<uint32_t>(single);
  if (element.number == 10)
    return std::bit_cast<uint16_t>(static_cast<_Float16>(real));
  uint32_t bits = std::bit_cast<uint32_t>(single);
  return std::isnan(single) ? bits >> 16 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

static std::string hexBytes(const std::string &hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

static std::string rawElements(const std::vector<uint64_t> &values, int bits) {
  std::string bytes;
  if (bits == 4) {
    for (size_t i = 0; i < values.size(); i += 2) {
      uint64_t high = i + 1 < values.size() ? values[i + 1] & 15 : 0;
      bytes.push_back(static_cast<char>((values[i] & 15) | high << 4));
    }
    return bytes;
  }
  for (uint64_t value : values)
    bytes.append(reinterpret_cast<const char *>(&value), bits / 8);
  return bytes;
}

static std::string typedElements(const std::vector<uint64_t> &values, const Element &element) {
  if (element.field == 4 || element.field == 10)
    return rawElements(values, element.bits);
  WireWriter packed;
  if (element.bits == 4) {
    for (char byte : rawElements(values, 4))
      packed.varint(static_cast<uint8_t>(byte));
    return packed.bytes();
  }
  // Bit patterns of floats and unsigned numbers stay as they are; signed ones keep their sign.
  for (uint64_t value : values)
    packed.varint(value);
  return packed.bytes();
}

WireWriter modelgen::tensorFromJson(const json &tensor) {
  WireWriter result;
  uint64_t count = 1;
  for (int64_t dim : tensor.value("dims", std::vector<int64_t>())) {
    result.integer(1, dim);
    count *= dim;
  }
  if (!tensor.contains("type")) // As hostile files have it.
    return result;
  result.integer(2, elementTypeNumber(tensor.at("type")));
  if (tensor.contains("name"))
    result.text(8, tensor.at("name").get<std::string>());

  if (tensor.contains("external")) {
    for (const auto &[key, value] : tensor.at("external").items()) {
      WireWriter entry;
      entry.text(1, key);
      entry.text(2, value.is_string() ? value.get<std::string>() : value.dump());
      result.message(13, entry);
    }
    result.integer(14, 1);
    return result;
  }
  if (tensor.contains("hex")) {
    result.text(9, hexBytes(tensor.at("hex").get<std::string>()));
    return result;
  }
  json data = tensor.value("data", json::array());
  if (tensor.contains("splat"))
    data = json::array_t(count, tensor.at("splat"));
  const Element &element = elementOf(tensor.at("type"));
  if (element.name == "string") {
    for (const json &value : data)
      result.text(6, value.get<std::string>());
    return result;
  }
  std::vector<uint64_t> values;
  for (const json &value : data)
    values.push_back(bitsOf(value, element));
  std::string form = tensor.value("form", "raw");
  if (form == "raw")
    result.text(9, rawElements(values, element.bits));
  else if (form == "packed")
    result.text(element.field, typedElements(values, element));
  else if (form == "unpacked" && element.field != 4 && element.field != 10)
    for (uint64_t value : values)
      result.integer(element.field, static_cast<int64_t>(value));
  else
    throw json::other_error::create(599, "no form " + form + " for this type", &tensor);
  return result;
}
