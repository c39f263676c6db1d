#include "runtime/executor/Evaluation.h"
#include "runtime/io/FailingEngine.h"
#include "test/Unit/runtime/TestBundle.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <thread>

using namespace spillway;
using namespace spillway::test;

namespace {

constexpr uint64_t matrixBytes = 64 * 64 * 4;
constexpr uint64_t activationBytes = 8 * 64 * 4;

std::vector<float> multiply(const std::vector<float> &x, const std::vector<float> &w) {
  std::vector<float> y(8 * 64);
  for (int row = 0; row < 8; ++row)
    for (int column = 0; column < 64; ++column) {
      float sum = 0;
      for (int k = 0; k < 64; ++k)
        sum = std::fmaf(x[row * 64 + k], w[k * 64 + column], sum);
      y[row * 64 + column] = sum;
    }
  return y;
}

TestState matrix(unsigned number) {
  return {{.type = {fmt::format("w{}", number), DataType::f32, {64, 64}, Layout::panels, 1, 16},
           .chunkBytes = 4096,
           .link = {}},
          makeFloats(64 * 64, number + 10)};
}

constexpr unsigned layers = 6;
constexpr Slice input{Tier::host, 0, activationBytes};
constexpr Slice output{Tier::host, 4096, activationBytes};

/// A chain of matrices of which two are in memory at a time, each in two tiles; the
/// last is followed by an increment. x and y change places after each layer.
Program makeChain() {
  Program program;
  program.threads = 4;
  program.arenaBytes = {0, 65536};
  program.kernels = {"test_matmul", "test_increment"};
  program.inputs = {{"x", DataType::f32, {8, 64}, input}};
  program.outputs = {{"y", DataType::f32, {8, 64}, output}};
  Slice activations[2] = {input, output};
  std::vector<uint32_t> lastUse(2);
  std::vector<bool> used(2);
  uint32_t previous = 0;
  for (uint32_t layer = 0; layer < layers; ++layer) {
    uint64_t place = 8192 + (layer % 2) * matrixBytes;
    auto label = fmt::format("w{}", layer);
    uint32_t reads[2];
    for (uint32_t tile = 0; tile < 2; ++tile) {
      Slice half{Tier::host, place + tile * matrixBytes / 2, matrixBytes / 2};
      reads[tile] = static_cast<uint32_t>(program.step.size());
      program.step.push_back(
          {ReadOperation{.state = layer,
                         .offset = tile * matrixBytes / 2,
                         .bytes = matrixBytes / 2,
                         .target = half},
           StreamKind::read,
           used[layer % 2] ? std::vector<uint32_t>{lastUse[layer % 2]} : std::vector<uint32_t>{},
           label});
    }
    for (uint32_t tile = 0; tile < 2; ++tile) {
      Slice half{Tier::host, place + tile * matrixBytes / 2, matrixBytes / 2};
      LaunchOperation launch;
      launch.arguments = {
          {activations[layer % 2], 0}, {half, tile * 2}, {activations[1 - layer % 2], 0}};
      launch.begin = tile * 2;
      launch.end = tile * 2 + 2;
      std::vector<uint32_t> waits = {reads[tile]};
      if (layer != 0)
        waits.push_back(previous);
      previous = static_cast<uint32_t>(program.step.size());
      program.step.push_back({launch, StreamKind::compute, waits, "multiply by " + label});
    }
    lastUse[layer % 2] = previous;
    used[layer % 2] = true;
  }
  LaunchOperation increment;
  increment.kernel = 1;
  increment.arguments = {{activations[layers % 2], 0}, {output, 0}};
  increment.end = 8;
  increment.scratch = {Tier::host, 8192 + 2 * matrixBytes, 4 * 256};
  increment.scratchPerThread = 256;
  program.step.push_back({increment, StreamKind::compute, {previous}, "increment"});
  return program;
}

std::vector<TestState> makeChainStates() {
  std::vector<TestState> states;
  for (unsigned layer = 0; layer < layers; ++layer)
    states.push_back(matrix(layer));
  return states;
}

std::vector<float> chainResult(const std::vector<float> &x, const std::vector<TestState> &states) {
  std::vector<float> y = x;
  for (const TestState &state : states)
    y = multiply(y, state.values);
  for (float &value : y)
    value += 1;
  return y;
}

struct ChainCase {
  io::EngineKind engine;
  unsigned threads;
};

class ChainTest : public testing::TestWithParam<ChainCase> {};

TEST_P(ChainTest, streamsWithTheSameBitsEveryTime) {
  TestBundle bundle;
  std::vector<TestState> states = makeChainStates();
  ASSERT_TRUE(bundle.makeStore(states).ok());
  auto engine = io::makeEngine(GetParam().engine);
  if (!engine.ok())
    GTEST_SKIP() << engine.error().message;
  bundle.engine = std::move(*engine);
  Status loaded = bundle.load(makeChain(), GetParam().threads);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  ASSERT_TRUE(bundle.executor->runPrologue().ok());
  for (unsigned round = 0; round < 20; ++round) {
    std::vector<float> x = makeFloats(8 * 64, round);
    bundle.write(input, x);
    Status status = bundle.executor->runStep();
    ASSERT_TRUE(status.ok()) << status.error().message;
    EXPECT_EQ(bundle.floats(output), chainResult(x, states));
  }
  EXPECT_EQ(bundle.engine->counters().readBytes, 20u * plannedReadBytes(bundle.program.step));
  for (const CommandTimes &times : bundle.executor->stepTimes()) {
    EXPECT_LE(times.reached, times.started);
    EXPECT_LE(times.started, times.ended);
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, ChainTest,
                         testing::Values(ChainCase{io::EngineKind::pread, 1},
                                         ChainCase{io::EngineKind::pread, 2},
                                         ChainCase{io::EngineKind::pread, 3},
                                         ChainCase{io::EngineKind::uring, 1},
                                         ChainCase{io::EngineKind::uring, 4}));

TEST(Executor, aReplayRunsEverythingButTheKernels) {
  TestBundle bundle;
  ASSERT_TRUE(bundle.makeStore(makeChainStates()).ok());
  bundle.replay = true;
  ASSERT_TRUE(bundle.load(makeChain()).ok());
  ASSERT_TRUE(bundle.executor->runStep().ok());
  EXPECT_EQ(bundle.engine->counters().readBytes, plannedReadBytes(bundle.program.step));
  EXPECT_EQ(bundle.floats(output), std::vector<float>(8 * 64, 0.0f));
}

TEST(Executor, moreThreadsThanPlannedAreRefused) {
  TestBundle bundle;
  ASSERT_TRUE(bundle.makeStore(makeChainStates()).ok());
  Status status = bundle.load(makeChain(), 5);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, ErrorKind::user);
}

/// Reads start in their order, so the last one may rely on what one that is left out has waited for.
TEST(Evaluation, keepsTheOrderThatALeftOutReadGave) {
  Program program;
  program.kernels = {"forward", "update"};
  program.kernelArguments = {{2, 1, {}}, {1, 1, {}}};
  auto at = [](uint64_t offset, uint64_t bytes) { return Slice{Tier::host, offset, bytes}; };
  const Slice x = at(16384, 64), y = at(16448, 64), loss = at(16512, 64);
  auto read = [&](uint32_t state, Slice target, std::vector<uint32_t> waits) {
    program.step.push_back({ReadOperation{.state = state, .bytes = target.bytes, .target = target}, StreamKind::read, std::move(waits), "read"});
  };
  auto launch = [&](uint32_t kernel, std::vector<Slice> slices, uint32_t wait) {
    LaunchOperation operation;
    operation.kernel = kernel;
    operation.end = 1;
    for (const Slice &slice : slices)
      operation.arguments.push_back({slice, 0});
    program.step.push_back({operation, StreamKind::compute, {wait}, "launch"});
  };
  read(0, at(0, 8192), {});
  launch(0, {at(0, 8192), x, y}, 0);
  read(1, at(0, 4096), {1});
  launch(1, {x, at(0, 4096)}, 2);
  read(2, at(4096, 4096), {});
  launch(0, {at(4096, 4096), y, loss}, 4);

  std::vector<Command> kept = commandsFor(program, loss);
  ASSERT_EQ(kept.size(), 4u);
  EXPECT_EQ(std::get<ReadOperation>(kept[2].operation).state, 2u);
  EXPECT_EQ(kept[2].waits, std::vector<uint32_t>{1});
}

TEST(Executor, aMissingKernelIsNamed) {
  TestBundle bundle;
  ASSERT_TRUE(bundle.makeStore(makeChainStates()).ok());
  Program program = makeChain();
  program.kernels[1] = "no_such_kernel";
  Status status = bundle.load(program);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("no_such_kernel"), std::string::npos);
}

