// Whole training runs, in the interpreter and compiled, against PyTorch's: losses, norms of gradients and final
// weights.
// A run is a folder: a .npy for each input with a leading dimension of steps, run.json, final/NAME.npy, and one or
// several forms of the model, .onnx. Where a form MODEL.onnx begins with other values, what it ends with is in
// final-MODEL/NAME.npy: an exporter that runs norms in training mode moves their running statistics, of which
// momentum^steps is left at the end.
// SPILLWAY_TRAINING_RUNS in the environment names a folder of other runs.

#include "runtime/base/SmallFloat.h"
#include "runtime/io/Npy.h"
#include "spillway/Differentiate/Passes.h"
#include "spillway/Import/Import.h"
#include "spillway/Interpreter/Interpreter.h"
#include "runtime/session/Session.h"
#include "runtime/train/StepNames.h"
#include "runtime/state/StateReader.h"
#include "test/Unit/runtime/TemporaryFolder.h"
#include "spillway/Pipelines/Compile.h"
#include "spillway/Pipelines/Registration.h"
#include "spillway/Training/Passes.h"
#include "spillway/Conversion/OnnxToNN/Passes.h"

#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <regex>

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

std::vector<std::filesystem::path> models() {
  const char *other = std::getenv("SPILLWAY_TRAINING_RUNS");
  std::vector<std::filesystem::path> found;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(other ? other : SPILLWAY_TRAINING_RUNS))
    if (entry.path().extension() == ".onnx")
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
    info = nlohmann::json::parse(std::ifstream(folder / "run.json"));
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

  OperationOptions operations(const std::string &precision = "fp32") {
    OperationOptions operations;
    for (auto &[name, size] : info["dims"].items())
      operations.dims.push_back(name + "=" + size.dump());
    operations.gradientsOf = std::vector{info["loss"].get<std::string>()};
    operations.optimizer = optimizer();
    operations.optimizer->precision = precision;
    operations.freeze = info["freeze"];
    operations.microBatches = info.value("accumulate", 1);
    operations.padding = info.value("padding", std::vector<std::string>());
    return operations;
  }

  /// Fills an input with its value at a step, counted from 0.
  template <typename Byte> void fill(const std::string &name, int64_t step, Byte *target, size_t bytes) {
    if (name == "lr" || name == "step") {
      double value = name == "lr" ? info["lr"][step].get<double>() : static_cast<double>(step + 1);
      std::memcpy(target, &value, bytes);
      return;
    }
    if (name == "loss_scale") {
      std::memcpy(target, &lossScale, bytes);
      return;
    }
    if (name == "training") {
      *target = Byte{1};
      return;
    }
    auto data = files.try_emplace(name, folder / (name + ".npy")).first;
    std::memcpy(target, data->second.bytes.data() + bytes * step, bytes);
  }

  using Scalars = std::map<std::string, float>;

  /// Compares what each step gives, by the names of results.
  void checkSteps(llvm::function_ref<Scalars(int64_t step)> run) {
    for (size_t i = 0; i < info["losses"].size(); ++i) {
      Scalars found = run(static_cast<int64_t>(i));
      double loss = info["losses"][i], norm = info["grad_norms"][i];
      EXPECT_TRUE(std::abs(found[info["loss"]] - loss) <= info["tolerance"]["loss_abs"].get<double>())
          << "step " << i + 1 << ": loss " << found[info["loss"]] << ", not " << loss;
      EXPECT_TRUE(std::abs(found["grad_norm"] - norm) <= info["tolerance"]["grad_norm_rel"].get<double>() * norm)
          << "step " << i + 1 << ": norm " << found["grad_norm"] << ", not " << norm;
    }
  }

  bool hasNoGradient(const std::string &name, int64_t element) {
    for (const auto &range : info["no_gradient"].value(name, nlohmann::json::array()))
      if (element >= range[0].get<int64_t>() && element < range[1].get<int64_t>())
        return true;
    return false;
  }

  void compareWeights(llvm::function_ref<ArrayRef<float>(const std::string &name)> weights) {
    // Where an optimizer takes a sign, an element jumps where its gradient is nearly zero.
    bool jumps = info["optimizer"]["name"] == "Lion";
    int64_t count = 0, others = 0;
    for (auto &[name, tolerance] : info["weights"].items()) {
      std::filesystem::path own = folder / ("final-" + GetParam().stem().string()) / (name + ".npy");
      Array expected(std::filesystem::exists(own) ? own : folder / "final" / (name + ".npy"));
      ArrayRef<float> found = weights(name);
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

  std::filesystem::path folder = GetParam().parent_path();
  MLIRContext context;
  nlohmann::json info;
  /// Of the steps that are made.
  double lossScale = 65536;
  std::map<std::string, Array> files;
};

TEST_P(Training, interpreted) {
  OwningOpRef<ModuleOp> module = importOnnx(GetParam().string(), context);
  ASSERT_TRUE(module);
  PassManager passes(&context);
  buildOperationPipeline(passes, operations());
  ASSERT_TRUE(succeeded(passes.run(*module)));
  func::FuncOp function = *module->getOps<func::FuncOp>().begin();

  std::map<std::string, TensorValue> states;
  auto read = [&](zero::StateOp state) -> FailureOr<TensorValue> {
    auto [found, isNew] = states.try_emplace(state.getName().str());
    if (isNew)
      found->second = *readState(state, "");
    return found->second;
  };
  checkSteps([&](int64_t step) {
    SmallVector<TensorValue> inputs, results;
    for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
      TensorValue value(cast<RankedTensorType>(type));
      fill(function.getArgAttrOfType<StringAttr>(i, valueNameAttrName).str(), step, value.getMutableBytes().data(),
           value.getBytes().size());
      inputs.push_back(std::move(value));
    }
    std::map<std::string, TensorValue> updates;
    auto update = [&](zero::StateOp state, TensorValue value) { updates[state.getName().str()] = value; };
    EXPECT_TRUE(succeeded(evaluateFunction(function, inputs, read, results, update)));
    for (auto &[name, value] : updates)
      states[name] = value;
    Scalars scalars;
    for (auto [i, result] : llvm::enumerate(results))
      if (result.getNumElements() == 1)
        scalars[function.getResultAttrOfType<StringAttr>(i, valueNameAttrName).str()] = result.get<float>()[0];
    return scalars;
  });
  compareWeights([&](const std::string &name) { return states.at(name).get<float>(); });
}

