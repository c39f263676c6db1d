#include "tools/spillway-compiler/VerifyCase.h"

#include "dialects/Onnx/Onnx.h"
#include "spillway/Conversion/OnnxToNN/Passes.h"

#include "runtime/base/File.h"
#include "runtime/base/Near.h"
#include "runtime/base/SmallFloat.h"
#include "runtime/io/TensorProto.h"
#include "runtime/session/InProcessJob.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/JSON.h"

#include <cmath>
#include <cstring>
#include <map>
#include <set>

using namespace spillway;

namespace {

struct Tolerance {
  double atol, rtol;
};

using Files = std::vector<HostTensor>;

std::filesystem::path tensorPath(const std::filesystem::path &folder, const std::string &prefix,
                                 size_t index) {
  return folder / fmt::format("{}_{}.pb", prefix, index);
}

size_t countTensors(const std::filesystem::path &folder, const std::string &prefix) {
  size_t count = 0;
  std::error_code code;
  while (std::filesystem::exists(tensorPath(folder, prefix, count), code))
    ++count;
  return count;
}

/// PREFIX_0.pb, PREFIX_1.pb, ... of a data set.
Result<Files> readTensors(const std::filesystem::path &folder, const std::string &prefix) {
  Files tensors;
  for (size_t i = 0, count = countTensors(folder, prefix); i < count; ++i) {
    SPILLWAY_ASSIGN_OR_RETURN(HostTensor tensor, readTensorProto(tensorPath(folder, prefix, i)));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

/// What data.json says, else `otherwise`.
Result<Tolerance> readTolerance(const std::filesystem::path &file, Tolerance otherwise) {
  std::error_code code;
  if (!std::filesystem::exists(file, code))
    return otherwise;
  SPILLWAY_ASSIGN_OR_RETURN(std::vector<std::byte> text, readFile(file, 1 << 20));
  llvm::Expected<llvm::json::Value> value =
      llvm::json::parse({reinterpret_cast<const char *>(text.data()), text.size()});
  if (!value)
    return userError("'{}' is no JSON: {}", file.string(), llvm::toString(value.takeError()));
  if (const llvm::json::Object *object = value->getAsObject()) {
    otherwise.atol = object->getNumber("atol").value_or(otherwise.atol);
    otherwise.rtol = object->getNumber("rtol").value_or(otherwise.rtol);
  }
  return otherwise;
}

onnx::GraphOp graphOf(mlir::ModuleOp module) {
  return *module.getOps<onnx::GraphOp>().begin();
}

/// NAME=SIZE of each dimension that the model leaves open, from the inputs' shapes.
Result<std::vector<std::string>> dimsFromData(onnx::GraphOp graph, const Files &inputs) {
  if (graph.getInputs().size() != inputs.size())
    return userError("the model has {} inputs, the data set {}", graph.getInputs().size(),
                     inputs.size());
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

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

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

/// Floats within the tolerance, where NaN equals NaN and an infinity itself; others bit by bit.
Status compare(const Binding &output, std::span<const std::byte> actual, const HostTensor &expected,
               Tolerance tolerance) {
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
    if (!isNear(*x, *y, tolerance.atol + tolerance.rtol * std::abs(*y)))
      return userError("output '{}' differs at element {}: {}, expected {} within {} + {} of it (see "
                       "--atol and --rtol)",
                       output.name, i, *x, *y, tolerance.atol, tolerance.rtol);
  }
  return {};
}

Status runAndCompare(Session &session, const Files &inputs, const Files &outputs,
                     Tolerance tolerance) {
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
    SPILLWAY_RETURN_IF_ERROR(compare(binding, session.bytes(binding), tensor, tolerance));
  return {};
}

//===----------------------------------------------------------------------===//
// One data set
//===----------------------------------------------------------------------===//

class DataSet {
public:
  DataSet(const std::filesystem::path &model, const std::filesystem::path &folder,
          const VerifyOptions &flags, Tolerance tolerance, const mlir::DialectRegistry &plugins)
      : model(model.string()), folder(folder), flags(flags), tolerance(tolerance),
        context(makeContext(plugins, &kind, &errors)) {}

  Status verify(const std::filesystem::path &scratch) {
    SPILLWAY_ASSIGN_OR_RETURN(options, parseCompileFlags(flags.compile));
    SPILLWAY_RETURN_IF_ERROR(import());
    SPILLWAY_ASSIGN_OR_RETURN(inputs, readTensors(folder, "input"));
    if (inputs.size() > graphOf(*module).getInputs().size()) {
      // The data set also gives inputs that have a default.
      options.import.keepAllInputs = true;
      SPILLWAY_RETURN_IF_ERROR(import());
    }
    SPILLWAY_RETURN_IF_ERROR(setDims());
    if (flags.constantInputs) {
      SPILLWAY_RETURN_IF_ERROR(bindWhatMustBeKnown());
    }
    module = {};
    options.model = model;
    options.output = (scratch / "model.spill").string();
    if (mlir::failed(compileModel(options, *context)))
      return reported();
    SPILLWAY_ASSIGN_OR_RETURN(Files outputs, readTensors(folder, "output"));
    SessionOptions session;
    session.engine = *io::engineKindFromName(flags.engine);
    SPILLWAY_ASSIGN_OR_RETURN(InProcessJob job, InProcessJob::open(options.output, session));
    return job.run([&](Session &rank, uint32_t) {
      return runAndCompare(rank, inputs, outputs, tolerance);
    });
  }

private:
  Status import() {
    module = importOnnx(model, *context, options.import);
    return module ? Status() : Status(reported());
  }

  /// What the context has reported, which ends with it.
  Error reported() {
    context.reset();
    return {kind, errors};
  }

  Status setDims() {
    SPILLWAY_ASSIGN_OR_RETURN(std::vector<std::string> dims,
                              dimsFromData(graphOf(*module), inputs));
    options.operations.dims = flags.compile.dims;
    options.operations.dims.insert(options.operations.dims.end(), dims.begin(), dims.end());
    return {};
  }

  /// The conversion says which inputs it misses; they are bound until it misses no more.
  Status bindWhatMustBeKnown() {
    for (std::vector<size_t> missing; !(missing = missingInputs()).empty();) {
      auto names = llvm::to_vector(graphOf(*module).getInputs().getAsValueRange<mlir::StringAttr>());
      for (size_t i : llvm::reverse(missing)) {
        options.import.binds.push_back(
            fmt::format("{}={}", names[i].str(), tensorPath(folder, "input", position(i)).string()));
        bound.insert(position(i));
        inputs.erase(inputs.begin() + static_cast<ptrdiff_t>(i));
      }
      SPILLWAY_RETURN_IF_ERROR(import());
      SPILLWAY_RETURN_IF_ERROR(setDims());
    }
    return {};
  }

  /// Where the i-th input that is left came in the data set.
  size_t position(size_t i) const {
    size_t at = 0;
    while (bound.contains(at) || i-- > 0)
      ++at;
    return at;
  }

  /// Inputs that a conversion of a copy of the module asks for.
  std::vector<size_t> missingInputs() {
    mlir::ScopedDiagnosticHandler quiet(context.get(),
                                        [](mlir::Diagnostic &) { return mlir::success(); });
    mlir::OwningOpRef<mlir::ModuleOp> copy = module->clone();
    ConvertOnnxToNNPassOptions conversion;
    conversion.dims.assign(options.operations.dims.begin(), options.operations.dims.end());
    mlir::PassManager passes(context.get());
    passes.addPass(createConvertOnnxToNNPass(conversion));
    std::vector<size_t> missing;
    if (mlir::succeeded(passes.run(*copy)))
      return missing;
    for (auto function : copy->getOps<mlir::func::FuncOp>())
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        if (function.getArgAttr(i, mustBeKnownAttrName))
          missing.push_back(i);
    return missing;
  }

  std::string model;
  std::filesystem::path folder;
  const VerifyOptions &flags;
  Tolerance tolerance;
  /// Of what the context reports.
  ErrorKind kind = ErrorKind::user;
  std::string errors;
  std::unique_ptr<mlir::MLIRContext> context;
  CompileOptions options;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Of the inputs that are left, in their order.
  Files inputs;
  std::set<size_t> bound;
};

} // namespace

Status spillway::verifyCase(const std::filesystem::path &folder, const VerifyOptions &options,
                            const mlir::DialectRegistry &plugins,
                            const std::filesystem::path &scratch) {
  SPILLWAY_ASSIGN_OR_RETURN(Tolerance tolerance,
                            readTolerance(folder / "data.json", {options.atol, options.rtol}));
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
  for (const std::filesystem::path &set : sets) {
    DataSet data(folder / "model.onnx", set, options, tolerance, plugins);
    if (Status status = data.verify(scratch); !status.ok())
      return std::move(status).error().in(set.filename().string());
  }
  return {};
}
