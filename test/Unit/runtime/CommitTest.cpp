// A step happens or it does not: states that steps rewrite, their commits, and what is found
// after faults and power loss.
#include "runtime/base/File.h"
#include "runtime/base/FileLock.h"
#include "runtime/io/FailingEngine.h"
#include "runtime/state/StateReader.h"
#include "test/Unit/runtime/JournalEngine.h"
#include "test/Unit/runtime/TrainedModel.h"

#include <gtest/gtest.h>

#include <numeric>

using namespace spillway;
using namespace spillway::test;

namespace {

std::vector<float> batchOf(uint64_t step) {
  return makeFloats(4, static_cast<unsigned>(100 + step));
}
double rateOf(uint64_t step) { return 0.01 * static_cast<double>(step); }

/// The values after so many steps.
const TrainedValues &expectedAfter(uint64_t steps) {
  static std::vector<TrainedValues> values = {TrainedValues::initial()};
  while (values.size() <= steps) {
    TrainedValues next = values.back();
    uint64_t number = values.size();
    next.step(batchOf(number), rateOf(number), static_cast<double>(number));
    values.push_back(std::move(next));
  }
  return values[steps];
}

std::string payloadOf(uint64_t step) { return fmt::format("after step {}", step); }

/// A bundle as it was made, and in the memory of this test.
class Pristine {
public:
  static const Pristine &get() {
    static Pristine pristine;
    return pristine;
  }

  void copyTo(const std::filesystem::path &folder) const {
    for (const auto &[name, bytes] : files_)
      writeBytes(folder / name, bytes);
  }
  const std::vector<std::byte> &file(std::string_view name) const {
    return files_.find(name)->second;
  }

private:
  Pristine() {
    TestBundle bundle;
    Status made = bundle.makeStore(trainedStates());
    EXPECT_TRUE(made.ok()) << made.error().message;
    for (std::string_view name : {storeDataName, storeIndexName, commitsName})
      files_[std::string(name)] = *readFile(bundle.folder.path() / name, 1 << 20);
  }

  std::map<std::string, std::vector<std::byte>, std::less<>> files_;
};

/// One process after the other that trains a bundle.
class Training {
public:
  explicit Training(bool keepsInMemory = false, bool carries = false)
      : keepsInMemory_(keepsInMemory), carries_(carries) {
    Pristine::get().copyTo(bundle.folder.path());
  }

  std::filesystem::path path(std::string_view name) const { return bundle.folder.path() / name; }

  /// Starts at the last commit.
  Status open() {
    bundle.executor.reset();
    SPILLWAY_RETURN_IF_ERROR(bundle.openStore());
    SPILLWAY_RETURN_IF_ERROR(bundle.load(trainedProgram(keepsInMemory_, carries_), 2));
    step = bundle.store.lastCommit().step;
    return bundle.executor->runPrologue();
  }

  Status runStep() {
    ++step;
    bundle.write(batchPlace, batchOf(step));
    bundle.write(ratePlace, std::vector<double>{rateOf(step)});
    bundle.write(numberPlace, std::vector<double>{static_cast<double>(step)});
    return bundle.executor->runStep();
  }

  Status commit() {
    SPILLWAY_RETURN_IF_ERROR(bundle.executor->commit(step, payloadOf(step)));
    committed = step;
    return {};
  }

  Status trainTo(uint64_t last, uint64_t every) {
    while (step < last) {
      SPILLWAY_RETURN_IF_ERROR(runStep());
      if (step % every == 0 || step == last)
        SPILLWAY_RETURN_IF_ERROR(commit());
    }
    return {};
  }

  /// Ends the process.
  void close() {
    bundle.executor.reset();
    bundle.engine.reset();
    bundle.writeEngine.reset();
  }

  TestBundle bundle;
  uint64_t step = 0;
  /// What `commit` has acknowledged.
  uint64_t committed = 0;

private:
  bool keepsInMemory_, carries_;
};

/// What is stored: every chunk compared with its checksum.
Result<TrainedValues> readStates(const Store &store) {
  SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<io::Engine> engine,
                            io::makeEngine(io::EngineKind::pread));
  StateReader reader(store, *engine);
  TrainedValues values;
  for (uint32_t index = 0; index < 4; ++index) {
    const StateView &state = store.states()[index];
    SPILLWAY_RETURN_IF_ERROR(reader.verify(state));
    std::vector<std::byte> bytes;
    SPILLWAY_RETURN_IF_ERROR(
        reader.readCanonical(state, [&](std::span<const std::byte> part) -> Status {
          bytes.insert(bytes.end(), part.begin(), part.end());
          return {};
        }));
    values.states[index].resize(bytes.size() / sizeof(float));
    std::ranges::copy(bytes, std::as_writable_bytes(std::span(values.states[index])).begin());
  }
  return values;
}

