// `spillway train` as a user meets it.
#include "runtime/base/File.h"
#include "runtime/bundle/Bundle.h"
#include "runtime/io/Npy.h"
#include "runtime/state/StateReader.h"
#include "test/Unit/runtime/SpillwayTool.h"
#include "test/Unit/runtime/TrainedModel.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <limits>
#include <random>
#include <thread>

using namespace spillway;
using namespace spillway::test;

namespace {

constexpr uint64_t sampleCount = 10;

/// A bundle that trains, and data of which a batch of four may span two epochs.
class TrainDriverTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(bundle.makeStore(trainedStates()).ok());
    finish(trainedProgram(false));
    samples = makeFloats(sampleCount, 77);
    writeData();
  }

  /// The rest of the bundle.
  void finish(const Program &program) {
    writeBytes(path("table.bin"), encode(program));
    std::filesystem::copy_file(SPILLWAY_TEST_KERNELS, path("kernels.so"),
                               std::filesystem::copy_options::skip_existing);
    ASSERT_TRUE(writeManifest(bundle.folder.path(),
                              {.producer = "test", .model = "small", .features = {}, .threads = 2})
                    .ok());
  }

  void writeData() {
    std::vector<int64_t> shape = {static_cast<int64_t>(samples.size())};
    ASSERT_TRUE(writeNpy(place("x.npy"), DataType::f32, shape, asBytes(samples)).ok());
  }

  std::filesystem::path path(std::string_view name) const { return bundle.folder.path() / name; }
  std::filesystem::path place(std::string_view name) const { return outputs.path() / name; }

  std::string train(const std::string &flags) const {
    return "train " + bundle.folder.path().string() + " --data x=" + place("x.npy").string() + " " +
           flags;
  }

  void expectTrained(const std::string &flags) {
    Ran ran = spillwayTool(train(flags));
    EXPECT_EQ(ran.code, 0) << flags << ": " << ran.text;
  }

  /// The values and losses of so many steps in the samples' own order.
  struct Expected {
    TrainedValues values = TrainedValues::initial();
    std::vector<float> losses;
  };
  Expected expectedAfter(uint64_t steps, double rate) const {
    Expected expected;
    for (uint64_t step = 1; step <= steps; ++step) {
      std::vector<float> x(4);
      for (uint64_t i = 0; i < 4; ++i)
        x[i] = samples[((step - 1) * 4 + i) % samples.size()];
      expected.losses.push_back(expected.values.step(x, rate, static_cast<double>(step)));
    }
    return expected;
  }

  TrainedValues storedValues(uint64_t step) {
    Result<Store> store = Store::open(bundle.folder.path());
    EXPECT_TRUE(store.ok()) << store.error().message;
    EXPECT_EQ(store->lastCommit().step, step);
    auto engine = io::makeEngine(io::EngineKind::pread);
    StateReader reader(*store, **engine);
    TrainedValues values;
    for (uint32_t index = 0; index < 4; ++index) {
      const StateView &state = store->states()[index];
      EXPECT_TRUE(reader.verify(state).ok());
      std::vector<float> &target = values.states[index];
      Status status = reader.readCanonical(state, [&](std::span<const std::byte> part) -> Status {
        size_t before = target.size();
        target.resize(before + part.size() / sizeof(float));
        std::memcpy(target.data() + before, part.data(), part.size());
        return {};
      });
      EXPECT_TRUE(status.ok()) << status.error().message;
    }
    return values;
  }

  /// As before any training.
  void reset(bool keepsInMemory) {
    ASSERT_TRUE(bundle.makeStore(trainedStates()).ok());
    finish(trainedProgram(keepsInMemory));
  }

  std::vector<nlohmann::json> logLines() const {
    std::vector<nlohmann::json> lines;
    std::ifstream file(place("log.jsonl"));
    for (std::string line; std::getline(file, line);)
      lines.push_back(nlohmann::json::parse(line));
    return lines;
  }

  TestBundle bundle;
  TemporaryFolder outputs;
  std::vector<float> samples;
};

