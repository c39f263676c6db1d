#include "runtime/state/Store.h"
#include "runtime/base/Checksum.h"
#include "runtime/base/File.h"
#include "runtime/state/Panels.h"
#include "runtime/table/store_generated.h"
#include "test/Unit/runtime/EmptyCommits.h"
#include "test/Unit/runtime/FlatBufferDamage.h"
#include "test/Unit/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <random>

using namespace spillway;
using namespace spillway::test;

namespace {

/// A bundle with a file of 7 blocks: a matrix of 40 x 64 f32 in 3 panels of 16
/// rows (4096 bytes each), a row-major vector, and a vector of one block that is rewritten; and a
/// linked file.
class StoreTest : public testing::Test {
protected:
  void SetUp() override {
    bytes.resize(7 * blockBytes);
    std::iota(reinterpret_cast<uint8_t *>(bytes.data()),
              reinterpret_cast<uint8_t *>(bytes.data()) + bytes.size(), uint8_t(3));
    writeBytes(folder.path() / "states.bin", bytes);
    writeBytes(folder.path() / commitsName, emptyCommits(1));
    linkedPath = folder.path() / "model.onnx";
    writeBytes(linkedPath, std::span(bytes).first(1000));
    Result<FileFacts> facts = fileFacts(linkedPath);
    ASSERT_TRUE(facts.ok());
    files = {{"states.bin", false, bytes.size(), 0}, {linkedPath, true, 1000, facts->modifiedNs}};
    states = {{{"w", DataType::f32, {40, 64}, Layout::panels, 0, 16}, 0, 0, 4096, {1, 2, 3}},
              {{"b", DataType::f32, {2000}, Layout::rowMajor, 0, 0}, 0, 12288, 8192, {4}},
              {{"l", DataType::f16, {10, 4}, Layout::rowMajor, 0, 0}, 1, 123, 0, {}},
              {{"r", DataType::f32, {500}}, 0, 20480, 4096, {5}, 24576}};
  }

  Result<Store> parse() { return Store::parse(encodeStoreIndex(files, states), folder.path()); }

  /// The message of the refusal, or "accepted".
  std::string refusal() {
    Result<Store> store = parse();
    return store.ok() ? "accepted" : store.error().message;
  }