void expectCommitted(const Store &store, uint64_t step) {
  EXPECT_EQ(store.lastCommit().step, step);
  EXPECT_EQ(store.lastCommit().payload, step == 0 ? "" : payloadOf(step));
  Result<TrainedValues> found = readStates(store);
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_TRUE(*found == expectedAfter(step)) << "after step " << step;
}

void expectCommitted(const std::filesystem::path &folder, uint64_t step) {
  Result<Store> store = Store::open(folder);
  ASSERT_TRUE(store.ok()) << store.error().message;
  expectCommitted(*store, step);
}

#define ASSERT_OK(expression)                                                                      \
  do {                                                                                             \
    Status assertedStatus = (expression);                                                          \
    ASSERT_TRUE(assertedStatus.ok()) << assertedStatus.error().message;                            \
  } while (false)

struct CommitCase {
  const char *name;
  io::EngineKind engine;
  bool keepsInMemory;
  uint64_t every;
  bool carries = false;
};

class CommitTest : public testing::TestWithParam<CommitCase> {};

TEST_P(CommitTest, eachVersionComesBack) {
  Training training(GetParam().keepsInMemory, GetParam().carries);
  constexpr uint64_t steps = 6;
  uint64_t sequence = 0;
  for (uint64_t next = GetParam().every; next <= steps; next += GetParam().every) {
    // A process for each other commit.
    if (sequence % 2 == 0) {
      training.close();
      for (std::unique_ptr<io::Engine> *engine :
           {&training.bundle.engine, &training.bundle.writeEngine}) {
        auto made = io::makeEngine(GetParam().engine);
        // Containers may forbid io_uring; the cases with pread run everywhere.
        if (!made.ok())
          GTEST_SKIP() << made.error().message;
        *engine = std::move(*made);
      }
      ASSERT_OK(training.open());
      EXPECT_EQ(training.step, next - GetParam().every);
    }
    TrainedValues values = expectedAfter(training.step);
    while (training.step < next) {
      ASSERT_OK(training.runStep());
      float loss = values.step(batchOf(training.step), rateOf(training.step),
                               static_cast<double>(training.step));
      EXPECT_EQ(training.bundle.floats(lossPlace)[0], loss);
      // Whatever a step writes, the last commit stays.
      expectCommitted(training.bundle.folder.path(), training.committed);
    }
    ASSERT_OK(training.commit());
    EXPECT_EQ(training.bundle.executor->lastCommit().sequence, ++sequence);
    expectCommitted(training.bundle.folder.path(), next);
  }
  const Program &program = training.bundle.program;
  // With a block of checksums and a record.
  if (GetParam().every == steps)
    EXPECT_EQ(training.bundle.writeEngine->counters().writtenBytes,
              steps * plannedWriteBytes(program.step) + plannedWriteBytes(program.checkpoint) +
                  2 * blockBytes);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, CommitTest,
    testing::Values(CommitCase{"everyStep", io::EngineKind::pread, false, 1},
                    CommitCase{"everyStepUring", io::EngineKind::uring, false, 1},
                    CommitCase{"everyThird", io::EngineKind::pread, false, 3},
                    CommitCase{"keptEveryStep", io::EngineKind::uring, true, 1},
                    CommitCase{"keptEverySecond", io::EngineKind::pread, true, 2},
                    CommitCase{"keptAtTheEnd", io::EngineKind::pread, true, 6},
                    CommitCase{"carriedEveryStep", io::EngineKind::pread, false, 1, true},
                    CommitCase{"carriedEveryThird", io::EngineKind::uring, false, 3, true},
                    CommitCase{"carriedAndKept", io::EngineKind::pread, true, 6, true}),
    [](const auto &info) { return info.param.name; });

