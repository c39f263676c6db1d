#include "lib/Import/Messages.h"

#include <bit>

using namespace mlir;
using namespace spillway;
using namespace spillway::onnx;

namespace {

/// Reads messages; remembers the first damage, after which every result is void.
class Reader {
public:
  explicit Reader(std::string &error) : error(error) {}

  ModelMessage model(Bytes message) {
    ModelMessage model;
    fields(message, "ModelProto", [&](WireTag tag, WireCursor &cursor) {
      switch (tag.field) {
      case 1:
        return integer(tag, cursor, model.irVersion);
      case 7:
        return sub(tag, cursor, [&](Bytes bytes) { model.graph = graph(bytes, 0); });
      case 8:
        return sub(tag, cursor, [&](Bytes bytes) { model.opsets.push_back(opset(bytes)); });
      case 25:
        return sub(tag, cursor, [&](Bytes bytes) { model.functions.push_back(function(bytes)); });
      default:
        return cursor.skip(tag.type);
      }
    });
    return model;
  }

  TensorMessage tensor(Bytes message) {
    TensorMessage tensor;
    tensor.message = message;
    fields(message, "TensorProto", [&](WireTag tag, WireCursor &cursor) {
      switch (tag.field) {
      case 1:
        return integers(tag, cursor, tensor.dims);
      case 2:
        return integer(tag, cursor, tensor.dataType);
      case 4:
      case 10:
        return typed(tag, cursor, tensor, /*varint=*/false);
      case 5:
      case 7:
      case 11:
        return typed(tag, cursor, tensor, /*varint=*/true);
      case 6:
        return texts(tag, cursor, tensor.strings);
      case 8:
        return text(tag, cursor, tensor.name);
      case 9:
        return sub(tag, cursor, [&](Bytes bytes) { tensor.rawData = bytes; });
      case 13:
        return sub(tag, cursor, [&](Bytes bytes) { tensor.externalData.push_back(entry(bytes)); });
      case 14: {
        int64_t location = 0;
        bool read = integer(tag, cursor, location);
        tensor.isExternal = location == 1;
        return read;
      }
      default:
        return cursor.skip(tag.type);
      }
    });
    return tensor;
  }

private:
  template <typename Handle> void fields(Bytes message, const char *name, Handle handle) {
    WireCursor cursor(message);
    while (error.empty() && !cursor.atEnd()) {
      std::optional<WireTag> tag = cursor.tag();
      if ((!tag || !handle(*tag, cursor)) && error.empty())
        error = std::string("damaged ") + name +
                (tag ? " in field " + std::to_string(tag->field) : std::string());
    }
  }

  template <typename Read> static bool sub(WireTag tag, WireCursor &cursor, Read read) {
    if (tag.type != WireType::bytes)
      return false;
    std::optional<Bytes> bytes = cursor.bytes();
    if (bytes)
      read(*bytes);
    return bytes.has_value();
  }

  template <typename T> static bool integer(WireTag tag, WireCursor &cursor, T &value) {
    if (tag.type != WireType::varint)
      return false;
    std::optional<uint64_t> read = cursor.varint();
    if (read)
      value = static_cast<T>(*read);
    return read.has_value();
  }

  static bool real(WireTag tag, WireCursor &cursor, float &value) {
    if (tag.type != WireType::fixed32)
      return false;
    std::optional<uint32_t> read = cursor.fixed32();
    if (read)
      value = std::bit_cast<float>(*read);
    return read.has_value();
  }