TEST(Executor, aKernelsFaultIsAUserErrorWithItsLabel) {
  TestBundle bundle;
  ASSERT_TRUE(bundle.makeStore({}).ok());
  Program program;
  program.threads = 2;
  program.arenaBytes = {0, 4096};
  program.kernels = {"test_fault"};
  LaunchOperation launch;
  launch.end = 8;
  program.step = {{launch, StreamKind::compute, {}, "/embed/Gather"}};
  ASSERT_TRUE(bundle.load(program, 2).ok());
  Status status = bundle.executor->runStep();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, ErrorKind::user);
  EXPECT_EQ(status.error().message, "/embed/Gather: an index is out of the range of its dimension");
}

TEST(Executor, aLaunchIsDividedIntoTheKernelsParts) {
  auto run = [](unsigned threads, const EncodeOptions &options) {
    constexpr Slice y{Tier::host, 0, activationBytes};
    TestBundle bundle;
    Program program;
    program.threads = 2;
    program.arenaBytes = {0, 4096};
    program.kernels = {"test_parts"};
    LaunchOperation launch;
    launch.arguments = {{y}};
    launch.end = 8;
    program.step = {{launch, StreamKind::compute, {}, "parts"}};
    EXPECT_TRUE(bundle.makeStore({}).ok());
    EXPECT_TRUE(bundle.load(program, threads, nullptr, options).ok());
    bundle.write(y, std::vector<float>(8 * 64));
    EXPECT_TRUE(bundle.executor->runStep().ok());
    return bundle.floats(y);
  };
  auto expected = [](int parts) {
    std::vector<float> y(8 * 64);
    for (int unit = 0; unit < 8; ++unit)
      for (int part = 0; part < parts; ++part)
        y[unit * 64 + part] = static_cast<float>(parts);
    return y;
  };
  EXPECT_EQ(run(2, {.kernelParts = 100}), expected(4));
  EXPECT_EQ(run(2, {.kernelParts = 3}), expected(2));
  EXPECT_EQ(run(2, {.kernelParts = 1}), expected(1));
  EXPECT_EQ(run(1, {.kernelParts = 100}), expected(1));
  // Not worth the other thread.
  EXPECT_EQ(run(2, {.kernelFlops = 0, .kernelParts = 100}), expected(1));
}

