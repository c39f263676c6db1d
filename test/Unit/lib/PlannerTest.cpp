// The search for a plan, on random steps: what fits stays inside, more memory never
// makes a slower step, and the least that is promised works.

#include "spillway/Plan/CarriedBytes.h"
#include "spillway/Plan/DriveTime.h"
#include "spillway/Plan/IntervalLayout.h"
#include "spillway/Plan/Planner.h"
#include "spillway/Plan/StagingRing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

using namespace spillway;
using namespace spillway::plan;

namespace {

class Random {
public:
  explicit Random(unsigned seed) : engine_(seed) {}
  uint64_t below(uint64_t bound) { return engine_() % bound; }

private:
  std::mt19937_64 engine_;
};

Step randomStep(unsigned seed, uint64_t ranks = 1) {
  Random random(seed);
  Step step;
  step.threads = 1 + random.below(4);
  step.activationBytes = 4096 * (1 + random.below(64));
  size_t states = 1 + random.below(20);
  for (size_t i = 0; i < states; ++i) {
    StepState state;
    state.name = "s" + std::to_string(i);
    state.units = 1 + random.below(64);
    state.unitBytes = 1024 << random.below(6);
    state.chunkUnits = state.unitBytes < 4096 ? 4096 / state.unitBytes : 1;
    state.tileable = random.below(3) != 0;
    state.group = static_cast<uint32_t>(i);
    if (state.units >= ranks * state.chunkUnits)
      state.ranks = ranks;
    step.states.push_back(state);
  }
  for (size_t i = 0; i < 30; ++i) {
    StepMoment moment;
    moment.name = "m" + std::to_string(i);
    if (random.below(8) == 0) {
      moment.lookupState = static_cast<uint32_t>(random.below(states));
      moment.lookupCount = 1 + random.below(100);
      moment.lookupPieceBytes = moment.lookupStagingBytes = 4096;
      moment.lookupResultBytes = 4096;
    } else {
      moment.cost = {static_cast<double>(random.below(20'000'000)), DataType::f32, 1e5};
      if (random.below(4) != 0)
        moment.states.push_back(static_cast<uint32_t>(random.below(states)));
    }
    moment.working = {{"x", step.activationBytes / (1 + random.below(3))}};
    step.moments.push_back(moment);
  }
  std::vector<uint64_t> taken;
  for (const StepMoment &moment : step.moments)
    taken.push_back(moment.workingBytes());
  step.room = SharedRoom(step.activationBytes, taken, taken.front());
  return step;
}

uint64_t takenBytes(const Step &step, const Placement &placement) {
  uint64_t resident = 0;
  for (size_t i = 0; i < step.states.size(); ++i)
    for (size_t tile = 0; tile < placement.homes[i].size(); ++tile)
      if (placement.homes[i][tile] == Home::compute) {
        uint64_t units = placement.tileUnits[i], all = step.states[i].units;
        resident += units ? step.states[i].extent(tile * units, std::min(all, (tile + 1) * units))
                          : step.states[i].extent();
      }
  EXPECT_EQ(resident, placement.residentBytes);
  return step.activationBytes + resident + placement.stagingBytes;
}

uint64_t allBytes(const Step &step) {
  uint64_t bytes = step.activationBytes;
  for (const StepState &state : step.states)
    bytes += state.extent();
  return bytes;
}

/// A chain of equal layers whose reads take as long as their computation.
Step balancedStep(const Machine &machine, uint64_t layers) {
  Step step;
  step.activationBytes = 1 << 20;
  for (uint64_t i = 0; i < layers; ++i) {
    StepState state{"w" + std::to_string(i), 64, 64 << 10, 1, true, static_cast<uint32_t>(i), 0};
    StepMoment moment;
    moment.name = "layer" + std::to_string(i);
    moment.states = {static_cast<uint32_t>(i)};
    double seconds = static_cast<double>(state.extent()) / machine.channels[1].bytesPerSecond;
    moment.cost = {seconds * machine.flopsPerThread.at(DataType::f32), DataType::f32, 0};
    step.states.push_back(state);
    step.moments.push_back(moment);
  }
  return step;
}

} // namespace