TEST_F(TrainDriverTest, computesWhatTheModelDoes) {
  for (bool keepsInMemory : {false, true})
    for (const char *flags : {"--io pread --threads 1", "--io auto --threads 2",
                              "--throttle-read 50MB/s --throttle-write 50MB/s"}) {
      reset(keepsInMemory);
      expectTrained("--steps 7 --lr 0.125 --no-shuffle --log " + place("log.jsonl").string() +
                    " --stats " + place("s.json").string() + " --trace " +
                    place("t.json").string() + " " + flags);
      Expected expected = expectedAfter(7, 0.125);
      EXPECT_TRUE(storedValues(7) == expected.values);
      std::vector<nlohmann::json> lines = logLines();
      ASSERT_EQ(lines.size(), 7u);
      for (uint64_t step = 1; step <= 7; ++step) {
        const nlohmann::json &line = lines[step - 1];
        EXPECT_EQ(line["step"], step);
        EXPECT_EQ(line["loss"].get<float>(), expected.losses[step - 1]);
        EXPECT_EQ(line["lr"], 0.125);
        EXPECT_EQ(line["committed"], !keepsInMemory || step == 7);
      }
      auto stats = nlohmann::json::parse(std::ifstream(place("s.json")));
      auto sumOf = [&](const char *field) {
        uint64_t sum = 0;
        for (const nlohmann::json &line : lines)
          sum += line[field].get<uint64_t>();
        return sum;
      };
      EXPECT_EQ(sumOf("written_bytes"), stats["written_bytes"].get<uint64_t>());
      EXPECT_EQ(sumOf("read_bytes") + stats["planned_read_bytes_prologue"].get<uint64_t>(), stats["read_bytes"].get<uint64_t>());
      uint64_t commits = keepsInMemory ? 1 : 7;
      EXPECT_EQ(stats["commit_ms"].size(), commits);
      EXPECT_EQ(stats["read_bytes"], stats["planned_read_bytes"]);
      EXPECT_EQ(stats["written_bytes"].get<uint64_t>(),
                7 * stats["planned_write_bytes_step"].get<uint64_t>() +
                    commits *
                        (stats["planned_write_bytes_checkpoint"].get<uint64_t>() + 2 * blockBytes));
      auto trace = nlohmann::json::parse(std::ifstream(place("t.json")));
      EXPECT_GT(trace["traceEvents"].size(), 10u);
    }
}

TEST_F(TrainDriverTest, resumesBitIdentically) {
  // Shuffled, with a schedule that depends on the number of steps in all.
  std::string recipe = "--steps 9 --lr 0.01 --warmup 3 --schedule cosine --min-lr 0.001 --seed 5";
  for (bool keepsInMemory : {false, true}) {
    reset(keepsInMemory);
    expectTrained(recipe);
    TrainedValues whole = storedValues(9);
    reset(keepsInMemory);
    // As if each process but the last had been told to stop.
    std::string log = " --log " + place("log.jsonl").string();
    Ran ran = spillwayTool(train(recipe + log + " --checkpoint-every 2 --fail-io 20:eio"));
    int round = 0;
    for (; ran.code != 0 && round < 20; ++round) {
      EXPECT_EQ(ran.code, 2) << ran.text;
      ran = spillwayTool(
          train(recipe + log +
                fmt::format(" --checkpoint-every 2 --resume --fail-io {}:eio", 20 + 5 * round)));
    }
    EXPECT_EQ(ran.code, 0) << ran.text;
    EXPECT_GE(round, 2);
    EXPECT_TRUE(storedValues(9) == whole);
    std::vector<nlohmann::json> lines = logLines();
    ASSERT_EQ(lines.size(), 9u);
    for (uint64_t step = 1; step <= 9; ++step)
      EXPECT_EQ(lines[step - 1]["step"], step);
    // What is not said again is as it was.
    ran = spillwayTool(train("--resume"));
    EXPECT_NE(ran.text.find("nothing to do: 9 steps are committed"), std::string::npos) << ran.text;
    expectTrained("--resume --steps 11");
  }
}