/// A run of a bundle: what its steps give, and the states that it ends with.
struct CompiledRun {
  std::vector<std::map<std::string, float>> steps;
  std::map<std::string, std::vector<std::byte>> states;
  uint64_t plannedWrites = 0;
  /// Values that wait on the drive in a step.
  uint32_t offloads = 0;

  template <typename T> ArrayRef<T> values(const std::string &name) const {
    const std::vector<std::byte> &bytes = states.at(name);
    return {reinterpret_cast<const T *>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

/// Bytes of states that a step fetches, but for rows that it looks up.
uint64_t fetchedBytes(const Program &program) {
  uint64_t bytes = 0;
  for (const Command &command : program.step)
    if (auto *read = std::get_if<ReadOperation>(&command.operation))
      bytes += read->fileBytes;
  return bytes;
}

class CompiledTraining : public Training {
protected:
  LogicalResult compile(const std::filesystem::path &bundle, const OperationOptions &operations, PlanOptions plan) {
    CompileOptions options;
    options.model = GetParam();
    options.output = bundle;
    options.operations = operations;
    options.plan = plan;
    options.plan.threads = 2;
    options.target.level = *hostCpuLevel();
    return compileModel(options, context);
  }

  static PlanOptions inMemory(uint64_t bytes, ActivationPolicy activations = ActivationPolicy::automatic) {
    PlanOptions plan;
    plan.memory = bytes;
    plan.activations = activations;
    return plan;
  }

  static PlanOptions inTiers(uint64_t device, uint64_t host) {
    PlanOptions plan;
    plan.tiers = {device, host};
    return plan;
  }

  LogicalResult compileInLeast(const std::filesystem::path &bundle, const OperationOptions &operations,
                               ActivationPolicy activations = ActivationPolicy::automatic) {
    std::vector<uint64_t> least = leastOf(bundle, operations, inMemory(4096, activations));
    return compile(bundle, operations, inMemory(least.at(0), activations));
  }

  /// The smallest budget that works, or the smallest device and host, as what refuses `plan` says.
  std::vector<uint64_t> leastOf(const std::filesystem::path &bundle, const OperationOptions &operations,
                                PlanOptions plan) {
    std::vector<uint64_t> least;
    ScopedDiagnosticHandler reader(&context, [&](Diagnostic &diagnostic) {
      std::smatch found;
      std::string text = diagnostic.str();
      if (std::regex_search(text, found, std::regex("the smallest that works? (?:is |are device=)(\\d+)(?: and host=(\\d+))?")))
        for (size_t i = 1; i < found.size() && found[i].matched; ++i)
          least.push_back(std::stoull(found[i]));
      return success();
    });
    EXPECT_TRUE(failed(compile(bundle, operations, plan)));
    return least;
  }

  /// Where it `overflows`, a step whose gradients do so comes before the others.
  void run(const std::filesystem::path &bundle, unsigned threads, CompiledRun &run, bool overflows = false) {
    Result<std::unique_ptr<Session>> opened = Session::open(bundle, {.threads = threads, .writable = true});
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    Session &session = **opened;
    auto makeStep = [&](size_t step) {
      for (const Binding &input : session.program().inputs) {
        std::span<std::byte> bytes = session.bytes(input);
        fill(input.name, static_cast<int64_t>(step), bytes.data(), bytes.size());
      }
      return session.executor().runStep();
    };
    auto scalar = [&](const Binding &output) {
      float value = 0;
      if (output.dataType == DataType::boolean)
        value = session.bytes(output)[0] != std::byte(0);
      else
        std::memcpy(&value, session.bytes(output).data(), sizeof(float));
      return value;
    };
    Status status = session.executor().runPrologue();
    if (status.ok() && overflows) {
      lossScale = std::numeric_limits<double>::infinity();
      status = makeStep(0);
      lossScale = 65536;
      for (const Binding &output : session.program().outputs)
        if (output.name == overflowOutput)
          EXPECT_EQ(scalar(output), 1);
    }
    for (size_t step = 0; status.ok() && step < info["losses"].size(); ++step) {
      status = makeStep(step);
      run.steps.emplace_back();
      for (const Binding &output : session.program().outputs)
        run.steps.back()[output.name] = scalar(output);
    }
    if (status.ok())
      status = session.executor().commit(run.steps.size(), "");
    ASSERT_TRUE(status.ok()) << status.error().message;
    run.plannedWrites = plannedWriteBytes(session.program().step);
    run.offloads = session.program().offloads();
    Result<Store> store = Store::open(bundle);
    ASSERT_TRUE(store.ok()) << store.error().message;
    Result<std::unique_ptr<io::Engine>> engine = io::makeEngine(io::EngineKind::automatic);
    StateReader reader(*store, **engine);
    for (const StateView &state : store->states()) {
      if (!state.isRewritten())
        continue;
      ASSERT_TRUE(reader.verify(state).ok()) << state.type.name;
      std::vector<std::byte> &values = run.states[state.type.name];
      ASSERT_TRUE(reader.readCanonical(state, [&](std::span<const std::byte> bytes) -> Status {
        values.insert(values.end(), bytes.begin(), bytes.end());
        return {};
      }).ok());
    }
  }

  /// That losses are near those in f32, and that each weight of two dimensions has a twin, which is it, rounded.
  void checkNarrow(const CompiledRun &run, const std::string &precision, double tolerance, uint16_t (*round)(float)) {
    for (auto [step, scalars] : llvm::enumerate(run.steps)) {
      double loss = info["losses"][step];
      EXPECT_NEAR(scalars.at(info["loss"]), loss, tolerance * loss) << "step " << step + 1;
    }
    int64_t twins = 0;
    for (auto &[name, weightTolerance] : info["weights"].items()) {
      std::string twin = name + "." + precision;
      bool isMatrix = Array(folder / "final" / (name + ".npy")).header.shape.size() >= 2;
      ASSERT_EQ(run.states.contains(twin), isMatrix) << name;
      if (!isMatrix)
        continue;
      ++twins;
      auto rounded = llvm::map_to_vector(run.values<float>(name), round);
      EXPECT_TRUE(run.values<uint16_t>(twin) == ArrayRef<uint16_t>(rounded)) << name;
    }
    EXPECT_GT(twins, 0);
  }

  /// Runs in all the memory there is; in the least that works, from and to the drive; and in three tiers, with the
  /// least of a device, and a host that holds some of the states. Gives the first run.
  void runEverywhere(const std::string &precision, CompiledRun &whole) {
    test::TemporaryFolder place;
    std::filesystem::path resident = place.path() / "resident.spill", streamed = place.path() / "streamed.spill",
                          tiered = place.path() / "tiered.spill";
    ASSERT_TRUE(succeeded(compile(resident, operations(precision), inMemory(uint64_t(1) << 40))));
    run(resident, 2, whole);
    EXPECT_EQ(whole.plannedWrites, 0u);
    CompiledRun least;
    ASSERT_TRUE(succeeded(compileInLeast(streamed, operations(precision))));
    run(streamed, 1, least);
    EXPECT_GT(least.plannedWrites, 0u);
    EXPECT_TRUE(whole.steps == least.steps) << "other bits where states are streamed";
    EXPECT_TRUE(whole.states == least.states) << "other bits where states are streamed";
    CompiledRun tiers;
    std::vector<uint64_t> smallest = leastOf(tiered, operations(precision), inTiers(4096, 4096));
    ASSERT_EQ(smallest.size(), 2u);
    uint64_t onHost = 0;
    for (auto &[name, values] : whole.states)
      onHost += values.size() / 2;
    ASSERT_TRUE(succeeded(compile(tiered, operations(precision), inTiers(smallest[0], smallest[1] + onHost))));
    run(tiered, 2, tiers);
    EXPECT_GT(tiers.plannedWrites, 0u);
    EXPECT_LT(tiers.plannedWrites, least.plannedWrites) << "the host holds nothing";
    EXPECT_TRUE(whole.steps == tiers.steps) << "other bits in three tiers";
    EXPECT_TRUE(whole.states == tiers.states) << "other bits in three tiers";
  }
};

TEST_P(CompiledTraining, fp32) {
  CompiledRun run;
  ASSERT_NO_FATAL_FAILURE(runEverywhere("fp32", run));
  checkSteps([&](int64_t step) { return run.steps[step]; });
  compareWeights([&](const std::string &name) { return run.values<float>(name); });
}

TEST_P(CompiledTraining, bf16) {
  CompiledRun run;
  ASSERT_NO_FATAL_FAILURE(runEverywhere("bf16", run));
  checkNarrow(run, "bf16", 0.02, bfloat16FromFloat);
}

TEST_P(CompiledTraining, fp16) {
  CompiledRun run;
  ASSERT_NO_FATAL_FAILURE(runEverywhere("fp16", run));
  checkNarrow(run, "fp16", 0.002, [](float value) { return halfFromDouble(value); });
}

TEST_P(CompiledTraining, aStepWhoseGradientsOverflowChangesNoState) {
  test::TemporaryFolder place;
  CompiledRun without;
  ASSERT_TRUE(succeeded(compile(place.path() / "without.spill", operations("fp16"), inMemory(uint64_t(1) << 40))));
  run(place.path() / "without.spill", 2, without);
  for (ActivationPolicy policy : {ActivationPolicy::keep, ActivationPolicy::recompute}) {
    std::filesystem::path bundle = place.path() / fmt::format("{}.spill", static_cast<int>(policy));
    ASSERT_TRUE(succeeded(compileInLeast(bundle, operations("fp16"), policy)));
    CompiledRun with;
    run(bundle, 1, with, /*overflows=*/true);
    EXPECT_TRUE(without.steps == with.steps);
    EXPECT_TRUE(without.states == with.states);
  }
}

TEST_P(CompiledTraining, whateverBecomesOfWhatWaitsTheBitsAreTheSame) {
  test::TemporaryFolder place;
  CompiledRun kept;
  ASSERT_TRUE(succeeded(compile(place.path() / "kept.spill", operations(), inMemory(uint64_t(1) << 40, ActivationPolicy::keep))));
  run(place.path() / "kept.spill", 2, kept);
  EXPECT_EQ(kept.offloads, 0u);
  for (ActivationPolicy policy : {ActivationPolicy::recompute, ActivationPolicy::offload})
    for (unsigned threads : {1u, 2u}) {
      std::filesystem::path bundle = place.path() / fmt::format("{}-{}.spill", static_cast<int>(policy), threads);
      ASSERT_TRUE(succeeded(compileInLeast(bundle, operations(), policy)));
      CompiledRun other;
      run(bundle, threads, other);
      EXPECT_EQ(other.offloads != 0, policy == ActivationPolicy::offload);
      EXPECT_TRUE(kept.steps == other.steps) << "other bits on " << threads << " threads";
      EXPECT_TRUE(kept.states == other.states) << "other bits on " << threads << " threads";
    }
}

/// Runs of several micro-batches a step.
class AccumulatedTraining : public CompiledTraining {};

std::vector<std::filesystem::path> accumulatedModels() {
  std::vector<std::filesystem::path> found = models();
  std::erase_if(found, [](const std::filesystem::path &model) {
    return nlohmann::json::parse(std::ifstream(model.parent_path() / "run.json")).value("accumulate", 1) == 1;
  });
  return found;
}

TEST_P(AccumulatedTraining, aWeightMovesOnceAStep) {
  OperationOptions several = operations(), one = operations();
  one.microBatches = 1;
  test::TemporaryFolder place;
  std::vector<uint64_t> bytes;
  for (const OperationOptions &options : {several, one}) {
    std::filesystem::path bundle = place.path() / fmt::format("{}.spill", bytes.size());
    ASSERT_TRUE(succeeded(compileInLeast(bundle, options, ActivationPolicy::keep)));
    Result<std::unique_ptr<Session>> session = Session::open(bundle, {.writable = true});
    ASSERT_TRUE(session.ok()) << session.error().message;
    bytes.push_back(fetchedBytes((*session)->program()));
  }
  EXPECT_GT(bytes[0], 0u);
  EXPECT_EQ(bytes[0], bytes[1]);
}

std::string nameOf(const testing::TestParamInfo<std::filesystem::path> &info) {
  std::string name = info.param.parent_path().filename().string() + "_" + info.param.stem().string();
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Runs, Training, testing::ValuesIn(models()), nameOf);
INSTANTIATE_TEST_SUITE_P(Runs, CompiledTraining, testing::ValuesIn(models()), nameOf);
INSTANTIATE_TEST_SUITE_P(Runs, AccumulatedTraining, testing::ValuesIn(accumulatedModels()), nameOf);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(AccumulatedTraining);

} // namespace