TEST(Planner, MoreMemoryIsNeverSlower) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    Step step = randomStep(seed);
    Machine machine;
    uint64_t least = minimumOf(step).bytes, most = allBytes(step) + 4096;
    double previous = 1e30;
    for (int i = 0; i <= 8; ++i) {
      Budget budget{std::max(least, least + (most - std::min(least, most)) * i / 8), {}};
      Result<Placement> placement = place(step, machine, budget);
      ASSERT_TRUE(placement.ok()) << seed << ": " << placement.error().message;
      EXPECT_LE(takenBytes(step, *placement), budget.compute) << seed;
      EXPECT_LE(placement->seconds, previous) << seed << " " << i;
      EXPECT_EQ(placement->seconds, *predict(step, machine, *placement, false)) << seed;
      previous = placement->seconds;
    }
  }
}

TEST(Planner, RanksStayInside) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    Step step = randomStep(seed, 2 + seed % 3);
    uint64_t least = minimumOf(step).bytes, most = allBytes(step) + 4096;
    for (bool hasHost : {false, true}) {
      double previous = 1e30;
      for (int i = 0; i <= 4; ++i) {
        Budget budget{std::max(least, least + (most - std::min(least, most)) * i / 4), {}};
        if (hasHost)
          budget.host = 4 * least + allBytes(step) / 4;
        Result<Placement> placement = place(step, {}, budget);
        ASSERT_TRUE(placement.ok()) << seed << ": " << placement.error().message;
        EXPECT_LE(takenBytes(step, *placement), budget.compute) << seed;
        EXPECT_LE(placement->hostResidentBytes + placement->hostStagingBytes,
                  budget.host.value_or(0));
        EXPECT_TRUE(hasHost || placement->seconds <= previous) << seed << " " << i;
        EXPECT_EQ(placement->seconds, *predict(step, {}, *placement, hasHost)) << seed;
        previous = placement->seconds;
      }
    }
    EXPECT_FALSE(place(step, {}, {least - 1, {}}).ok()) << seed;
  }
}

TEST(Planner, RanksReadTheirPartsOfWhatOneReadsWhole) {
  Machine machine;
  machine.channels[5] = {1e15, 0};
  Step one = balancedStep(machine, 40), four = one;
  for (StepMoment &moment : one.moments)
    moment.cost = {};
  four.moments = one.moments;
  for (StepState &state : four.states)
    state.ranks = 4;
  Budget budget{allBytes(one) / 8, {}};
  double alone = place(one, machine, budget)->seconds, shared = place(four, machine, budget)->seconds;
  EXPECT_LT(shared, 0.3 * alone);
  EXPECT_GT(shared, 0.2 * alone);
}

TEST(Planner, RewrittenStatesWithLookUpsStayWholeOrNotAtAll) {
  bool someStream = false, someStay = false;
  for (unsigned seed = 0; seed < 20; ++seed) {
    Step step = randomStep(seed);
    std::set<uint32_t> lookedUp;
    for (const StepMoment &moment : step.moments)
      if (moment.lookupState)
        lookedUp.insert(*moment.lookupState);
    for (StepMoment &moment : step.moments)
      moment.rewritten = moment.states;
    uint64_t least = minimumOf(step).bytes, most = allBytes(step) + 4096;
    double previous = 1e30;
    for (int i = 0; i <= 8; ++i) {
      Budget budget{std::max(least, least + (most - std::min(least, most)) * i / 8), {}};
      Result<Placement> placement = place(step, {}, budget);
      ASSERT_TRUE(placement.ok()) << seed << ": " << placement.error().message;
      EXPECT_LE(takenBytes(step, *placement), budget.compute) << seed;
      EXPECT_LE(placement->seconds, previous) << seed << " " << i;
      previous = placement->seconds;
      for (uint32_t state : lookedUp) {
        bool isTaken = std::ranges::any_of(step.moments, [&](const StepMoment &moment) {
          return std::ranges::find(moment.states, state) != moment.states.end();
        });
        const std::vector<Home> &homes = placement->homes[state];
        EXPECT_TRUE(!isTaken || std::ranges::count(homes, homes.front()) == std::ssize(homes)) << seed;
        someStream |= isTaken && homes.front() == Home::nvme;
        someStay |= isTaken && homes.front() == Home::compute && homes.size() > 1;
      }
    }
  }
  EXPECT_TRUE(someStream);
  EXPECT_TRUE(someStay);
}