TEST(Executor, aWatchedValueIsToldFromWhatAnotherStepHasLeft) {
  constexpr Slice x{Tier::host, 0, 16}, w{Tier::host, 64, 16}, loss{Tier::host, 128, 4}, index{Tier::host, 192, 8},
      row{Tier::host, 256, 256}, staging{Tier::host, 4096, 4096};
  TestBundle bundle;
  ASSERT_TRUE(bundle.makeStore({{{.type = {"table", DataType::f32, {16, 64}}, .chunkBytes = 4096}, makeFloats(1024, 3)}}).ok());
  Program program;
  program.arenaBytes = {0, 8192};
  program.kernels = {"test_loss", "test_fault"};
  LookupOperation lookup;
  lookup.indices = index;
  lookup.target = row;
  lookup.staging = staging;
  LaunchOperation launch, fault;
  launch.arguments = {{x}, {w}, {loss}};
  launch.end = 1;
  fault.kernel = 1;
  fault.end = 8;
  program.step = {{lookup, StreamKind::read, {}, "lookup"}, {launch, StreamKind::compute, {0}, "loss"}};
  // What ends a step whose watched value would be a number, where it is computed.
  auto endOf = [&](int64_t wantedRow, float factor) {
    EXPECT_TRUE(bundle.load(program, 1, nullptr, {.kernelInputs = 0}).ok());
    bundle.executor->watch(loss);
    bundle.write(x, std::vector<float>(4, factor));
    bundle.write(w, std::vector<float>(4, 1));
    bundle.write(loss, std::vector<float>{NAN});
    bundle.write(index, std::vector<int64_t>{wantedRow});
    return bundle.executor->runStep();
  };
  EXPECT_TRUE(endOf(3, 1).ok());
  EXPECT_FALSE(bundle.executor->isWatchedNotFinite());
  EXPECT_FALSE(endOf(3, NAN).ok());
  EXPECT_TRUE(bundle.executor->isWatchedNotFinite());
  Status status = endOf(16, NAN);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "lookup: index 16 at position 0 is out of the range of 'table': -16 to 15");
  EXPECT_FALSE(bundle.executor->isWatchedNotFinite());
  // A fault on the way explains the number.
  program.step.insert(program.step.begin() + 1, {fault, StreamKind::compute, {}, "gather"});
  program.step[2].waits = {0, 1};
  status = endOf(3, NAN);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "gather: an index is out of the range of its dimension");
  EXPECT_FALSE(bundle.executor->isWatchedNotFinite());
}

