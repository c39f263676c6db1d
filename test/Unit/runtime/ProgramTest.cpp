#include "runtime/executor/Program.h"
#include "runtime/table/table_generated.h"
#include "test/Unit/runtime/EmptyCommits.h"
#include "test/Unit/runtime/Encode.h"
#include "test/Unit/runtime/FlatBufferDamage.h"
#include "test/Unit/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

using namespace spillway;
using namespace spillway::test;

namespace {

template <typename T> T &operationOf(Command &command) { return std::get<T>(command.operation); }

/// A program with one command of each kind, over a store with a state of two
/// chunks, a linked one, and one of two chunks that is rewritten: the first by the step.
class ProgramTest : public testing::Test {
protected:
  void SetUp() override {
    writeBytes(folder.path() / "states.bin", std::vector<std::byte>(32768));
    writeBytes(folder.path() / commitsName, emptyCommits(2));
    linkedPath = folder.path() / "model.onnx";
    writeBytes(linkedPath, std::vector<std::byte>(1000));
    std::vector<StoreFile> files = {{"states.bin", false, 32768, 0}, {linkedPath, true, 1000, 0}};
    files[1].modifiedNs = static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(
            std::chrono::file_clock::to_sys(std::filesystem::last_write_time(linkedPath))
                .time_since_epoch())
            .count());
    std::vector<StateView> states = {
        {{"w", DataType::f32, {30, 64}, Layout::panels, 0, 16}, 0, 0, 4096, {1, 2}},
        {{"l", DataType::f32, {10, 4}, Layout::rowMajor, 0, 0}, 1, 120, 0, {}},
        {{"s", DataType::f32, {}, Layout::rowMajor, 0, 0}, 0, 8192, 4096, {3}},
        {{"c", DataType::f32, {64, 30}, Layout::panels, 1, 16}, 0, 8192, 4096, {1, 2}},
        {{"lp", DataType::f32, {10, 4}, Layout::panels, 1, 16}, 1, 120, 0, {}},
        {{"r", DataType::f32, {32, 64}}, 0, 16384, 4096, {1, 2}, 24576}};
    Result<Store> parsed = Store::parse(encodeStoreIndex(files, states), folder.path());
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    store = *parsed;

    program.threads = 2;
    program.arenaBytes = {65536, 65536};
    program.scratchBytes = 16384;
    program.kernels = {"k"};
    program.inputs = {{"ids", DataType::i64, {1, 4}, {Tier::host, 0, 32}}};
    program.outputs = {{"y", DataType::f32, {4, 64}, {Tier::host, 4096, 1024}}};
    program.prologue = {
        {ReadOperation{.state = 0, .bytes = 8192, .target = {Tier::host, 8192, 8192}},
         StreamKind::read,
         {},
         "w"}};
    program.step = {
        {LookupOperation{.indices = {Tier::host, 0, 32},
                         .target = {Tier::host, 4096, 1024},
                         .resident = {},
                         .staging = {Tier::host, 16384, 4096}},
         StreamKind::read,
         {},
         "lookup"},
        {LaunchOperation{.arguments = {{{Tier::host, 4096, 1024}, 0}},
                         .end = 4,
                         .scratch = {Tier::host, 20480, 256},
                         .scratchPerThread = 128},
         StreamKind::compute,
         {0},
         "kernel"},
        {CopyOperation{{Tier::host, 4096, 1024}, {Tier::device, 0, 1024}},
         StreamKind::copyUp,
         {1},
         "copy"},
        {AllGatherOperation{{Tier::device, 0, 1024}, {Tier::device, 0, 1024}},
         StreamKind::communicate,
         {2},
         "gather"},
        {ReadOperation{.state = 1, .offset = 8, .bytes = 100, .target = {Tier::host, 24704, 100}},
         StreamKind::read,
         {0, 3},
         "linked read"},
        {LookupOperation{.indices = {Tier::host, 0, 32},
                         .target = {Tier::host, 4096, 1024},
                         .fromArena = true,
                         .resident = {Tier::host, 8192, 8192},
                         .staging = {}},
         StreamKind::compute,
         {4},
         "resident lookup"},
        {WriteOperation{.state = 5, .bytes = 4096, .source = {Tier::host, 32768, 4096}},
         StreamKind::write,
         {},
         "write"},
        {OffloadOperation{{Tier::host, 40960, 5000}, {Tier::nvme, 4096, 5000}},
         StreamKind::write,
         {},
         "offload"},
        {RestoreOperation{{Tier::nvme, 4096, 5000}, {Tier::host, 49152, 5000}},
         StreamKind::read,
         {7},
         "restore"},
    };
    program.checkpoint = {
        {WriteOperation{
             .state = 5, .offset = 4096, .bytes = 4096, .source = {Tier::device, 4096, 4096}},
         StreamKind::write,
         {},
         "checkpoint"}};
  }

