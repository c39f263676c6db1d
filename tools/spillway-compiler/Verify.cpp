// Compiles models, runs them on stored inputs, and compares with stored outputs: the
// layout of the ONNX backend tests.

#include "tools/spillway-compiler/Commands.h"

#include "dialects/Onnx/Onnx.h"
#include "spillway/Import/Import.h"

#include "runtime/base/SmallFloat.h"
#include "runtime/io/TensorProto.h"
#include "runtime/session/InProcessJob.h"

#include <CLI/CLI.hpp>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <unistd.h>

using namespace spillway;

namespace {

struct Flags {
  CompileFlags compile;
  std::vector<std::string> folders;
  double atol = 1e-4, rtol = 1e-3;
  std::string engine = "auto";
  bool constantInputs = false;
};

using Files = std::vector<HostTensor>;

std::filesystem::path tensorPath(const std::filesystem::path &folder, const std::string &prefix,
                                 size_t index) {
  return folder / fmt::format("{}_{}.pb", prefix, index);
}

/// PREFIX_0.pb, PREFIX_1.pb, ... of a data set.
Result<Files> readTensors(const std::filesystem::path &folder, const std::string &prefix) {
  Files tensors;
  while (true) {
    std::filesystem::path path = tensorPath(folder, prefix, tensors.size());
    std::error_code code;
    if (!std::filesystem::exists(path, code))
      return tensors;
    SPILLWAY_ASSIGN_OR_RETURN(HostTensor tensor, readTensorProto(path));
    tensors.push_back(std::move(tensor));
  }
}

onnx::GraphOp graphOf(mlir::ModuleOp module) {
  return *module.getOps<onnx::GraphOp>().begin();
}

Status checkCount(onnx::GraphOp graph, const Files &inputs) {
  if (graph.getInputs().size() == inputs.size())
    return {};
  return userError("the model has {} inputs, the data set {}", graph.getInputs().size(),
                   inputs.size());
}

/// Binds the inputs that a compiler must know, shapes and axes and the like, to their data, and
/// leaves in `inputs` what a run takes.
std::vector<std::string> bindIntegers(onnx::GraphOp graph, const std::filesystem::path &set,
                                      Files &inputs) {
  std::vector<std::string> binds;
  Files rest;
  for (auto [i, name] : llvm::enumerate(graph.getInputs().getAsValueRange<mlir::StringAttr>())) {
    bool isInteger = inputs[i].type == DataType::i64 || inputs[i].type == DataType::i32;
    if (isInteger && inputs[i].shape.size() <= 1)
      binds.push_back(fmt::format("{}={}", name.str(), tensorPath(set, "input", i).string()));
    else
      rest.push_back(std::move(inputs[i]));
  }
  inputs = std::move(rest);
  return binds;
}

/// NAME=SIZE of each dimension that the model leaves open, from the inputs' shapes.
Result<std::vector<std::string>> dimsFromData(onnx::GraphOp graph, const Files &inputs) {
  SPILLWAY_RETURN_IF_ERROR(checkCount(graph, inputs));
  std::map<std::string, int64_t> sizes;
  for (auto [i, argument] : llvm::enumerate(graph.getBody().getArguments())) {
    auto type = mlir::cast<mlir::RankedTensorType>(argument.getType());
    auto names = mlir::cast<mlir::ArrayAttr>(graph.getDims()[i]);
    std::string input = mlir::cast<mlir::StringAttr>(graph.getInputs()[i]).str();
    if (type.getRank() != static_cast<int64_t>(inputs[i].shape.size()))
      return userError("input '{}' has rank {}, its data {}", input, type.getRank(),
                       inputs[i].shape.size());
    for (int64_t d = 0; d < type.getRank(); ++d) {
      if (!type.isDynamicDim(d))
        continue;
      std::string name = mlir::cast<mlir::StringAttr>(names[d]).str();
      if (name.empty())
        name = fmt::format("{}.{}", input, d);
      auto [known, isNew] = sizes.emplace(name, inputs[i].shape[d]);
      if (!isNew && known->second != inputs[i].shape[d])
        return userError("the data gives dimension '{}' the sizes {} and {}", name, known->second,
                         inputs[i].shape[d]);
    }
  }
  std::vector<std::string> dims;
  for (const auto &[name, size] : sizes)
    dims.push_back(fmt::format("{}={}", name, size));
  return dims;
}

template <typename T> T load(const std::byte *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

/// A float element as a double, or nothing for other types.
std::optional<double> floatElement(DataType type, const std::byte *bytes) {
  switch (type) {
  case DataType::f32:
    return load<float>(bytes);
  case DataType::f64:
    return load<double>(bytes);
  case DataType::f16:
    return halfToFloat(load<uint16_t>(bytes));
  case DataType::bf16:
    return bfloat16ToFloat(load<uint16_t>(bytes));
  default:
    return std::nullopt;
  }
}

std::string shapeText(const std::vector<int64_t> &shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

/// The ONNX backend tests hold bf16 as the u16 of its bits.
DataType typeOf(const HostTensor &tensor, const Binding &binding) {
  bool isBits = tensor.type == DataType::u16 && binding.dataType == DataType::bf16;
  return isBits ? DataType::bf16 : tensor.type;
}

/// Floats within atol + rtol * |expected|, where NaN equals NaN and an infinity
/// itself; others bit by bit.
Status compare(const Binding &output, std::span<const std::byte> actual, const HostTensor &expected,
               double atol, double rtol) {
  DataType type = typeOf(expected, output);
  if (output.dataType != type || output.shape != expected.shape)
    return userError("output '{}' is {}{}, expected {}{}", output.name, name(output.dataType),
                     shapeText(output.shape), name(type), shapeText(expected.shape));
  uint64_t width = byteWidth(type), count = expected.bytes.size() / width;
  for (uint64_t i = 0; i < count; ++i) {
    const std::byte *a = actual.data() + i * width, *b = expected.bytes.data() + i * width;
    std::optional<double> x = floatElement(type, a), y = floatElement(type, b);
    if (!x) {
      if (std::memcmp(a, b, width) != 0)
        return userError("output '{}' differs at element {}", output.name, i);
      continue;
    }
    if (*x == *y || (std::isnan(*x) && std::isnan(*y)))
      continue;
    if (!(std::abs(*x - *y) <= atol + rtol * std::abs(*y)))
      return userError("output '{}' differs at element {}: {}, expected {} within {} + {} of it (see "
                       "--atol and --rtol)",
                       output.name, i, *x, *y, atol, rtol);
  }
  return {};
}

/// A folder that goes with the object.
struct TemporaryFolder {
  std::filesystem::path path = std::filesystem::temp_directory_path() /
                               fmt::format("spillway-verify-{}", ::getpid());
  TemporaryFolder() {
    std::error_code failed;
    std::filesystem::create_directory(path, failed);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

class Verify {
public:
  explicit Verify(const Flags &flags) : flags(flags) {}

  Status run() {
    SPILLWAY_ASSIGN_OR_RETURN(plugins, loadPlugins(flags.compile.plugins));
    for (const std::string &folder : flags.folders) {
      Status status = verifyCase(folder);
      ++(status.ok() ? passed : failed);
      fmt::print("{} {}{}\n", status.ok() ? "PASS" : "FAIL", folder,
                 status.ok() ? "" : ": " + status.error().message);
      std::fflush(stdout);
    }
    fmt::print("{} passed, {} failed, 0 skipped\n", passed, failed);
    if (failed)
      return userError("{} of {} cases failed", failed, passed + failed);
    return {};
  }

private:
  Status verifyCase(const std::filesystem::path &folder) {
    std::vector<std::filesystem::path> sets;
    std::error_code code;
    for (const auto &entry : std::filesystem::directory_iterator(folder, code))
      if (entry.path().filename().string().starts_with("test_data_set_"))
        sets.push_back(entry.path());
    if (code)
      return userError("cannot read the folder: {}", code.message());
    std::sort(sets.begin(), sets.end());
    if (sets.empty())
      return userError("there is no test_data_set_* in it");
    for (const std::filesystem::path &set : sets)
      if (Status status = verifySet(folder / "model.onnx", set); !status.ok())
        return std::move(status).error().in(set.filename().string());
    return {};
  }

  Status verifySet(const std::filesystem::path &model, const std::filesystem::path &set) {
    SPILLWAY_ASSIGN_OR_RETURN(Files inputs, readTensors(set, "input"));
    SPILLWAY_ASSIGN_OR_RETURN(Files outputs, readTensors(set, "output"));
    SPILLWAY_ASSIGN_OR_RETURN(CompileOptions options, parseCompileFlags(flags.compile));
    std::string errors;
    std::unique_ptr<mlir::MLIRContext> context = makeContext(plugins, nullptr, &errors);
    auto import = [&] { return importOnnx(model.string(), *context, options.import); };
    mlir::OwningOpRef<mlir::ModuleOp> module = import();
    if (module && flags.constantInputs) {
      SPILLWAY_RETURN_IF_ERROR(checkCount(graphOf(*module), inputs));
      llvm::append_range(options.import.binds, bindIntegers(graphOf(*module), set, inputs));
      module = import();
    }
    if (!module)
      return userError("{}", errors);
    SPILLWAY_ASSIGN_OR_RETURN(std::vector<std::string> dims,
                              dimsFromData(graphOf(*module), inputs));
    options.dims.insert(options.dims.end(), dims.begin(), dims.end());
    options.model = model.string();
    options.output = (temporary.path / "model.spill").string();
    if (mlir::failed(compileModel(options, *context)))
      return userError("{}", errors);
    return runAndCompare(options.output, inputs, outputs);
  }

  Status runAndCompare(const std::filesystem::path &bundle, const Files &inputs,
                       const Files &outputs) {
    SessionOptions options;
    options.engine = *io::engineKindFromName(flags.engine);
    SPILLWAY_ASSIGN_OR_RETURN(InProcessJob job, InProcessJob::open(bundle, options));
    return job.run([&](Session &session, uint32_t) {
      return runAndCompare(session, inputs, outputs);
    });
  }

  Status runAndCompare(Session &session, const Files &inputs, const Files &outputs) {
    const Program &program = session.program();
    for (auto [binding, tensor] : llvm::zip_equal(program.inputs, inputs)) {
      if (binding.dataType != typeOf(tensor, binding) || binding.shape != tensor.shape)
        return userError("input '{}' is {}{}, its data {}{}", binding.name, name(binding.dataType),
                         shapeText(binding.shape), name(tensor.type), shapeText(tensor.shape));
      std::span<std::byte> bytes = session.bytes(binding);
      if (!bytes.empty())
        std::memcpy(bytes.data(), tensor.bytes.data(), bytes.size());
    }
    SPILLWAY_RETURN_IF_ERROR(session.executor().runPrologue());
    SPILLWAY_RETURN_IF_ERROR(session.executor().runStep());
    if (program.outputs.size() != outputs.size())
      return userError("the model has {} outputs, the data set {}", program.outputs.size(),
                       outputs.size());
    for (auto [binding, tensor] : llvm::zip_equal(program.outputs, outputs))
      SPILLWAY_RETURN_IF_ERROR(
          compare(binding, session.bytes(binding), tensor, flags.atol, flags.rtol));
    return {};
  }

  const Flags &flags;
  mlir::DialectRegistry plugins;
  TemporaryFolder temporary;
  unsigned passed = 0, failed = 0;
};

} // namespace

void spillway::addVerifyCommand(CLI::App &app, Status &status) {
  auto flags = std::make_shared<Flags>();
  CLI::App *command = app.add_subcommand(
      "verify", "Compiles DIR/model.onnx, runs it on DIR/test_data_set_*, compares");
  command->add_option("folders", flags->folders, "Folders in the layout of the ONNX backend tests")
      ->required();
  command->add_option("--atol", flags->atol, "Absolute tolerance")->capture_default_str();
  command->add_option("--rtol", flags->rtol, "Relative tolerance")->capture_default_str();
  command->add_flag("--constant-inputs", flags->constantInputs,
                    "Integer inputs of rank 0 and 1 become constants of their data: shapes, axes and "
                    "the like, which must be known when a model is compiled");
  command->add_option("--io", flags->engine, "Storage engine")
      ->check(CLI::IsMember({"auto", "uring", "pread"}));
  addCompileOptions(*command, flags->compile);
  command->callback([flags, &status] { status = Verify(*flags).run(); });
}
