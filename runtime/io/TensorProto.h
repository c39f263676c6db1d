// Tensors in ONNX's protobuf files (onnx.TensorProto), as test data comes.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/io/HostTensor.h"

#include <filesystem>
#include <span>

namespace spillway {

/// Number of the field of TensorProto that elements of a type are in where they are not raw, also of
/// ONNX's types that DataType has no name for.
uint32_t typedFieldOf(DataType type);

/// Reads a TensorProto whose elements are in the message, in the raw or any typed field.
/// User errors: element types outside of DataType, external data, another number of
/// elements than the shape says, damaged bytes.
Result<HostTensor> parseTensorProto(std::span<const std::byte> message);

/// The same of a whole file.
Result<HostTensor> readTensorProto(const std::filesystem::path &path);

} // namespace spillway