TEST(Executor, damagedBytesAreFoundAtTheirFirstRead) {
  for (unsigned layer : {0u, layers - 1}) {
    TestBundle bundle;
    ASSERT_TRUE(bundle.makeStore(makeChainStates()).ok());
    {
      std::fstream file(bundle.folder.path() / "states.bin",
                        std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(static_cast<long>(layer * matrixBytes + 3 * 4096 + 17));
      file.put('\x5a');
    }
    ASSERT_TRUE(bundle.load(makeChain(), 2).ok());
    Status status = bundle.executor->runStep();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().kind, ErrorKind::machine);
    std::string expected =
        fmt::format("w{0}: the state 'w{0}' is damaged: bytes {1} to {2}", layer,
                    layer * matrixBytes + 3 * 4096, layer * matrixBytes + 4 * 4096);
    EXPECT_NE(status.error().message.find(expected), std::string::npos) << status.error().message;
  }
}

TEST(Executor, aFileThatBecameShorterIsAnError) {
  TestBundle bundle;
  ASSERT_TRUE(bundle.makeStore(makeChainStates()).ok());
  ASSERT_TRUE(bundle.load(makeChain(), 2).ok());
  std::filesystem::resize_file(bundle.folder.path() / "states.bin", 4 * matrixBytes);
  Status status = bundle.executor->runStep();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, ErrorKind::machine);
  EXPECT_NE(status.error().message.find("w4"), std::string::npos) << status.error().message;
  EXPECT_FALSE(Store::open(bundle.folder.path()).ok());
}

// Lookups.

struct LookupCase {
  const char *name;
  Layout layout;
  bool linked;
  bool fromArena;
  DataType indexType;
  /// Pieces that the staging holds.
  uint64_t slots;
};

class LookupTest : public testing::TestWithParam<LookupCase> {
protected:
  static constexpr int64_t tableRows = 100, tableColumns = 48;

  void SetUp() override {
    const LookupCase &c = GetParam();
    TestState table{
        {.type = {"table", DataType::f32, {tableRows, tableColumns}}, .chunkBytes = 0, .link = {}},
        makeFloats(tableRows * tableColumns, 5)};
    if (c.layout == Layout::panels) {
      table.state.type.layout = Layout::panels;
      table.state.type.panelWidth = 16;
    }
    table.state.chunkBytes = chooseChunkBytes(table.state.type, 1);
    if (c.linked) {
      std::vector<std::byte> file(777);
      file.insert(file.end(), asBytes(table.values).begin(), asBytes(table.values).end());
      writeBytes(bundle.folder.path() / "model.bin", file);
      table.state.link = {bundle.folder.path() / "model.bin", 777};
    }
    values = table.values;
    Status status = bundle.makeStore({table});
    ASSERT_TRUE(status.ok()) << status.error().message;
  }

