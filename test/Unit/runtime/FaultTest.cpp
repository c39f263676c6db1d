// One fault at every operation of the engine, of every kind: a named error and no
// wrong number, and nothing hangs.
#include "runtime/io/FailingEngine.h"
#include "test/Unit/runtime/TestBundle.h"

#include <gtest/gtest.h>

using namespace spillway;
using namespace spillway::test;

namespace {

struct FaultCase {
  const char *name;
  io::Fault::Kind kind;
};

class FaultTest : public testing::TestWithParam<FaultCase> {};

constexpr unsigned matrices = 3;
constexpr Slice indices{Tier::host, 0, 64}, rows{Tier::host, 4096, 8 * 256},
    matrixPlace{Tier::host, 16384, 16384}, result{Tier::host, 8192, 8 * 256},
    staging{Tier::host, 40960, 8192}, linkedPlace{Tier::host, 53248 + 100, 6000},
    packedPlace{Tier::host, 65536, 8192};

/// Looks 8 rows up in a table, multiplies them by matrices that come one after the
/// other into the same place, and reads from a linked file, as it is and packing.
Program makeProgram() {
  Program program;
  program.arenaBytes = {0, 81920};
  program.kernels = {"test_matmul"};
  LookupOperation lookup;
  lookup.indices = indices;
  lookup.target = rows;
  lookup.staging = staging;
  program.step = {{lookup, StreamKind::read, {}, "lookup"}};
  for (uint32_t number = 0; number < matrices; ++number) {
    auto last = static_cast<uint32_t>(program.step.size()) - 1;
    program.step.push_back(
        {ReadOperation{
             .state = number + 1, .offset = 0, .bytes = matrixPlace.bytes, .target = matrixPlace},
         StreamKind::read,
         {last},
         "w"});
    LaunchOperation launch;
    Slice from = number % 2 == 0 ? rows : result, to = number % 2 == 0 ? result : rows;
    launch.arguments = {{from, 0}, {matrixPlace, 0}, {to, 0}};
    launch.end = 4;
    program.step.push_back({launch, StreamKind::compute, {last, last + 1}, "multiply"});
  }
  program.step.push_back(
      {ReadOperation{
           .state = matrices + 1, .offset = 0, .bytes = linkedPlace.bytes, .target = linkedPlace},
       StreamKind::read,
       {},
       "linked"});
  program.step.push_back(
      {ReadOperation{
           .state = matrices + 2, .offset = 0, .bytes = packedPlace.bytes, .target = packedPlace},
       StreamKind::read,
       {},
       "packed"});
  return program;
}

Status makeStore(TestBundle &bundle) {
  std::vector<TestState> states = {
      {{.type = {"table", DataType::f32, {64, 64}, Layout::panels, 0, 16},
        .chunkBytes = 4096,
        .link = {}},
       makeFloats(64 * 64, 1)}};
  for (unsigned number = 0; number < matrices; ++number)
    states.push_back({{.type = {"w", DataType::f32, {64, 64}, Layout::panels, 1, 16},
                       .chunkBytes = 4096,
                       .link = {}},
                      makeFloats(64 * 64, number + 2)});
  std::vector<float> linked = makeFloats(1525, 9);
  writeBytes(bundle.folder.path() / "model.bin", asBytes(linked));
  states.push_back({{.type = {"l", DataType::f32, {1500}},
                     .chunkBytes = 0,
                     .link = NewState::Link{bundle.folder.path() / "model.bin", 100}},
                    linked});
  states.push_back({{.type = {"p", DataType::f32, {40, 32}, Layout::panels, 1, 16},
                     .chunkBytes = 0,
                     .link = NewState::Link{bundle.folder.path() / "model.bin", 52}},
                    linked});
  return bundle.makeStore(states);
}

struct Outcome {
  Status status;
  std::vector<float> values;
  uint64_t operations = 0;
};

Outcome run(TestBundle &bundle, const io::Fault &fault) {
  auto inner = io::makeEngine(io::EngineKind::pread);
  if (!inner.ok())
    return {std::move(inner).error(), {}, 0};
  auto engine = std::make_unique<io::FailingEngine>(std::move(*inner), fault);
  io::FailingEngine *failing = engine.get();
  bundle.executor.reset();
  bundle.engine = std::move(engine);
  Outcome outcome;
  outcome.status = bundle.load(makeProgram());
  if (outcome.status.ok()) {
    bundle.write(indices, std::vector<int64_t>{3, 60, 3, 17, -1, 33, 34, 0});
    outcome.status = bundle.executor->runStep();
  }
  outcome.operations = failing->operations();
  if (outcome.status.ok()) {
    outcome.values = bundle.floats(result);
    std::vector<float> linked = bundle.floats(linkedPlace);
    outcome.values.insert(outcome.values.end(), linked.begin(), linked.end());
    std::vector<float> packed = bundle.floats(packedPlace);
    outcome.values.insert(outcome.values.end(), packed.begin(), packed.end());
  }
  return outcome;
}

TEST_P(FaultTest, atEveryOperationIsANamedErrorOrHarmless) {
  TestBundle bundle;
  Status made = makeStore(bundle);
  ASSERT_TRUE(made.ok()) << made.error().message;
  Outcome good = run(bundle, {.operation = UINT64_MAX});
  ASSERT_TRUE(good.status.ok()) << good.status.error().message;
  ASSERT_GT(good.operations, 8u);
  uint64_t errors = 0, harmless = 0;
  for (uint64_t operation = 0; operation < good.operations; ++operation) {
    Outcome bad = run(bundle, {.kind = GetParam().kind, .operation = operation});
    if (bad.status.ok()) {
      // What no checksum covers: the blocks of the linked file, of which bytes of
      // other states may be hit too.
      ++harmless;
      if (GetParam().kind != io::Fault::corruptByte)
        EXPECT_EQ(bad.values, good.values) << operation;
      else
        EXPECT_TRUE(std::equal(bad.values.begin(), bad.values.begin() + 512, good.values.begin()))
            << operation;
      continue;
    }
    ++errors;
    EXPECT_EQ(bad.status.error().kind, ErrorKind::machine) << bad.status.error().message;
    EXPECT_GT(bad.status.error().message.size(), 10u);
  }
  // Two files are opened, which only the first two kinds hit; the linked file takes
  // three or four requests.
  EXPECT_GE(errors, good.operations - 6);
  EXPECT_LE(harmless, 6u);
}

INSTANTIATE_TEST_SUITE_P(Kinds, FaultTest,
                         testing::Values(FaultCase{"ioError", io::Fault::ioError},
                                         FaultCase{"noSpace", io::Fault::noSpace},
                                         FaultCase{"shortTransfer", io::Fault::shortTransfer},
                                         FaultCase{"corruptByte", io::Fault::corruptByte},
                                         FaultCase{"stall", io::Fault::stall}),
                         [](const auto &info) { return info.param.name; });

class WriterFaultTest : public testing::TestWithParam<FaultCase> {};

TEST_P(WriterFaultTest, atEveryOperationLeavesNoStoreOrADamagedOneThatIsFound) {
  StateType type{"w", DataType::f32, {64, 64}, Layout::panels, 1, 16};
  NewState state{.type = type, .chunkBytes = 4096, .link = {}};
  std::vector<float> values = makeFloats(64 * 64, 1);
  ReadCanonical read = [&](size_t, uint64_t offset, std::span<std::byte> target) -> Status {
    std::memcpy(target.data(), asBytes(values).data() + offset, target.size());
    return {};
  };
  for (uint64_t operation = 0;; ++operation) {
    TemporaryFolder folder;
    auto inner = io::makeEngine(io::EngineKind::pread);
    ASSERT_TRUE(inner.ok());
    io::FailingEngine engine(std::move(*inner), {.kind = GetParam().kind, .operation = operation});
    Status status = writeStore(folder.path(), engine, {&state, 1}, read, {.bufferBytes = 8192});
    if (operation >= engine.operations()) {
      EXPECT_TRUE(status.ok()) << status.error().message;
      EXPECT_GT(operation, 3u);
      break;
    }
    if (!status.ok())
      EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
    else
      EXPECT_TRUE(GetParam().kind == io::Fault::corruptByte ||
                  GetParam().kind == io::Fault::shortTransfer);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, WriterFaultTest,
                         testing::Values(FaultCase{"ioError", io::Fault::ioError},
                                         FaultCase{"noSpace", io::Fault::noSpace},
                                         FaultCase{"shortTransfer", io::Fault::shortTransfer},
                                         FaultCase{"corruptByte", io::Fault::corruptByte}),
                         [](const auto &info) { return info.param.name; });

} // namespace