TEST(Planner, RefusesLessThanTheMinimumAndNamesIt) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    Step step = randomStep(seed);
    Minimum minimum = minimumOf(step);
    Result<Placement> placement = place(step, {}, {minimum.bytes - 1, {}});
    ASSERT_FALSE(placement.ok()) << seed;
    EXPECT_EQ(placement.error().kind, ErrorKind::user);
    EXPECT_NE(placement.error().message.find(std::to_string(minimum.bytes)), std::string::npos);
    EXPECT_NE(placement.error().message.find(step.moments[minimum.floorMoment].name),
              std::string::npos);
  }
}

TEST(Planner, KeepsEverythingWhereThereIsRoom) {
  Step step = randomStep(1);
  Result<Placement> placement = place(step, {}, {allBytes(step), {}});
  ASSERT_TRUE(placement.ok());
  for (const auto &homes : placement->homes)
    for (Home home : homes)
      EXPECT_EQ(home, Home::compute);
  EXPECT_EQ(placement->stagingBytes, 0u);
}

TEST(Planner, HidesTransfersThatTakeAsLongAsTheComputation) {
  Machine machine;
  Step step = balancedStep(machine, 100);
  double compute = 0;
  for (const StepMoment &moment : step.moments)
    compute += launchSeconds(machine, moment.cost, 1, 1);
  for (uint64_t share : {10, 6}) {
    Result<Placement> placement = place(step, machine, {allBytes(step) / share, {}});
    ASSERT_TRUE(placement.ok());
    EXPECT_LE(placement->seconds, 1.03 * compute) << share;
  }
}

TEST(Planner, ThreeTiersStayInside) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    Step step = randomStep(seed / 2);
    bool trains = seed % 2;
    if (trains)
      for (StepMoment &moment : step.moments)
        moment.rewritten = moment.states;
    Minimum minimum = minimumOf(step);
    uint64_t all = allBytes(step);
    for (Budget budget : {Budget{minimum.bytes, minimum.hostBytes}, {minimum.bytes + all / 8, all / 4 + 4 * minimum.hostBytes}}) {
      Result<Placement> placement = place(step, {}, budget);
      ASSERT_TRUE(placement.ok()) << seed << placement.error().message;
      EXPECT_LE(takenBytes(step, *placement), budget.compute);
      EXPECT_LE(placement->hostResidentBytes + placement->hostStagingBytes + placement->hostOutgoingBytes, *budget.host);
      EXPECT_EQ(placement->hostOutgoingBytes > 0, trains);
      EXPECT_EQ(placement->seconds, *predict(step, {}, *placement, true)) << seed;
    }
  }
}

TEST(Planner, TilesFillTheSmallestStaging) {
  Step step;
  step.activationBytes = 4096;
  step.states = {{"coarse", 16, 256 << 10, 1, true, 0, 0}, {"fine", 256, 16 << 10, 1, true, 1, 0}};
  for (uint32_t state : {0, 1}) {
    StepMoment moment;
    moment.states = {state};
    moment.cost = {1e8, DataType::f32, 0};
    step.moments.push_back(moment);
  }
  Minimum minimum = minimumOf(step);
  EXPECT_EQ(minimum.bytes, 4096u + (256 << 10));
  Result<Placement> placement = place(step, {}, {minimum.bytes, {}});
  ASSERT_TRUE(placement.ok());
  EXPECT_EQ(placement->tileUnits[0], 1u);
  EXPECT_GE(placement->tileUnits[1], 4u);
}

