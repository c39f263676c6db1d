#include "runtime/device/cpu/DivideRange.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <barrier>
#include <cfenv>
#include <map>
#include <mutex>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace spillway;

namespace {

TEST(ThreadTeam, dividesEvenlyAndCompletely) {
  for (unsigned threads = 1; threads <= 5; ++threads) {
    auto team = ThreadTeam::create(threads);
    ASSERT_TRUE(team.ok());
    for (int64_t units : {0, 1, 2, 3, 4, 5, 7, 64, 1001}) {
      std::vector<std::atomic<int>> counters(static_cast<size_t>(units));
      std::atomic<int64_t> shortest = units, longest = 0;
      (*team)->run(100, 100 + units, [&](int64_t first, int64_t last, unsigned thread) {
        EXPECT_LT(thread, threads);
        EXPECT_LT(first, last);
        for (int64_t unit = first; unit < last; ++unit)
          ++counters[static_cast<size_t>(unit - 100)];
        for (int64_t least = shortest; last - first < least && !shortest.compare_exchange_weak(least, last - first);) {
        }
        for (int64_t most = longest; last - first > most && !longest.compare_exchange_weak(most, last - first);) {
        }
      });
      for (const std::atomic<int> &counter : counters)
        EXPECT_EQ(counter, 1);
      if (units > 1)
        EXPECT_LE(longest - shortest, 1);
      if (threads > 1)
        EXPECT_LE(longest, std::max<int64_t>(1, (units + threads - 1) / threads));
    }
  }
}

// Whatever the number of parts and threads, each unit is computed once in each part, and parts are cut only where they are too few.
TEST(DivideRange, givesEachUnitOfEachPartOnce) {
  for (unsigned threads = 1; threads <= 5; ++threads) {
    auto team = ThreadTeam::create(threads);
    ASSERT_TRUE(team.ok());
    for (int64_t most : {1, 2, 3, 4, 5, 8, 100})
      for (int64_t units : {1, 2, 7, 64}) {
        SCOPED_TRACE(testing::Message() << threads << " threads, " << most << " parts, " << units << " units");
        std::mutex mutex;
        std::map<std::pair<int64_t, int64_t>, int> computed;
        int64_t parts = 0;
        bool isCut = false;
        divideRange(**team, 10, 10 + units, most, [&](const KernelRange &range, unsigned thread) {
          std::lock_guard lock(mutex);
          EXPECT_LT(thread, threads);
          parts = range.parts;
          isCut |= range.end - range.begin < units;
          for (int64_t unit = range.begin; unit < range.end; ++unit)
            ++computed[{unit, range.part}];
        });
        EXPECT_LE(parts, most);
        EXPECT_EQ(isCut, threads > 1 && parts < (*team)->pieces() && units > 1);
        EXPECT_EQ(computed.size(), static_cast<size_t>(units * parts));
        for (auto [place, times] : computed) {
          EXPECT_TRUE(place.first >= 10 && place.first < 10 + units && place.second >= 0 && place.second < parts);
          EXPECT_EQ(times, 1);
        }
      }
  }
}

TEST(ThreadTeam, runsManyPiecesInARow) {
  auto team = ThreadTeam::create(4);
  ASSERT_TRUE(team.ok());
  std::vector<int64_t> counters(64);
  for (int round = 0; round < 20'000; ++round)
    (*team)->run(0, 64, [&](int64_t first, int64_t last, unsigned) {
      for (int64_t i = first; i < last; ++i)
        ++counters[i];
    });
  for (int64_t counter : counters)
    EXPECT_EQ(counter, 20'000);
}

TEST(ThreadTeam, runsEachPieceOnceHoweverLateItsThreadComes) {
  // Most of so many threads come after the caller has run their pieces.
  constexpr unsigned threads = 32;
  auto team = ThreadTeam::create(threads);
  ASSERT_TRUE(team.ok());
  std::array<int, threads> counters{};
  for (int round = 1; round <= 2'000; ++round) {
    (*team)->run(0, threads, [&](int64_t first, int64_t last, unsigned) {
      EXPECT_EQ(last, first + 1);
      ++counters[static_cast<size_t>(first)];
    });
    for (int counter : counters)
      ASSERT_EQ(counter, round);
  }
}

#if defined(__x86_64__)
TEST(ThreadTeam, workersKeepDenormalsWhateverTheirCreatorHasSet) {
  unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040); // FTZ and DAZ
  auto team = ThreadTeam::create(3);
  _mm_setcsr(before);
  ASSERT_TRUE(team.ok());
  std::array<unsigned, 3> control{};
  std::barrier everyThread(3);
  (*team)->run(0, 3, [&](int64_t, int64_t, unsigned part) {
    control[part] = _mm_getcsr();
    everyThread.arrive_and_wait();
  });
  for (unsigned word : control) {
    EXPECT_EQ(word & 0x8040, 0u);
    EXPECT_EQ(word & 0x6000, 0u);
  }
}

TEST(FloatingPointEnvironment, isSetForTheCallingThread) {
  _mm_setcsr(_mm_getcsr() | 0x8040 | 0x2000);
  setFloatingPointEnvironment();
  EXPECT_EQ(_mm_getcsr() & 0xe040, 0u);
}
#endif

} // namespace
