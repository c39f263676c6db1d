// The messages of onnx.proto that Spillway reads, as views into the mapped file.
#pragma once

#include "runtime/io/ProtoWire.h"

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace spillway::onnx {

using Bytes = std::span<const std::byte>;

/// onnx.TensorProto. Of the typed fields only the place is kept.
struct TensorMessage {
  /// The whole of it.
  Bytes message;
  llvm::StringRef name;
  std::vector<int64_t> dims;
  int32_t dataType = 0;
  std::optional<Bytes> rawData;
  /// Pieces of float_data, double_data (fixed width) or int32_data, int64_data,
  /// uint64_data (varints), as they follow each other in the file.
  std::vector<Bytes> typedData;
  /// Number of the field that `typedData` comes from; 0 where there is none.
  uint32_t typedField = 0;
  bool mixesTypedFields = false;
  std::vector<llvm::StringRef> strings;
  bool isExternal = false;
  std::vector<std::pair<llvm::StringRef, llvm::StringRef>> externalData;
};

struct SparseTensorMessage {
  TensorMessage values, indices;
  std::vector<int64_t> dims;
};

struct DimMessage {
  std::optional<int64_t> size;
  llvm::StringRef name;
};

struct ValueInfoMessage {
  llvm::StringRef name;
  /// Of a tensor; 0 where the value is no tensor or has no type.
  int32_t dataType = 0;
  bool isTensor = false;
  std::optional<std::vector<DimMessage>> shape;
};

struct GraphMessage;

struct AttributeMessage {
  llvm::StringRef name, referredName;
  int32_t type = 0;
  float f = 0;
  int64_t i = 0;
  llvm::StringRef s;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<llvm::StringRef> strings;
  std::vector<TensorMessage> tensors;
  std::vector<SparseTensorMessage> sparseTensors;
  std::vector<std::shared_ptr<GraphMessage>> graphs;
};

struct NodeMessage {
  llvm::StringRef name, opType, domain, overload;
  std::vector<llvm::StringRef> inputs, outputs;
  std::vector<AttributeMessage> attributes;
};

struct GraphMessage {
  llvm::StringRef name;
  std::vector<NodeMessage> nodes;
  std::vector<TensorMessage> initializers;
  std::vector<SparseTensorMessage> sparseInitializers;
  std::vector<ValueInfoMessage> inputs, outputs;
};

struct OpsetMessage {
  llvm::StringRef domain;
  int64_t version = 0;
};

struct FunctionMessage {
  llvm::StringRef name, domain, overload;
  std::vector<llvm::StringRef> inputs, outputs;
  std::vector<AttributeMessage> attributeDefaults;
  std::vector<NodeMessage> nodes;
  std::vector<OpsetMessage> opsets;
};

struct ModelMessage {
  int64_t irVersion = 0;
  std::vector<OpsetMessage> opsets;
  std::optional<GraphMessage> graph;
  std::vector<FunctionMessage> functions;
};

/// Subgraphs in subgraphs, at most.
inline constexpr int maxGraphDepth = 64;

/// The model in `file`, or what is damaged in it.
mlir::FailureOr<ModelMessage> readModel(Bytes file, std::string &error);

/// The same for one tensor.
mlir::FailureOr<TensorMessage> readTensor(Bytes message, std::string &error);

} // namespace spillway::onnx