TEST_F(TrainDriverTest, linesOfTheLogThatAreOfNoStepAreDropped) {
  std::string recipe = "--lr 0.01 --log " + place("log.jsonl").string();
  expectTrained(recipe + " --steps 2");
  std::ofstream(place("log.jsonl"), std::ios::app)
      << "{\"step\": \"two\"}\n{\"step\": -1}\n{\"loss\": 1}\n[2]\n{\n";
  expectTrained(recipe + " --steps 3 --resume");
  std::vector<nlohmann::json> lines = logLines();
  ASSERT_EQ(lines.size(), 3u);
  for (uint64_t step = 1; step <= 3; ++step)
    EXPECT_EQ(lines[step - 1]["step"], step);
}

TEST_F(TrainDriverTest, saysWhatAResumedTrainingDoesInAnotherWay) {
  std::string recipe = "--lr 0.01 --no-shuffle ";
  expectTrained("--steps 2 " + recipe);
  Ran same = spillwayTool(train("--steps 3 --resume " + recipe));
  EXPECT_EQ(same.text.find("the result is not that of one training"), std::string::npos) << same.text;
  Ran other = spillwayTool(train("--steps 6 --resume --lr 0.5 --schedule linear"));
  EXPECT_EQ(other.code, 0);
  EXPECT_NE(other.text.find("from step 4 on --lr is 0.5, not 0.01, --schedule is linear, not constant"),
            std::string::npos)
      << other.text;
}

TEST_F(TrainDriverTest, tellsOfTheStepsSinceTheLastLineAndOfCommitsApart) {
  Ran ran = spillwayTool(train("--steps 7 --lr 0.01 --checkpoint-every 7 --log " + place("log.jsonl").string()));
  EXPECT_EQ(ran.code, 0) << ran.text;
  EXPECT_NE(ran.text.find("step 7/7"), std::string::npos) << ran.text;
  EXPECT_NE(ran.text.find(" to commit  "), std::string::npos) << ran.text;
  std::vector<nlohmann::json> lines = logLines();
  EXPECT_EQ(lines.front()["commit_seconds"], 0.0);
  EXPECT_GT(lines.back()["commit_seconds"], 0.0);
  EXPECT_DOUBLE_EQ(lines[3]["samples_per_second"].get<double>() * lines[3]["seconds"].get<double>(), 4);
}

TEST_F(TrainDriverTest, refusesWhatContradictsTheFirstPart) {
  expectError(train("--lr 1"), 1, "Give --steps N");
  expectError(train("--steps 2"), 1, "Give --lr RATE");
  expectTrained("--steps 2 --lr 0.01 --seed 3 --resume");
  expectError(train("--steps 4 --lr 0.01"), 1, "has been trained for 2 steps: give --resume");
  expectError(train("--steps 4 --resume --seed 4"), 1, "began with --seed 3");
  expectError(train("--steps 4 --resume --no-shuffle"), 1, "began with --seed 3");
  samples.push_back(1);
  writeData();
  expectError(train("--steps 4 --resume"), 1,
              "the data are 11 samples; the training began with 10");
}

