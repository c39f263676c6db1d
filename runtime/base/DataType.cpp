#include "runtime/base/DataType.h"

#include <utility>

namespace spillway {

namespace {
struct Entry {
  DataType type;
  std::string_view name;
  uint64_t width;
};
constexpr Entry entries[] = {
    {DataType::f32, "f32", 4},   {DataType::u8, "u8", 1},        {DataType::i8, "i8", 1},
    {DataType::u16, "u16", 2},   {DataType::i16, "i16", 2},      {DataType::i32, "i32", 4},
    {DataType::i64, "i64", 8},   {DataType::boolean, "bool", 1}, {DataType::f16, "f16", 2},
    {DataType::f64, "f64", 8},   {DataType::u32, "u32", 4},      {DataType::u64, "u64", 8},
    {DataType::bf16, "bf16", 2},
};
} // namespace

uint64_t byteWidth(DataType type) {
  for (const Entry &entry : entries)
    if (entry.type == type)
      return entry.width;
  return 0;
}

std::string_view name(DataType type) {
  for (const Entry &entry : entries)
    if (entry.type == type)
      return entry.name;
  return "invalid";
}

std::optional<DataType> dataTypeFromName(std::string_view name) {
  for (const Entry &entry : entries)
    if (entry.name == name)
      return entry.type;
  return std::nullopt;
}

} // namespace spillway
