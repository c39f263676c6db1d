// The doubles of storage engines: pace, faults, overlap on a virtual clock.
#include "runtime/io/FailingEngine.h"
#include "runtime/io/Patience.h"
#include "runtime/io/ThrottledEngine.h"
#include "runtime/io/UringEngine.h"
#include "runtime/memory/Arena.h"
#include "test/Conformance/MemoryEngine.h"
#include "test/Unit/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <ctime>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

namespace spillway::io {
namespace {

using std::chrono::milliseconds;

Arena arenaOf(uint64_t bytes) {
  Result<Arena> arena = Arena::allocate(bytes, {});
  EXPECT_TRUE(arena.ok());
  return *std::move(arena);
}

std::unique_ptr<Engine> realEngine(EngineKind kind) {
  Result<std::unique_ptr<Engine>> engine = makeEngine(kind, {.blockBytes = 256 << 10, .depth = 8});
  EXPECT_TRUE(engine.ok());
  return *std::move(engine);
}

std::vector<Completion> drain(Engine &engine) {
  std::vector<Completion> completions;
  while (engine.inFlight() != 0)
    if (!engine.poll(completions, forever).ok())
      break;
  return completions;
}

double seconds(TimePoint from, TimePoint to) {
  return std::chrono::duration<double>(to - from).count();
}

TEST(MemoryEngine, HidesWorkBehindTransfersOnItsOwnClock) {
  MemoryEngine engine({.readBytesPerSecond = 1e6, .latency = milliseconds(1)});
  engine.put("f", std::vector<std::byte>(8192));
  Arena arena = arenaOf(8192);
  int file = *engine.open("f", {});
  TimePoint start = engine.now();
  ASSERT_TRUE(engine.submit({Request::read, file, 0, arena.data(), 4096, 0, 1}).ok());
  ASSERT_TRUE(engine.submit({Request::read, file, 4096, arena.data() + 4096, 4096, 0, 2}).ok());
  std::vector<Completion> completions;
  ASSERT_TRUE(engine.poll(completions, forever).ok());
  ASSERT_EQ(completions.size(), 1u);
  EXPECT_EQ(engine.now() - start, std::chrono::microseconds(4096 + 1000));
  engine.advance(std::chrono::microseconds(4096));
  ASSERT_TRUE(engine.poll(completions, noWait).ok());
  ASSERT_EQ(completions.size(), 2u);
  EXPECT_EQ(engine.now() - start, std::chrono::microseconds(2 * 4096 + 1000));
}

TEST(MemoryEngine, BytesArriveWithTheCompletionOnly) {
  MemoryEngine engine({});
  engine.put("f", std::vector<std::byte>(4096, std::byte(9)));
  Arena arena = arenaOf(4096);
  int file = *engine.open("f", {});
  ASSERT_TRUE(engine.submit({Request::read, file, 0, arena.data(), 4096}).ok());
  EXPECT_EQ(arena.data()[0], std::byte(0));
  drain(engine);
  EXPECT_EQ(arena.data()[0], std::byte(9));
}

TEST(ThrottledEngine, IsExactOnAVirtualClock) {
  auto memory = std::make_unique<MemoryEngine>(
      MemoryOptions{.readBytesPerSecond = 1e9, .writeBytesPerSecond = 1e9});
  memory->put("f", std::vector<std::byte>(1 << 20));
  ThrottledEngine engine(std::move(memory), {1e6, 2e6});
  Arena arena = arenaOf(1 << 20);
  int file = *engine.open("f", {.access = Access::keep});
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(engine.submit({Request::read, file, 0, arena.data(), 8192}).ok());
    ASSERT_TRUE(engine.submit({Request::write, file, 65536, arena.data() + 65536, 16384}).ok());
  }
  TimePoint start = engine.now();
  EXPECT_EQ(drain(engine).size(), 200u);
  EXPECT_EQ(engine.now() - start, std::chrono::microseconds(819'200));
}

TEST(ThrottledEngine, MovesBytesAllTheTime) {
  auto memory = std::make_unique<MemoryEngine>(MemoryOptions{.readBytesPerSecond = 1e9, .writeBytesPerSecond = 1e9});
  memory->put("f", std::vector<std::byte>(1 << 20));
  ThrottledEngine engine(std::move(memory), {1e6, 1e6});
  Arena arena = arenaOf(1 << 20);
  int file = *engine.open("f", {.access = Access::keep});
  // A tenth of the time that a request takes.
  Patience patience(engine, milliseconds(100));
  for (Request::Kind kind : {Request::read, Request::write}) {
    Request request{kind, file, 0, arena.data(), 1 << 20};
    Status status = patience.transfer({&request, 1});
    EXPECT_TRUE(status.ok()) << status.error().message;
  }
  EXPECT_EQ(engine.counters().readBytes, uint64_t(1) << 20);
  EXPECT_EQ(engine.counters().writtenBytes, uint64_t(1) << 20);
  ASSERT_TRUE(engine.submit({Request::read, file, 0, arena.data(), 1 << 20}).ok());
  std::vector<Completion> completions;
  ASSERT_TRUE(engine.poll(completions, engine.now() + milliseconds(500)).ok());
  EXPECT_TRUE(completions.empty());
  EXPECT_NEAR(static_cast<double>(engine.counters().readBytes - (1 << 20)), 500'000, 1);
  drain(engine);
}

TEST(Patience, IsLongerWithSyncs) {
  auto transfer = [](Request::Kind kind, milliseconds latency) {
    MemoryEngine engine({.latency = latency});
    Arena arena = arenaOf(4096);
    int file = *engine.open("f", {.access = Access::keep});
    Patience patience(engine, std::chrono::seconds(60));
    Request request{.kind = kind, .file = file, .data = arena.data(), .bytes = 4096};
    Status status = patience.transfer({&request, 1});
    return status.ok() ? "done" : status.error().message;
  };
  EXPECT_EQ(transfer(Request::write, std::chrono::minutes(5)),
            "the drive has moved no byte for 60000 ms with 1 transfers in flight");
  EXPECT_EQ(transfer(Request::sync, std::chrono::minutes(5)), "done");
  EXPECT_EQ(transfer(Request::sync, std::chrono::hours(1)),
            "the drive has moved no byte for 600000 ms with 1 transfers in flight");
}

TEST(ThrottledEngine, KeepsItsPaceAsleep) {
  test::TemporaryFolder folder;
  Arena arena = arenaOf(uint64_t(4) << 20);
  ThrottledEngine engine(realEngine(EngineKind::automatic), {40e6, 40e6});
  Result<int> file = engine.open(folder.path() / "f", {.access = Access::truncate});
  ASSERT_TRUE(file.ok());
  for (Request::Kind kind : {Request::write, Request::read}) {
    constexpr uint64_t bytes = 256 << 10;
    constexpr int count = 80, inFlight = 8;
    int submitted = 0, completed = 0;
    std::vector<Completion> completions;
    rusage before, after;
    getrusage(RUSAGE_THREAD, &before);
    TimePoint start = Clock::now();
    while (completed < count) {
      for (; submitted < count && submitted - completed < inFlight; ++submitted)
        ASSERT_TRUE(engine
                        .submit({kind, *file, (submitted % 16) * bytes,
                                 arena.data() + (submitted % 16) * bytes, bytes})
                        .ok());
      ASSERT_TRUE(engine.poll(completions, forever).ok());
      for (const Completion &completion : completions)
        EXPECT_TRUE(completion.status.ok());
      completed += static_cast<int>(completions.size());
      completions.clear();
    }
    double took = seconds(start, Clock::now());
    getrusage(RUSAGE_THREAD, &after);
    double ideal = count * static_cast<double>(bytes) / 40e6;
    EXPECT_GE(took, ideal * 0.999);
    // How close it comes from above depends on what else runs: bench/io_bench.cpp.
    EXPECT_LT(after.ru_nvcsw - before.ru_nvcsw, 40 * count);
  }
}

class FailingEngineTest : public testing::TestWithParam<std::tuple<Fault::Kind, int, EngineKind>> {
};

/// open, write, write, sync, read, read: one of them is hit.
TEST_P(FailingEngineTest, SurfacesAtEveryOperation) {
  auto [kind, operation, inner] = GetParam();
  test::TemporaryFolder folder;
  constexpr uint64_t bytes = 1 << 20;
  Arena arena = arenaOf(4 * bytes);
  for (uint64_t i = 0; i < bytes; ++i)
    arena.data()[i] = std::byte(i % 251);
  FailingEngine engine(realEngine(inner), {kind, static_cast<uint64_t>(operation)});
  bool refusesOpen = kind == Fault::ioError || kind == Fault::noSpace;
  Result<int> file = engine.open(folder.path() / "f", {.access = Access::truncate});
  ASSERT_EQ(file.ok(), operation != 0 || !refusesOpen);
  if (!file.ok())
    return;

  const Request requests[] = {
      {Request::write, *file, 0, arena.data(), bytes, 0, 1},
      {Request::write, *file, bytes, arena.data(), bytes, 0, 2},
      {.kind = Request::sync, .file = *file, .tag = 3},
      {Request::read, *file, 0, arena.data() + bytes, bytes, 0, 4},
      {Request::read, *file, bytes, arena.data() + 2 * bytes, bytes, 0, 5},
  };
  bool wrong = false;
  for (const Request &request : requests) {
    ASSERT_TRUE(engine.submit(request).ok());
    bool hit = request.tag == static_cast<uint64_t>(operation);
    std::vector<Completion> completions;
    TimePoint giveUp = Clock::now() + std::chrono::seconds(hit && kind == Fault::stall ? 0 : 30);
    while (completions.empty() && Clock::now() < giveUp)
      ASSERT_TRUE(engine.poll(completions, giveUp).ok());
    if (hit && kind == Fault::stall) {
      EXPECT_TRUE(completions.empty());
      EXPECT_EQ(engine.inFlight(), 1u);
      continue;
    }
    ASSERT_EQ(completions.size(), 1u);
    EXPECT_EQ(completions[0].tag, request.tag);
    const Status &status = completions[0].status;
    bool spoils = kind == Fault::corruptByte;
    wrong |= hit && spoils && request.kind != Request::sync;
    // The second half of the second write decides where the file ends.
    bool endsEarly = kind != Fault::corruptByte && operation == 2 && request.tag == 5;
    ASSERT_EQ(status.ok(), !(hit && !spoils) && !endsEarly)
        << request.tag << (status.ok() ? "" : ": " + status.error().message);
    if (hit && !spoils) {
      EXPECT_EQ(status.error().kind, ErrorKind::machine);
      EXPECT_NE(status.error().message.find("/f'"), std::string::npos) << status.error().message;
      if (kind == Fault::noSpace) {
        EXPECT_EQ(status.error().systemError, ENOSPC);
      }
    }
  }
  if (kind == Fault::corruptByte) {
    int differ = 0;
    for (uint64_t copy : {1, 2})
      differ += std::memcmp(arena.data(), arena.data() + copy * bytes, bytes) != 0;
    EXPECT_EQ(differ, wrong ? 1 : 0);
  }
}

INSTANTIATE_TEST_SUITE_P(All, FailingEngineTest,
                         testing::Combine(testing::Values(Fault::ioError, Fault::noSpace,
                                                          Fault::shortTransfer, Fault::corruptByte,
                                                          Fault::stall),
                                          testing::Range(0, 6),
                                          testing::Values(EngineKind::uring, EngineKind::pread)));

class FullDisk : public testing::TestWithParam<EngineKind> {};

TEST_P(FullDisk, IsNamed) {
  test::TemporaryFolder folder;
  if (geteuid() != 0 || mount("none", folder.path().c_str(), "tmpfs", 0, "size=1m") != 0)
    GTEST_SKIP() << "needs to mount a small file system";
  {
    Arena arena = arenaOf(2 << 20);
    std::unique_ptr<Engine> engine = realEngine(GetParam());
    Result<int> file = engine->open(folder.path() / "f", {.access = Access::truncate});
    ASSERT_TRUE(file.ok()) << file.error().message;
    ASSERT_TRUE(engine->submit({Request::write, *file, 0, arena.data(), 2 << 20}).ok());
    std::vector<Completion> completions = drain(*engine);
    ASSERT_EQ(completions.size(), 1u);
    ASSERT_FALSE(completions[0].status.ok());
    EXPECT_EQ(completions[0].status.error().systemError, ENOSPC);
    Result<int> reserved =
        engine->open(folder.path() / "g", {.access = Access::truncate, .reserve = 8 << 20});
    ASSERT_FALSE(reserved.ok());
    EXPECT_EQ(reserved.error().systemError, ENOSPC);
  }
  EXPECT_EQ(umount(folder.path().c_str()), 0);
}

INSTANTIATE_TEST_SUITE_P(All, FullDisk, testing::Values(EngineKind::uring, EngineKind::pread));

TEST(UringEngine, PinsWhatTheKernelGrants) {
  Arena arena = arenaOf(uint64_t(24) << 20);
  std::span<std::byte> bytes = arena.bytes();
  Result<std::unique_ptr<Engine>> engine = UringEngine::create({});
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  auto &uring = static_cast<UringEngine &>(**engine);
  ASSERT_TRUE(uring.registerMemory({&bytes, 1}).ok());
  uint64_t granted = uring.registeredBytes();
  EXPECT_LE(granted, arena.size());
  ASSERT_TRUE(uring.registerMemory({}).ok());
  EXPECT_EQ(uring.registeredBytes(), 0u);
  ASSERT_TRUE(uring.registerMemory({&bytes, 1}).ok());
  EXPECT_EQ(uring.registeredBytes(), granted);
  if (geteuid() == 0) {
    EXPECT_EQ(granted, arena.size());
  }
}

} // namespace
} // namespace spillway::io