  static bool text(WireTag tag, WireCursor &cursor, StringRef &value) {
    return sub(tag, cursor, [&](Bytes bytes) {
      value = StringRef(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    });
  }

  static bool texts(WireTag tag, WireCursor &cursor, std::vector<StringRef> &values) {
    return text(tag, cursor, values.emplace_back());
  }

  /// Packed or one by one.
  static bool integers(WireTag tag, WireCursor &cursor, std::vector<int64_t> &values) {
    if (tag.type != WireType::bytes)
      return integer(tag, cursor, values.emplace_back());
    std::optional<Bytes> packed = cursor.bytes();
    if (!packed)
      return false;
    WireCursor inner(*packed);
    while (!inner.atEnd()) {
      std::optional<uint64_t> value = inner.varint();
      if (!value)
        return false;
      values.push_back(static_cast<int64_t>(*value));
    }
    return true;
  }

  static bool reals(WireTag tag, WireCursor &cursor, std::vector<float> &values) {
    if (tag.type != WireType::bytes)
      return real(tag, cursor, values.emplace_back());
    std::optional<Bytes> packed = cursor.bytes();
    if (!packed || packed->size() % sizeof(float) != 0)
      return false;
    size_t before = values.size();
    values.resize(before + packed->size() / sizeof(float));
    if (!packed->empty())
      std::memcpy(values.data() + before, packed->data(), packed->size());
    return true;
  }

  /// Packed or one by one: the bytes of the numbers themselves.
  static bool typed(WireTag tag, WireCursor &cursor, TensorMessage &tensor, bool varint) {
    tensor.mixesTypedFields |= tensor.typedField != 0 && tensor.typedField != tag.field;
    tensor.typedField = tag.field;
    if (tag.type == WireType::bytes)
      return sub(tag, cursor, [&](Bytes bytes) { tensor.typedData.push_back(bytes); });
    if (varint != (tag.type == WireType::varint))
      return false;
    Bytes before = cursor.rest();
    if (!cursor.skip(tag.type))
      return false;
    tensor.typedData.push_back(before.first(before.size() - cursor.rest().size()));
    return true;
  }

  std::pair<StringRef, StringRef> entry(Bytes message) {
    std::pair<StringRef, StringRef> entry;
    fields(message, "StringStringEntryProto", [&](WireTag tag, WireCursor &cursor) {
      if (tag.field == 1)
        return text(tag, cursor, entry.first);
      if (tag.field == 2)
        return text(tag, cursor, entry.second);
      return cursor.skip(tag.type);
    });
    return entry;
  }

  OpsetMessage opset(Bytes message) {
    OpsetMessage opset;
    fields(message, "OperatorSetIdProto", [&](WireTag tag, WireCursor &cursor) {
      if (tag.field == 1)
        return text(tag, cursor, opset.domain);
      if (tag.field == 2)
        return integer(tag, cursor, opset.version);
      return cursor.skip(tag.type);
    });
    return opset;
  }

  SparseTensorMessage sparse(Bytes message) {
    SparseTensorMessage sparse;
    fields(message, "SparseTensorProto", [&](WireTag tag, WireCursor &cursor) {
      switch (tag.field) {
      case 1:
        return sub(tag, cursor, [&](Bytes bytes) { sparse.values = tensor(bytes); });
      case 2:
        return sub(tag, cursor, [&](Bytes bytes) { sparse.indices = tensor(bytes); });
      case 3:
        return integers(tag, cursor, sparse.dims);
      default:
        return cursor.skip(tag.type);
      }
    });
    return sparse;
  }

  DimMessage dim(Bytes message) {
    DimMessage dim;
    fields(message, "TensorShapeProto.Dimension", [&](WireTag tag, WireCursor &cursor) {
      if (tag.field == 1)
        return integer(tag, cursor, dim.size.emplace());
      if (tag.field == 2)
        return text(tag, cursor, dim.name);
      return cursor.skip(tag.type);
    });
    return dim;
  }

  void tensorType(Bytes message, ValueInfoMessage &value) {
    value.isTensor = true;
    fields(message, "TypeProto.Tensor", [&](WireTag tag, WireCursor &cursor) {
      if (tag.field == 1)
        return integer(tag, cursor, value.dataType);
      if (tag.field == 2)
        return sub(tag, cursor, [&](Bytes bytes) {
          value.shape.emplace();
          fields(bytes, "TensorShapeProto", [&](WireTag tag, WireCursor &cursor) {
            if (tag.field == 1)
              return sub(tag, cursor, [&](Bytes bytes) { value.shape->push_back(dim(bytes)); });
            return cursor.skip(tag.type);
          });
        });
      return cursor.skip(tag.type);
    });
  }

  ValueInfoMessage valueInfo(Bytes message) {
    ValueInfoMessage value;
    fields(message, "ValueInfoProto", [&](WireTag tag, WireCursor &cursor) {
      if (tag.field == 1)
        return text(tag, cursor, value.name);
      if (tag.field == 2)
        return sub(tag, cursor, [&](Bytes bytes) {
          fields(bytes, "TypeProto", [&](WireTag tag, WireCursor &cursor) {
            if (tag.field == 1)
              return sub(tag, cursor, [&](Bytes bytes) { tensorType(bytes, value); });
            return cursor.skip(tag.type);
          });
        });
      return cursor.skip(tag.type);
    });
    return value;
  }

  AttributeMessage attribute(Bytes message, int depth) {
    AttributeMessage attribute;
    fields(message, "AttributeProto", [&](WireTag tag, WireCursor &cursor) {
      switch (tag.field) {
      case 1:
        return text(tag, cursor, attribute.name);
      case 2:
        return real(tag, cursor, attribute.f);
      case 3:
        return integer(tag, cursor, attribute.i);
      case 4:
        return text(tag, cursor, attribute.s);
      case 5:
      case 10:
        return sub(tag, cursor, [&](Bytes bytes) { attribute.tensors.push_back(tensor(bytes)); });
      case 6:
      case 11:
        return sub(tag, cursor, [&](Bytes bytes) {
          attribute.graphs.push_back(std::make_shared<GraphMessage>(graph(bytes, depth + 1)));
        });
      case 7:
        return reals(tag, cursor, attribute.floats);
      case 8:
        return integers(tag, cursor, attribute.ints);
      case 9:
        return texts(tag, cursor, attribute.strings);
      case 20:
        return integer(tag, cursor, attribute.type);
      case 21:
        return text(tag, cursor, attribute.referredName);
      case 22:
      case 23:
        return sub(tag, cursor,
                   [&](Bytes bytes) { attribute.sparseTensors.push_back(sparse(bytes)); });
      default:
        return cursor.skip(tag.type);
      }
    });
    return attribute;
  }

  NodeMessage node(Bytes message, int depth) {
    NodeMessage node;
    fields(message, "NodeProto", [&](WireTag tag, WireCursor &cursor) {
      switch (tag.field) {
      case 1:
        return texts(tag, cursor, node.inputs);
      case 2:
        return texts(tag, cursor, node.outputs);
      case 3:
        return text(tag, cursor, node.name);
      case 4:
        return text(tag, cursor, node.opType);
      case 5:
        return sub(tag, cursor,
                   [&](Bytes bytes) { node.attributes.push_back(attribute(bytes, depth)); });
      case 7:
        return text(tag, cursor, node.domain);
      case 8:
        return text(tag, cursor, node.overload);
      default:
        return cursor.skip(tag.type);
      }
    });
    return node;
  }

  GraphMessage graph(Bytes message, int depth) {
    GraphMessage graph;
    if (depth > maxGraphDepth) {
      error = "subgraphs are nested more than " + std::to_string(maxGraphDepth) + " deep";
      return graph;
    }
    fields(message, "GraphProto", [&](WireTag tag, WireCursor &cursor) {
      switch (tag.field) {
      case 1:
        return sub(tag, cursor, [&](Bytes bytes) { graph.nodes.push_back(node(bytes, depth)); });
      case 2:
        return text(tag, cursor, graph.name);
      case 5:
        return sub(tag, cursor, [&](Bytes bytes) { graph.initializers.push_back(tensor(bytes)); });
      case 11:
        return sub(tag, cursor, [&](Bytes bytes) { graph.inputs.push_back(valueInfo(bytes)); });
      case 12:
        return sub(tag, cursor, [&](Bytes bytes) { graph.outputs.push_back(valueInfo(bytes)); });
      case 15:
        return sub(tag, cursor,
                   [&](Bytes bytes) { graph.sparseInitializers.push_back(sparse(bytes)); });
      default:
        return cursor.skip(tag.type);
      }
    });
    return graph;
  }

  FunctionMessage function(Bytes message) {
    FunctionMessage function;
    fields(message, "FunctionProto", [&](WireTag tag, WireCursor &cursor) {
      switch (tag.field) {
      case 1:
        return text(tag, cursor, function.name);
      case 4:
        return texts(tag, cursor, function.inputs);
      case 5:
        return texts(tag, cursor, function.outputs);
      case 7:
        return sub(tag, cursor, [&](Bytes bytes) { function.nodes.push_back(node(bytes, 0)); });
      case 9:
        return sub(tag, cursor, [&](Bytes bytes) { function.opsets.push_back(opset(bytes)); });
      case 10:
        return text(tag, cursor, function.domain);
      case 11:
        return sub(tag, cursor,
                   [&](Bytes bytes) { function.attributeDefaults.push_back(attribute(bytes, 0)); });
      case 13:
        return text(tag, cursor, function.overload);
      default:
        return cursor.skip(tag.type);
      }
    });
    return function;
  }

  std::string &error;
};

} // namespace

FailureOr<ModelMessage> spillway::onnx::readModel(Bytes file, std::string &error) {
  error.clear();
  ModelMessage model = Reader(error).model(file);
  if (error.empty() && !model.graph)
    error = "there is no graph in it";
  if (!error.empty())
    return failure();
  return model;
}

FailureOr<TensorMessage> spillway::onnx::readTensor(Bytes message, std::string &error) {
  error.clear();
  TensorMessage tensor = Reader(error).tensor(message);
  if (!error.empty())
    return failure();
  return tensor;
}