  Program makeProgram(size_t count) const {
    const LookupCase &c = GetParam();
    const StateView &state = bundle.store.states()[0];
    uint64_t piece = c.linked ? roundUpToBlock(state.type.rowBytes()) + 4096 : state.chunkBytes;
    Program program;
    program.arenaBytes = {0, 1 << 20};
    LookupOperation lookup;
    lookup.indexType = c.indexType;
    lookup.indices = {Tier::host, 0, count * byteWidth(c.indexType)};
    lookup.target = {Tier::host, 65536, count * tableColumns * 4};
    lookup.fromArena = c.fromArena;
    if (c.fromArena) {
      lookup.resident = {Tier::host, 262144, roundUpToBlock(state.type.storedBytes())};
      program.prologue = {
          {ReadOperation{
               .state = 0, .offset = 0, .bytes = lookup.resident.bytes, .target = lookup.resident},
           StreamKind::read,
           {},
           "table"}};
    } else {
      lookup.staging = {Tier::host, 524288, c.slots * piece};
    }
    program.step = {
        {lookup, c.fromArena ? StreamKind::compute : StreamKind::read, {}, "/embed/Gather"}};
    return program;
  }

  Status run(const std::vector<int64_t> &wanted) {
    SPILLWAY_RETURN_IF_ERROR(bundle.load(makeProgram(wanted.size())));
    SPILLWAY_RETURN_IF_ERROR(bundle.executor->runPrologue());
    const auto &lookup = std::get<LookupOperation>(bundle.program.step[0].operation);
    if (GetParam().indexType == DataType::i64)
      bundle.write(lookup.indices, wanted);
    else
      bundle.write(lookup.indices, std::vector<int32_t>(wanted.begin(), wanted.end()));
    return bundle.executor->runStep();
  }

  TestBundle bundle;
  std::vector<float> values;
};

TEST_P(LookupTest, givesTheRows) {
  std::vector<int64_t> wanted = {5, 99, 0, 5, -1, -100, 17, 16, 15, 5, 63, 64, 42, 98, 31, 32};
  Status status = run(wanted);
  ASSERT_TRUE(status.ok()) << status.error().message;
  std::vector<float> rows =
      bundle.floats(std::get<LookupOperation>(bundle.program.step[0].operation).target);
  for (size_t i = 0; i < wanted.size(); ++i) {
    int64_t row = wanted[i] < 0 ? wanted[i] + tableRows : wanted[i];
    for (int64_t j = 0; j < tableColumns; ++j)
      ASSERT_EQ(rows[i * tableColumns + j], values[row * tableColumns + j]) << i << " " << j;
  }
}

TEST_P(LookupTest, readsAPieceOnceForAllItsRows) {
  if (GetParam().fromArena)
    GTEST_SKIP();
  ASSERT_TRUE(run({7, 7, 7, 7}).ok());
  EXPECT_LE(bundle.engine->counters().readBytes, 2 * bundle.store.states()[0].chunkBytes + 8192);
}

TEST_P(LookupTest, ofNothingIsNothing) { EXPECT_TRUE(run({}).ok()); }

TEST_P(LookupTest, namesABadIndex) {
  for (int64_t bad : {int64_t(100), int64_t(-101), int64_t(1) << 30}) {
    Status status = run({1, 2, bad, 3});
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().kind, ErrorKind::user);
    EXPECT_EQ(status.error().message,
              fmt::format("/embed/Gather: index {} at position 2 is out of the range of 'table': "
                          "-100 to 99",
                          bad));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Places, LookupTest,
    testing::Values(
        LookupCase{"rowsInFile", Layout::rowMajor, false, false, DataType::i64, 1},
        LookupCase{"rowsInFileManySlots", Layout::rowMajor, false, false, DataType::i32, 3},
        LookupCase{"panelsInFile", Layout::panels, false, false, DataType::i64, 1},
        LookupCase{"panelsInFileManySlots", Layout::panels, false, false, DataType::i64, 8},
        LookupCase{"rowsInLinkedFile", Layout::rowMajor, true, false, DataType::i64, 2},
        LookupCase{"panelsInLinkedFile", Layout::panels, true, false, DataType::i64, 2},
        LookupCase{"rowsInArena", Layout::rowMajor, false, true, DataType::i32, 0},
        LookupCase{"panelsInArena", Layout::panels, false, true, DataType::i64, 0}),
    [](const auto &info) { return info.param.name; });

// Linked files, tiers, ranks.