  Result<Program> parse() { return Program::parse(encode(program, options), store); }
  std::string refusal() {
    Result<Program> parsed = parse();
    return parsed.ok() ? "accepted" : parsed.error().message;
  }

  TemporaryFolder folder;
  std::filesystem::path linkedPath;
  Store store;
  Program program;
  EncodeOptions options;
};

TEST_F(ProgramTest, readsWhatWasEncoded) {
  Result<Program> parsed = parse();
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->threads, 2u);
  EXPECT_EQ(parsed->inputs[0].name, "ids");
  EXPECT_EQ(parsed->step.size(), 9u);
  EXPECT_EQ(parsed->scratchBytes, 16384u);
  EXPECT_EQ(parsed->offloads(), 1u);
  EXPECT_EQ(operationOf<WriteOperation>(parsed->checkpoint[0]).offset, 4096u);
  EXPECT_TRUE(parsed->writesStates());
  EXPECT_EQ(parsed->step[4].waits, (std::vector<uint32_t>{0, 3}));
  EXPECT_EQ(parsed->step[4].label, "linked read");
  EXPECT_EQ(operationOf<LookupOperation>(parsed->step[0]).stagingPieceBytes, 4096u);
  EXPECT_EQ(plannedReadBytes(parsed->prologue), 8192u);
  // The bytes of the linked read lie in one block.
  EXPECT_EQ(plannedReadBytes(parsed->step), 4u * 4096 + 4096 + 8192);
  EXPECT_EQ(plannedWriteBytes(parsed->step), 4096u + 8192);
}

TEST_F(ProgramTest, whatComesBackIsWhatWasLastPutThere) {
  Slice memory{Tier::host, 40960, 5000}, place{Tier::nvme, 4096, 5000};
  program.step.push_back({OffloadOperation{memory, place}, StreamKind::write, {8}, "again"});
  program.step.push_back({RestoreOperation{place, memory}, StreamKind::read, {9}, "back"});
  Result<Program> parsed = parse();
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->offloads(), 2u);
  EXPECT_EQ(operationOf<RestoreOperation>(parsed->step[8]).number, 0u);
  EXPECT_EQ(operationOf<RestoreOperation>(parsed->step[10]).number, 1u);
  // The end of a longer value before it, or its own start, is no more of it.
  for (uint64_t offset : {uint64_t(0), uint64_t(8192)}) {
    operationOf<OffloadOperation>(program.step[9]).target.offset = offset;
    EXPECT_NE(refusal().find("command 10 of the step (back) takes what no command"),
              std::string::npos)
        << refusal();
  }
}

TEST_F(ProgramTest, takesTilesWhereTheKernelDoes) {
  auto isTaken = [&](TakenArgument taken, int64_t begin, int64_t end, int64_t origin,
                     int64_t units) {
    options.kernelArguments = {taken};
    LaunchOperation &launch = operationOf<LaunchOperation>(program.step[1]);
    launch.begin = begin;
    launch.end = end;
    launch.arguments[0].origin = origin;
    launch.arguments[0].units = units;
    return refusal();
  };
  // 1024 bytes are four units; the last of all has 200 bytes.
  EXPECT_EQ(isTaken({4040, 256, true}, 8, 12, 8, 0), "accepted");
  EXPECT_EQ(isTaken({4040, 256, true}, 9, 11, 8, 0), "accepted");
  EXPECT_EQ(isTaken({1000, 256, true}, 0, 4, 0, 0), "accepted");
  EXPECT_EQ(isTaken({5064, 256, true}, 16, 20, 16, 0), "accepted");
  EXPECT_EQ(isTaken({4040, 256, false}, 0, 1, 12, 4), "accepted");
}

