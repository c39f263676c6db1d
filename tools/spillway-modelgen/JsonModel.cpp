#include "tools/spillway-modelgen/JsonModel.h"

#include "tools/spillway-modelgen/JsonTensor.h"
#include "runtime/base/OutputFile.h"

#include <fstream>

using namespace spillway;
using namespace spillway::modelgen;
using nlohmann::json;

const char *const modelgen::jsonModelFormat = R"(
MODEL    {"ir": 8, "opsets": {"": 17}, "producer": "", "graph": GRAPH, "functions": [FUNCTION]}
GRAPH    {"name": "", "nodes": [NODE], "inputs": [VALUE], "outputs": [VALUE], "values": [VALUE],
          "initializers": [TENSOR], "sparse": [SPARSE]}
FUNCTION {"name": "", "domain": "", "inputs": [""], "outputs": [""], "attributes": [""],
          "defaults": {NAME: ATTRIBUTE}, "opsets": {"": 17}, "nodes": [NODE]}
NODE     {"op": "", "domain": "", "name": "", "in": [""], "out": [""], "attributes": {NAME: ATTRIBUTE}}
VALUE    {"name": "", "type": "f32", "dims": [2, "batch", null]}, or with "sequence": "f32" or
         "optional": "f32" instead of "type"
TENSOR   {"name": "", "type": "f32", "dims": [], ELEMENTS}
ELEMENTS "data": [], "splat": 0, "hex": "00ff" (raw bytes), "external": {"location": "", ...};
         for data and splat "form": "raw", "packed" or "unpacked" (typed fields)
SPARSE   {"values": TENSOR, "indices": TENSOR, "dims": []}
ATTRIBUTE 1, 1.0, "", [1], [1.0], [""], {"ints": []}, {"floats": []}, {"strings": []},
         {"tensor": TENSOR}, {"tensors": [TENSOR]}, {"graph": GRAPH}, {"graphs": [GRAPH]},
         {"sparse": SPARSE}, {"reference": NAME, "kind": number of AttributeType}
Every field may be left out.
)";

static WireWriter graphFromJson(const json &graph);

static WireWriter sparseFromJson(const json &sparse) {
  WireWriter result;
  result.message(1, tensorFromJson(sparse.at("values")));
  result.message(2, tensorFromJson(sparse.at("indices")));
  for (int64_t dim : sparse.at("dims").get<std::vector<int64_t>>())
    result.integer(3, dim);
  return result;
}

static WireWriter tensorType(const json &type, const json &value) {
  WireWriter tensor;
  tensor.integer(1, elementTypeNumber(type));
  if (value.contains("dims")) {
    WireWriter shape;
    for (const json &dim : value.at("dims")) {
      WireWriter size;
      if (dim.is_number())
        size.integer(1, dim.get<int64_t>());
      else if (dim.is_string())
        size.text(2, dim.get<std::string>());
      shape.message(1, size);
    }
    tensor.message(2, shape);
  }
  WireWriter result;
  result.message(1, tensor);
  return result;
}

static WireWriter valueFromJson(const json &value) {
  WireWriter info;
  info.text(1, value.value("name", ""));
  if (value.contains("type"))
    info.message(2, tensorType(value.at("type"), value));
  for (auto [key, field] : {std::pair("sequence", 4), std::pair("optional", 9)})
    if (value.contains(key)) {
      WireWriter holder, type;
      holder.message(1, tensorType(value.at(key), value));
      type.message(field, holder);
      info.message(2, type);
    }
  return info;
}

/// Fields of AttributeProto: the kind's number, that of one value and that of a list.
static void attributeObject(const json &value, WireWriter &result) {
  if (value.contains("reference")) {
    result.text(21, value.at("reference").get<std::string>());
    result.integer(20, value.at("kind").get<int64_t>());
  } else if (value.contains("ints")) {
    result.integer(20, 7);
    for (int64_t number : value.at("ints").get<std::vector<int64_t>>())
      result.integer(8, number);
  } else if (value.contains("floats")) {
    result.integer(20, 6);
    for (float number : value.at("floats").get<std::vector<float>>())
      result.real(7, number);
  } else if (value.contains("strings")) {
    result.integer(20, 8);
    for (const std::string &text : value.at("strings").get<std::vector<std::string>>())
      result.text(9, text);
  } else if (value.contains("tensor")) {
    result.integer(20, 4);
    result.message(5, tensorFromJson(value.at("tensor")));
  } else if (value.contains("tensors")) {
    result.integer(20, 9);
    for (const json &tensor : value.at("tensors"))
      result.message(10, tensorFromJson(tensor));
  } else if (value.contains("graph")) {
    result.integer(20, 5);
    result.message(6, graphFromJson(value.at("graph")));
  } else if (value.contains("graphs")) {
    result.integer(20, 10);
    for (const json &graph : value.at("graphs"))
      result.message(11, graphFromJson(graph));
  } else {
    result.integer(20, 11);
    result.message(22, sparseFromJson(value.at("sparse")));
  }
}