TEST(Executor, linkedBytesComeFromAnyOffset) {
  TestBundle bundle;
  std::vector<float> values = makeFloats(5000, 3);
  std::vector<std::byte> file(1236);
  file.insert(file.end(), asBytes(values).begin(), asBytes(values).end());
  writeBytes(bundle.folder.path() / "model.bin", file);
  TestState state{{.type = {"l", DataType::f32, {5000}},
                   .chunkBytes = 0,
                   .link = NewState::Link{bundle.folder.path() / "model.bin", 1236}},
                  values};
  ASSERT_TRUE(bundle.makeStore({state}).ok());
  const std::pair<uint64_t, uint64_t> parts[] = {{0, 20000},   {0, 4},       {4, 8},
                                                 {2860, 4096}, {2860, 5000}, {2856, 4100},
                                                 {19996, 4},   {100, 2760},  {6956, 8192}};
  for (auto [offset, bytes] : parts) {
    Program program;
    program.arenaBytes = {0, 65536};
    Slice target{Tier::host, 8192 + (1236 + offset) % 4096, bytes};
    program.step = {{ReadOperation{.state = 0, .offset = offset, .bytes = bytes, .target = target},
                     StreamKind::read,
                     {},
                     "l"}};
    Status status = bundle.load(program);
    ASSERT_TRUE(status.ok()) << status.error().message;
    Slice whole{Tier::host, 0, 65536};
    std::ranges::fill(bundle.executor->bytes(whole), std::byte(0xee));
    status = bundle.executor->runStep();
    ASSERT_TRUE(status.ok()) << status.error().message;
    std::span<std::byte> arena = bundle.executor->bytes(whole);
    EXPECT_EQ(std::memcmp(arena.data() + target.offset, asBytes(values).data() + offset, bytes), 0)
        << offset << " " << bytes;
    EXPECT_EQ(arena[target.offset - 1], std::byte(0xee));
    EXPECT_EQ(arena[target.offset + bytes], std::byte(0xee));
  }
}

struct LinkedCase {
  const char *name;
  std::vector<int64_t> shape;
  Layout layout;
  uint32_t panelDim;
  /// Where the state starts in the linked file.
  uint64_t offset;
};

class LinkedTest : public testing::TestWithParam<LinkedCase> {};