TEST_F(TrainDriverTest, namesWhatIsWrongWithTheRequest) {
  std::string folder = bundle.folder.path().string();
  expectError("train", 1, "bundle is required");
  expectError("train " + folder + " --steps 1 --lr 1", 1, "missing data: x f32[4]");
  expectError("train " + folder + " --data y=f --steps 1 --lr 1", 1,
              "no input of samples 'y'; it has x");
  expectError(train("--steps 1 --lr 1 --schedule cosin"), 1, "cosin");
  expectError(train("--steps 1 --lr 0.1 --min-lr 1"), 1, "--min-lr 1 is more than --lr 0.1");
  expectError(train("--steps 1 --lr 1 --min-lr 0.1"), 1, "the schedule is constant: give --schedule");
  expectError(train("--steps 1 --lr 1 --eval-every 1"), 1, "--eval-every needs samples that are held out: give --eval-data");
  std::string log = place("log.jsonl").string();
  expectError(train("--steps 1 --lr 1 --log " + log + " --stats " + log), 1, "is named twice, or also read");
  expectError(train("--steps 1 --lr 1 --log " + path("table.bin").string()), 1, "in the bundle");
  expectError(train("--steps 1 --lr 1 --threads 3"), 1, "planned for 1 to 2, and `spillway replan " + folder + " --threads 3` plans for more");
  // A number is shown as it was typed.
  expectError(train("--steps 1 --lr -1"), 1, "'-1' is no number of at least 0");
  expectError(train("--steps 1 --lr nan"), 1, "'nan' is no number of at least 0");
  // Where something is to be written is looked at first.
  for (const char *flag : {"--log", "--stats", "--trace"})
    expectError(train(std::string("--steps 1 --lr 1 ") + flag + " " + place("none/x").string()), 1,
                "cannot create '" + place("none/x").string() + "': No such file");
  expectError("train " + folder + " --data x=" + place("y.npy").string() + " --steps 1 --lr 1", 1,
              "cannot open '" + place("y.npy").string() + "': No such file");
  expectError("run " + folder, 1, "Use `spillway train`");
  Program program;
  program.arenaBytes = {0, 4096};
  finish(program);
  expectError(train("--steps 1 --lr 1"), 1, "was not compiled to train");
}

TEST_F(TrainDriverTest, inspectShowsWhatIsCommitted) {
  std::string folder = bundle.folder.path().string(), inspect = "inspect --table --verify " + folder;
  Ran ran = spillwayTool("inspect " + folder);
  EXPECT_NE(ran.text.find("trains: no step is committed yet"), std::string::npos) << ran.text;
  EXPECT_NE(ran.text.find("input lr: f64[], which `train` sets\n"), std::string::npos) << ran.text;
  EXPECT_NE(ran.text.find("input x: f32[4]\n"), std::string::npos) << ran.text;
  ran = spillwayTool(inspect);
  EXPECT_EQ(ran.code, 0) << ran.text;
  EXPECT_EQ(ran.text.find("input x"), std::string::npos) << ran.text;
  EXPECT_NE(ran.text.find("write host[20480, 28672) to 8192 +0 of 'w'"), std::string::npos)
      << ran.text;
  expectTrained("--steps 3 --lr 0.5");
  ran = spillwayTool("inspect " + folder);
  EXPECT_EQ(ran.code, 0) << ran.text;
  EXPECT_NE(ran.text.find("trains: 3 steps are committed"), std::string::npos) << ran.text;
  // A byte of the slot that is not committed is none of anybody's business; one of the other is.
  Result<Store> store = Store::open(bundle.folder.path());
  ASSERT_TRUE(store.ok());
  const StateView &state = store->states()[kept];
  auto bytes = *readFile(path(storeDataName), 1 << 20);
  bytes[*state.otherOffset + 100] ^= std::byte(1);
  writeBytes(path(storeDataName), bytes);
  EXPECT_EQ(spillwayTool(inspect).code, 0);
  bytes[state.fileOffset + 100] ^= std::byte(1);
  writeBytes(path(storeDataName), bytes);
  ran = spillwayTool(inspect);
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.text.find("the state 'r' is damaged"), std::string::npos) << ran.text;
}

TEST_F(TrainDriverTest, aLossThatIsNoNumberEndsBeforeTheCommit) {
  samples[9] = std::numeric_limits<float>::quiet_NaN();
  writeData();
  Ran ran = spillwayTool(train("--steps 5 --lr 0.125 --no-shuffle"));
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.text.find("the loss of step 3 is nan; the last commit is that of step 2; the first "
                          "value that is no number is of the input 'x'"),
            std::string::npos)
      << ran.text;
  EXPECT_TRUE(storedValues(2) == expectedAfter(2, 0.125).values);
  samples[9] = 0.5f;
  writeData();
  expectTrained("--resume");
  EXPECT_TRUE(storedValues(5) == expectedAfter(5, 0.125).values);
}