static WireWriter attributeFromJson(const std::string &name, const json &value) {
  WireWriter result;
  result.text(1, name);
  if (value.is_number_integer()) {
    result.integer(20, 2);
    result.integer(3, value.get<int64_t>());
  } else if (value.is_number()) {
    result.integer(20, 1);
    result.real(2, value.get<float>());
  } else if (value.is_string()) {
    result.integer(20, 3);
    result.text(4, value.get<std::string>());
  } else if (value.is_array()) {
    const json &first = value.at(0);
    attributeObject({{first.is_string()         ? "strings"
                      : first.is_number_float() ? "floats"
                                                : "ints",
                      value}},
                    result);
  } else {
    attributeObject(value, result);
  }
  return result;
}

static void attributesFromJson(const json &owner, const char *key, uint32_t field,
                               WireWriter &result) {
  const json attributes = owner.value(key, json::object());
  for (const auto &[name, value] : attributes.items())
    result.message(field, attributeFromJson(name, value));
}

static void textsFromJson(const json &owner, const char *key, uint32_t field, WireWriter &result) {
  for (const std::string &text : owner.value(key, std::vector<std::string>()))
    result.text(field, text);
}

static WireWriter nodeFromJson(const json &node) {
  WireWriter result;
  textsFromJson(node, "in", 1, result);
  textsFromJson(node, "out", 2, result);
  if (node.contains("name"))
    result.text(3, node.at("name").get<std::string>());
  result.text(4, node.value("op", ""));
  attributesFromJson(node, "attributes", 5, result);
  if (node.contains("domain"))
    result.text(7, node.at("domain").get<std::string>());
  return result;
}

template <typename Encode>
static void messagesFromJson(const json &owner, const char *key, uint32_t field, WireWriter &result,
                             Encode encode) {
  for (const json &item : owner.value(key, json::array()))
    result.message(field, encode(item));
}

static WireWriter graphFromJson(const json &graph) {
  WireWriter result;
  messagesFromJson(graph, "nodes", 1, result, nodeFromJson);
  result.text(2, graph.value("name", ""));
  messagesFromJson(graph, "initializers", 5, result, tensorFromJson);
  messagesFromJson(graph, "inputs", 11, result, valueFromJson);
  messagesFromJson(graph, "outputs", 12, result, valueFromJson);
  messagesFromJson(graph, "values", 13, result, valueFromJson);
  messagesFromJson(graph, "sparse", 15, result, sparseFromJson);
  return result;
}

static void opsetsFromJson(const json &owner, uint32_t field, WireWriter &result) {
  const json opsets = owner.value("opsets", json::object());
  for (const auto &[domain, version] : opsets.items()) {
    WireWriter opset;
    opset.text(1, domain);
    opset.integer(2, version.get<int64_t>());
    result.message(field, opset);
  }
}

static WireWriter functionFromJson(const json &function) {
  WireWriter result;
  result.text(1, function.value("name", ""));
  textsFromJson(function, "inputs", 4, result);
  textsFromJson(function, "outputs", 5, result);
  textsFromJson(function, "attributes", 6, result);
  messagesFromJson(function, "nodes", 7, result, nodeFromJson);
  opsetsFromJson(function, 9, result);
  result.text(10, function.value("domain", ""));
  attributesFromJson(function, "defaults", 11, result);
  return result;
}

static WireWriter modelFromJson(const json &model) {
  WireWriter result;
  if (model.contains("ir"))
    result.integer(1, model.at("ir").get<int64_t>());
  if (model.contains("producer"))
    result.text(2, model.at("producer").get<std::string>());
  if (model.contains("graph"))
    result.message(7, graphFromJson(model.at("graph")));
  opsetsFromJson(model, 8, result);
  messagesFromJson(model, "functions", 25, result, functionFromJson);
  return result;
}

Status modelgen::writeJsonModel(const std::filesystem::path &json,
                                const std::filesystem::path &output) {
  std::ifstream stream(json);
  if (!stream)
    return machineError("{}: cannot be read", json.string());
  WireWriter model;
  try {
    // nlohmann's errors are exceptions; none leaves this function.
    model = modelFromJson(nlohmann::json::parse(stream, nullptr, true, /*ignore_comments=*/true));
  } catch (const nlohmann::json::exception &error) {
    return userError("{}: {}", json.string(), error.what());
  }
  SPILLWAY_ASSIGN_OR_RETURN(OutputFile file, OutputFile::create(output));
  SPILLWAY_RETURN_IF_ERROR(file.append(model.bytes()));
  return file.close();
}