/// The state linked and the same state in a file of ours, read whole and in part, give the
/// same bytes, padding included, and ask for as many as planned.
TEST_P(LinkedTest, givesTheBytesOfAStoredState) {
  const LinkedCase &c = GetParam();
  TestBundle bundle;
  TestState own{{.type = {"own", DataType::f32, c.shape, c.layout, c.panelDim, 16},
                 .chunkBytes = 0,
                 .link = {}},
                {}};
  own.values = makeFloats(own.state.type.elements(), 3);
  own.state.chunkBytes = chooseChunkBytes(own.state.type, 1);
  TestState linked = own;
  linked.state.link = NewState::Link{bundle.folder.path() / "model.bin", c.offset};
  std::vector<std::byte> file(c.offset);
  file.insert(file.end(), asBytes(own.values).begin(), asBytes(own.values).end());
  writeBytes(bundle.folder.path() / "model.bin", file);
  Status made = bundle.makeStore({own, linked});
  ASSERT_TRUE(made.ok()) << made.error().message;

  uint64_t extent = roundUpToBlock(own.state.type.storedBytes()), chunk = own.state.chunkBytes;
  std::vector<std::pair<uint64_t, uint64_t>> parts = {{0, extent}, {0, std::min(chunk, extent)}};
  if (2 * chunk < extent)
    parts.insert(parts.end(), {{chunk, chunk}, {chunk, extent - chunk}});
  for (auto [offset, bytes] : parts) {
    Program program;
    program.arenaBytes = {0, 2 * bytes};
    Slice places[] = {{Tier::host, 0, bytes}, {Tier::host, bytes, bytes}};
    for (uint32_t state : {0u, 1u})
      program.step.push_back(
          {ReadOperation{.state = state, .offset = offset, .bytes = bytes, .target = places[state]},
           StreamKind::read,
           {},
           "read"});
    Status status = bundle.load(program);
    ASSERT_TRUE(status.ok()) << status.error().message;
    for (const Slice &place : places)
      std::ranges::fill(bundle.executor->bytes(place), std::byte(0xee));
    uint64_t before = bundle.engine->counters().readBytes;
    status = bundle.executor->runStep();
    ASSERT_TRUE(status.ok()) << status.error().message;
    EXPECT_TRUE(std::ranges::equal(bundle.executor->bytes(places[0]),
                                   bundle.executor->bytes(places[1])))
        << offset << " " << bytes;
    // Blocks behind the end of the linked file hold nothing.
    uint64_t planned = plannedReadBytes(bundle.program.step);
    EXPECT_LE(bundle.engine->counters().readBytes - before, planned);
    EXPECT_GE(bundle.engine->counters().readBytes - before + 4096, planned);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, LinkedTest,
    testing::Values(LinkedCase{"rowMajor", {70, 1000}, Layout::rowMajor, 0, 777},
                    LinkedCase{"rowMajorAtABlock", {70, 1000}, Layout::rowMajor, 0, 8192},
                    LinkedCase{"rowMajorLarge", {800, 1001}, Layout::rowMajor, 0, 4},
                    LinkedCase{"scalar", {}, Layout::rowMajor, 0, 8},
                    LinkedCase{"columns", {70, 40}, Layout::panels, 1, 777},
                    LinkedCase{"columnsAtABlock", {64, 1024}, Layout::panels, 1, 4096},
                    LinkedCase{"columnsTall", {3000, 200}, Layout::panels, 1, 100},
                    LinkedCase{"columnsWide", {3, 300001}, Layout::panels, 1, 4},
                    LinkedCase{"rows", {70, 41}, Layout::panels, 0, 776},
                    LinkedCase{"rowsTall", {3001, 200}, Layout::panels, 0, 0},
                    LinkedCase{"rowsWide", {18, 300001}, Layout::panels, 0, 12}),
    [](const auto &info) { return info.param.name; });

TEST(Executor, copiesBetweenTiersOnTheirStreams) {
  TestBundle bundle;
  ASSERT_TRUE(bundle.makeStore({}).ok());
  Program program;
  program.arenaBytes = {2 << 20, 2 << 20};
  Slice host{Tier::host, 0, 1 << 20}, device{Tier::device, 4096, 1 << 20},
      back{Tier::host, 1 << 20, 1 << 20};
  program.step = {{CopyOperation{host, device}, StreamKind::copyUp, {}, "up"},
                  {CopyOperation{device, back}, StreamKind::copyDown, {0}, "down"},
                  {CopyOperation{back, host}, StreamKind::compute, {1}, "within"}};
  program.threads = 2;
  ASSERT_TRUE(bundle.load(program, 2).ok());
  std::vector<float> values = makeFloats(1 << 18, 1);
  bundle.write(host, values);
  ASSERT_TRUE(bundle.executor->runStep().ok());
  EXPECT_EQ(bundle.floats(back), values);
  EXPECT_EQ(bundle.floats(host), values);
}

/// Ranks share a matrix of four panels: each reads its part of it, and all gather the whole in
/// front of a multiplication. With three ranks, the last has nothing of it.
Program makeShared(uint32_t ranks, uint64_t partBytes) {
  Program program;
  program.ranks = ranks;
  program.arenaBytes = {0, 65536};
  program.kernels = {"test_matmul"};
  Slice part{Tier::host, 8192, partBytes}, all{Tier::host, 8192, ranks * partBytes};
  LaunchOperation launch;
  launch.arguments = {{input, 0}, {{Tier::host, 8192, matrixBytes}, 0}, {output, 0}};
  launch.end = 4;
  program.step = {{ReadOperation{.state = 0, .offset = 0, .bytes = partBytes, .target = part},
                   StreamKind::read,
                   {},
                   "w0"},
                  {AllGatherOperation{part, all}, StreamKind::communicate, {0}, "gather w0"},
                  {launch, StreamKind::compute, {1}, "multiply"}};
  return program;
}

TEST(Executor, ranksGatherWhatEachHasRead) {
  for (uint32_t size : {2u, 3u}) {
    uint64_t partBytes = matrixBytes / 2;
    std::vector<float> x = makeFloats(8 * 64, 1);
    auto ranks = createInProcessCommunicators(size);
    std::vector<std::jthread> threads;
    for (auto &rank : ranks)
      threads.emplace_back([&, size] {
        TestBundle bundle;
        ASSERT_TRUE(bundle.makeStore({matrix(0)}).ok());
        Status status = bundle.load(makeShared(size, partBytes), 1, rank.get(),
                                    {.rankStride = partBytes, .partStride = partBytes});
        ASSERT_TRUE(status.ok()) << status.error().message;
        bundle.write(input, x);
        for (int round = 0; round < 10; ++round) {
          status = bundle.executor->runStep();
          ASSERT_TRUE(status.ok()) << status.error().message;
        }
        EXPECT_EQ(bundle.floats(output), multiply(x, matrix(0).values));
        EXPECT_EQ(bundle.engine->counters().readBytes, rank->rank() < 2 ? 10 * partBytes : 0);
      });
  }
}

/// A rank whose drive fails, at any of its operations, ends the others with its error.
TEST(Executor, aRankThatFailsEndsTheOthers) {
  uint64_t partBytes = matrixBytes / 2;
  for (uint64_t operation : {1u, 3u}) {
    auto ranks = createInProcessCommunicators(2);
    std::vector<std::jthread> threads;
    for (auto &rank : ranks)
      threads.emplace_back([&, operation] {
        TestBundle bundle;
        ASSERT_TRUE(bundle.makeStore({matrix(0)}).ok());
        auto engine = io::makeEngine(io::EngineKind::pread);
        ASSERT_TRUE(engine.ok());
        bundle.engine = std::move(*engine);
        if (rank->rank() == 1)
          bundle.engine = std::make_unique<io::FailingEngine>(
              std::move(bundle.engine),
              io::Fault{.kind = io::Fault::ioError, .operation = operation});
        ASSERT_TRUE(bundle
                        .load(makeShared(2, partBytes), 1, rank.get(),
                              {.rankStride = partBytes, .partStride = partBytes})
                        .ok());
        Status status;
        for (int round = 0; round < 10 && status.ok(); ++round)
          status = bundle.executor->runStep();
        ASSERT_FALSE(status.ok());
        EXPECT_EQ(status.error().kind, ErrorKind::machine);
        std::string_view own = "w0: ", other = "gather w0: rank 1: w0: ";
        EXPECT_TRUE(status.error().message.starts_with(rank->rank() == 1 ? own : other))
            << status.error().message;
      });
  }
}

} // namespace