TEST_F(TrainDriverTest, anInfiniteLossNamesWhatGaveIt) {
  for (bool keepsInMemory : {false, true}) {
    reset(keepsInMemory);
    samples = makeFloats(sampleCount, 77);
    // Finite numbers whose products are not.
    samples[9] = std::numeric_limits<float>::max();
    writeData();
    Ran ran = spillwayTool(train("--steps 5 --lr 1e30 --no-shuffle"));
    EXPECT_EQ(ran.code, 1);
    EXPECT_NE(ran.text.find("the first infinite value is of "), std::string::npos) << ran.text;
  }
}

TEST_F(TrainDriverTest, heldOutSamplesTeachNothing) {
  std::vector<float> heldOut = makeFloats(11, 78);
  std::vector<int64_t> shape = {11};
  ASSERT_TRUE(writeNpy(place("held.npy"), DataType::f32, shape, asBytes(heldOut)).ok());
  std::string flags = " --no-shuffle --lr 0.125 --eval-data x=" + place("held.npy").string() + " --log " +
                      place("log.jsonl").string();
  for (bool keepsInMemory : {false, true}) {
    reset(keepsInMemory);
    Ran ran = spillwayTool(train("--steps 5 --eval-every 2" + flags));
    EXPECT_EQ(ran.code, 0) << ran.text;
    EXPECT_NE(ran.text.find("the last 3 of 11 held-out samples are less than a batch"), std::string::npos) << ran.text;
    EXPECT_TRUE(storedValues(5) == expectedAfter(5, 0.125).values);
    std::vector<nlohmann::json> lines = logLines();
    ASSERT_EQ(lines.size(), 5u);
    for (uint64_t step = 1; step <= 5; ++step) {
      EXPECT_EQ(lines[step - 1].contains("eval_loss"), step % 2 == 0 || step == 5) << step;
      EXPECT_EQ(lines[step - 1]["loss"].get<float>(), expectedAfter(step, 0.125).losses.back());
      if (!lines[step - 1].contains("eval_loss"))
        continue;
      TrainedValues values = expectedAfter(step, 0.125).values;
      double sum = 0;
      for (size_t batch = 0; batch < 2; ++batch)
        sum += TrainedValues(values).step({heldOut.begin() + batch * 4, heldOut.begin() + batch * 4 + 4}, 0, 0);
      EXPECT_EQ(lines[step - 1]["eval_loss"].get<double>(), sum / 2);
    }
  }
  shape = {3};
  ASSERT_TRUE(writeNpy(place("held.npy"), DataType::f32, shape, asBytes(std::vector<float>(3))).ok());
  expectError(train("--steps 5 --resume" + flags), 1, "the held-out data are 3 samples; a step takes 4");
}

TEST_F(TrainDriverTest, tellsOnceWhatADayWritesBehindTheFirstCommit) {
  Ran ran = spillwayTool(train("--steps 7 --lr 0.125 --checkpoint-every 3"));
  EXPECT_EQ(ran.code, 0) << ran.text;
  size_t told = ran.text.find(" a day at this pace");
  EXPECT_NE(told, std::string::npos) << ran.text;
  EXPECT_EQ(ran.text.find(" a day at this pace", told + 1), std::string::npos) << ran.text;
  ran = spillwayTool(train("--steps 8 --resume --checkpoint-every 3"));
  EXPECT_NE(ran.text.find(" a day at this pace"), std::string::npos) << "at the last commit: " << ran.text;
}