TEST(Commit, needsAStepAndLittlePayload) {
  Training training;
  ASSERT_OK(training.open());
  Status status = training.commit();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, ErrorKind::bug);
  ASSERT_OK(training.runStep());
  status = training.bundle.executor->commit(1, std::string(maxPayloadBytes + 1, 'x'));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, ErrorKind::bug);
  training.close();
  ASSERT_OK(training.open());
  ASSERT_OK(training.runStep());
  std::string payload(maxPayloadBytes, 'x');
  ASSERT_OK(training.bundle.executor->commit(1, payload));
  Result<Store> store = Store::open(training.bundle.folder.path());
  ASSERT_TRUE(store.ok());
  EXPECT_EQ(store->lastCommit().payload, payload);
}

/// Flips a bit of a file.
void damage(const std::filesystem::path &path, uint64_t offset) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<long>(offset));
  char byte = static_cast<char>(file.get() ^ 4);
  file.seekp(static_cast<long>(offset));
  file.put(byte);
}

TEST(Commit, whatIsDamagedIsNamedOrTheOneBeforeIsFound) {
  // Commits 1, 2 and 3 go to the slots 1, 0, 1, and their records to the blocks 1, 0, 1.
  Training training;
  ASSERT_OK(training.open());
  ASSERT_OK(training.trainTo(3, 1));
  training.close();
  uint64_t record = recordPlace(3);
  ASSERT_EQ(record, blockBytes);
  for (uint64_t offset = 0; offset < blockBytes; offset += 113) {
    damage(training.path(commitsName), record + offset);
    // Slot 0 has not been written since.
    expectCommitted(training.bundle.folder.path(), 2);
    damage(training.path(commitsName), record + offset);
  }
  auto openError = [&] {
    Result<Store> store = Store::open(training.bundle.folder.path());
    return store.ok() ? "accepted" : store.error().message;
  };
  uint64_t chunks = rewrittenChunks(training.bundle.store.states());
  damage(training.path(commitsName), checksumsPlace(1, chunks) + 8);
  EXPECT_NE(openError().find("the checksums of commit 3 are not"), std::string::npos)
      << openError();
  damage(training.path(commitsName), checksumsPlace(1, chunks) + 8);
  damage(training.path(commitsName), recordPlace(2) + 40);
  damage(training.path(commitsName), recordPlace(3) + 40);
  EXPECT_NE(openError().find("neither of its records is whole"), std::string::npos) << openError();
  damage(training.path(commitsName), recordPlace(3) + 40);
  expectCommitted(training.bundle.folder.path(), 3);

  // A byte of the states is found by the first step, and by a look at all.
  ASSERT_TRUE(training.bundle.openStore().ok());
  uint64_t moment = training.bundle.store.states()[streamedMoment].fileOffset;
  damage(training.path(storeDataName), moment + 5000);
  std::string expected =
      fmt::format("the state 'w.m' is damaged: bytes {} to {}", moment + 4096, moment + 8192);
  ASSERT_OK(training.open());
  Status status = training.runStep();
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find(expected), std::string::npos) << status.error().message;
  Result<TrainedValues> values = readStates(training.bundle.store);
  ASSERT_FALSE(values.ok());
  EXPECT_NE(values.error().message.find(expected), std::string::npos);
  training.close();
  damage(training.path(storeDataName), moment + 5000);

  std::filesystem::resize_file(training.path(commitsName), 8192);
  EXPECT_NE(openError().find("it has 8192 bytes; expected 16384"), std::string::npos)
      << openError();
  std::filesystem::remove(training.path(commitsName));
  EXPECT_NE(openError().find("cannot open"), std::string::npos) << openError();
}

TEST(Commit, aDamagedLogIsNotOneWithoutCommits) {
  Training training;
  auto openError = [&] {
    Result<Store> store = Store::open(training.bundle.folder.path());
    return store.ok() ? "accepted" : store.error().message;
  };
  expectCommitted(training.bundle.folder.path(), 0);
  for (uint64_t offset : {uint64_t(0), uint64_t(56), blockBytes - 1}) {
    damage(training.path(commitsName), offset);
    EXPECT_NE(openError().find("neither of its records is whole"), std::string::npos)
        << openError();
    damage(training.path(commitsName), offset);
  }
  // Of the first commit there is one record, and behind it that of what was compiled.
  ASSERT_OK(training.open());
  ASSERT_OK(training.trainTo(1, 1));
  training.close();
  damage(training.path(commitsName), recordPlace(0) + 40);
  expectCommitted(training.bundle.folder.path(), 1);
  damage(training.path(commitsName), recordPlace(1) + 40);
  EXPECT_NE(openError().find("neither of its records is whole"), std::string::npos) << openError();
  damage(training.path(commitsName), recordPlace(0) + 40);
  expectCommitted(training.bundle.folder.path(), 0);
}