TEST(RunTimes, areWhatStreamsDidAndWaitedFor) {
  std::vector<Command> commands(4);
  commands[0].stream = StreamKind::read;
  commands[1] = {.operation = LaunchOperation{}, .stream = StreamKind::compute, .waits = {0}, .label = ""};
  commands[2].stream = StreamKind::write;
  commands[2].waits = {1};
  commands[3].stream = StreamKind::write;
  commands[3].isCarried = true;
  // It waits 30 for the read, computes 10, and the write ends 5 later; another one goes on.
  std::vector<CommandTimes> times = {{0, 0, 40}, {10, 40, 50}, {0, 50, 55}, {}};
  RunTimes sums = sumTimes(commands, times, {}, 0, 56);
  EXPECT_EQ(sums.wallNs, 56);
  EXPECT_EQ(sums.computeNs, 10);
  EXPECT_EQ(sums.blockedOnIoNs, 35);

  // What the step before has carried counts where it ends last.
  commands[1].carriedWaits = {3};
  times[0].ended = 9;
  std::vector<CommandTimes> previous = {{}, {}, {}, {-50, -40, 40}};
  EXPECT_EQ(sumTimes(commands, times, previous, 0, 56).blockedOnIoNs, 35);
  previous[3].ended = 8;
  EXPECT_EQ(sumTimes(commands, times, previous, 0, 56).blockedOnIoNs, 5);
  // A step also ends behind all of it.
  commands[1].carriedWaits = {};
  previous[3].ended = 90;
  EXPECT_EQ(sumTimes(commands, times, previous, 0, 90).blockedOnIoNs, 40);
}