TEST_F(TrainDriverTest, keepsTheLastCommitsAsBundles) {
  std::filesystem::path folder = bundle.folder.path();
  auto copy = [&](uint64_t step) { return std::filesystem::path(folder.string() + fmt::format(".step-{}", step)); };
  std::filesystem::create_directory(copy(0).string() + "x");
  expectTrained("--steps 7 --lr 0.125 --no-shuffle --checkpoint-every 2 --keep 2");
  for (uint64_t step = 1; step <= 7; ++step)
    EXPECT_EQ(std::filesystem::exists(copy(step)), step == 6 || step == 7) << step;
  EXPECT_TRUE(std::filesystem::remove(copy(0).string() + "x"));
  // A copy goes on by itself, to the same bits.
  EXPECT_TRUE(storedValues(7) == expectedAfter(7, 0.125).values);
  std::filesystem::remove_all(folder);
  std::filesystem::rename(copy(6), folder);
  EXPECT_TRUE(storedValues(6) == expectedAfter(6, 0.125).values);
  expectTrained("--resume");
  EXPECT_TRUE(storedValues(7) == expectedAfter(7, 0.125).values);
  std::filesystem::remove_all(copy(7));
  std::filesystem::remove_all(copy(6));
  expectError(train("--steps 9 --resume --keep 1"), 1, "--checkpoint-every");
}

TEST_F(TrainDriverTest, keepsCopiesOfABundleThatIsTheFolderAtHandAndHoldsMore) {
  std::filesystem::path folder = bundle.folder.path();
  std::filesystem::create_directory(folder / "notes");
  std::string inside = "train " + folder.string() + "/. --data x=" + place("x.npy").string();
  Ran ran = spillwayTool(inside + " --steps 4 --lr 0.125 --checkpoint-every 2 --keep 1");
  EXPECT_EQ(ran.code, 0) << ran.text;
  std::filesystem::path copy = folder.string() + ".step-4";
  EXPECT_TRUE(std::filesystem::exists(copy / commitsName));
  EXPECT_FALSE(std::filesystem::exists(copy / "notes"));
  std::filesystem::remove_all(copy);
}

TEST_F(TrainDriverTest, copiesOfOtherTrainingsStay) {
  std::filesystem::path folder = bundle.folder.path();
  auto copy = [&](uint64_t step) { return std::filesystem::path(folder.string() + fmt::format(".step-{}", step)); };
  std::string recipe = "--lr 0.125 --no-shuffle --checkpoint-every 2";
  expectTrained(recipe + " --steps 8 --keep 2");
  std::vector<std::byte> old = *readFile(copy(8) / commitsName, 1 << 20);
  reset(false);
  expectError(train(recipe + " --steps 6 --keep 1"), 1,
              "'" + copy(6).string() + "', where the commit of step 6 is to be kept, is of another training");
  expectTrained(recipe + " --steps 4 --keep 1");
  for (uint64_t step : {4, 6, 8})
    EXPECT_TRUE(std::filesystem::exists(copy(step))) << step;
  EXPECT_FALSE(std::filesystem::exists(copy(2)));
  EXPECT_EQ(*readFile(copy(8) / commitsName, 1 << 20), old);
  // One that another process uses stays as long as it does.
  std::filesystem::remove_all(copy(6));
  {
    auto lock = lockStates(copy(4), FileLock::shared);
    ASSERT_TRUE(lock.ok());
    expectTrained(recipe + " --steps 6 --keep 1 --resume");
    EXPECT_TRUE(std::filesystem::exists(copy(4)));
  }
  std::filesystem::remove_all(copy(8));
  expectTrained(recipe + " --steps 8 --keep 1 --resume");
  EXPECT_FALSE(std::filesystem::exists(copy(4)));
  EXPECT_FALSE(std::filesystem::exists(copy(6)));
  std::filesystem::remove_all(copy(8));
}