TEST(Commit, anOverwrittenVersionIsNotTakenForAWholeOne) {
  Training training;
  ASSERT_OK(training.open());
  ASSERT_OK(training.trainTo(3, 1));
  // Step 4 overwrites what commit 2 had made durable; then the record of commit 3 gets lost.
  ASSERT_OK(training.runStep());
  training.close();
  damage(training.path(commitsName), recordPlace(3));
  ASSERT_OK(training.open());
  EXPECT_EQ(training.step, 2u);
  Status status = training.runStep();
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("is damaged"), std::string::npos);
}

TEST(Commit, aLockKeepsOthersOut) {
  TemporaryFolder folder;
  writeBytes(folder.path() / "f", std::vector<std::byte>(1));
  auto acquire = [&](FileLock::Kind kind) {
    Result<std::optional<FileLock>> lock = FileLock::acquire(folder.path() / "f", kind);
    EXPECT_TRUE(lock.ok());
    return std::move(*lock);
  };
  {
    std::optional<FileLock> first = acquire(FileLock::shared), second = acquire(FileLock::shared);
    EXPECT_TRUE(first && second);
    EXPECT_FALSE(acquire(FileLock::exclusive));
  }
  std::optional<FileLock> only = acquire(FileLock::exclusive);
  EXPECT_TRUE(only);
  EXPECT_FALSE(acquire(FileLock::exclusive));
  EXPECT_FALSE(acquire(FileLock::shared));
  EXPECT_FALSE(FileLock::acquire(folder.path() / "missing", FileLock::shared).ok());
}

// Faults: one at every operation of a training's engines.

constexpr uint64_t faultSteps = 3;

struct CommitFaultCase {
  const char *name;
  io::Fault::Kind kind;
  bool keepsInMemory;
  uint64_t every;
  bool carries = false;
};

class CommitFaultTest : public testing::TestWithParam<CommitFaultCase> {
protected:
  struct Outcome {
    Status status;
    uint64_t operations = 0;
  };

  /// Trains to the end with a fault in one of the two engines.
  Outcome train(Training &training, bool inWrites, uint64_t operation) {
    auto inner = io::makeEngine(io::EngineKind::pread);
    EXPECT_TRUE(inner.ok());
    auto failing = std::make_unique<io::FailingEngine>(
        std::move(*inner), io::Fault{.kind = GetParam().kind, .operation = operation});
    const io::FailingEngine &engine = *failing;
    (inWrites ? training.bundle.writeEngine : training.bundle.engine) = std::move(failing);
    Outcome outcome{training.open()};
    if (outcome.status.ok())
      outcome.status = training.trainTo(faultSteps, GetParam().every);
    outcome.operations = engine.operations();
    return outcome;
  }
};

