// Values that wait on the drive: they come back as they were, or a step ends with an error that
// says so; and their file goes with the process.
#include "runtime/executor/Scratch.h"
#include "runtime/io/FailingEngine.h"
#include "test/Unit/runtime/TrainedModel.h"

#include <gtest/gtest.h>

using namespace spillway;
using namespace spillway::test;

namespace {

/// A block and a quarter, of the weight that stays plus 1; and where it comes back.
constexpr int64_t valueRows = 20;
constexpr Slice value{Tier::host, 40960, valueRows * 256}, back{Tier::host, 49152, valueRows * 256},
    onDrive{Tier::nvme, 4096, valueRows * 256};

/// The step of trainedProgram, with a loss of the value that has waited; its place in memory is taken by
/// another one meanwhile.
Program offloadingProgram() {
  Program program = trainedProgram(/*keepsInMemory=*/true);
  program.arenaBytes = {0, 65536};
  program.scratchBytes = 12288;
  program.kernels.push_back("test_increment");
  program.kernelArguments.push_back({1, valueRows, {DataType::f32, DataType::f32}});
  auto increment = [](const Slice &from, std::vector<uint32_t> waits) {
    LaunchOperation launch;
    launch.kernel = 2;
    launch.arguments = {{from, 0}, {value, 0}};
    launch.end = valueRows;
    launch.scratch = {Tier::host, 57344, 2 * 256};
    launch.scratchPerThread = 256;
    return Command{launch, StreamKind::compute, std::move(waits), "increment"};
  };
  Slice first = keptPlace, last = keptPlace;
  first.bytes = last.bytes = value.bytes;
  last.offset += keptPlace.bytes - last.bytes;
  std::vector<Command> front = {
      increment(first, {}),
      {OffloadOperation{value, onDrive}, StreamKind::write, {0}, "offload"},
      increment(last, {1}),
      {RestoreOperation{onDrive, back}, StreamKind::read, {2}, "restore"}};
  for (Command &command : program.step)
    for (uint32_t &wait : command.waits)
      wait += static_cast<uint32_t>(front.size());
  std::get<LaunchOperation>(program.step[0].operation).arguments[1].slice = back;
  program.step[0].waits.push_back(3);
  program.step.insert(program.step.begin(), front.begin(), front.end());
  return program;
}

std::vector<float> batchOf(uint64_t step) {
  return makeFloats(4, static_cast<unsigned>(100 + step));
}

/// What steps give, and the values after them.
struct Expected {
  TrainedValues values = TrainedValues::initial();

  float lossNow(uint64_t step) const {
    float loss = 0;
    std::vector<float> x = batchOf(step);
    for (size_t i = 0; i < 4; ++i)
      loss = std::fmaf(x[i], values.states[kept][i] + 1, loss);
    return loss;
  }

  float step(uint64_t step) {
    float loss = lossNow(step);
    values.step(batchOf(step), 0.01, static_cast<double>(step));
    return loss;
  }
};

class Offloading {
public:
  Status open() {
    SPILLWAY_RETURN_IF_ERROR(bundle.makeStore(trainedStates()));
    SPILLWAY_RETURN_IF_ERROR(bundle.load(offloadingProgram(), 2));
    return bundle.executor->runPrologue();
  }

  void give(uint64_t step) {
    bundle.write(batchPlace, batchOf(step));
    bundle.write(ratePlace, std::vector<double>{0.01});
    bundle.write(numberPlace, std::vector<double>{static_cast<double>(step)});
  }

  Result<float> step(uint64_t step) {
    give(step);
    SPILLWAY_RETURN_IF_ERROR(bundle.executor->runStep());
    return bundle.floats(lossPlace)[0];
  }

  std::filesystem::path scratch() const { return bundle.folder.path() / scratchName; }

  TestBundle bundle;
};

class OffloadTest : public testing::TestWithParam<io::EngineKind> {
protected:
  void SetUp() override {
    for (auto *engine : {&training.bundle.engine, &training.bundle.writeEngine}) {
      auto made = io::makeEngine(GetParam());
      // Containers may forbid io_uring; the cases with pread run everywhere.
      if (!made.ok())
        GTEST_SKIP() << made.error().message;
      *engine = std::move(*made);
    }
  }