TEST(Planner, NamesTheSmallestTiersThatWork) {
  for (unsigned seed = 0; seed < 15; ++seed) {
    Step step = randomStep(seed);
    Minimum minimum = minimumOf(step);
    Result<Placement> placement = place(step, {}, {minimum.bytes, minimum.hostBytes});
    ASSERT_TRUE(placement.ok()) << seed << placement.error().message;
    for (Budget budget : {Budget{minimum.bytes - 1, minimum.hostBytes},
                          Budget{minimum.bytes, minimum.hostBytes - 1}}) {
      placement = place(step, {}, budget);
      ASSERT_FALSE(placement.ok()) << seed;
      EXPECT_NE(placement.error().message.find(fmt::format("device={} and host={} bytes", minimum.bytes,
                                                           minimum.hostBytes)),
                std::string::npos)
          << placement.error().message;
    }
  }
}

/// What is large before and after, but not in between, lies on top of what lives all the time.
TEST(IntervalLayout, LeavesTheUpperBytesFreeWhereTheyAreNotNeeded) {
  std::vector<Interval> intervals = {{.bytes = 1000, .alignment = 8, .first = 0, .last = 1},
                                     {.bytes = 1000, .alignment = 8, .first = 90, .last = 91}};
  for (int64_t i = 0; i < 10; ++i)
    intervals.push_back({.bytes = 8, .alignment = 8, .first = i, .last = 90 - i});
  IntervalLayout layout = layoutIntervals(intervals);
  EXPECT_EQ(layout.bytes, 1016u);
  for (size_t i = 2; i < intervals.size(); ++i)
    EXPECT_LE(layout.offsets[i], 72u);
}

TEST(IntervalLayout, NothingThatLivesTogetherOverlaps) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    Random random(seed);
    std::vector<Interval> intervals;
    for (int i = 0; i < 100; ++i) {
      auto first = static_cast<int64_t>(random.below(200));
      intervals.push_back({random.below(10000), 64, first,
                           first + static_cast<int64_t>(random.below(20))});
    }
    IntervalLayout layout = layoutIntervals(intervals);
    EXPECT_GE(layout.bytes, peakLiveBytes(intervals));
    EXPECT_LE(layout.bytes, peakLiveBytes(intervals) * 5 / 4);
    for (size_t a = 0; a < intervals.size(); ++a) {
      EXPECT_EQ(layout.offsets[a] % 64, 0u);
      EXPECT_LE(layout.offsets[a] + intervals[a].bytes, layout.bytes);
      for (size_t b = 0; b < a; ++b)
        if (intervals[a].first <= intervals[b].last && intervals[b].first <= intervals[a].last)
          EXPECT_TRUE(layout.offsets[a] + intervals[a].bytes <= layout.offsets[b] ||
                      layout.offsets[b] + intervals[b].bytes <= layout.offsets[a]);
    }
  }
}

TEST(StagingRing, ASlotNamesTheLastOneInItsWay) {
  StagingRing ring(4 * 4096);
  EXPECT_EQ(ring.place(2 * 4096, {.number = 0})->after, -1);
  EXPECT_EQ(ring.place(2 * 4096, {.number = 1})->offset, 2u * 4096);
  auto third = ring.place(3 * 4096, {.number = 2});
  EXPECT_EQ(third->offset, 0u);
  EXPECT_EQ(third->after, 1);
  auto fourth = ring.place(1, {.number = 3});
  EXPECT_EQ(fourth->offset, 3u * 4096);
  EXPECT_EQ(fourth->after, -1);
  EXPECT_FALSE(ring.place(5 * 4096, {.number = 4}).has_value());
}