TEST_P(CommitFaultTest, leavesTheLastCommitAtEveryOperation) {
  for (bool inWrites : {false, true}) {
    uint64_t errors = 0, operations = UINT64_MAX;
    for (uint64_t operation = 0; operation < operations; ++operation) {
      Training training(GetParam().keepsInMemory, GetParam().carries);
      Outcome outcome = train(training, inWrites, operation);
      if (operation >= outcome.operations) {
        ASSERT_OK(outcome.status);
        operations = outcome.operations;
      } else if (!outcome.status.ok()) {
        ++errors;
        EXPECT_EQ(outcome.status.error().kind, ErrorKind::machine);
        EXPECT_GT(outcome.status.error().message.size(), 10u);
      }
      training.close();
      Result<Store> store = Store::open(training.bundle.folder.path());
      ASSERT_TRUE(store.ok()) << store.error().message;
      // What was not acknowledged may have come to its end all the same.
      uint64_t found = store->lastCommit().step;
      if (outcome.status.ok())
        EXPECT_EQ(found, faultSteps);
      else
        EXPECT_TRUE(
            found == training.committed ||
            (inWrites && found == std::min(faultSteps, training.committed + GetParam().every)))
            << found << " after " << training.committed;
      expectCommitted(*store, found);
      ASSERT_OK(training.open());
      ASSERT_OK(training.trainTo(faultSteps, GetParam().every));
      training.close();
      expectCommitted(training.bundle.folder.path(), faultSteps);
    }
    // Opens are not hit by all kinds.
    EXPECT_GE(errors, operations - 2) << inWrites;
    EXPECT_GE(operations, 10u);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, CommitFaultTest,
    testing::Values(CommitFaultCase{"ioError", io::Fault::ioError, false, 1},
                    CommitFaultCase{"ioErrorKept", io::Fault::ioError, true, 2},
                    CommitFaultCase{"noSpace", io::Fault::noSpace, false, 2},
                    CommitFaultCase{"noSpaceKept", io::Fault::noSpace, true, 1},
                    CommitFaultCase{"shortTransfer", io::Fault::shortTransfer, true, 1},
                    CommitFaultCase{"stall", io::Fault::stall, true, 2},
                    CommitFaultCase{"ioErrorCarried", io::Fault::ioError, false, 3, true},
                    CommitFaultCase{"noSpaceCarriedKept", io::Fault::noSpace, true, 2, true},
                    CommitFaultCase{"stallCarried", io::Fault::stall, false, 3, true}),
    [](const auto &info) { return info.param.name; });

TEST(Commit, aTableThatWaitsForWhatHasEndedIsRefused) {
  auto refuse = [](auto change) {
    Program program = trainedProgram(/*keepsInMemory=*/false, /*carries=*/true);
    change(program);
    TestBundle bundle;
    Pristine::get().copyTo(bundle.folder.path());
    Status status = bundle.openStore();
    if (status.ok())
      status = bundle.load(program, 2);
    EXPECT_FALSE(status.ok());
    return status.ok() ? "" : status.error().message;
  };
  auto commandOf = [](Program &program, StreamKind stream) -> Command & {
    return *std::ranges::find(program.step, stream, &Command::stream);
  };
  auto firstWrite = [&](Program &program) { return static_cast<uint32_t>(&commandOf(program, StreamKind::write) - program.step.data()); };
  // Writes come behind all that is carried anyway.
  EXPECT_NE(refuse([&](Program &program) {
              commandOf(program, StreamKind::write).carriedWaits = {firstWrite(program)};
            }).find("which has ended by then"), std::string::npos);
  EXPECT_NE(refuse([&](Program &program) {
              commandOf(program, StreamKind::write).isCarried = false;
            }).find("which has ended by then"), std::string::npos);
  EXPECT_NE(refuse([&](Program &program) {
              commandOf(program, StreamKind::compute).carriedWaits = {1000};
            }).find("which has ended by then"), std::string::npos);
  EXPECT_NE(refuse([&](Program &program) {
              commandOf(program, StreamKind::read).isCarried = true;
            }).find("no write of the step"), std::string::npos);
}

/// A step ends before a write that never does; what comes behind it tells.
TEST(Commit, aCarriedWriteIsNotWaitedFor) {
  const io::FailingEngine *engine = nullptr;
  auto runWithStall = [&](Training &training, uint64_t operation) -> Status {
    SPILLWAY_ASSIGN_OR_RETURN(auto inner, io::makeEngine(io::EngineKind::pread));
    auto failing = std::make_unique<io::FailingEngine>(
        std::move(inner), io::Fault{.kind = io::Fault::stall, .operation = operation});
    engine = failing.get();
    training.bundle.writeEngine = std::move(failing);
    SPILLWAY_RETURN_IF_ERROR(training.open());
    return training.runStep();
  };
  uint64_t last = 0;
  {
    Training training;
    ASSERT_OK(runWithStall(training, UINT64_MAX));
    last = engine->operations() - 1;
  }
  {
    Training training;
    EXPECT_FALSE(runWithStall(training, last).ok());
  }
  for (bool settles : {false, true}) {
    Training training(/*keepsInMemory=*/false, /*carries=*/true);
    ASSERT_OK(runWithStall(training, last));
    EXPECT_LT(training.bundle.executor->writtenBytes(), plannedWriteBytes(training.bundle.program.step));
    Status status = settles ? training.bundle.executor->settle() : training.runStep();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().kind, ErrorKind::machine);
    EXPECT_NE(status.error().message.find("moved no byte"), std::string::npos) << status.error().message;
    training.close();
    expectCommitted(training.bundle.folder.path(), 0);
  }
}