  Offloading training;
};

TEST_P(OffloadTest, whatComesBackIsWhatWent) {
  Status opened = training.open();
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_FALSE(std::filesystem::exists(training.scratch()));
  Expected expected;
  constexpr uint64_t steps = 5;
  for (uint64_t step = 1; step <= steps; ++step) {
    Result<float> loss = training.step(step);
    ASSERT_TRUE(loss.ok()) << loss.error().message;
    EXPECT_EQ(*loss, expected.step(step));
  }
  EXPECT_EQ(training.bundle.writeEngine->counters().writtenBytes,
            steps * plannedWriteBytes(training.bundle.program.step));
  ASSERT_TRUE(training.bundle.executor->commit(steps, "").ok());
  EXPECT_FALSE(std::filesystem::exists(training.scratch()));
}

TEST_P(OffloadTest, anEvaluationTakesWhatTheStepWould) {
  ASSERT_TRUE(training.open().ok());
  Expected expected;
  for (uint64_t step = 1; step <= 3; ++step) {
    training.give(step);
    ASSERT_TRUE(training.bundle.executor->evaluate(lossPlace).ok());
    EXPECT_EQ(training.bundle.floats(lossPlace)[0], expected.lossNow(step));
    Result<float> loss = training.step(step);
    ASSERT_TRUE(loss.ok()) << loss.error().message;
    EXPECT_EQ(*loss, expected.step(step));
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, OffloadTest,
                         testing::Values(io::EngineKind::pread, io::EngineKind::uring),
                         [](const auto &info) {
                           return info.param == io::EngineKind::pread ? "pread" : "uring";
                         });

struct OffloadFaultCase {
  const char *name;
  io::Fault::Kind kind;
};

class OffloadFaultTest : public testing::TestWithParam<OffloadFaultCase> {
protected:
  struct Outcome {
    Status status;
    std::vector<float> losses;
    uint64_t operations = 0;
  };

  static constexpr uint64_t steps = 2;

  /// Two steps with a fault in one of the two engines.
  Outcome run(bool inWrites, uint64_t operation) {
    Offloading training;
    auto inner = io::makeEngine(io::EngineKind::pread);
    EXPECT_TRUE(inner.ok());
    auto failing = std::make_unique<io::FailingEngine>(
        std::move(*inner), io::Fault{.kind = GetParam().kind, .operation = operation});
    const io::FailingEngine &engine = *failing;
    (inWrites ? training.bundle.writeEngine : training.bundle.engine) = std::move(failing);
    Outcome outcome{training.open(), {}};
    for (uint64_t step = 1; step <= steps && outcome.status.ok(); ++step) {
      Result<float> loss = training.step(step);
      if (loss.ok())
        outcome.losses.push_back(*loss);
      else
        outcome.status = std::move(loss).error();
    }
    outcome.operations = engine.operations();
    EXPECT_FALSE(std::filesystem::exists(training.scratch()));
    return outcome;
  }
};

TEST_P(OffloadFaultTest, atEveryOperationIsANamedErrorAndNoWrongNumber) {
  Expected expected;
  std::vector<float> losses;
  for (uint64_t step = 1; step <= steps; ++step)
    losses.push_back(expected.step(step));
  uint64_t named = 0;
  for (bool inWrites : {false, true}) {
    uint64_t operations = UINT64_MAX;
    for (uint64_t operation = 0; operation < operations; ++operation) {
      Outcome outcome = run(inWrites, operation);
      if (operation >= outcome.operations) {
        operations = outcome.operations;
        ASSERT_TRUE(outcome.status.ok()) << outcome.status.error().message;
      }
      // What was computed is right.
      ASSERT_LE(outcome.losses.size(), losses.size());
      EXPECT_TRUE(std::equal(outcome.losses.begin(), outcome.losses.end(), losses.begin()))
          << operation;
      if (outcome.status.ok()) {
        EXPECT_EQ(outcome.losses.size(), losses.size());
        continue;
      }
      const std::string &message = outcome.status.error().message;
      EXPECT_EQ(outcome.status.error().kind, ErrorKind::machine) << message;
      named += message.find(scratchName) != std::string::npos;
    }
    EXPECT_GT(operations, 10u);
  }
  EXPECT_GE(named, GetParam().kind == io::Fault::stall ? 0u : 4u);
}

INSTANTIATE_TEST_SUITE_P(Kinds, OffloadFaultTest,
                         testing::Values(OffloadFaultCase{"ioError", io::Fault::ioError},
                                         OffloadFaultCase{"noSpace", io::Fault::noSpace},
                                         OffloadFaultCase{"shortTransfer",
                                                          io::Fault::shortTransfer},
                                         OffloadFaultCase{"corruptByte", io::Fault::corruptByte},
                                         OffloadFaultCase{"stall", io::Fault::stall}),
                         [](const auto &info) { return info.param.name; });

/// One that was killed while it started, too, leaves nothing but to the next.
TEST(Offload, aFileThatWasLeftIsTakenOver) {
  Offloading training;
  ASSERT_TRUE(training.bundle.makeStore(trainedStates()).ok());
  writeBytes(training.scratch(), std::vector<std::byte>(100'000, std::byte{1}));
  ASSERT_TRUE(training.bundle.load(offloadingProgram(), 2).ok());
  EXPECT_FALSE(std::filesystem::exists(training.scratch()));
  ASSERT_TRUE(training.bundle.executor->runPrologue().ok());
  Expected expected;
  Result<float> loss = training.step(1);
  ASSERT_TRUE(loss.ok()) << loss.error().message;
  EXPECT_EQ(*loss, expected.step(1));
}

} // namespace