TEST(SharedRoom, TellsTheMostThatIsTaken) {
  Random random(3);
  std::vector<uint64_t> taken(70);
  for (uint64_t &at : taken)
    at = random.below(100) * 4096;
  SharedRoom room(99 * 4096 - 5, taken, 5 * 4096);
  EXPECT_EQ(room.bytes(), 99u * 4096);
  for (size_t first = 0; first < taken.size(); ++first) {
    EXPECT_EQ(room.takenBytesFrom(static_cast<int64_t>(first)),
              std::max<uint64_t>(5 * 4096, *std::max_element(taken.begin() + static_cast<ptrdiff_t>(first), taken.end())));
    for (size_t last = first; last < taken.size(); ++last)
      EXPECT_EQ(room.takenBytes(static_cast<int64_t>(first), static_cast<int64_t>(last)),
                *std::max_element(taken.begin() + static_cast<ptrdiff_t>(first), taken.begin() + static_cast<ptrdiff_t>(last) + 1));
  }
  EXPECT_EQ(room.takenBytesFrom(70), 5u * 4096);
  EXPECT_EQ(SharedRoom(8000, {1, 5000}, 0).takenBytes(0, 1), 8192u);
}

TEST(CarriedBytes, areTakenOnce) {
  CarriedBytes carried;
  carried.add(10, 20, 0);
  carried.add(20, 40, 1);
  // What lies over others has waited for them.
  carried.add(15, 25, 2);
  EXPECT_EQ(carried.find(0, 100), (std::vector<uint32_t>{0, 2, 1}));
  EXPECT_EQ(carried.find(15, 25), (std::vector<uint32_t>{2}));
  EXPECT_TRUE(carried.find(40, 50).empty());
  EXPECT_TRUE(carried.find(12, 12).empty());
  // The rest of what is cut stays.
  EXPECT_EQ(carried.take(18, 30), (std::vector<uint32_t>{2, 1}));
  EXPECT_TRUE(carried.take(18, 30).empty());
  EXPECT_EQ(carried.take(0, 100), (std::vector<uint32_t>{0, 2, 1}));
  EXPECT_TRUE(carried.find(0, 100).empty());
}

/// A slot begins low only where the room is free from when what it waits for has ended until its user has, or until the
/// next step.
TEST(StagingRing, SlotsShareWhatIsFreeBelow) {
  int64_t inRoom = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    Random random(seed);
    std::vector<uint64_t> taken(1 + random.below(60));
    for (uint64_t &at : taken)
      at = 4096 * random.below(17);
    uint64_t between = 4096 * random.below(17);
    SharedRoom room(16 * 4096, taken, between);
    constexpr uint64_t ringBlocks = 12;
    StagingRing ring(ringBlocks * 4096, &room);
    struct Placed {
      uint64_t begin, end;
      int64_t number, moment;
      bool endsMoment;
    };
    std::vector<Placed> placed;
    int64_t number = 0, waited = -1;
    for (int64_t moment = 0; moment < static_cast<int64_t>(taken.size()); ++moment)
      for (uint64_t parts = random.below(4); parts > 0; --parts, ++number) {
        uint64_t bytes = 4096 * (1 + random.below(ringBlocks));
        auto share = static_cast<StagingRing::Share>(random.below(3));
        auto slot = ring.place(bytes, {number, moment, parts == 1, share});
        ASSERT_TRUE(slot.has_value());
        Placed now{slot->offset, slot->offset + bytes, number, moment, parts == 1};
        ASSERT_LE(now.end, (16 + ringBlocks) * 4096);
        if (now.begin < room.bytes()) {
          ++inRoom;
          ASSERT_NE(share, StagingRing::Share::no);
          const Placed *after = slot->after < 0 ? nullptr : &placed[static_cast<size_t>(slot->after)];
          int64_t since = after ? after->moment + after->endsMoment : 0;
          ASSERT_LE(share == StagingRing::Share::whileUsed ? room.takenBytes(since, moment) : room.takenBytesFrom(since), now.begin);
        }
        // Slots are filled in their order, so what an earlier one has waited for is done.
        waited = std::max(waited, slot->after);
        for (const Placed &before : placed)
          if (before.begin < now.end && now.begin < before.end)
            ASSERT_LE(before.number, waited);
        placed.push_back(now);
      }
  }
  EXPECT_GT(inRoom, 1000);
}

