// An ONNX model in the making. Field numbers are those of onnx.proto.
#pragma once

#include "runtime/base/Status.h"
#include "tools/spillway-modelgen/Weight.h"
#include "runtime/io/WireWriter.h"

#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace spillway::modelgen {

/// Numbers of onnx.TensorProto.DataType that the decoders use.
enum ElementType : int32_t { float32 = 1, int64 = 7 };

/// A size, a name, or neither.
using Dimension = std::variant<std::monostate, int64_t, std::string>;

WireWriter valueInfo(std::string_view name, int32_t elementType,
                     const std::optional<std::vector<Dimension>> &dims);

/// AttributeProto of the kind that the value's type says.
WireWriter attribute(std::string_view name, int64_t value);
WireWriter attribute(std::string_view name, float value);
WireWriter attribute(std::string_view name, std::string_view value);
WireWriter attribute(std::string_view name, const std::vector<int64_t> &values);
WireWriter tensorAttribute(std::string_view name, const WireWriter &tensor);

/// TensorProto with its elements in raw_data.
WireWriter rawTensor(std::string_view name, int32_t elementType, const std::vector<int64_t> &dims,
                     std::string_view elements);

struct External {
  /// Beside the model.
  std::string location;
  /// Weights of fewer bytes stay inside the model.
  uint64_t threshold = 1024;
  uint64_t alignment = 4096;
};

/// The main graph, whose weights are made only as they are written: memory grows with the
/// number of nodes, and a model may be larger than 2 GiB with its weights inside.
class Model {
public:
  /// With `holes`, weights of zeros take no space on disk.
  Model(std::string producer, bool holes) : producer_(std::move(producer)), holes_(holes) {}

  void node(std::string_view op, const std::vector<std::string> &inputs,
            const std::vector<std::string> &outputs, std::string_view name,
            const std::vector<WireWriter> &attributes = {});
  void initializer(const WireWriter &tensor) { small_.push_back(tensor); }
  void initializer(Weight weight) { weights_.push_back(std::move(weight)); }
  void input(const WireWriter &info) { inputs_.push_back(info); }
  void output(const WireWriter &info) { outputs_.push_back(info); }

  uint64_t nodes() const { return nodes_.size(); }
  const std::vector<Weight> &weights() const { return weights_; }

  /// Writes `path`, and the external file beside it if `external` is given.
  Status save(const std::filesystem::path &path, int64_t irVersion, int64_t opset,
              std::string_view graphName, const std::optional<External> &external) const;

private:
  std::string producer_;
  bool holes_;
  std::vector<WireWriter> nodes_, small_, inputs_, outputs_;
  std::vector<Weight> weights_;
};

} // namespace spillway::modelgen
