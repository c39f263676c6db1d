#include "runtime/io/EngineDouble.h"
#include "runtime/state/StateReader.h"
#include "test/Unit/runtime/TestBundle.h"

#include <gtest/gtest.h>

using namespace spillway;
using namespace spillway::test;

namespace {

class StoreWriterTest : public testing::Test {
protected:
  void SetUp() override {
    auto made = io::makeEngine(io::EngineKind::pread);
    ASSERT_TRUE(made.ok());
    engine = std::move(*made);
  }

  static TestState make(const char *name, std::vector<int64_t> shape, Layout layout = {},
                        uint32_t dim = 0, uint64_t chunk = 0) {
    StateType type{name,   DataType::f32, std::move(shape),
                   layout, dim,           layout == Layout::panels ? 16u : 0u};
    NewState state{
        .type = type, .chunkBytes = chunk == 0 ? 0 : chooseChunkBytes(type, chunk), .link = {}};
    return {state, makeFloats(type.elements(), static_cast<unsigned>(type.elements()))};
  }

  std::vector<std::byte> readBack(const StateView &state) {
    std::vector<std::byte> bytes;
    Status status = StateReader(bundle.store, *engine)
                        .readCanonical(state, [&](std::span<const std::byte> part) -> Status {
                          bytes.insert(bytes.end(), part.begin(), part.end());
                          return {};
                        });
    EXPECT_TRUE(status.ok()) << status.error().message;
    return bytes;
  }

  TestBundle bundle;
  std::unique_ptr<io::Engine> engine;
};

TEST_F(StoreWriterTest, whatIsWrittenComesBackInCanonicalOrder) {
  std::vector<TestState> states = {
      make("bias", {33}),
      make("w1", {100, 90}, Layout::panels, 1, 1),
      make("scalar", {}),
      make("w0", {90, 100}, Layout::panels, 0, 1),
      make("empty", {0, 5}),
      make("emptyPanels", {0, 5}, Layout::panels, 1),
      make("rows", {300, 70}, Layout::rowMajor, 0, 4096),
      make("wide", {3, 9000}, Layout::panels, 0),
      make("tall", {9000, 3}, Layout::panels, 1),
      make("exact", {32, 32}, Layout::panels, 1, 1),
  };
  Status status = bundle.makeStore(states);
  ASSERT_TRUE(status.ok()) << status.error().message;
  StateReader reader(bundle.store, *engine);
  for (const TestState &state : states) {
    const StateView *view = bundle.store.find(state.state.type.name);
    ASSERT_NE(view, nullptr);
    Status verified = reader.verify(*view);
    EXPECT_TRUE(verified.ok()) << verified.error().message;
    std::span<const std::byte> expected = asBytes(state.values);
    EXPECT_EQ(readBack(*view), std::vector(expected.begin(), expected.end()))
        << state.state.type.name;
  }
}

/// Counts the bytes that are asked for at a time.
class CountingEngine final : public io::EngineDouble {
public:
  explicit CountingEngine(std::unique_ptr<io::Engine> inner) : EngineDouble(std::move(inner)) {}

  Status submit(const io::Request &request) override {
    bytes_ = inner().inFlight() == 0 ? request.bytes : bytes_ + request.bytes;
    most = std::max(most, bytes_);
    return inner().submit(request);
  }
  Status poll(std::vector<io::Completion> &completions, io::TimePoint until) override {
    return inner().poll(completions, until);
  }
  uint64_t inFlight() const override { return inner().inFlight(); }
  std::string name() const override { return "counted " + inner().name(); }

