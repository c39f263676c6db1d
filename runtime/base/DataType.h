// Element types as they occur in files, states and manifests.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace spillway {

/// Numbers are those of onnx.TensorProto.DataType, so that files need no map.
enum class DataType : uint8_t {
  f32 = 1,
  u8 = 2,
  i8 = 3,
  u16 = 4,
  i16 = 5,
  i32 = 6,
  i64 = 7,
  boolean = 9,
  f16 = 10,
  f64 = 11,
  u32 = 12,
  u64 = 13,
  bf16 = 16,
};

/// Bytes of one element as stored (a boolean takes one byte).
uint64_t byteWidth(DataType type);
/// "f32", "bf16", "bool", ...
std::string_view name(DataType type);
std::optional<DataType> dataTypeFromName(std::string_view name);

} // namespace spillway