TEST_F(TrainDriverTest, whatACopyLacksIsMadeWhenTheTrainingGoesOn) {
  std::filesystem::path folder = bundle.folder.path();
  auto copy = [&](uint64_t step) { return std::filesystem::path(folder.string() + fmt::format(".step-{}", step)); };
  std::string recipe = "--lr 0.125 --no-shuffle --checkpoint-every 2 --keep 2 --steps 4";
  expectTrained(recipe);
  // As two processes leave it that are killed while they copy.
  for (uint64_t step : {2, 4})
    std::filesystem::rename(copy(step), copy(step).string() + ".partial");
  expectTrained(recipe + " --resume");
  EXPECT_TRUE(std::filesystem::exists(copy(4)));
  for (uint64_t step : {2, 4})
    EXPECT_FALSE(std::filesystem::exists(copy(step).string() + ".partial")) << step;
  EXPECT_EQ(spillwayTool("inspect --verify " + copy(4).string()).code, 0);
  std::filesystem::remove_all(copy(4));
}

TEST_F(TrainDriverTest, theLineOfTheLastCommitComesBack) {
  std::string log = " --log " + place("log.jsonl").string(), recipe = "--lr 0.125 --no-shuffle --checkpoint-every 2";
  expectTrained(recipe + " --steps 4" + log);
  std::vector<nlohmann::json> before = logLines();
  ASSERT_EQ(before.size(), 4u);
  // As a process leaves it that is killed behind its commit, while it writes.
  std::ofstream file(place("log.jsonl"));
  for (uint64_t step = 1; step <= 3; ++step)
    file << before[step - 1].dump() << "\n";
  file << "{\"step\": 4, \"lo";
  file.close();
  expectTrained(recipe + " --steps 5 --resume" + log);
  std::vector<nlohmann::json> lines = logLines();
  ASSERT_EQ(lines.size(), 5u);
  for (uint64_t step = 1; step <= 5; ++step)
    EXPECT_EQ(lines[step - 1]["step"], step);
  for (const char *field : {"loss", "lr", "seconds", "samples_per_second", "read_bytes", "committed"})
    EXPECT_EQ(lines[3][field], before[3][field]) << field;
  EXPECT_TRUE(lines[3]["commit_seconds"].is_null());
}

TEST_F(TrainDriverTest, faultsAreMachineErrorsAndResumable) {
  for (const char *fault : {"--fail-io 9:eio", "--fail-io 9:short", "--fail-write 9:eio",
                            "--fail-write 9:enospc", "--fail-write 9:short", "--fail-write 0:eio"}) {
    Ran ran = spillwayTool(train("--steps 6 --lr 0.125 --no-shuffle --resume ") + fault);
    EXPECT_EQ(ran.code, 2) << ran.text;
    EXPECT_NE(ran.text.find("spillway: error: "), std::string::npos) << ran.text;
  }
  expectTrained("--resume --steps 6 --lr 0.125 --no-shuffle");
  EXPECT_TRUE(storedValues(6) == expectedAfter(6, 0.125).values);
}

/// Slow enough to be met on its way.
const std::string slowly = " --throttle-write 200kB/s";

TEST_F(TrainDriverTest, onlyOneProcessTrainsABundle) {
  StartedTool first(train("--steps 1000 --lr 0.01" + slowly));
  std::string message;
  for (int round = 0; round < 200 && message.empty(); ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    // Whose turn it is to be refused is known once a step is committed.
    if (Result<Store> store = Store::open(bundle.folder.path());
        store.ok() && store->lastCommit().step > 0)
      message = spillwayTool(train("--steps 2 --lr 0.01 --resume")).text;
  }
  EXPECT_NE(message.find("is trained or read by another process"), std::string::npos) << message;
  expectError("run " + bundle.folder.path().string(), 1, "is trained by another process");
  expectError("inspect --verify " + bundle.folder.path().string(), 1,
              "is trained by another process");
  EXPECT_EQ(spillwayTool("inspect " + bundle.folder.path().string()).code, 0);
  first.signal(SIGKILL);
  EXPECT_EQ(first.wait(), 128 + SIGKILL);
  EXPECT_EQ(spillwayTool("inspect --verify " + bundle.folder.path().string()).code, 0);
}