TEST(Machine, ReadsAndWritesShareTheDrive) {
  Machine machine;
  machine.channels[1].bytesPerSecond = 2e9;
  machine.channels[2].bytesPerSecond = 4e9;
  auto seconds = [&](double bytesRead, double bytesWritten) {
    return driveSeconds(machine, {bytesRead, bytesRead / 2e9}, {bytesWritten, bytesWritten / 4e9});
  };
  EXPECT_EQ(seconds(6e9, 2e9), 0);
  machine.driveBytesPerSecond = 4e9;
  EXPECT_EQ(seconds(6e9, 2e9), 1 + 2);
  EXPECT_EQ(seconds(2e9, 6e9), 1 + 1);
  EXPECT_EQ(seconds(6e9, 0), 0);
  // Many small transfers keep it for longer than their bytes.
  EXPECT_EQ(driveSeconds(machine, {6e9, 3 + 0.25}, {2e9, 0.5 + 0.125}), 1 + 2 + 0.375);
  // Faster one after the other.
  machine.driveBytesPerSecond = 1e9;
  EXPECT_EQ(seconds(6e9, 2e9), 1 + 0.5 + 2);
}

/// Reads at 2 and writes at 4 GB/s, in 3/4 of the time that both take one after the other.
TEST(DriveTime, GivesWhatEarlierTransfersHaveLeft) {
  Machine machine;
  machine.channels[1].bytesPerSecond = 2e9;
  machine.channels[2].bytesPerSecond = 4e9;
  DriveTime unknown(machine);
  EXPECT_EQ(unknown.take(1, 2), 3);
  EXPECT_EQ(unknown.take(1, 2), 3);
  EXPECT_EQ(unknown.endOf(1, 2), 3);
  machine.driveBytesPerSecond = 32e9 / 9;
  DriveTime drive(machine);
  // Busy in [1, 4), [10, 13), and the gap between them.
  EXPECT_DOUBLE_EQ(drive.take(1, 4), 5);
  EXPECT_DOUBLE_EQ(drive.take(10, 4), 14);
  EXPECT_DOUBLE_EQ(drive.endOf(2, 4), 7);
  EXPECT_DOUBLE_EQ(drive.endOf(2, 0), 2);
  EXPECT_DOUBLE_EQ(drive.take(2, 0), 2);
  EXPECT_DOUBLE_EQ(drive.endOf(2, 8), 10);
  EXPECT_DOUBLE_EQ(drive.endOf(2, 12), 16);
  EXPECT_DOUBLE_EQ(drive.take(2, 12), 16);
  EXPECT_DOUBLE_EQ(drive.endOf(0, 1), 1);
  EXPECT_DOUBLE_EQ(drive.endOf(0, 2), 16.5);
  drive.startAt(15);
  EXPECT_DOUBLE_EQ(drive.endOf(0, 0.5), 1.375);
}

TEST(Machine, ReadsWhatItPrints) {
  Machine machine;
  machine.channels[1] = {4e8, 0};
  machine.driveBytesPerSecond = 1e9;
  Result<Machine> again = Machine::parse(machine.print());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->print(), machine.print());
  EXPECT_FALSE(Machine::parse("{\"flops\": 1}").ok());
  EXPECT_FALSE(Machine::parse("{\"launch_seconds\": -1}").ok());
  EXPECT_FALSE(Machine::parse("[").ok());
}
