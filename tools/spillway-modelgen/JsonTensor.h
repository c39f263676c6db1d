// Tensors and types of the JSON description.
#pragma once

#include "runtime/io/WireWriter.h"

#include <nlohmann/json.hpp>

namespace spillway::modelgen {

/// The number of onnx.TensorProto.DataType for a name such as "f32", or a number as it is.
int32_t elementTypeNumber(const nlohmann::json &type);

/// TensorProto. Throws nlohmann::json::exception for what the format does not allow.
WireWriter tensorFromJson(const nlohmann::json &tensor);

} // namespace spillway::modelgen
