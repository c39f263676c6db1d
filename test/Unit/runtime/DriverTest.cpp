// `spillway run` and `spillway inspect` as a user meets them.
#include "runtime/base/File.h"
#include "runtime/bundle/Bundle.h"
#include "runtime/io/Npy.h"
#include "test/Unit/runtime/SpillwayTool.h"
#include "test/Unit/runtime/TestBundle.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>

using namespace spillway;
using namespace spillway::test;

namespace {

/// A bundle whose step multiplies `x` by a matrix that it reads.
class DriverTest : public testing::Test {
protected:
  void SetUp() override {
    TestState state{{.type = {"w", DataType::f32, {64, 64}, Layout::panels, 1, 16},
                     .chunkBytes = 4096,
                     .link = {}},
                    makeFloats(64 * 64, 1)};
    Status made = bundle.makeStore({state});
    ASSERT_TRUE(made.ok()) << made.error().message;
    Program program;
    program.threads = 2;
    program.arenaBytes = {0, 65536};
    program.kernels = {"test_matmul"};
    Slice x{Tier::host, 0, 2048}, y{Tier::host, 4096, 2048}, w{Tier::host, 8192, 16384};
    program.inputs = {{"x=in", DataType::f32, {8, 64}, x}};
    program.outputs = {{"logits", DataType::f32, {8, 64}, y}};
    LaunchOperation launch;
    launch.arguments = {{x, 0}, {w, 0}, {y, 0}};
    launch.end = 4;
    program.step = {{ReadOperation{.state = 0, .offset = 0, .bytes = w.bytes, .target = w},
                     StreamKind::read,
                     {},
                     "w"},
                    {launch, StreamKind::compute, {0}, "/MatMul"}};
    writeBytes(path("table.bin"), encode(program));
    std::filesystem::copy_file(SPILLWAY_TEST_KERNELS, path("kernels.so"));
    ASSERT_TRUE(writeManifest(bundle.folder.path(), manifest).ok());
    input = makeFloats(8 * 64, 7);
    std::vector<int64_t> shape = {8, 64};
    ASSERT_TRUE(writeNpy(path("x.npy"), DataType::f32, shape, asBytes(input)).ok());
  }

  std::filesystem::path path(std::string_view name) const { return bundle.folder.path() / name; }
  /// Outside of the bundle.
  std::filesystem::path place(std::string_view name) const { return outputs.path() / name; }
  std::string folder() const { return bundle.folder.path().string(); }
  std::string inputFlag() const { return " --input x=in=" + path("x.npy").string(); }

  TestBundle bundle;
  TemporaryFolder outputs;
  Manifest manifest{.producer = "test", .model = "linear", .features = {}, .threads = 2};
  std::vector<float> input;
};

TEST_F(DriverTest, runsTheSameWithEveryEngineAndThreadCount) {
  std::vector<std::byte> first;
  for (const char *flags :
       {"--io pread --threads 1", "--io auto --threads 2", "--repeat 3 --throttle-read 100MB/s"}) {
    auto out = place("out.npy");
    Ran ran = spillwayTool("run " + folder() + inputFlag() + " --output logits=" + out.string() +
                           " --trace " + place("t.json").string() + " --stats " +
                           place("s.json").string() + " " + flags);
    ASSERT_EQ(ran.code, 0) << ran.text;
    EXPECT_EQ(ran.text, "");
    auto bytes = readFile(out, 1 << 20);
    ASSERT_TRUE(bytes.ok());
    if (first.empty())
      first = *bytes;
    EXPECT_EQ(*bytes, first);
    EXPECT_FALSE(std::filesystem::exists(place("out.npy.tmp")));
  }
  std::vector<float> values(8 * 64);
  auto header = readNpyHeader(place("out.npy"));
  ASSERT_TRUE(header.ok());
  ASSERT_TRUE(
      readNpyData(place("out.npy"), *header, std::as_writable_bytes(std::span(values))).ok());
  std::vector<float> w = makeFloats(64 * 64, 1);
  float sum = 0;
  for (int k = 0; k < 64; ++k)
    sum = std::fmaf(input[k], w[k * 64], sum);
  EXPECT_EQ(values[0], sum);

  auto stats = nlohmann::json::parse(std::ifstream(place("s.json")));
  EXPECT_EQ(stats["steps"], 3);
  EXPECT_EQ(stats["read_bytes"], stats["planned_read_bytes"]);
  EXPECT_EQ(stats["read_bytes"], 3 * 16384);
  // Sanitizers take memory of their own.
  if (std::string_view(SPILLWAY_SANITIZE).empty()) {
    EXPECT_LE(stats["peak_rss_bytes"].get<uint64_t>(), uint64_t(24) << 20);
  }
  auto trace = nlohmann::json::parse(std::ifstream(place("t.json")));
  std::vector<std::string> labels;
  for (const auto &event : trace["traceEvents"])
    if (event["ph"] == "X")
      labels.push_back(event["name"]);
  EXPECT_EQ(labels, (std::vector<std::string>{"w", "/MatMul"}));
}

TEST_F(DriverTest, refusesOutputsThatWouldOverwriteABundleOrADevice) {
  std::string run = "run " + folder() + inputFlag();
  expectError(run + " --output logits=" + path("states.bin").string(), 1, "lies in the bundle");
  expectError(run + " --trace " + path("table.bin").string(), 1, "lies in the bundle");
  expectError(run + " --output logits=/dev/null", 1, "is no regular file");
  EXPECT_EQ(spillwayTool(run).code, 0);
}

TEST_F(DriverTest, summarisesWithoutAnOutput) {
  Ran ran = spillwayTool("run " + folder() + inputFlag());
  EXPECT_EQ(ran.code, 0);
  EXPECT_TRUE(ran.text.starts_with("logits: f32[8,64]  min ")) << ran.text;
}

TEST_F(DriverTest, aReplayGivesNoNumbers) {
  Ran ran = spillwayTool("run --replay " + folder() + inputFlag());
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.text, "logits: f32[8,64]  not computed\n");
}

