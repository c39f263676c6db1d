// The parts of a training that no device computes.
#include "runtime/base/Duration.h"
#include "runtime/train/DataSet.h"
#include "runtime/train/Recipe.h"
#include "runtime/train/SampleOrder.h"
#include "test/Unit/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

using namespace spillway;
using namespace spillway::test;

namespace {

TEST(SampleOrder, hasEachSampleOnceAnEpoch) {
  for (uint64_t count : {1u, 2u, 3u, 4u, 5u, 16u, 17u, 100u, 1000u, 65537u})
    for (uint64_t seed : {0u, 1u, 12345u}) {
      SampleOrder order(count, seed, true);
      for (uint64_t epoch : {uint64_t(0), uint64_t(1), uint64_t(1) << 30}) {
        std::vector<bool> seen(count);
        for (uint64_t place = 0; place < count; ++place) {
          uint64_t sample = order.at(epoch * count + place);
          ASSERT_LT(sample, count);
          EXPECT_FALSE(seen[sample]);
          seen[sample] = true;
        }
      }
    }
}

TEST(SampleOrder, dependsOnSeedAndEpochAlone) {
  auto orderOf = [](uint64_t seed, uint64_t epoch) {
    SampleOrder order(100, seed, true);
    std::vector<uint64_t> samples(100);
    // Whatever was asked for before.
    for (uint64_t place = 100; place-- > 0;)
      samples[place] = order.at(epoch * 100 + place);
    return samples;
  };
  EXPECT_EQ(orderOf(7, 3), orderOf(7, 3));
  std::set<std::vector<uint64_t>> orders;
  for (uint64_t seed : {0u, 1u, 2u})
    for (uint64_t epoch = 0; epoch < 10; ++epoch)
      orders.insert(orderOf(seed, epoch));
  EXPECT_EQ(orders.size(), 30u);
  SampleOrder asTheyLie(100, 7, false);
  for (uint64_t place : {0u, 99u, 100u, 250u})
    EXPECT_EQ(asTheyLie.at(place), place % 100);
}

/// Each sample comes at each place about equally often, and none has a fixed neighbour.
TEST(SampleOrder, looksRandom) {
  constexpr uint64_t count = 10, epochs = 20'000;
  SampleOrder order(count, 5, true);
  uint64_t places[count][count] = {}, followers[count][count] = {};
  for (uint64_t epoch = 0; epoch < epochs; ++epoch)
    for (uint64_t place = 0; place < count; ++place) {
      uint64_t sample = order.at(epoch * count + place);
      ++places[place][sample];
      if (place != 0)
        ++followers[order.at(epoch * count + place - 1)][sample];
    }
  // Six standard deviations of a binomial distribution.
  double mean = static_cast<double>(epochs) / count, spread = 6 * std::sqrt(mean * 0.9);
  for (uint64_t i = 0; i < count; ++i)
    for (uint64_t j = 0; j < count; ++j) {
      EXPECT_NEAR(static_cast<double>(places[i][j]), mean, spread) << i << " " << j;
      if (i != j)
        EXPECT_NEAR(static_cast<double>(followers[i][j]), mean, spread) << i << " " << j;
    }
}

TEST(Schedule, risesAndFalls) {
  Schedule constant{.rate = 0.1, .warmup = 4};
  EXPECT_EQ(constant.rateOf(1, 100), 0.1 / 4);
  EXPECT_EQ(constant.rateOf(3, 100), 0.1 * 3 / 4);
  EXPECT_EQ(constant.rateOf(4, 100), 0.1);
  EXPECT_EQ(constant.rateOf(100, 100), 0.1);
  Schedule linear{Schedule::Shape::linear, 0.1, 0.02, 10};
  EXPECT_EQ(linear.rateOf(10, 109), 0.1);
  EXPECT_DOUBLE_EQ(linear.rateOf(60, 109), 0.06);
  EXPECT_DOUBLE_EQ(linear.rateOf(109, 109), 0.0208);
  Schedule cosine{Schedule::Shape::cosine, 0.1, 0.02, 0};
  EXPECT_EQ(cosine.rateOf(1, 100), 0.1);
  EXPECT_DOUBLE_EQ(cosine.rateOf(51, 100), 0.06);
  EXPECT_DOUBLE_EQ(cosine.rateOf(26, 100), 0.02 + 0.08 * 0.5 * (1 + std::sqrt(0.5)));
  EXPECT_GT(cosine.rateOf(100, 100), 0.02);
  // The only step is made.
  EXPECT_EQ((Schedule{Schedule::Shape::linear, 0.1, 0, 1}.rateOf(1, 1)), 0.1);
  // A warm-up that is longer than the training.
  EXPECT_EQ((Schedule{Schedule::Shape::cosine, 0.1, 0, 10}.rateOf(5, 5)), 0.05);
}

TEST(LossScale, isHalvedByAnOverflowAndDoubledByManyGoodSteps) {
  LossScale scale{1024, 3};
  auto follow = [&](bool overflowed) {
    scale.follow(overflowed);
    return scale.value;
  };
  EXPECT_EQ(follow(false), 1024);
  EXPECT_EQ(follow(false), 1024);
  EXPECT_EQ(follow(true), 512);
  EXPECT_EQ(follow(true), 256);
  EXPECT_EQ(follow(false), 256);
  EXPECT_EQ(follow(false), 256);
  EXPECT_EQ(follow(false), 512);
  EXPECT_EQ(follow(false), 512);
  EXPECT_EQ(scale.goodSteps, 1u);
  EXPECT_EQ(scale.skipped, 2u);
  // An interval that is shorter than what has been.
  scale = {64, 2, 5};
  EXPECT_EQ(follow(false), 128);
}

TEST(Recipe, comesBackFromACommit) {
  Recipe recipe{123, {Schedule::Shape::cosine, 1.0 / 3, 1e-7, 45}, ~uint64_t(0), false, 6789, {0.75, 7, 5, 3}, ~uint64_t(1), "{\"step\": 1}"};
  Result<Recipe> parsed = parseRecipe(encodeRecipe(recipe));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->steps, 123u);
  EXPECT_EQ(parsed->schedule.shape, Schedule::Shape::cosine);
  EXPECT_EQ(parsed->schedule.rate, 1.0 / 3);
  EXPECT_EQ(parsed->schedule.leastRate, 1e-7);
  EXPECT_EQ(parsed->schedule.warmup, 45u);
  EXPECT_EQ(parsed->seed, ~uint64_t(0));
  EXPECT_FALSE(parsed->shuffles);
  EXPECT_EQ(parsed->samples, 6789u);
  EXPECT_EQ(parsed->lossScale.value, 0.75);
  EXPECT_EQ(parsed->lossScale.interval, 7u);
  EXPECT_EQ(parsed->lossScale.goodSteps, 5u);
  EXPECT_EQ(parsed->training, ~uint64_t(1));
  EXPECT_EQ(parsed->logLine, "{\"step\": 1}");
  EXPECT_EQ(parsed->lossScale.skipped, 3u);
  for (std::string text : {"", "{", "[1]", "{\"steps\": 1}"}) {
    Result<Recipe> damaged = parseRecipe(text);
    ASSERT_FALSE(damaged.ok());
    EXPECT_EQ(damaged.error().kind, ErrorKind::machine);
  }
}