TEST_F(TrainDriverTest, aSignalEndsAfterTheStepInFlight) {
  for (bool keepsInMemory : {false, true})
    for (int number : {SIGINT, SIGTERM}) {
      reset(keepsInMemory);
      std::filesystem::remove(place("log.jsonl"));
      std::string recipe =
          "--steps 1000 --lr 0.01 --no-shuffle --log " + place("log.jsonl").string() + slowly;
      StartedTool tool(train(recipe));
      for (int round = 0; round < 3000 && logLines().empty(); ++round)
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      ASSERT_FALSE(logLines().empty()) << "no step in a minute";
      tool.signal(number);
      EXPECT_EQ(tool.wait(), 128 + number);
      std::vector<nlohmann::json> lines = logLines();
      uint64_t steps = lines.size();
      EXPECT_LT(steps, 1000u);
      EXPECT_EQ(lines.back()["committed"], true);
      EXPECT_TRUE(storedValues(steps) == expectedAfter(steps, 0.01).values);
    }
}

TEST_F(TrainDriverTest, aSignalEndsAnEvaluationAfterABatch) {
  // An evaluation takes longer than anybody waits here, and comes before the only commit.
  constexpr int64_t heldOut = 400'000;
  std::vector<int64_t> shape = {heldOut};
  ASSERT_TRUE(writeNpy(place("held.npy"), DataType::f32, shape, asBytes(makeFloats(heldOut, 78))).ok());
  StartedTool tool(train("--steps 1000 --lr 0.01 --no-shuffle --checkpoint-every 0 --eval-every 1 --throttle-read 4MB/s "
                         "--eval-data x=" + place("held.npy").string() + " --log " + place("log.jsonl").string()));
  for (int round = 0; round < 3000 && !std::filesystem::exists(place("log.jsonl")); ++round)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::this_thread::sleep_for(std::chrono::seconds(2));
  tool.signal(SIGTERM);
  EXPECT_EQ(tool.wait(), 128 + SIGTERM);
  std::vector<nlohmann::json> lines = logLines();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0]["committed"], true);
  EXPECT_FALSE(lines[0].contains("eval_loss"));
  EXPECT_TRUE(storedValues(1) == expectedAfter(1, 0.01).values);
}

TEST_F(TrainDriverTest, killedAtAnyInstantNothingButTheStepInFlightIsLost) {
  std::mt19937 random(3);
  constexpr uint64_t steps = 60;
  std::string recipe = "--steps 60 --lr 0.01 --no-shuffle --resume --log " +
                       place("log.jsonl").string() + " --throttle-write 4MB/s";
  int kills = 0, code = -1;
  uint64_t committed = 0;
  while (code != 0 && kills < 500) {
    StartedTool tool(train(recipe));
    std::this_thread::sleep_for(std::chrono::microseconds(20'000 + random() % 300'000));
    tool.signal(SIGKILL);
    code = tool.wait();
    kills += code != 0;
    Result<Store> store = Store::open(bundle.folder.path());
    ASSERT_TRUE(store.ok()) << store.error().message;
    ASSERT_GE(store->lastCommit().step, committed);
    committed = store->lastCommit().step;
    // What was told of is committed.
    if (std::vector<nlohmann::json> lines = logLines(); !lines.empty())
      ASSERT_LE(lines.back()["step"].get<uint64_t>(), committed);
    ASSERT_TRUE(storedValues(committed) == expectedAfter(committed, 0.01).values);
  }
  EXPECT_GT(kills, 3);
  EXPECT_EQ(committed, steps);
  std::vector<nlohmann::json> lines = logLines();
  ASSERT_EQ(lines.size(), steps);
  std::vector<float> losses = expectedAfter(steps, 0.01).losses;
  for (uint64_t step = 1; step <= steps; ++step) {
    EXPECT_EQ(lines[step - 1]["step"], step);
    EXPECT_EQ(lines[step - 1]["loss"].get<float>(), losses[step - 1]);
  }
}

} // namespace