/// A flipped bit on its way to the drive is found by whoever opens the bundle next.
TEST(Commit, corruptWritesOfTheLastStepAreFound) {
  uint64_t operations = UINT64_MAX, found = 0, writes = 0;
  for (uint64_t operation = 0; operation < operations; ++operation) {
    Training training;
    auto inner = io::makeEngine(io::EngineKind::pread);
    ASSERT_TRUE(inner.ok());
    auto failing = std::make_unique<io::FailingEngine>(
        std::move(*inner), io::Fault{.kind = io::Fault::corruptByte, .operation = operation});
    const io::FailingEngine &engine = *failing;
    training.bundle.writeEngine = std::move(failing);
    ASSERT_OK(training.open());
    ASSERT_OK(training.trainTo(1, 1));
    operations = engine.operations();
    training.close();
    Result<Store> store = Store::open(training.bundle.folder.path());
    if (!store.ok()) {
      EXPECT_NE(store.error().message.find("is damaged"), std::string::npos);
      ++found;
      continue;
    }
    Result<TrainedValues> values = readStates(*store);
    if (!values.ok()) {
      EXPECT_NE(values.error().message.find("is damaged"), std::string::npos);
      ++found;
      continue;
    }
    // A record that is not whole is none.
    EXPECT_TRUE(*values == expectedAfter(store->lastCommit().step));
    writes += store->lastCommit().step == 0;
  }
  EXPECT_EQ(found, 7u);
  EXPECT_EQ(writes, 1u);
}

// Power loss.

struct PowerCase {
  const char *name;
  bool keepsInMemory;
  uint64_t every;
  bool carries = false;
};

class PowerLossTest : public testing::TestWithParam<PowerCase> {};

TEST_P(PowerLossTest, atEveryInstantTheLastCommitIsFound) {
  constexpr uint64_t steps = 4;
  Training training(GetParam().keepsInMemory, GetParam().carries);
  Journal journal;
  auto inner = io::makeEngine(io::EngineKind::pread);
  ASSERT_TRUE(inner.ok());
  training.bundle.writeEngine = std::make_unique<JournalEngine>(std::move(*inner), journal);
  ASSERT_OK(training.open());
  // The events after which a commit was acknowledged.
  std::vector<std::pair<uint64_t, uint64_t>> acknowledged = {{0, 0}};
  while (training.step < steps) {
    ASSERT_OK(
        training.trainTo(std::min(steps, training.step + GetParam().every), GetParam().every));
    acknowledged.emplace_back(journal.events, training.committed);
  }
  std::filesystem::path folder = training.bundle.folder.path();
  training.close();
  ASSERT_GT(journal.events, 40u);

  std::mt19937 random(7);
  const std::function<bool()> modes[] = {[] { return false; }, [] { return true; },
                                         [&] { return random() % 2 == 0; },
                                         [&] { return random() % 16 != 0; }};
  uint64_t unacknowledged = 0;
  for (uint64_t event = 0; event <= journal.events; ++event)
    for (const auto &keeps : modes) {
      for (std::string_view name : {storeDataName, commitsName})
        writeBytes(folder / name,
                   journal.contents(folder / name, Pristine::get().file(name), event, keeps));
      uint64_t committed = 0;
      for (auto [after, step] : acknowledged)
        if (after <= event)
          committed = step;
      Result<Store> store = Store::open(folder);
      ASSERT_TRUE(store.ok()) << store.error().message;
      uint64_t found = store->lastCommit().step;
      uint64_t next = std::min(steps, committed + GetParam().every);
      ASSERT_TRUE(found == committed || found == next)
          << "found " << found << " after " << committed << " at event " << event;
      unacknowledged += found != committed;
      expectCommitted(*store, found);
      if (event % 5 != 0)
        continue;
      ASSERT_OK(training.open());
      ASSERT_OK(training.trainTo(steps + 1, GetParam().every));
      training.close();
      expectCommitted(folder, steps + 1);
    }
  // The record may have been whole before the drive said so.
  EXPECT_GT(unacknowledged, 0u);
}

INSTANTIATE_TEST_SUITE_P(Kinds, PowerLossTest,
                         testing::Values(PowerCase{"everyStep", false, 1},
                                         PowerCase{"everySecond", false, 2},
                                         PowerCase{"kept", true, 1},
                                         PowerCase{"carriedEverySecond", false, 2, true}),
                         [](const auto &info) { return info.param.name; });

} // namespace