  uint64_t most = 0;

private:
  uint64_t bytes_ = 0;
};

TEST_F(StoreWriterTest, widePanelsAreReadByGroups) {
  TestState wide = make("w", {3, 60'000}, Layout::panels, 1, 1);
  ASSERT_TRUE(bundle.makeStore({wide}).ok());
  auto counting = std::make_unique<CountingEngine>(std::move(engine));
  const CountingEngine &counter = *counting;
  engine = std::move(counting);
  std::span<const std::byte> expected = asBytes(wide.values);
  EXPECT_EQ(readBack(*bundle.store.find("w")), std::vector(expected.begin(), expected.end()));
  EXPECT_LE(counter.most, uint64_t(8) << 20);
}

TEST_F(StoreWriterTest, everyDamagedByteIsFoundAndNamed) {
  ASSERT_TRUE(
      bundle.makeStore({make("a", {1000}), make("w", {64, 64}, Layout::panels, 1, 1)}).ok());
  auto path = bundle.folder.path() / storeDataName;
  uint64_t bytes = std::filesystem::file_size(path);
  StateReader reader(bundle.store, *engine);
  for (uint64_t offset = 0; offset < bytes; offset += 1021) {
    auto flip = [&] {
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      file.seekg(static_cast<long>(offset));
      char byte = static_cast<char>(file.get() ^ 1);
      file.seekp(static_cast<long>(offset));
      file.put(byte);
    };
    flip();
    const StateView &damaged = bundle.store.states()[offset < 4096 ? 0 : 1];
    Status status = reader.verify(damaged);
    ASSERT_FALSE(status.ok());
    uint64_t chunk = offset / 4096 * 4096;
    EXPECT_NE(status.error().message.find(fmt::format("'{}' is damaged: bytes {} to {}",
                                                      damaged.type.name, chunk, chunk + 4096)),
              std::string::npos)
        << status.error().message;
    flip();
  }
  EXPECT_TRUE(reader.verify(bundle.store.states()[1]).ok());
}

TEST_F(StoreWriterTest, rewrittenStatesHaveASecondSlotBehindAllFirstOnes) {
  std::vector<TestState> states = {make("a", {33}), make("zero", {5000}, {}, 0, 1),
                                   make("w", {100, 90}, Layout::panels, 1, 1), make("b", {7})};
  states[1].state.rewritten = states[1].state.zero = true;
  states[1].values.assign(5000, 0);
  states[2].state.rewritten = true;
  Status status = bundle.makeStore(states);
  ASSERT_TRUE(status.ok()) << status.error().message;
  StateReader reader(bundle.store, *engine);
  uint64_t end = 0;
  for (const TestState &state : states) {
    const StateView *view = bundle.store.find(state.state.type.name);
    EXPECT_EQ(view->fileOffset, end);
    end += roundUpToBlock(view->type.storedBytes());
    EXPECT_TRUE(reader.verify(*view).ok());
    std::span<const std::byte> expected = asBytes(state.values);
    EXPECT_EQ(readBack(*view), std::vector(expected.begin(), expected.end()));
  }
  for (const char *name : {"zero", "w"}) {
    const StateView *view = bundle.store.find(name);
    EXPECT_EQ(view->otherOffset, end);
    end += roundUpToBlock(view->type.storedBytes());
  }
  EXPECT_FALSE(bundle.store.find("a")->isRewritten());
  EXPECT_EQ(std::filesystem::file_size(bundle.folder.path() / storeDataName), end);
  EXPECT_EQ(std::filesystem::file_size(bundle.folder.path() / commitsName),
            commitsFileBytes(rewrittenChunks(bundle.store.states())));
  EXPECT_EQ(bundle.store.lastCommit().sequence, 0u);
}

TEST_F(StoreWriterTest, anErrorOfTheSourceLeavesNoFile) {
  std::vector<NewState> states = {make("a", {100000}).state};
  Status status = writeStore(bundle.folder.path(), *engine, states,
                             [](size_t, uint64_t offset, std::span<std::byte>) -> Status {
                               return offset == 0 ? Status() : userError("the model is cut off");
                             },
                             {.bufferBytes = 4096});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "writing the state 'a': the model is cut off");
  EXPECT_TRUE(std::filesystem::is_empty(bundle.folder.path()));
}

TEST_F(StoreWriterTest, moreThanTheDiskHoldsIsRefusedAtOnce) {
  NewState state = make("a", {1}).state;
  state.type.shape = {int64_t(1) << 43};
  Status status = writeStore(bundle.folder.path(), *engine, {&state, 1},
                             [](size_t, uint64_t, std::span<std::byte>) -> Status {
                               ADD_FAILURE() << "read before the space was checked";
                               return {};
                             });
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, ErrorKind::machine);
  EXPECT_NE(status.error().message.find("need 32.00 TiB"), std::string::npos)
      << status.error().message;
  EXPECT_TRUE(std::filesystem::is_empty(bundle.folder.path()));
}

TEST(ChunkBytes, areWholePiecesAndBlocks) {
  StateType panels{"w", DataType::f32, {1001, 4096}, Layout::panels, 1, 16};
  uint64_t chunk = chooseChunkBytes(panels, 1 << 20);
  EXPECT_EQ(chunk % 4096, 0u);
  EXPECT_EQ(chunk % panels.pieceBytes(), 0u);
  StateType small{"b", DataType::f32, {768}};
  EXPECT_EQ(chooseChunkBytes(small, 1 << 20), 4096u);
}

} // namespace