class DataSetTest : public testing::Test {
protected:
  void write(const char *name, DataType type, std::vector<int64_t> shape) {
    uint64_t bytes = byteWidth(type);
    for (int64_t extent : shape)
      bytes *= static_cast<uint64_t>(extent);
    std::vector<std::byte> content(bytes);
    std::iota(reinterpret_cast<uint8_t *>(content.data()),
              reinterpret_cast<uint8_t *>(content.data()) + bytes, uint8_t(1));
    std::filesystem::path path = folder.path() / name;
    Status status = writeNpy(path, type, shape, content);
    ASSERT_TRUE(status.ok()) << status.error().message;
    files[name] = path;
    contents[name] = std::move(content);
  }

  Result<DataSet> open() { return DataSet::open(inputs, files, "data"); }
  std::string refusal() {
    Result<DataSet> data = open();
    return data.ok() ? "accepted" : data.error().message;
  }

  TemporaryFolder folder;
  std::map<std::string, std::filesystem::path> files;
  std::map<std::string, std::vector<std::byte>> contents;
  std::vector<Binding> inputs = {{"ids", DataType::i64, {4, 3}, {Tier::host, 0, 96}},
                                 {"labels", DataType::u8, {4}, {Tier::host, 96, 4}}};
};

TEST_F(DataSetTest, bringsTheSamplesOfAllInputsInStep) {
  write("ids", DataType::i64, {7, 3});
  write("labels", DataType::u8, {7});
  Result<DataSet> data = open();
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->samples(), 7u);
  EXPECT_EQ(data->batch(), 4u);
  std::map<std::string, std::vector<std::byte>> memory;
  std::vector<uint64_t> batch = {6, 0, 3, 6};
  Status status = data->load(batch, [&](const Binding &input) -> std::span<std::byte> {
    memory[input.name].resize(input.slice.bytes);
    return memory[input.name];
  });
  ASSERT_TRUE(status.ok()) << status.error().message;
  for (const auto &[name, width] : {std::pair("ids", 24u), {"labels", 1u}})
    for (size_t place = 0; place < batch.size(); ++place)
      EXPECT_TRUE(std::equal(memory[name].begin() + static_cast<long>(place * width),
                             memory[name].begin() + static_cast<long>((place + 1) * width),
                             contents[name].begin() + static_cast<long>(batch[place] * width)))
          << name << " " << place;
  std::filesystem::resize_file(files["ids"], 200);
  status = data->load(batch, [&](const Binding &input) { return std::span(memory[input.name]); });
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("input 'ids'"), std::string::npos);
  EXPECT_NE(status.error().message.find("became shorter"), std::string::npos);
}

