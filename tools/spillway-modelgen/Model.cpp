#include "tools/spillway-modelgen/Model.h"

#include "runtime/base/OutputFile.h"

#include <algorithm>

using namespace spillway;
using namespace spillway::modelgen;

WireWriter modelgen::valueInfo(std::string_view name, int32_t elementType,
                               const std::optional<std::vector<Dimension>> &dims) {
  WireWriter tensor;
  tensor.integer(1, elementType);
  if (dims) {
    WireWriter shape;
    for (const Dimension &dim : *dims) {
      WireWriter size;
      if (const auto *value = std::get_if<int64_t>(&dim))
        size.integer(1, *value);
      else if (const auto *parameter = std::get_if<std::string>(&dim))
        size.text(2, *parameter);
      shape.message(1, size);
    }
    tensor.message(2, shape);
  }
  WireWriter type, info;
  type.message(1, tensor);
  info.text(1, name);
  info.message(2, type);
  return info;
}

static WireWriter namedAttribute(std::string_view name, int64_t kind) {
  WireWriter result;
  result.text(1, name);
  result.integer(20, kind);
  return result;
}

WireWriter modelgen::attribute(std::string_view name, float value) {
  WireWriter result = namedAttribute(name, 1);
  result.real(2, value);
  return result;
}

WireWriter modelgen::attribute(std::string_view name, int64_t value) {
  WireWriter result = namedAttribute(name, 2);
  result.integer(3, value);
  return result;
}

WireWriter modelgen::attribute(std::string_view name, std::string_view value) {
  WireWriter result = namedAttribute(name, 3);
  result.text(4, value);
  return result;
}

WireWriter modelgen::attribute(std::string_view name, const std::vector<int64_t> &values) {
  WireWriter result = namedAttribute(name, 7);
  for (int64_t value : values)
    result.integer(8, value);
  return result;
}

WireWriter modelgen::tensorAttribute(std::string_view name, const WireWriter &tensor) {
  WireWriter result = namedAttribute(name, 4);
  result.message(5, tensor);
  return result;
}

/// Name, type and shape of a TensorProto.
static WireWriter tensorHead(std::string_view name, int32_t elementType,
                             const std::vector<int64_t> &dims) {
  WireWriter tensor;
  for (int64_t dim : dims)
    tensor.integer(1, dim);
  tensor.integer(2, elementType);
  tensor.text(8, name);
  return tensor;
}

WireWriter modelgen::rawTensor(std::string_view name, int32_t elementType,
                               const std::vector<int64_t> &dims, std::string_view elements) {
  WireWriter tensor = tensorHead(name, elementType, dims);
  tensor.text(9, elements);
  return tensor;
}

void Model::node(std::string_view op, const std::vector<std::string> &inputs,
                 const std::vector<std::string> &outputs, std::string_view name,
                 const std::vector<WireWriter> &attributes) {
  WireWriter node;
  for (const std::string &input : inputs)
    node.text(1, input);
  for (const std::string &output : outputs)
    node.text(2, output);
  node.text(3, name);
  node.text(4, op);
  for (const WireWriter &attribute : attributes)
    node.message(5, attribute);
  nodes_.push_back(std::move(node));
}

static uint64_t byteCount(const Weight &weight) { return weight.elements() * sizeof(float); }

static Status writeElements(const Weight &weight, bool holes, OutputFile &file) {
  if (holes && weight.isHole())
    return file.skipTo(file.offset() + byteCount(weight));
  std::vector<float> block(1 << 18);
  for (uint64_t begin = 0; begin < weight.elements(); begin += block.size()) {
    std::span<float> part =
        std::span(block).first(std::min<uint64_t>(block.size(), weight.elements() - begin));
    weight.make(begin, part);
    SPILLWAY_RETURN_IF_ERROR(
        file.append({reinterpret_cast<const char *>(part.data()), part.size_bytes()}));
  }
  return {};
}

