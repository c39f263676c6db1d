// Whole training runs in the interpreter against PyTorch's: losses, norms of gradients and final weights.
// A run is a folder: model.onnx, a .npy for each input with a leading dimension of steps, run.json, final/NAME.npy.
// SPILLWAY_TRAINING_RUNS in the environment names a folder of other runs.

#include "runtime/io/Npy.h"
#include "spillway/Differentiate/Passes.h"
#include "spillway/Import/Import.h"
#include "spillway/Interpreter/Interpreter.h"
#include "spillway/Pipelines/Pipelines.h"
#include "spillway/Pipelines/Registration.h"
#include "spillway/Training/Passes.h"
#include "spillway/Conversion/OnnxToNN/Passes.h"

#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>

using namespace mlir;
using namespace spillway;

namespace {

struct Array {
  NpyHeader header;
  std::vector<std::byte> bytes;

  explicit Array(const std::filesystem::path &path) : header(*readNpyHeader(path)), bytes(header.dataBytes) {
    EXPECT_TRUE(readNpyData(path, header, bytes).ok()) << path;
  }
  const float *floats() const { return reinterpret_cast<const float *>(bytes.data()); }
};

std::vector<std::filesystem::path> runs() {
  const char *other = std::getenv("SPILLWAY_TRAINING_RUNS");
  std::vector<std::filesystem::path> found;
  for (const auto &entry : std::filesystem::directory_iterator(other ? other : SPILLWAY_TRAINING_RUNS))
    found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

class Training : public testing::TestWithParam<std::filesystem::path> {
protected:
  Training() {
    DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    info = nlohmann::json::parse(std::ifstream(GetParam() / "run.json"));
  }

  /// The optimizer's name, and its options, in our names.
  NNOptimizePassOptions optimizer() {
    NNOptimizePassOptions options;
    auto given = info["optimizer"];
    options.optimizer = StringRef(given["name"].get<std::string>()).lower();
    options.clip = info["clip"];
    options.gradNorm = true;
    for (auto &[name, value] : given.items()) {
      if (name == "betas") {
        options.settings.push_back("beta1=" + value[0].dump());
        options.settings.push_back("beta2=" + value[1].dump());
      } else if (name == "nesterov") {
        options.settings.push_back("nesterov=" + std::to_string(value.get<bool>()));
      } else if (name == "eps") {
        options.settings.push_back("epsilon=" + value.dump());
      } else if (name == "momentum" || name == "weight_decay") {
        options.settings.push_back(name + "=" + value.dump());
      }
    }
    return options;
  }

  void compile() {
    module = importOnnx((GetParam() / "model.onnx").string(), context);
    ASSERT_TRUE(module);
    OperationOptions operations;
    for (auto &[name, size] : info["dims"].items())
      operations.dims.push_back(name + "=" + size.dump());
    operations.gradientsOf = info["loss"].get<std::string>();
    operations.optimizer = optimizer();
    operations.freeze = info["freeze"];
    PassManager passes(&context);
    buildOperationPipeline(passes, operations);
    ASSERT_TRUE(succeeded(passes.run(*module)));
    function = *module->getOps<func::FuncOp>().begin();
  }

  std::string argumentName(unsigned i) {
    return function.getArgAttrOfType<StringAttr>(i, valueNameAttrName).str();
  }

  TensorValue input(unsigned i, int64_t step) {
    TensorValue value(cast<RankedTensorType>(function.getArgumentTypes()[i]));
    std::string name = argumentName(i);
    if (name == "lr" || name == "step") {
      value.getMutable<double>()[0] = name == "lr" ? info["lr"][step].get<double>() : static_cast<double>(step + 1);
      return value;
    }
    auto data = files.try_emplace(name, GetParam() / (name + ".npy")).first;
    size_t bytes = value.getBytes().size();
    std::memcpy(value.getMutableBytes().data(), data->second.bytes.data() + bytes * step, bytes);
    return value;
  }

  /// Runs a step; gives its results by name.
  std::map<std::string, float> step(int64_t number) {
    SmallVector<TensorValue> inputs, results;
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      inputs.push_back(input(i, number));
    std::map<std::string, TensorValue> updates;
    auto read = [&](zero::StateOp state) -> FailureOr<TensorValue> {
      auto [found, isNew] = states.try_emplace(state.getName().str());
      if (isNew)
        found->second = *readState(state, "");
      return found->second;
    };
    auto update = [&](zero::StateOp state, TensorValue value) { updates[state.getName().str()] = value; };
    EXPECT_TRUE(succeeded(evaluateFunction(function, inputs, read, results, update)));
    for (auto &[name, value] : updates)
      states[name] = value;
    std::map<std::string, float> scalars;
    for (auto [i, result] : llvm::enumerate(results))
      if (result.getNumElements() == 1)
        scalars[function.getResultAttrOfType<StringAttr>(i, valueNameAttrName).str()] = result.get<float>()[0];
    return scalars;
  }

  bool hasNoGradient(const std::string &name, int64_t element) {
    for (const auto &range : info["no_gradient"].value(name, nlohmann::json::array()))
      if (element >= range[0].get<int64_t>() && element < range[1].get<int64_t>())
        return true;
    return false;
  }

  void compareWeights() {
    // Where an optimizer takes a sign, an element jumps where its gradient is nearly zero.
    bool jumps = info["optimizer"]["name"] == "Lion";
    int64_t count = 0, others = 0;
    for (auto &[name, tolerance] : info["weights"].items()) {
      Array expected(GetParam() / "final" / (name + ".npy"));
      ArrayRef<float> found = states.at(name).get<float>();
      ASSERT_EQ(found.size() * sizeof(float), expected.bytes.size()) << name;
      for (size_t i = 0; i < found.size(); ++i, ++count) {
        if (std::abs(found[i] - expected.floats()[i]) <= tolerance.get<float>() || hasNoGradient(name, i))
          continue;
        ++others;
        if (!jumps)
          FAIL() << name << "[" << i << "]: " << found[i] << ", not " << expected.floats()[i] << " within "
                 << tolerance;
      }
    }
    EXPECT_LE(others, count / 100) << "of " << count << " elements";
  }

  MLIRContext context;
  nlohmann::json info;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  std::map<std::string, Array> files;
  std::map<std::string, TensorValue> states;
};

TEST_P(Training, equalsPyTorch) {
  compile();
  if (HasFatalFailure())
    return;
  for (size_t i = 0; i < info["losses"].size(); ++i) {
    std::map<std::string, float> found = step(static_cast<int64_t>(i));
    double loss = info["losses"][i], norm = info["grad_norms"][i];
    EXPECT_TRUE(std::abs(found[info["loss"]] - loss) <= info["tolerance"]["loss_abs"].get<double>())
        << "step " << i + 1 << ": loss " << found[info["loss"]] << ", not " << loss;
    EXPECT_TRUE(std::abs(found["grad_norm"] - norm) <= info["tolerance"]["grad_norm_rel"].get<double>() * norm)
        << "step " << i + 1 << ": norm " << found["grad_norm"] << ", not " << norm;
  }
  compareWeights();
}

INSTANTIATE_TEST_SUITE_P(Runs, Training, testing::ValuesIn(runs()), [](const auto &info) {
  std::string name = info.param.filename();
  std::ranges::replace(name, '-', '_');
  return name;
});

} // namespace