TEST_F(DataSetTest, namesLabelsThatAreNoClasses) {
  inputs = {{"labels", DataType::i32, {1, 2, 3}, {Tier::host, 0, 24}, Classes{5, -100, 1}}};
  auto refusalOf = [&](std::vector<int32_t> labels) -> std::string {
    files["labels"] = folder.path() / "labels";
    Status status = writeNpy(files["labels"], DataType::i32, std::vector<int64_t>{2, 2, 3}, std::as_bytes(std::span(labels)));
    Result<DataSet> data = open();
    if (!status.ok() || !data.ok())
      return "not written";
    std::vector<std::byte> memory(24);
    status = data->load(std::vector<uint64_t>{1}, [&](const Binding &) { return std::span(memory); });
    return status.ok() ? "" : status.error().message;
  };
  // The first place is not looked at, nor are samples that do not come.
  EXPECT_EQ(refusalOf({-1, 9, 9, 9, 9, 9, 9, -7, 9, 0, 4, -100}), "");
  EXPECT_EQ(refusalOf({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0}),
            "input 'labels': sample 1 holds 5 at element 4; its labels are from 0 to 4, or -100");
  EXPECT_EQ(refusalOf({0, 0, 0, 0, 0, 0, 0, 0, 0, -1, 0, 0}),
            "input 'labels': sample 1 holds -1 at element 3; its labels are from 0 to 4, or -100");
  inputs[0].classes = Classes{5, 2, 0};
  EXPECT_EQ(refusalOf({0, 0, 0, 0, 0, 0, -100, 0, 0, 0, 0, 0}),
            "input 'labels': sample 1 holds -100 at element 0; its labels are from 0 to 4");
}

TEST_F(DataSetTest, namesWhatDoesNotFit) {
  write("ids", DataType::i64, {7, 3});
  EXPECT_EQ(refusal(), "missing data: labels u8[4] (give each as --data NAME=FILE.npy)");
  write("labels", DataType::u8, {6});
  EXPECT_EQ(refusal(), "the data of input 'ids' are 7 samples, those of 'labels' are 6");
  for (auto [type, shape] : {std::pair(DataType::u8, std::vector<int64_t>{7, 1}),
                             {DataType::u8, {}},
                             {DataType::i8, {7}}}) {
    write("labels", type, shape);
    EXPECT_NE(refusal().find("input 'labels' takes batches u8[4]; '"), std::string::npos)
        << refusal();
  }
  write("labels", DataType::u8, {0});
  write("ids", DataType::i64, {0, 3});
  EXPECT_EQ(refusal(), "the data of input 'ids' are no samples at all");
  inputs[1].shape = {2};
  write("labels", DataType::u8, {0});
  EXPECT_EQ(refusal(), "input 'ids' takes 4 samples a step, 'labels' takes 2");
  inputs = {{"rate", DataType::f32, {}, {Tier::host, 0, 4}}};
  EXPECT_EQ(refusal(), "input 'rate' is one number: it has no dimension of samples");
  inputs.clear();
  EXPECT_EQ(refusal(), "the model has no input that takes samples");
}

TEST(LongTime, hasTwoUnits) {
  EXPECT_EQ(formatLongTime(44.6), "45 s");
  EXPECT_EQ(formatLongTime(125), "2 min 5 s");
  EXPECT_EQ(formatLongTime(4800), "1 h 20 min");
  EXPECT_EQ(formatLongTime(4 * 3600 + 3 * 86400), "3 d 4 h");
}

} // namespace