TEST_F(ProgramTest, dividesOnlyLaunchesThatAreWorthIt) {
  auto isDivided = [&](int64_t units, uint64_t flops) {
    options.kernelUnits = units;
    options.kernelFlops = flops;
    Result<Program> parsed = parse();
    EXPECT_TRUE(parsed.ok()) << parsed.error().message;
    return operationOf<LaunchOperation>(parsed->step[1]).isDivided;
  };
  EXPECT_TRUE(isDivided(4, 1'000'000));
  EXPECT_FALSE(isDivided(4, 10'000));
  // It computes 4 units of these.
  EXPECT_FALSE(isDivided(1000, 1'000'000));
  EXPECT_TRUE(isDivided(1000, 1'000'000'000));
}

TEST_F(ProgramTest, readsIntoHowManyPartsLaunchesMayBeDivided) {
  options.kernelParts = 8;
  Result<Program> parsed = parse();
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(operationOf<LaunchOperation>(parsed->step[1]).parts, 8);
  options.kernelParts = 0;
  EXPECT_NE(refusal().find("may be divided into 0 parts"), std::string::npos) << refusal();
}

using Damage = std::function<void(Program &, EncodeOptions &)>;

TEST_F(ProgramTest, refusesEachContradiction) {
  auto read = [](Program &p) -> ReadOperation & {
    return operationOf<ReadOperation>(p.prologue[0]);
  };
  auto linked = [](Program &p) -> ReadOperation & { return operationOf<ReadOperation>(p.step[4]); };
  auto lookup = [](Program &p) -> LookupOperation & {
    return operationOf<LookupOperation>(p.step[0]);
  };
  auto resident = [](Program &p) -> LookupOperation & {
    return operationOf<LookupOperation>(p.step[5]);
  };
  auto launch = [](Program &p) -> LaunchOperation & {
    return operationOf<LaunchOperation>(p.step[1]);
  };
  auto copy = [](Program &p) -> CopyOperation & { return operationOf<CopyOperation>(p.step[2]); };
  auto gather = [](Program &p) -> AllGatherOperation & {
    return operationOf<AllGatherOperation>(p.step[3]);
  };
  auto write = [](Program &p) -> WriteOperation & {
    return operationOf<WriteOperation>(p.step[6]);
  };
  auto offload = [](Program &p) -> OffloadOperation & {
    return operationOf<OffloadOperation>(p.step[7]);
  };
  const std::pair<const char *, Damage> cases[] = {
      {"has version 99", [](auto &, auto &o) { o.version = 99; }},
      {"for 0 ranks", [](auto &p, auto &) { p.ranks = 0; }},
      {"for 0 threads", [](auto &p, auto &) { p.threads = 0; }},
      {"for 5000 threads", [](auto &p, auto &) { p.threads = 5000; }},
      {"arena of", [](auto &p, auto &) { p.arenaBytes[0] = uint64_t(1) << 50; }},
      {"input 'ids' occurs twice", [](auto &p, auto &) { p.inputs.push_back(p.inputs[0]); }},
      {"invalid data type", [](auto &p, auto &) { p.inputs[0].dataType = DataType(60); }},
      {"holds classes that are no integers", [](auto &p, auto &) { p.outputs[0].classes = Classes{2, -100, 0}; }},
      {"invalid shape", [](auto &p, auto &) { p.inputs[0].shape = {-4, -1}; }},
      {"takes 64", [](auto &p, auto &) { p.inputs[0].shape = {8}; }},
      {"at 4;", [](auto &p, auto &) { p.inputs[0].slice.offset = 4; }},
      {"outside the host arena", [](auto &p, auto &) { p.outputs[0].slice.offset = 65000; }},
      {"outside the host arena", [](auto &p, auto &) { p.outputs[0].slice.offset = UINT64_MAX; }},
      {"invalid tier 2", [](auto &p, auto &) { p.outputs[0].slice.tier = Tier(2); }},
      {"stream 9 does not exist", [](auto &p, auto &) { p.step[0].stream = StreamKind(9); }},
      {"waits for command 1, which is not before",
       [](auto &p, auto &) { p.step[1].waits = {1}; }},
      {"waits for command 4000000000",
       [](auto &p, auto &) { p.step[1].waits = {4'000'000'000u}; }},
      // Reads.
      {"cannot run on the compute stream",
       [](auto &p, auto &) { p.prologue[0].stream = StreamKind::compute; }},
      {"state 7 does not exist", [&](auto &p, auto &) { read(p).state = 7; }},
      {"reads 8192 bytes at 4096", [&](auto &p, auto &) { read(p).offset = 4096; }},
      {"reads 8192 bytes at 18446744073709547520",
       [&](auto &p, auto &) { read(p).offset = uint64_t(-4096); }},
      {"its slice has 4096 bytes", [&](auto &p, auto &) { read(p).target.bytes = 4096; }},
      {"no whole chunks", [&](auto &p, auto &) { read(p).bytes = read(p).target.bytes = 100; }},
      {"no whole chunks",
       [&](auto &p, auto &) {
         read(p).offset = 8;
         read(p).bytes = read(p).target.bytes = 8184;
       }},
      {"not congruent", [&](auto &p, auto &) { read(p).target.offset += 64; }},
      {"not congruent", [&](auto &p, auto &) { read(p).target.offset += 8; }},
      {"of the state 'l' of 4096", [&](auto &p, auto &) { linked(p).offset = 4064; }},
      {"no whole panels of 640", [&](auto &p, auto &) { linked(p).state = 4; }},
      // Lookups.
      {"cannot run on the compute stream",
       [](auto &p, auto &) { p.step[0].stream = StreamKind::compute; }},
      {"cannot run on the read stream",
       [](auto &p, auto &) { p.step[5].stream = StreamKind::read; }},
      {"neither i32 nor i64", [&](auto &p, auto &) { lookup(p).indexType = DataType::f32; }},
      {"rows of the scalar 's'", [&](auto &p, auto &) { lookup(p).state = 2; }},
      {"panels are not along", [&](auto &p, auto &) { lookup(p).state = 3; }},
      {"no whole, aligned", [&](auto &p, auto &) { lookup(p).indices.bytes = 31; }},
      {"no whole, aligned", [&](auto &p, auto &) { lookup(p).indices.offset = 4; }},
      {"8 rows take 2048", [&](auto &p, auto &) { lookup(p).indexType = DataType::i32; }},
      {"staging is not aligned", [&](auto &p, auto &) { lookup(p).staging.offset += 64; }},
      {"a piece takes 4096", [&](auto &p, auto &) { lookup(p).staging.bytes = 4095; }},
      {"resident state has 8191", [&](auto &p, auto &) { resident(p).resident.bytes = 8191; }},
      // Launches.
      {"kernel 1 does not exist", [&](auto &p, auto &) { launch(p).kernel = 1; }},
      {"units 5 to 4", [&](auto &p, auto &) { launch(p).begin = 5; }},
      {"units -1 to 4", [&](auto &p, auto &) { launch(p).begin = -1; }},
      {"units 0 to 4 of 3", [&](auto &, auto &o) { o.kernelUnits = 3; }},
      {"2 inputs among 1 arguments", [&](auto &, auto &o) { o.kernelInputs = 2; }},
      {"the kernel 'k' takes 140737488355328 bytes",
       [&](auto &, auto &o) { o.kernelArguments = {{.bytes = uint64_t(1) << 47}}; }},
      {"it has 1 arguments; its kernel takes 2",
       [&](auto &, auto &o) { o.kernelArguments = {{1024}, {1024}}; }},
      {"argument 0 has 1024 bytes; its kernel takes 1025",
       [&](auto &, auto &o) { o.kernelArguments = {{1025}}; }},
      {"argument 0 is a tile; its kernel takes the whole",
       [&](auto &p, auto &o) {
         o.kernelArguments = {{1024}};
         launch(p).arguments[0].origin = 1;
       }},
      {"argument 0 is a tile; its kernel takes the whole",
       [&](auto &p, auto &o) {
         o.kernelArguments = {{1024}};
         launch(p).arguments[0].units = 1;
       }},
      {"argument 0 has 1024 bytes; its kernel takes 1280",
       [&](auto &p, auto &o) {
         o.kernelArguments = {{4096, 256, true}};
         launch(p).end = 5;
       }},
      {"argument 0 starts at unit 2, after the units 0 to 4",
       [&](auto &p, auto &o) {
         o.kernelArguments = {{4096, 256, true}};
         launch(p).arguments[0].origin = 2;
       }},
      {"argument 0 says that it has 8 units",
       [&](auto &p, auto &o) {
         o.kernelArguments = {{4096, 256, true}};
         launch(p).arguments[0].units = 8;
       }},
      {"argument 0 is a tile up to unit 4 of 3",
       [&](auto &, auto &o) { o.kernelArguments = {{700, 256, true}}; }},
      {"argument 0 has 1024 bytes; its kernel takes 2048",
       [&](auto &p, auto &o) {
         o.kernelArguments = {{4096, 256, false}};
         launch(p).arguments[0].units = 8;
       }},
      {"argument 0 is a tile up to unit 17 of 16",
       [&](auto &p, auto &o) {
         o.kernelArguments = {{4096, 256, false}};
         launch(p).arguments[0].origin = 15;
         launch(p).arguments[0].units = 2;
       }},
      {"argument 0 is a tile up to unit 2199023255552 of 16",
       [&](auto &p, auto &o) {
         o.kernelArguments = {{4096, 256, false}};
         launch(p).arguments[0].origin = launch(p).arguments[0].units = int64_t(1) << 40;
       }},
      {"argument 0 has 1024 bytes; its kernel takes 4096",
       [&](auto &, auto &o) { o.kernelArguments = {{4096, 256, false}}; }},
      {"units 0 to 4611686018427387904",
       [&](auto &p, auto &) { launch(p).end = int64_t(1) << 62; }},
      {"argument 0 has", [&](auto &p, auto &) { launch(p).arguments[0].slice.bytes = 70000; }},
      {"not aligned to 8", [&](auto &p, auto &) { launch(p).arguments[0].slice.offset = 4100; }},
      {"starts at unit -1", [&](auto &p, auto &) { launch(p).arguments[0].origin = -1; }},
      {"not aligned to 64", [&](auto &p, auto &) { launch(p).scratch.offset += 8; }},
      {"not aligned to 64", [&](auto &p, auto &) { launch(p).scratchPerThread = 100; }},
      {"2 threads need 192", [&](auto &p, auto &) { launch(p).scratchPerThread = 192; }},
      {"cannot run on the copy up stream",
       [](auto &p, auto &) { p.step[1].stream = StreamKind::copyUp; }},
      // Copies and collectives.
      {"copies 512 bytes to 1024", [&](auto &p, auto &) { copy(p).source.bytes = 512; }},
      {"overlap", [&](auto &p, auto &) { copy(p).target = {Tier::host, 4100, 1024}; }},
      {"its place on the drive does not lie in the scratch file",
       [](auto &p, auto &) { p.step[2].stream = StreamKind::write; }},
      {"its memory lies in the invalid tier 2",
       [](auto &p, auto &) { p.step[7].stream = StreamKind::read; }},
      {"its memory lies in the invalid tier 2",
       [&](auto &p, auto &) { offload(p).source = {Tier::nvme, 8192, 5000}; }},
      {"it moves 4096 bytes, 5000 of the scratch file",
       [&](auto &p, auto &) { offload(p).source.bytes = 4096; }},
      {"its memory is not aligned to 4096 bytes",
       [&](auto &p, auto &) { offload(p).source.offset += 64; }},
      {"5000 bytes at 512 of the scratch file",
       [&](auto &p, auto &) { offload(p).target.offset = 512; }},
      {"5000 bytes at 12288 of the scratch file of 16384 bytes",
       [&](auto &p, auto &) { offload(p).target.offset = 12288; }},
      {"a scratch file of 1000 bytes, or a second one",
       [](auto &p, auto &) { p.scratchBytes = 1000; }},
      {"command 7 of the step (restore) takes what no command before it has put on the drive",
       [](auto &p, auto &) {
         std::swap(p.step[7], p.step[8]);
         p.step[7].waits.clear();
       }},
      {"command 8 of the step (restore) takes what no command",
       [](auto &p, auto &) {
         auto &restore = operationOf<RestoreOperation>(p.step[8]);
         restore.source.bytes = restore.target.bytes = 5004;
       }},
      {"the prologue puts values on the drive",
       [](auto &p, auto &) {
         p.prologue.push_back(p.step[7]);
       }},
      {"into 1000", [&](auto &p, auto &) { gather(p).target.bytes = 1000; }},
      {"elsewhere than in its own place", [&](auto &p, auto &) { gather(p).source.offset = 8; }},
      {"cannot run on the compute stream",
       [](auto &p, auto &) { p.step[3].stream = StreamKind::compute; }},
      // Writes.
      {"cannot run on the read stream",
       [](auto &p, auto &) { p.step[6].stream = StreamKind::read; }},
      {"'w', which has no second slot", [&](auto &p, auto &) { write(p).state = 0; }},
      {"state 9 does not exist", [&](auto &p, auto &) { write(p).state = 9; }},
      {"writes 4096 bytes at 8192", [&](auto &p, auto &) { write(p).offset = 8192; }},
      {"no whole chunks", [&](auto &p, auto &) { write(p).offset = 2048; }},
      {"not congruent", [&](auto &p, auto &) { write(p).source.offset = 32768 + 512; }},
      {"its slice has 8192 bytes", [&](auto &p, auto &) { write(p).source.bytes = 8192; }},
      {"outside the host arena", [&](auto &p, auto &) { write(p).source.offset = 65536; }},
      {"is neither a write nor a copy",
       [](auto &p, auto &) {
         p.checkpoint.insert(p.checkpoint.begin(), p.step[1]);
         p.checkpoint[0].waits = {};
       }},
      {"the bytes of 'r' from 0 on",
       [](auto &p, auto &) {
         p.step.resize(6);
       }},
      {"the bytes of 'r' from 4096 on", [](auto &p, auto &) { p.checkpoint.clear(); }},
      {"command 9 of the step: it writes bytes of 'r' that were written before",
       [](auto &p, auto &) { p.step.push_back(p.step[6]); }},
      {"command 9 of the step: it reads bytes of 'r' behind their write",
       [&](auto &p, auto &) {
         p.step.push_back(p.prologue[0]);
         operationOf<ReadOperation>(p.step[9]).state = 5;
       }},
      {"command 9 of the step: it reads bytes of 'r' behind their write",
       [&](auto &p, auto &) {
         p.step.push_back(p.step[0]);
         operationOf<LookupOperation>(p.step[9]).state = 5;
       }},
      {"reads the bytes of 'r' from 4096 on and does not write them",
       [&](auto &p, auto &) { lookup(p).state = 5; }},
  };
  for (const auto &[expected, damage] : cases) {
    Program saved = program;
    EncodeOptions savedOptions = options;
    damage(program, options);
    EXPECT_NE(refusal().find(expected), std::string::npos) << expected << ": " << refusal();
    EXPECT_EQ(parse().ok() ? ErrorKind::bug : parse().error().kind, ErrorKind::machine);
    program = std::move(saved);
    options = savedOptions;
  }
}

TEST_F(ProgramTest, namesTheCommand) {
  program.step[1].waits = {3};
  EXPECT_EQ(refusal(),
            "command 1 of the step (kernel): it waits for command 3, which is not before it");
}

TEST_F(ProgramTest, eachRankReadsItsOwnPart) {
  program.ranks = 3;
  program.step.clear();
  program.checkpoint.clear();
  auto &read = operationOf<ReadOperation>(program.prologue[0]);
  read.bytes = read.target.bytes = 4096;
  options.rankStride = 4096;
  std::vector<std::byte> bytes = encode(program, options);
  const std::pair<uint64_t, uint64_t> parts[] = {{0, 4096}, {4096, 4096}, {8192, 0}};
  for (uint32_t rank = 0; rank < 3; ++rank) {
    Result<Program> parsed = Program::parse(bytes, store, rank);
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    const auto &part = operationOf<ReadOperation>(parsed->prologue[0]);
    EXPECT_EQ(std::pair(part.offset, part.bytes), parts[rank]);
  }
  EXPECT_FALSE(Program::parse(bytes, store, 3).ok());
}

TEST_F(ProgramTest, refusesElementsThatAreNotAligned) {
  // Four bytes on, the low half of the first extent (1) or, of an argument, the tier (1: host)
  // reads as the length.
  auto refusalOf = [&](auto vectorOf) {
    std::vector<std::byte> bytes = encode(program);
    auto *vector = vectorOf(*table::GetProgram(bytes.data()));
    moveTarget(bytes, vector, 4);
    Result<Program> parsed = Program::parse(bytes, store);
    return parsed.ok() ? "accepted" : parsed.error().message;
  };
  EXPECT_EQ(refusalOf([](const table::Program &p) { return p.inputs()->Get(0)->shape(); }),
            "the table is damaged");
  EXPECT_EQ(refusalOf([](const table::Program &p) {
              return p.step()->Get(1)->operation_as_Launch()->arguments();
            }),
            "the table is damaged");
}

TEST_F(ProgramTest, eachRankHasItsOwnPlace) {
  program.ranks = 2;
  program.step.clear();
  program.checkpoint.clear();
  auto &read = operationOf<ReadOperation>(program.prologue[0]);
  read.bytes = read.target.bytes = 4096;
  options.rankStride = options.partStride = 4096;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    Result<Program> parsed = Program::parse(encode(program, options), store, rank);
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    EXPECT_EQ(operationOf<ReadOperation>(parsed->prologue[0]).target.offset,
              read.target.offset + rank * 4096);
  }
  for (uint64_t stride : {uint64_t(1) << 20, uint64_t(1) << 63}) {
    options.partStride = stride;
    EXPECT_FALSE(Program::parse(encode(program, options), store, 1).ok()) << stride;
  }
}

TEST_F(ProgramTest, eachRankWritesItsOwnPart) {
  program.ranks = 2;
  program.prologue.clear();
  program.step = {program.step[6]};
  program.checkpoint.clear();
  EXPECT_NE(refusal().find("written before"), std::string::npos) << refusal();
  options.rankStride = options.partStride = 4096;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    Result<Program> parsed = Program::parse(encode(program, options), store, rank);
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    const auto &write = operationOf<WriteOperation>(parsed->step[0]);
    EXPECT_EQ(write.offset, rank * 4096u);
    EXPECT_EQ(write.source.offset, 32768 + rank * 4096u);
  }
}

TEST_F(ProgramTest, neverFailsOtherwiseOnDamagedBytes) {
  std::vector<std::byte> bytes = encode(program);
  std::mt19937 random(1);
  for (int round = 0; round < 50'000; ++round) {
    std::vector<std::byte> damaged = bytes;
    for (unsigned flips = 1 + random() % 3; flips != 0; --flips)
      damaged[random() % damaged.size()] ^= std::byte(1u << random() % 8);
    if (random() % 8 == 0)
      damaged.resize(random() % damaged.size());
    (void)Program::parse(damaged, store).ok();
  }
}

} // namespace