TEST_F(DriverTest, tellsHowLongRepeatedStepsTook) {
  Ran ran = spillwayTool("run --repeat 3 " + folder() + inputFlag());
  EXPECT_EQ(ran.code, 0);
  EXPECT_NE(ran.text.find("\n3 steps: "), std::string::npos) << ran.text;
}

TEST_F(DriverTest, saysItsCommandsWhereNoneIsGiven) {
  Ran ran = spillwayTool("");
  EXPECT_EQ(ran.code, 1);
  for (const char *text : {"run ", "train ", "compile ", "replan ", "verify "})
    EXPECT_NE(ran.text.find(text), std::string::npos) << text << "\n" << ran.text;
}

TEST_F(DriverTest, inspectShowsWhatItIs) {
  Ran ran = spillwayTool("inspect " + folder());
  EXPECT_EQ(ran.code, 0) << ran.text;
  for (const char *text : {"linear, made by test", "host arena: 64 KiB", "x=in: f32[8,64]", "2 threads, 1 rank\n"})
    EXPECT_NE(ran.text.find(text), std::string::npos) << text << "\n" << ran.text;
  // What is asked for comes alone.
  ran = spillwayTool("inspect --table --states --verify " + folder());
  EXPECT_EQ(ran.code, 0) << ran.text;
  EXPECT_EQ(ran.text.find("host arena"), std::string::npos) << ran.text;
  for (const char *text : {"panels of 16 along dimension 1", "launch test_matmul units [0, 4)",
                           "after 0  // /MatMul", "all files and states are undamaged"})
    EXPECT_NE(ran.text.find(text), std::string::npos) << text << "\n" << ran.text;
}

TEST_F(DriverTest, namesWhatIsWrongWithTheRequest) {
  std::string run = "run " + folder();
  expectError("run", 1, "bundle is required");
  expectError("run /no/such/folder", 1, "is no bundle");
  expectError("run " + path("table.bin").string(), 1, "is no bundle, but a file");
  writeBytes(place("m.onnx"), std::vector<std::byte>(1));
  expectError("run " + place("m.onnx").string(), 1,
              fmt::format("compile it first, `spillway compile {} -o {}`", place("m.onnx").string(), place("m.spill").string()));
  expectError(run + inputFlag() + " --trhead 2", 1, "did you mean '--threads'?");
  expectError(run + inputFlag() + " --io fast", 1, "fast");
  expectError(run + inputFlag() + " --threads 3", 1, "planned for 1 to 2, and `spillway replan " + folder() + " --threads 3` plans for more");
  expectError(run + inputFlag() + " --throttle-read quick", 1, "is not a size");
  expectError(run, 1, "missing inputs: x=in f32[8,64]");
  expectError(run + " --input xin", 1, "expected NAME=FILE");
  expectError(run + " --input xin=" + path("x.npy").string(), 1, "did you mean 'x=in'?");
  expectError(run + inputFlag() + inputFlag(), 1, "twice");
  expectError(run + inputFlag() + " --output logit=o.npy", 1, "did you mean 'logits'?");
  expectError(run + inputFlag() + " --output logits=/no/such/folder/o.npy", 1, "/no/such/folder");
  for (const char *flag : {"--stats", "--trace"})
    expectError(run + inputFlag() + " --replay " + flag + " /no/such/folder/o.json", 1,
                "cannot create '/no/such/folder/o.json': No such file");
  expectError(run + " --input x=in=/no/such/x.npy", 1, "cannot open '/no/such/x.npy': No such file");
  expectError(run + inputFlag() + " --replay --output logits=o.npy", 1, "--replay");
  std::vector<int64_t> shape = {64, 8};
  ASSERT_TRUE(writeNpy(path("t.npy"), DataType::f32, shape, asBytes(input)).ok());
  expectError(run + " --input x=in=" + path("t.npy").string(), 1,
              "input 'x=in' is f32[8,64]; '" + path("t.npy").string() + "' holds f32[64,8]");
}

