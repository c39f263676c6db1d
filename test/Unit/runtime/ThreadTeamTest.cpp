#include "runtime/base/ThreadTeam.h"

#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <cfenv>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace spillway;

namespace {

struct Part {
  int64_t first = 0, last = 0;
};

TEST(ThreadTeam, dividesEvenlyContiguouslyAndCompletely) {
  for (unsigned threads = 1; threads <= 5; ++threads) {
    auto team = ThreadTeam::create(threads);
    ASSERT_TRUE(team.ok());
    for (int64_t units : {0, 1, 2, 3, 4, 5, 7, 64, 1001}) {
      std::vector<Part> parts(threads);
      (*team)->run(100, 100 + units, [&](int64_t first, int64_t last, unsigned thread) {
        parts[thread] = {first, last};
      });
      int64_t next = 100, shortest = units, longest = 0;
      for (Part part : parts) {
        if (part.first == part.last)
          continue;
        EXPECT_EQ(part.first, next);
        next = part.last;
        shortest = std::min(shortest, part.last - part.first);
        longest = std::max(longest, part.last - part.first);
      }
      EXPECT_EQ(next, 100 + units);
      if (units > 1)
        EXPECT_LE(longest - shortest, 1);
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

TEST(ThreadTeam, runsEachPartOnceHoweverLateItsThreadComes) {
  // Most of so many threads come after the caller has run their parts.
  constexpr unsigned threads = 32;
  auto team = ThreadTeam::create(threads);
  ASSERT_TRUE(team.ok());
  std::array<int, threads> counters{};
  for (int round = 1; round <= 2'000; ++round) {
    (*team)->run(0, threads, [&](int64_t first, int64_t last, unsigned part) {
      EXPECT_EQ(last, first + 1);
      EXPECT_EQ(first, part);
      ++counters[part];
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