  TemporaryFolder folder;
  std::filesystem::path linkedPath;
  std::vector<std::byte> bytes;
  std::vector<StoreFile> files;
  std::vector<StateView> states;
};

TEST_F(StoreTest, readsWhatWasEncoded) {
  Result<Store> store = parse();
  ASSERT_TRUE(store.ok()) << store.error().message;
  ASSERT_EQ(store->states().size(), 4u);
  const StateView *w = store->find("w");
  ASSERT_NE(w, nullptr);
  EXPECT_EQ(w->type.shape, (std::vector<int64_t>{40, 64}));
  EXPECT_EQ(w->type.storedBytes(), 3u * 16 * 64 * 4);
  EXPECT_EQ(w->checksums, (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_EQ(store->find("l")->fileOffset, 123u);
  EXPECT_EQ(store->find("missing"), nullptr);
  EXPECT_EQ(store->files()[0].path, folder.path() / "states.bin");
}

using Damage = std::function<void(std::vector<StoreFile> &, std::vector<StateView> &)>;

TEST_F(StoreTest, refusesEachContradiction) {
  const std::pair<const char *, Damage> cases[] = {
      {"a name inside the bundle", [](auto &f, auto &) { f[0].path = "../states.bin"; }},
      {"a name inside the bundle", [](auto &f, auto &) { f[0].path = "/etc/passwd"; }},
      {"an absolute path", [](auto &f, auto &) { f[1].path = "model.onnx"; }},
      {"cannot open", [](auto &f, auto &) { f[0].path = "missing.bin"; }},
      {"expected 4096", [](auto &f, auto &) { f[0].bytes = 4096; }},
      {"was changed after", [](auto &f, auto &) { ++f[1].modifiedNs; }},
      {"invalid data type", [](auto &, auto &s) { s[0].type.dataType = DataType(99); }},
      {"negative dimension", [](auto &, auto &s) { s[1].type.shape = {-1}; }},
      {"larger than 2^46",
       [](auto &, auto &s) {
         s[1].type.shape = {1 << 30, 1 << 30, 1 << 30};
       }},
      {"is no matrix",
       [](auto &, auto &s) {
         s[0].type.shape = {40, 8, 8}, s[0].type.panelDim = 1;
       }},
      {"unknown role", [](auto &, auto &s) { s[0].type.role = Role(2); }},
      {"panels of width 5000", [](auto &, auto &s) { s[0].type.panelWidth = 5000; }},
      {"not listed", [](auto &, auto &s) { s[0].file = 2; }},
      {"not inside", [](auto &, auto &s) { s[1].fileOffset = 24576; }},
      {"not inside", [](auto &, auto &s) { s[1].fileOffset = UINT64_MAX - 4095; }},
      {"not inside", [](auto &, auto &s) { s[2].fileOffset = 921; }},
      {"block of 4096", [](auto &, auto &s) { s[0].fileOffset = 8; }},
      {"chunks of 0", [](auto &, auto &s) { s[0].chunkBytes = 0; }},
      {"chunks of 100", [](auto &, auto &s) { s[0].chunkBytes = 100; }},
      {"chunks of 16384", [](auto &, auto &s) { s[0].chunkBytes = 16384; }},
      {"whole pieces",
       [](auto &, auto &s) { s[0].type.shape = {33, 80}, s[0].checksums = {1, 2, 3, 4}; }},
      {"2 checksums for 3", [](auto &, auto &s) { s[0].checksums.pop_back(); }},
      {"its second slot is at 20481", [](auto &, auto &s) { s[3].otherOffset = 20481; }},
      {"its second slot is at 20480", [](auto &, auto &s) { s[3].otherOffset = 20480; }},
      {"its second slot is at 28672", [](auto &, auto &s) { s[3].otherOffset = 28672; }},
      {"its second slot is at 4096", [](auto &, auto &s) { s[2].otherOffset = 4096; }},
      {"no checksums", [](auto &, auto &s) { s[2].checksums = {1}; }},
  };
  for (const auto &[expected, damage] : cases) {
    auto savedFiles = files;
    auto savedStates = states;
    damage(files, states);
    EXPECT_NE(refusal().find(expected), std::string::npos) << expected << ": " << refusal();
    files = savedFiles;
    states = savedStates;
  }
}

TEST_F(StoreTest, aCommitPutsItsSlotFirst) {
  std::vector<std::byte> commits = emptyCommits(1);
  auto putCommit = [&](const Commit &commit, uint64_t sum) {
    std::span sums(commits.data() + checksumsPlace(commit.slot, 1), blockBytes);
    std::memcpy(sums.data(), &sum, sizeof(sum));
    encodeCommit(commit, checksum(sums),
                 std::span<std::byte, blockBytes>(
                     commits.data() + recordPlace(commit.sequence), blockBytes));
    writeBytes(folder.path() / commitsName, commits);
  };
  auto expectFirst = [&](uint64_t offset, uint64_t other, uint64_t sum) {
    Result<Store> store = parse();
    ASSERT_TRUE(store.ok()) << store.error().message;
    const StateView *r = store->find("r");
    EXPECT_EQ(r->fileOffset, offset);
    EXPECT_EQ(r->otherOffset, other);
    EXPECT_EQ(r->checksums, (std::vector<uint64_t>{sum}));
    EXPECT_EQ(store->find("b")->checksums, (std::vector<uint64_t>{4}));
  };
  expectFirst(20480, 24576, 5);
  putCommit({.sequence = 1, .step = 10, .slot = 1, .payload = "a"}, 77);
  expectFirst(24576, 20480, 77);
  putCommit({.sequence = 2, .step = 20, .slot = 0, .payload = "b"}, 78);
  expectFirst(20480, 24576, 78);
  EXPECT_EQ(parse()->lastCommit().step, 20u);
  EXPECT_EQ(parse()->lastCommit().payload, "b");
  std::filesystem::remove(folder.path() / commitsName);
  EXPECT_NE(refusal().find("cannot open"), std::string::npos) << refusal();
}

TEST_F(StoreTest, refusesElementsThatAreNotAligned) {
  // Four bytes on, the low half of the first extent reads as the length.
  states[2].type.shape = {1, 40};
  std::vector<std::byte> index = encodeStoreIndex(files, states);
  auto *shape = store::GetStore(index.data())->states()->Get(2)->shape();
  moveTarget(index, shape, 4);
  Result<Store> store = Store::parse(index, folder.path());
  ASSERT_FALSE(store.ok());
  EXPECT_NE(store.error().message.find("is damaged"), std::string::npos) << store.error().message;
}

TEST_F(StoreTest, neverFailsOtherwiseOnDamagedBytes) {
  std::vector<std::byte> index = encodeStoreIndex(files, states);
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::byte> damaged = index;
    for (unsigned flips = 1 + random() % 3; flips != 0; --flips)
      damaged[random() % damaged.size()] ^= std::byte(1u << random() % 8);
    if (random() % 4 == 0)
      damaged.resize(random() % damaged.size());
    (void)Store::parse(damaged, folder.path()).ok();
  }
}

TEST(Panels, packAndUnpackAreInverse) {
  std::mt19937 random(2);
  for (DataType type : {DataType::u8, DataType::bf16, DataType::f32, DataType::i64})
    for (uint32_t dim : {0u, 1u}) {
      StateType state{"w", type, {37, 21}, Layout::panels, dim, 16};
      std::vector<std::byte> logical(state.logicalBytes()), stored(state.storedBytes()),
          back(logical.size());
      for (std::byte &byte : logical)
        byte = std::byte(random());
      uint64_t others = dim == 0 ? 21 : 37, rowStride = state.rowBytes();
      for (uint64_t panel = 0; panel < state.panelCount(); ++panel) {
        PanelSegment segment = PanelSegment::of(state, panel, others, rowStride);
        std::byte *place = stored.data() + panel * state.pieceBytes();
        pack(segment, logical.data() + panel * 16 * segment.panelStride, place);
        unpack(segment, place, back.data() + panel * 16 * segment.panelStride);
      }
      EXPECT_EQ(logical, back);
      // Element (5, 3) by the definition in store.fbs.
      uint64_t row = 5, column = 3, width = byteWidth(type);
      uint64_t element = dim == 0 ? column * 16 + row : row * 16 + column;
      EXPECT_EQ(stored[element * width], logical[(row * 21 + column) * width]);
      // The padding of the last panel.
      EXPECT_EQ(stored.back(), std::byte{0});
    }
}

} // namespace
