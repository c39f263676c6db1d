// What every storage engine promises, over all of them.
#include "runtime/io/FailingEngine.h"
#include "runtime/io/ThrottledEngine.h"
#include "runtime/memory/Arena.h"
#include "test/Conformance/MemoryEngine.h"
#include "test/Unit/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/resource.h>
#include <thread>

namespace spillway::io {
namespace {

constexpr uint64_t block = 64 << 10;
constexpr unsigned depth = 4;

struct Kind {
  const char *name;
  std::unique_ptr<Engine> (*make)();
};

std::unique_ptr<Engine> make(EngineKind kind, EngineOptions options = {}) {
  options.blockBytes = block;
  options.depth = depth;
  Result<std::unique_ptr<Engine>> engine = makeEngine(kind, options);
  if (!engine.ok()) {
    ADD_FAILURE() << engine.error().message;
    return nullptr;
  }
  return *std::move(engine);
}

const Kind kinds[] = {
    {"Uring", [] { return make(EngineKind::uring); }},
    {"UringWithoutBuffers", [] { return make(EngineKind::uring, {.registerBuffers = false}); }},
    {"UringWithoutFixedFiles", [] { return make(EngineKind::uring, {.registerFiles = false}); }},
    {"UringShortTransfers", [] { return make(EngineKind::uring, {.transferLimit = 12288}); }},
    {"Pread", [] { return make(EngineKind::pread); }},
    {"PreadShortTransfers", [] { return make(EngineKind::pread, {.transferLimit = 12288}); }},
    {"Throttled",
     []() -> std::unique_ptr<Engine> {
       return std::make_unique<ThrottledEngine>(make(EngineKind::automatic), Throttle{4e9, 4e9});
     }},
    {"FailingLater",
     []() -> std::unique_ptr<Engine> {
       return std::make_unique<FailingEngine>(make(EngineKind::automatic),
                                              Fault{Fault::ioError, uint64_t(1) << 40});
     }},
    {"Memory",
     []() -> std::unique_ptr<Engine> { return std::make_unique<MemoryEngine>(MemoryOptions{}); }},
};

bool isInMemory(const Kind &kind) { return std::string_view(kind.name) == "Memory"; }

std::byte expectedByte(uint64_t i) { return std::byte(i * 2654435761u >> 13); }

class IoEngine : public testing::TestWithParam<Kind> {
protected:
  void SetUp() override {
    Result<Arena> arena = Arena::allocate(uint64_t(8) << 20, {});
    ASSERT_TRUE(arena.ok());
    arena_.emplace(*std::move(arena));
    engine_ = GetParam().make();
    ASSERT_TRUE(engine_);
    std::span<std::byte> bytes = arena_->bytes();
    ASSERT_TRUE(engine_->registerMemory({&bytes, 1}).ok());
  }

  std::byte *memory(uint64_t offset = 0) { return arena_->data() + offset; }
  void fill(uint64_t offset, uint64_t bytes) {
    for (uint64_t i = 0; i < bytes; ++i)
      memory(offset)[i] = expectedByte(i);
  }
  bool holds(uint64_t offset, uint64_t bytes, uint64_t from = 0) {
    for (uint64_t i = 0; i < bytes; ++i)
      if (memory(offset)[i] != expectedByte(from + i))
        return false;
    return true;
  }

  std::filesystem::path path(const char *name = "file") { return folder_.path() / name; }

  int open(Access access, bool direct = true, const char *name = "file") {
    Result<int> file = engine_->open(path(name), {.access = access, .direct = direct});
    EXPECT_TRUE(file.ok()) << (file.ok() ? "" : file.error().message);
    return file.ok() ? *file : -1;
  }
  void makeFile(uint64_t bytes, const char *name = "file") {
    std::vector<std::byte> content(bytes);
    for (uint64_t i = 0; i < bytes; ++i)
      content[i] = expectedByte(i);
    if (auto *engine = dynamic_cast<MemoryEngine *>(engine_.get()))
      engine->put(path(name), std::move(content));
    else
      test::writeBytes(path(name), content);
  }
  std::vector<Completion> drain() {
    std::vector<Completion> completions;
    while (engine_->inFlight() != 0) {
      Status status = engine_->poll(completions, forever);
      EXPECT_TRUE(status.ok()) << status.error().message;
      if (!status.ok())
        break;
    }
    return completions;
  }
  Completion carryOut(const Request &request) {
    Status status = engine_->submit(request);
    EXPECT_TRUE(status.ok()) << status.error().message;
    std::vector<Completion> completions = drain();
    EXPECT_EQ(completions.size(), 1u);
    return completions.empty() ? Completion{} : std::move(completions[0]);
  }