TEST_F(DriverTest, refusesADamagedBundle) {
  std::string run = "run " + folder() + inputFlag();
  for (const char *name : {"kernels.so", "table.bin", "states.index"}) {
    auto good = readFile(path(name), 1 << 30);
    ASSERT_TRUE(good.ok());
    std::vector<std::byte> bad = *good;
    bad[bad.size() / 2] ^= std::byte(4);
    writeBytes(path(name), bad);
    expectError(run, 2, fmt::format("{}' is damaged: its checksum is", name));
    bad.pop_back();
    writeBytes(path(name), bad);
    expectError(run, 2,
                fmt::format("is damaged: it has {} bytes; expected {}", bad.size(), good->size()));
    writeBytes(path(name), *good);
  }
  uint64_t bytes = std::filesystem::file_size(path("states.bin"));
  std::filesystem::resize_file(path("states.bin"), bytes - 1);
  expectError(run, 2, "expected 16384");
  std::filesystem::resize_file(path("states.bin"), bytes);
  expectError(run, 2, "the state 'w' is damaged: bytes 12288 to 16384");
  std::filesystem::remove(path("states.bin"));
  expectError(run, 2, "states.bin");
}

TEST_F(DriverTest, inspectFindsDamageInEveryFile) {
  auto text = [](std::string_view characters) { return std::as_bytes(std::span(characters)); };
  writeBytes(path("plan.json"), text("{\"seconds\": 1}"));
  writeBytes(path("program.mlirbc"), text("program"));
  ASSERT_TRUE(writeManifest(bundle.folder.path(), manifest).ok());
  std::string verify = "inspect --verify " + folder();
  EXPECT_EQ(spillwayTool(verify).code, 0);
  for (const char *name : {"kernels.so", "table.bin", "states.index", "plan.json",
                           "program.mlirbc"}) {
    auto good = readFile(path(name), 1 << 30);
    ASSERT_TRUE(good.ok());
    std::vector<std::byte> bad = *good;
    bad.back() ^= std::byte(1);
    writeBytes(path(name), bad);
    expectError(verify, 2, fmt::format("{}' is damaged", name));
    std::filesystem::remove(path(name));
    expectError(verify, 2, name);
    writeBytes(path(name), *good);
  }
  auto states = readFile(path("states.bin"), 1 << 20);
  ASSERT_TRUE(states.ok());
  (*states)[5000] ^= std::byte(1);
  writeBytes(path("states.bin"), *states);
  expectError(verify, 2, "the state 'w' is damaged: bytes 4096 to 8192");
}

TEST_F(DriverTest, refusesAManifestThatLeadsOut) {
  auto json = nlohmann::json::parse(std::ifstream(path("manifest.json")));
  json["files"]["../outside"] = json["files"]["table.bin"];
  std::ofstream(path("manifest.json")) << json;
  expectError("run " + folder() + inputFlag(), 2, "no name inside the bundle");
}

TEST_F(DriverTest, refusesAnotherVersionOrProcessor) {
  std::string run = "run " + folder() + inputFlag();
  manifest.features = {"avx2", "avx1024"};
  ASSERT_TRUE(writeManifest(bundle.folder.path(), manifest).ok());
  expectError(run, 1, "lacks avx1024");
  auto json = nlohmann::json::parse(std::ifstream(path("manifest.json")));
  json["version"] = bundleVersion + 1;
  std::ofstream(path("manifest.json")) << json;
  expectError(run, 1,
              fmt::format("has the bundle version {}; this program reads version {}",
                          bundleVersion + 1, bundleVersion));
  std::ofstream(path("manifest.json")) << "{";
  expectError(run, 2, "manifest.json' is damaged");
  std::filesystem::remove(path("manifest.json"));
  expectError(run, 1, "has no manifest.json");
}

TEST_F(DriverTest, refusesRanksThatContradict) {
  std::string run = "run " + folder() + inputFlag();
  for (auto [ranks, code, text] :
       {std::tuple(2u, 1, "compiled for 1 ranks; this job has 2"), {0u, 2, "it is for 0 ranks"}}) {
    manifest.ranks = ranks;
    ASSERT_TRUE(writeManifest(bundle.folder.path(), manifest).ok());
    expectError(run, code, text);
  }
}

TEST_F(DriverTest, injectedFaultsAreMachineErrors) {
  std::string run = "run " + folder() + inputFlag();
  for (const char *kind : {"eio", "enospc", "short", "corrupt"})
    expectError(run + " --fail-io 1:" + kind, 2, "w");
  expectError(run + " --fail-io 0:eio", 2, "states.bin");
  expectError(run + " --fail-io x", 1, "expected N:KIND");
}

TEST_F(DriverTest, otherSubcommandsAreTheCompilers) {
  Ran ran = spillwayTool("no-such-subcommand");
  EXPECT_NE(ran.code, 0);
}

} // namespace