static void externalEntry(WireWriter &tensor, std::string_view key, std::string_view value) {
  WireWriter entry;
  entry.text(1, key);
  entry.text(2, value);
  tensor.message(13, entry);
}

/// Writes the elements of the weights that belong outside, and returns the TensorProto of each,
/// or nothing for those that stay inside.
static Result<std::vector<std::optional<WireWriter>>>
writeExternal(const std::vector<Weight> &weights, const std::filesystem::path &folder, bool holes,
              const External &external) {
  SPILLWAY_ASSIGN_OR_RETURN(OutputFile file, OutputFile::create(folder / external.location));
  std::vector<std::optional<WireWriter>> tensors;
  for (const Weight &weight : weights) {
    tensors.emplace_back();
    if (byteCount(weight) < external.threshold)
      continue;
    uint64_t offset =
        (file.offset() + external.alignment - 1) / external.alignment * external.alignment;
    SPILLWAY_RETURN_IF_ERROR(file.skipTo(offset));
    SPILLWAY_RETURN_IF_ERROR(writeElements(weight, holes, file));
    WireWriter tensor = tensorHead(weight.name, float32, weight.dims);
    externalEntry(tensor, "location", external.location);
    externalEntry(tensor, "offset", std::to_string(offset));
    externalEntry(tensor, "length", std::to_string(byteCount(weight)));
    tensor.integer(14, 1);
    tensors.back() = std::move(tensor);
  }
  SPILLWAY_RETURN_IF_ERROR(file.close());
  return tensors;
}

namespace {
/// Bytes of a message, then the elements of a weight.
struct Piece {
  WireWriter head;
  const Weight *weight = nullptr;

  uint64_t size() const { return head.bytes().size() + (weight ? byteCount(*weight) : 0); }
};
} // namespace

/// A field of GraphProto that holds `weight` with its elements inside.
static Piece inlineWeight(const Weight &weight) {
  WireWriter tensor = tensorHead(weight.name, float32, weight.dims);
  tensor.begin(9, byteCount(weight));
  Piece piece;
  piece.head.begin(5, tensor.bytes().size() + byteCount(weight));
  piece.head.append(tensor);
  piece.weight = &weight;
  return piece;
}

Status Model::save(const std::filesystem::path &path, int64_t irVersion, int64_t opset,
                   std::string_view graphName, const std::optional<External> &external) const {
  std::vector<std::optional<WireWriter>> outside(weights_.size());
  if (external) {
    SPILLWAY_ASSIGN_OR_RETURN(outside,
                              writeExternal(weights_, path.parent_path(), holes_, *external));
  }
  std::vector<Piece> graph(1);
  for (const WireWriter &node : nodes_)
    graph.front().head.message(1, node);
  graph.front().head.text(2, graphName);
  for (const WireWriter &tensor : small_)
    graph.front().head.message(5, tensor);
  for (size_t i = 0; i < weights_.size(); ++i) {
    if (outside[i])
      graph.emplace_back().head.message(5, *outside[i]);
    else
      graph.push_back(inlineWeight(weights_[i]));
  }
  Piece &last = graph.emplace_back();
  for (const WireWriter &info : inputs_)
    last.head.message(11, info);
  for (const WireWriter &info : outputs_)
    last.head.message(12, info);

  uint64_t size = 0;
  for (const Piece &piece : graph)
    size += piece.size();
  WireWriter head, imported;
  head.integer(1, irVersion);
  head.text(2, producer_);
  imported.text(1, "");
  imported.integer(2, opset);
  head.message(8, imported);
  head.begin(7, size);

  SPILLWAY_ASSIGN_OR_RETURN(OutputFile file, OutputFile::create(path));
  SPILLWAY_RETURN_IF_ERROR(file.append(head.bytes()));
  for (const Piece &piece : graph) {
    SPILLWAY_RETURN_IF_ERROR(file.append(piece.head.bytes()));
    if (piece.weight)
      SPILLWAY_RETURN_IF_ERROR(writeElements(*piece.weight, holes_, file));
  }
  return file.close();
}