  test::TemporaryFolder folder_;
  std::optional<Arena> arena_;
  std::unique_ptr<Engine> engine_;
};

TEST_P(IoEngine, WritesAndReadsBackAnySize) {
  for (uint64_t bytes :
       {uint64_t(0), uint64_t(4096), block, block + 4096, 3 * block - 4096, uint64_t(3) << 20}) {
    std::string name = std::to_string(bytes);
    int file = open(Access::truncate, true, name.c_str());
    fill(0, bytes);
    Completion written = carryOut({Request::write, file, 0, memory(), bytes, 0, 7});
    ASSERT_TRUE(written.status.ok()) << written.status.error().message;
    EXPECT_EQ(written.bytes, bytes);
    EXPECT_EQ(written.tag, 7u);
    EXPECT_TRUE(carryOut({.kind = Request::sync, .file = file}).status.ok());
    uint64_t at = uint64_t(4) << 20;
    std::memset(memory(at), 0, bytes + 4096);
    Completion read = carryOut({Request::read, file, 0, memory(at), bytes});
    ASSERT_TRUE(read.status.ok()) << read.status.error().message;
    EXPECT_EQ(read.bytes, bytes);
    EXPECT_TRUE(holds(at, bytes)) << bytes;
    EXPECT_EQ(memory(at)[bytes], std::byte(0));
    EXPECT_TRUE(engine_->close(file).ok());
  }
}

TEST_P(IoEngine, ReadsAnyPlaceOfAnOrdinaryFile) {
  makeFile(300'001);
  int file = open(Access::read, false);
  for (auto [offset, bytes] :
       {std::pair<uint64_t, uint64_t>{0, 1}, {4097, 3}, {1, 300'000}, {65'535, 131'073}}) {
    Completion read = carryOut({Request::read, file, offset, memory(13), bytes});
    ASSERT_TRUE(read.status.ok()) << read.status.error().message;
    EXPECT_TRUE(holds(13, bytes, offset));
  }
}

TEST_P(IoEngine, CompletesManyRequestsOnceEach) {
  constexpr uint64_t count = 200, bytes = 20480;
  makeFile(count * bytes);
  int file = open(Access::read);
  for (uint64_t i = 0; i < count; ++i)
    ASSERT_TRUE(engine_
                    ->submit({Request::read, file, (count - 1 - i) * bytes,
                              memory((count - 1 - i) * bytes), bytes, 0, i})
                    .ok());
  EXPECT_EQ(engine_->inFlight(), count);
  std::vector<unsigned> seen(count);
  for (const Completion &completion : drain()) {
    EXPECT_TRUE(completion.status.ok());
    ++seen[completion.tag];
  }
  EXPECT_EQ(std::ranges::count(seen, 1u), static_cast<long>(count));
  EXPECT_TRUE(holds(0, count * bytes));
  EXPECT_EQ(engine_->counters().readBytes, count * bytes);
}

TEST_P(IoEngine, ASmallRequestDoesNotWaitForALargeFailedOne) {
  makeFile(uint64_t(2) << 20);
  int file = open(Access::read);
  ASSERT_TRUE(engine_->submit({Request::read, file, 0, memory(), uint64_t(4) << 20, 0, 1}).ok());
  ASSERT_TRUE(
      engine_->submit({Request::read, file, 8192, memory(uint64_t(5) << 20), 4096, 0, 2}).ok());
  std::vector<Completion> completions = drain();
  ASSERT_EQ(completions.size(), 2u);
  std::ranges::sort(completions, {}, &Completion::tag);
  EXPECT_FALSE(completions[0].status.ok());
  EXPECT_TRUE(completions[1].status.ok());
  EXPECT_TRUE(holds(uint64_t(5) << 20, 4096, 8192));
}

TEST_P(IoEngine, PollsWithoutWaiting) {
  makeFile(block);
  int file = open(Access::read);
  std::vector<Completion> completions;
  EXPECT_TRUE(engine_->poll(completions, noWait).ok());
  EXPECT_TRUE(completions.empty());
  ASSERT_TRUE(engine_->submit({Request::read, file, 0, memory(), block}).ok());
  TimePoint giveUp = Clock::now() + std::chrono::seconds(20);
  while (completions.empty() && Clock::now() < giveUp) {
    ASSERT_TRUE(engine_->poll(completions, noWait).ok());
    if (auto *engine = dynamic_cast<MemoryEngine *>(engine_.get()))
      engine->advance(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  ASSERT_EQ(completions.size(), 1u);
  EXPECT_TRUE(holds(0, block));
}

TEST_P(IoEngine, PollReturnsAtItsDeadline) {
  TimePoint until = engine_->now() + std::chrono::milliseconds(20);
  std::vector<Completion> completions;
  EXPECT_TRUE(engine_->poll(completions, until).ok());
  EXPECT_GE(engine_->now(), until);
  EXPECT_LT(engine_->now(), until + std::chrono::seconds(5));
}

TEST_P(IoEngine, WakeEndsAWait) {
  for (int round = 0; round < 3; ++round) {
    std::thread waker([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(round));
      engine_->wake();
    });
    std::vector<Completion> completions;
    EXPECT_TRUE(engine_->poll(completions, forever).ok());
    waker.join();
    EXPECT_TRUE(completions.empty());
  }
}

TEST_P(IoEngine, RunsInAThreadOfItsOwn) {
  makeFile(4 * block);
  int file = open(Access::read);
  std::thread([&] {
    Completion read = carryOut({Request::read, file, 0, memory(), 4 * block});
    EXPECT_TRUE(read.status.ok());
    engine_.reset();
  }).join();
  EXPECT_TRUE(holds(0, 4 * block));
}

TEST_P(IoEngine, DestructionWaitsForTransfers) {
  makeFile(uint64_t(4) << 20);
  int file = open(Access::read);
  ASSERT_TRUE(engine_->submit({Request::read, file, 0, memory(), uint64_t(4) << 20}).ok());
  engine_.reset();
  arena_.reset();
}

TEST_P(IoEngine, NamesAFileThatIsTooShort) {
  makeFile(100'000);
  int file = open(Access::read);
  Completion read = carryOut({Request::read, file, 8192, memory(), uint64_t(1) << 20});
  ASSERT_FALSE(read.status.ok());
  const std::string &message = read.status.error().message;
  EXPECT_EQ(read.status.error().kind, ErrorKind::machine);
  for (const char *part : {"cannot read 1048576 bytes at offset 8192", "/file'", "shorter",
                           "after 100000 bytes", "1056768 are needed"})
    EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST_P(IoEngine, NamesAReadBehindTheEnd) {
  makeFile(8192);
  int file = open(Access::read);
  EXPECT_FALSE(carryOut({Request::read, file, 1 << 20, memory(), 4096}).status.ok());
  EXPECT_FALSE(carryOut({Request::read, file, 8192, memory(), 4096}).status.ok());
}

TEST_P(IoEngine, SlackMayLieBehindTheEnd) {
  makeFile(2 * block + 100);
  int file = open(Access::read);
  uint64_t bytes = 2 * block + 4096;
  std::memset(memory(), 0x55, bytes);
  Completion read = carryOut({Request::read, file, 0, memory(), bytes, 3996});
  ASSERT_TRUE(read.status.ok()) << read.status.error().message;
  EXPECT_EQ(read.bytes, 2 * block + 100);
  EXPECT_TRUE(holds(0, 2 * block + 100));
  EXPECT_FALSE(carryOut({Request::read, file, 0, memory(), bytes, 3995}).status.ok());
}

TEST_P(IoEngine, RefusesWhatIsMisaligned) {
  int file = open(Access::truncate);
  for (Request request : {Request{Request::write, file, 512, memory(), 4096},
                          Request{Request::write, file, 0, memory(512), 4096},
                          Request{Request::write, file, 0, memory(), 4097},
                          Request{Request::read, file, 0, memory(1), 4096}}) {
    Status status = engine_->submit(request);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().kind, ErrorKind::bug);
  }
  EXPECT_EQ(engine_->inFlight(), 0u);
}

TEST_P(IoEngine, RefusesWhatIsNotOpenOrNotWritable) {
  makeFile(4096);
  int file = open(Access::read);
  EXPECT_FALSE(engine_->submit({Request::write, file, 0, memory(), 4096}).ok());
  EXPECT_FALSE(engine_->submit({Request::read, 55, 0, memory(), 4096}).ok());
  EXPECT_FALSE(engine_->submit({Request::read, -1, 0, memory(), 4096}).ok());
  EXPECT_FALSE(engine_->submit({Request::read, file, uint64_t(1) << 63, memory(), 4096}).ok());
  ASSERT_TRUE(engine_->close(file).ok());
  EXPECT_FALSE(engine_->close(file).ok());
  EXPECT_FALSE(engine_->submit({Request::read, file, 0, memory(), 4096}).ok());
}

TEST_P(IoEngine, RefusesToCloseWhatIsInUse) {
  makeFile(block);
  int file = open(Access::read);
  ASSERT_TRUE(engine_->submit({Request::read, file, 0, memory(), block}).ok());
  EXPECT_FALSE(engine_->close(file).ok());
  drain();
  EXPECT_TRUE(engine_->close(file).ok());
}

TEST_P(IoEngine, NamesAMissingFileAndAFolder) {
  Result<int> missing = engine_->open(path("nowhere"), {});
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("nowhere"), std::string::npos);
  EXPECT_EQ(missing.error().systemError, ENOENT);
  EXPECT_FALSE(engine_->open(folder_.path(), {}).ok());
}

TEST_P(IoEngine, OpensMoreFilesThanTheKernelsTableHolds) {
  makeFile(4096);
  for (int i = 0; i < 100; ++i) {
    int file = open(Access::read);
    ASSERT_TRUE(carryOut({Request::read, file, 0, memory(), 4096}).status.ok());
  }
}

/// Limits the size of files; a write beyond fails with EFBIG.
class FileSizeLimit {
public:
  explicit FileSizeLimit(uint64_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

private:
  rlimit before_;
  void (*handler_)(int);
};

TEST_P(IoEngine, NamesAWriteThatDoesNotFit) {
  if (isInMemory(GetParam())) {
    engine_ = std::make_unique<MemoryEngine>(MemoryOptions{.capacity = uint64_t(1) << 20});
    int file = open(Access::truncate);
    Completion written = carryOut({Request::write, file, 0, memory(), uint64_t(2) << 20});
    ASSERT_FALSE(written.status.ok());
    EXPECT_EQ(written.status.error().systemError, ENOSPC);
    EXPECT_FALSE(engine_->open(path("other"), {Access::truncate, true, uint64_t(2) << 20}).ok());
    return;
  }
  FileSizeLimit limit(uint64_t(1) << 20);
  int file = open(Access::truncate);
  Completion written = carryOut({Request::write, file, 0, memory(), uint64_t(2) << 20});
  ASSERT_FALSE(written.status.ok());
  EXPECT_EQ(written.status.error().systemError, EFBIG);
  EXPECT_NE(written.status.error().message.find("cannot write 2097152 bytes at offset 0"),
            std::string::npos);
  EXPECT_FALSE(engine_->open(path("other"), {Access::truncate, true, uint64_t(2) << 20}).ok());
}

TEST_P(IoEngine, ReservesSpace) {
  ASSERT_TRUE(engine_->open(path(), {Access::truncate, true, 1 << 20}).ok());
  if (!isInMemory(GetParam())) {
    EXPECT_EQ(std::filesystem::file_size(path()), 1u << 20);
  }
}

INSTANTIATE_TEST_SUITE_P(All, IoEngine, testing::ValuesIn(kinds),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace spillway::io
