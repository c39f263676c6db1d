// What every implementation of Communicator keeps.
#include "runtime/comm/Communicator.h"
#include "runtime/device/cpu/CpuDevice.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <thread>

using namespace spillway;

namespace {

using Ranks = std::vector<std::unique_ptr<Communicator>>;

/// Runs `body` in a thread for each rank, with a stream of its own.
void forEachRank(Ranks &ranks, const std::function<void(Communicator &, DeviceStream &)> &body) {
  std::vector<std::jthread> threads;
  for (auto &rank : ranks)
    threads.emplace_back([&body, &rank] {
      auto team = ThreadTeam::create(1);
      ASSERT_TRUE(team.ok());
      auto device = createCpuDevice(**team);
      auto stream = device->createStream(false);
      ASSERT_TRUE(stream.ok());
      body(*rank, **stream);
    });
}

class CommunicatorTest : public testing::TestWithParam<uint32_t> {
protected:
  /// 0 stands for the self implementation.
  static Ranks make() {
    if (GetParam() != 0)
      return createInProcessCommunicators(GetParam());
    Ranks ranks;
    ranks.push_back(createSelfCommunicator());
    return ranks;
  }
};

TEST_P(CommunicatorTest, gathersInRankOrder) {
  Ranks ranks = make();
  auto size = static_cast<uint32_t>(ranks.size());
  forEachRank(ranks, [&](Communicator &communicator, DeviceStream &stream) {
    ASSERT_EQ(communicator.size(), size);
    for (int round = 0; round < 50; ++round)
      for (uint64_t bytes : {0u, 1u, 100u, 100'000u}) {
        std::vector<std::byte> source(bytes, std::byte(communicator.rank() * 7 + round));
        std::vector<std::byte> target(bytes * size);
        Status status = communicator.allGather(stream, source.data(), target.data(), bytes);
        ASSERT_TRUE(status.ok()) << status.error().message;
        for (uint32_t rank = 0; rank < size; ++rank)
          for (uint64_t i = 0; i < bytes; i += 13)
            ASSERT_EQ(target[rank * bytes + i], std::byte(rank * 7 + round));
        // The own source may change as soon as the call returns.
        std::ranges::fill(source, std::byte(255));
      }
  });
}

TEST_P(CommunicatorTest, gathersInPlace) {
  Ranks ranks = make();
  auto size = static_cast<uint32_t>(ranks.size());
  forEachRank(ranks, [&](Communicator &communicator, DeviceStream &stream) {
    std::vector<uint32_t> target(size * 64, ~0u);
    uint32_t *own = target.data() + communicator.rank() * 64;
    std::iota(own, own + 64, communicator.rank() * 64);
    auto *bytes = reinterpret_cast<std::byte *>(target.data());
    ASSERT_TRUE(
        communicator.allGather(stream, bytes + communicator.rank() * 256, bytes, 256).ok());
    for (uint32_t i = 0; i < target.size(); ++i)
      ASSERT_EQ(target[i], i);
  });
}

INSTANTIATE_TEST_SUITE_P(Worlds, CommunicatorTest, testing::Values(0, 1, 2, 3, 8));

TEST(InProcessCommunicator, aRankThatDoesNotComeIsNamed) {
  Ranks ranks = createInProcessCommunicators(3, std::chrono::milliseconds(50));
  forEachRank(ranks, [&](Communicator &communicator, DeviceStream &stream) {
    if (communicator.rank() == 1)
      return;
    std::byte source{}, target[3];
    Status status = communicator.allGather(stream, &source, target, 1);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().kind, ErrorKind::machine);
    EXPECT_NE(status.error().message.find("rank 1 did not come"), std::string::npos)
        << status.error().message;
  });
}

TEST(InProcessCommunicator, anAbortEndsTheWaitOfOthersWithItsCause) {
  Ranks ranks = createInProcessCommunicators(3);
  forEachRank(ranks, [&](Communicator &communicator, DeviceStream &stream) {
    if (communicator.rank() == 1)
      return communicator.abort(userError("h.0.w: no such row"));
    std::byte source{}, target[3];
    for (int call = 0; call < 2; ++call) {
      Status status = communicator.allGather(stream, &source, target, 1);
      ASSERT_FALSE(status.ok());
      EXPECT_EQ(status.error().kind, ErrorKind::user);
      EXPECT_EQ(status.error().message, "rank 1: h.0.w: no such row");
      // Only the first abort counts.
      communicator.abort(status.error());
    }
  });
}

} // namespace
