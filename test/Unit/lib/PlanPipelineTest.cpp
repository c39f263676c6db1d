// From random programs in kernel form to step tables that the simulator runs.

#include "spillway/Pipelines/Plan.h"
#include "spillway/Pipelines/Registration.h"

#include "dialects/Zero/Zero.h"
#include "runtime/table/table_generated.h"
#include "spillway/Plan/Occupancy.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>
#include <random>
#include <set>

using namespace mlir;
using namespace spillway;

namespace {

/// A chain of matmuls of random widths with biases and residuals, over rows looked up in an embedding
/// that may also be the last weight.
class RandomProgram {
public:
  explicit RandomProgram(unsigned seed) : engine_(seed) {}

  std::string print() {
    int64_t width = 64 << below(3), vocabulary = 50 + below(400);
    int64_t firstWidth = width;
    std::string value = "%x", residual;
    state("e", vocabulary, width, 0);
    line("%x = zero.lookup @e[%ids] : tensor<8xi64> -> {0}", activation(width));
    int64_t layers = 1 + below(8);
    for (int64_t i = 0; i < layers; ++i) {
      int64_t next = below(2) ? firstWidth : 32 << below(5);
      bool tiled = below(4) != 0, bias = below(2);
      value = layer(i, value, width, next, tiled, bias);
      width = next;
      if (width == firstWidth && below(2)) {
        std::string name = "%r" + std::to_string(i);
        kernel("add" + std::to_string(i),
               llvm::formatv("{0}, {0}", activation(width)).str(), activation(width), "map", 1, 0);
        line("{0} = nn.call @add{1}({2}, %x) : ({3}, {3}) -> {3}", name, i, value,
             activation(width));
        value = name;
      }
    }
    bool tied = width == firstWidth && below(2);
    std::string result = activation(width);
    if (tied) {
      std::string weight = llvm::formatv("tensor<{0}x{1}xf32>", vocabulary, width).str();
      result = activation(vocabulary);
      kernel("head", activation(width) + ", " + weight + " {nn.layout = #nn.panels<0>, nn.tiled}",
             result, "gemm", (vocabulary + 15) / 16, 512);
      line("%e = zero.use @e : {0}", weight);
      line("%head = nn.call @head({0}, %e) : ({1}, {2}) -> {3}", value, activation(width), weight,
           result);
      value = "%head";
    }
    return symbols_ +
           llvm::formatv("func.func @main(%ids: tensor<8xi64> {{spillway.name = \"ids\", "
                         "spillway.type = \"i64\"}) -> ({0} {{spillway.name = \"y\", spillway.type "
                         "= \"f32\"}) {{\n{1}  return {2} : {0}\n}\n",
                         result, body_, value)
               .str();
  }

private:
  int64_t below(int64_t bound) { return static_cast<int64_t>(engine_() % bound); }
  static std::string activation(int64_t width) {
    return llvm::formatv("tensor<8x{0}xf32>", width).str();
  }

  template <typename... Args> void line(const char *format, Args &&...args) {
    body_ += "  " + llvm::formatv(format, std::forward<Args>(args)...).str() + "\n";
  }

  void state(const std::string &name, int64_t rows, int64_t columns, int64_t dim) {
    symbols_ += llvm::formatv("zero.state @{0} \"{0}\" : tensor<{1}x{2}xf32> role(<parameter>) "
                              "layout(<{3}>) source(#zero.splat<0.0 : f32>)\n",
                              name, rows, columns, dim)
                    .str();
  }

  void kernel(const std::string &name, const std::string &arguments, const std::string &results,
              const char *schedule, int64_t units, int64_t scratch) {
    symbols_ += llvm::formatv("nn.kernel private @{0}({1}) -> {2} attributes {{schedule = "
                              "#nn.schedule<{3}>, units = {4} : i64, scratch = {5} : i64, cost = "
                              "#nn.cost<{6}, 65536>}\n",
                              name, arguments, results, schedule, units, scratch,
                              1000 * (1 + below(100000)))
                    .str();
  }

  std::string layer(int64_t i, const std::string &input, int64_t width, int64_t next, bool tiled,
                    bool bias) {
    std::string id = std::to_string(i), value = "%y" + id;
    std::string weight = llvm::formatv("tensor<{0}x{1}xf32>", width, next).str();
    std::string biasType = llvm::formatv("tensor<{0}xf32>", next).str();
    state("w" + id, width, next, 1);
    std::string arguments = activation(width) + ", " + weight + " {nn.layout = #nn.panels<1>" +
                            (tiled ? ", nn.tiled}" : "}");
    std::string operands = input + ", %w" + id, types = activation(width) + ", " + weight;
    line("%w{0} = zero.use @w{0} : {1}", id, weight);
    if (bias) {
      symbols_ += llvm::formatv("zero.state @b{0} \"b{0}\" : {1} role(<parameter>) "
                                "source(#zero.splat<0.0 : f32>)\n",
                                id, biasType)
                      .str();
      line("%b{0} = zero.use @b{0} : {1}", id, biasType);
      arguments += ", " + biasType;
      operands += ", %b" + id;
      types += ", " + biasType;
    }
    kernel("k" + id, arguments, activation(next), "gemm", (next + 15) / 16, 64 * below(40));
    line("{0} = nn.call @k{1}({2}) : ({3}) -> {4}", value, id, operands, types, activation(next));
    return value;
  }

  std::mt19937_64 engine_;
  std::string symbols_, body_;
};

/// A training step: a chain of products, a loss, and backwards the gradients and updates. Each value waits for the
/// backward half; the first one is looked up, and its rows are again there.
class RandomTraining {
public:
  explicit RandomTraining(unsigned seed) : engine_(seed) {}

  std::string print() {
    int64_t layers = 3 + below(8), seconds = 1 + below(40);
    std::vector<std::string> types;
    for (int64_t i = 0; i <= layers; ++i)
      types.push_back(llvm::formatv("tensor<64x{0}xf32>", 32 << below(4)).str());
    symbols_ = llvm::formatv("zero.state @e \"e\" : tensor<100x{0}xf32> role(<parameter>) layout(<0>) source(#zero.splat<0.0 : "
                             "f32>)\n",
                             widthOf(types[0]))
                   .str();
    body_ = llvm::formatv("  %x0 = zero.lookup @e[%ids] : tensor<64xi64> -> {0}\n", types[0]).str();
    for (int64_t i = 0; i < layers; ++i) {
      std::string weight = llvm::formatv("tensor<{0}x{1}xf32>", widthOf(types[i]), widthOf(types[i + 1])).str();
      int64_t units = (widthOf(types[i + 1]) + 15) / 16;
      std::string tiled = below(3) ? ", nn.tiled" : "", layout = "{nn.layout = #nn.panels<1>";
      symbols_ += llvm::formatv("zero.state @w{0} \"w{0}\" : {1} role(<parameter>) rewritten layout(<1>) source(#zero.splat<0.0 : "
                                "f32>)\n",
                                i, weight)
                      .str();
      kernel("f" + std::to_string(i), types[i] + ", " + weight + " " + layout + tiled + "}", types[i + 1], units, seconds);
      kernel("b" + std::to_string(i), types[i + 1] + ", " + types[i] + ", " + weight + " " + layout + "}", types[i], 1, seconds);
      kernel("u" + std::to_string(i), types[i + 1] + ", " + types[i] + ", " + weight + " " + layout + tiled + "}",
             "(" + weight + " " + layout + tiled + "})", units, seconds);
      body_ += llvm::formatv("  %w{0} = zero.use @w{0} : {1}\n  %x{2} = nn.call @f{0}(%x{0}, %w{0}) : ({3}, {1}) -> {4}\n", i,
                             weight, i + 1, types[i], types[i + 1])
                   .str();
    }
    kernel("loss", types[layers], "tensor<f32>", 1, seconds);
    kernel("seed", types[layers], types[layers], 1, seconds);
    body_ += llvm::formatv("  %loss = nn.call @loss(%x{0}) : ({1}) -> tensor<f32>\n  %g{0} = nn.call @seed(%x{0}) : ({1}) -> "
                           "{1}\n",
                           layers, types[layers])
                 .str();
    for (int64_t i = layers; i-- > 0;) {
      std::string weight = llvm::formatv("tensor<{0}x{1}xf32>", widthOf(types[i]), widthOf(types[i + 1])).str();
      std::string taken = llvm::formatv("({0}, {1}, {2})", types[i + 1], types[i], weight).str();
      body_ += llvm::formatv("  %g{0} = nn.call @b{0}(%g{1}, %x{0}, %w{0}) : {2} -> {3}\n", i, i + 1, taken, types[i]).str();
      body_ += llvm::formatv("  %n{0} = nn.call @u{0}(%g{1}, %x{0}, %w{0}) into(%w{0} : {2}) : {3} -> {2}\n  zero.update [@w{0}] "
                             "(%n{0}) : {2}\n",
                             i, i + 1, weight, taken)
                   .str();
    }
    return symbols_ + "func.func @main(%ids: tensor<64xi64> {spillway.name = \"ids\", spillway.type = \"i64\"}) -> (tensor<f32> "
                      "{spillway.name = \"loss\", spillway.type = \"f32\"}) {\n" +
           body_ + "  return %loss : tensor<f32>\n}\n";
  }

private:
  int64_t below(int64_t bound) { return static_cast<int64_t>(engine_() % bound); }

  static int64_t widthOf(StringRef type) {
    int64_t width = 0;
    type.split('x').second.split('x').first.getAsInteger(10, width);
    return width;
  }

  void kernel(const std::string &name, const std::string &arguments, const std::string &results, int64_t units,
              int64_t seconds) {
    symbols_ += llvm::formatv("nn.kernel private @{0}({1}) -> {2} attributes {{schedule = #nn.schedule<map>, units = {3} : i64, "
                              "scratch = {4} : i64, cost = #nn.cost<{5}, 65536>}\n",
                              name, arguments, results, units, 64 * below(20), seconds * 1'000'000 * (1 + below(10)))
                    .str();
  }

  std::mt19937_64 engine_;
  std::string symbols_, body_;
};

class PlanPipeline : public testing::Test {
protected:
  PlanPipeline() {
    DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    handler.emplace(&context, [this](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
        message += diagnostic.str() + "\n";
      return success();
    });
  }

  FailureOr<PlannedProgram> plan(const std::string &text, const PlanOptions &options) {
    message.clear();
    module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
    if (!module)
      return failure();
    return planProgram(*module, options);
  }

  int64_t decided(const char *name) {
    auto plan = (*module)->getAttrOfType<DictionaryAttr>(zero::planAttrName);
    return plan.getAs<IntegerAttr>(name).getInt();
  }

  void expectPredicted(const PlannedProgram &planned, unsigned seed) {
    auto decision = (*module)->getAttrOfType<DictionaryAttr>(zero::planAttrName);
    EXPECT_NEAR(planned.simulation.stepSeconds,
                decision.getAs<FloatAttr>("seconds").getValueAsDouble(), 1e-12)
        << seed;
  }

  static uint64_t arenaBytes(const PlannedProgram &planned) {
    uint64_t bytes = 0;
    for (const table::Arena *arena : *table::GetProgram(planned.table.data())->arenas())
      bytes += arena->bytes();
    return bytes;
  }

  /// Without what lies on the drive.
  static uint64_t memoryBytes(const PlannedProgram &planned) {
    uint64_t bytes = 0;
    for (const table::Arena *arena : *table::GetProgram(planned.table.data())->arenas())
      if (arena->tier() != table::Tier::nvme)
        bytes += arena->bytes();
    return bytes;
  }

  /// What goes to the drive comes back; how many do.
  static uint64_t expectMatched(const PlannedProgram &planned) {
    std::map<uint64_t, uint64_t> there;
    uint64_t count = 0;
    for (const table::Command *command : *table::GetProgram(planned.table.data())->step())
      if (auto copy = command->operation_as_Copy()) {
        if (command->stream() == table::Stream::write) {
          EXPECT_EQ(copy->target()->tier(), table::Tier::nvme);
          there[copy->target()->offset()] = copy->target()->bytes();
          ++count;
        } else {
          EXPECT_EQ(command->stream(), table::Stream::read);
          EXPECT_EQ(there[copy->source()->offset()], copy->source()->bytes());
          there.erase(copy->source()->offset());
        }
      }
    EXPECT_TRUE(there.empty());
    return count;
  }

  /// Who has filled each byte of the arenas last, in the order of a list.
  class Painting {
  public:
    void fill(const table::Slice &slice, const std::string &by) {
      auto &runs = runs_[slice.tier()];
      uint64_t begin = slice.offset(), end = begin + slice.bytes();
      cut(runs, begin);
      cut(runs, end);
      runs.erase(runs.lower_bound(begin), runs.lower_bound(end));
      runs[begin] = {end, by};
    }
    std::set<std::string> fillers(const table::Slice &slice) {
      std::set<std::string> found;
      for (auto &[begin, run] : runs_[slice.tier()])
        if (begin < slice.offset() + slice.bytes() && slice.offset() < run.first)
          found.insert(run.second);
      return found;
    }

  private:
    using Runs = std::map<uint64_t, std::pair<uint64_t, std::string>>;
    static void cut(Runs &runs, uint64_t at) {
      auto next = runs.lower_bound(at);
      if (next == runs.begin() || std::prev(next)->second.first <= at)
        return;
      auto &[end, by] = std::prev(next)->second;
      runs[at] = {end, by};
      end = at;
    }
    std::map<table::Tier, Runs> runs_;
  };

  /// What each kernel takes: states, inputs, and results of other kernels, as they come about in the order of the lists.
  static std::map<std::string, std::set<std::set<std::string>>> takenBy(const PlannedProgram &planned) {
    const table::Program &program = *table::GetProgram(planned.table.data());
    std::map<std::string, std::set<std::set<std::string>>> taken;
    Painting painting;
    for (const table::Binding *input : *program.inputs())
      painting.fill(*input->slice(), "input " + input->name()->str());
    for (auto *commands : {program.prologue(), program.step()})
      for (const table::Command *command : *commands) {
        std::string label = command->label() ? command->label()->str() : "";
        if (auto *read = command->operation_as_Read()) {
          painting.fill(*read->target(), "state " + label);
        } else if (auto *copy = command->operation_as_Copy()) {
          std::set<std::string> from = painting.fillers(*copy->source());
          EXPECT_EQ(from.size(), 1u);
          painting.fill(*copy->target(), *from.begin());
        } else if (auto *gather = command->operation_as_AllGather()) {
          painting.fill(*gather->target(), "state " + label);
        } else if (auto *lookup = command->operation_as_Lookup()) {
          taken["lookup"].insert(painting.fillers(*lookup->indices()));
          if (lookup->staging())
            painting.fill(*lookup->staging(), "lookup");
          painting.fill(*lookup->target(), "looked up");
        } else if (auto *launch = command->operation_as_Launch()) {
          const table::Kernel &kernel = *program.kernels()->Get(launch->kernel());
          std::string name = kernel.symbol()->str();
          for (uint32_t i = 0; i < kernel.inputs(); ++i)
            taken[name + " " + std::to_string(i)].insert(painting.fillers(launch->arguments()->Get(i)->slice()));
          if (launch->scratch())
            painting.fill(*launch->scratch(), "scratch");
          for (uint32_t i = kernel.inputs(); i < launch->arguments()->size(); ++i)
            painting.fill(launch->arguments()->Get(i)->slice(), name);
        }
      }
    return taken;
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
  std::optional<ScopedDiagnosticHandler> handler;
  std::string message;
  OwningOpRef<ModuleOp> module;
};

} // namespace

TEST_F(PlanPipeline, EveryBudgetFromTheMinimumOnGivesATableThatRuns) {
  for (unsigned seed = 0; seed < 25; ++seed) {
    std::string text = RandomProgram(seed).print();
    PlanOptions options;
    options.threads = 1 + seed % 3;
    options.memory = 1 << 30;
    auto all = plan(text, options);
    ASSERT_TRUE(succeeded(all)) << seed << message << text;
    uint64_t least = decided("minimum"), most = arenaBytes(*all);
    auto taken = takenBy(*all);
    double previous = 1e30;
    for (int i = 0; i <= 8; ++i) {
      options.memory = least + (std::max(most, least) - least) * i / 8;
      auto planned = plan(text, options);
      ASSERT_TRUE(succeeded(planned)) << seed << " " << options.memory << message << text;
      EXPECT_LE(arenaBytes(*planned), options.memory) << seed;
      EXPECT_LE(planned->simulation.stepSeconds, previous) << seed << " " << i;
      EXPECT_GE(planned->simulation.stepSeconds, planned->simulation.boundSeconds);
      EXPECT_TRUE(takenBy(*planned) == taken) << seed << " " << i << ": a kernel takes what something else has filled";
      expectPredicted(*planned, seed);
      previous = planned->simulation.stepSeconds;
    }
    options.memory = least - 1;
    EXPECT_TRUE(failed(plan(text, options))) << seed;
    EXPECT_NE(message.find(std::to_string(least)), std::string::npos) << message;
  }
}

/// Whatever becomes of what waits: the plan says how long the step takes, and the simulator proves that nothing is
/// touched out of order.
TEST_F(PlanPipeline, ValuesThatWaitComeBackInTime) {
  uint64_t offloaded = 0, early = 0, limitedByDrive = 0;
  for (unsigned seed = 0; seed < 25; ++seed) {
    std::string text = RandomTraining(seed).print();
    for (ActivationPolicy policy : {ActivationPolicy::offload, ActivationPolicy::automatic}) {
      PlanOptions options;
      options.threads = 1 + seed % 3;
      options.memory = 1 << 30;
      options.activations = policy;
      if (seed % 2) {
        options.machine.channels[1] = options.machine.channels[2] = {2e8, 1e-4, 0};
        options.machine.driveBytesPerSecond = 2e8;
      }
      // Together they take three quarters of what they take one after the other.
      if (seed % 4 == 1) {
        options.machine.channels[2].bytesPerSecond = 4e8;
        options.machine.driveBytesPerSecond = 32e7 / 9 * 10;
      }
      auto all = plan(text, options);
      ASSERT_TRUE(succeeded(all)) << seed << message << text;
      uint64_t least = decided("minimum"), most = std::max(least, 2 * memoryBytes(*all));
      auto taken = takenBy(*all);
      double previous = 1e30;
      for (int i = 0; i <= 6; ++i) {
        options.memory = least + (most - least) * i / 6;
        auto planned = plan(text, options);
        ASSERT_TRUE(succeeded(planned)) << seed << " " << options.memory << message << text;
        EXPECT_LE(memoryBytes(*planned), options.memory) << seed;
        EXPECT_LE(planned->simulation.stepSeconds, previous) << seed << " " << i;
        expectPredicted(*planned, seed);
        EXPECT_GE(planned->simulation.stepSeconds, planned->simulation.boundSeconds);
        EXPECT_TRUE(takenBy(*planned) == taken) << seed << " " << i << ": a kernel takes what something else has filled";
        limitedByDrive += planned->simulation.limit == "drive";
        previous = planned->simulation.stepSeconds;
        uint64_t count = expectMatched(*planned);
        offloaded += count;
        auto choice = (*module)->getAttrOfType<DictionaryAttr>(zero::activationsAttrName);
        early += count && choice.getAs<IntegerAttr>("lead").getInt() != 0;
      }
      options.memory = least - 1;
      EXPECT_TRUE(failed(plan(text, options))) << seed;
      EXPECT_NE(message.find(std::to_string(least)), std::string::npos) << message;
    }
  }
  EXPECT_GT(offloaded, 500u);
  EXPECT_GT(early, 50u);
  EXPECT_GT(limitedByDrive, 10u);
}

TEST_F(PlanPipeline, ThreeTiersGiveATableThatRuns) {
  for (unsigned seed = 0; seed < 25; ++seed) {
    std::string text = RandomProgram(seed).print();
    PlanOptions options;
    options.memory = 1 << 30;
    auto all = plan(text, options);
    ASSERT_TRUE(succeeded(all)) << seed << message << text;
    uint64_t least = decided("minimum"), most = arenaBytes(*all);
    PlanOptions::Tiers smallest{least, static_cast<uint64_t>(decided("minimum_host"))};
    for (uint64_t share : {0, 8, 3, 1}) {
      options.tiers = smallest;
      if (share) {
        options.tiers->device += most / share;
        options.tiers->host += most / share;
      }
      auto planned = plan(text, options);
      ASSERT_TRUE(succeeded(planned)) << seed << message << text;
      for (const table::Arena *arena : *table::GetProgram(planned->table.data())->arenas())
        EXPECT_LE(arena->bytes(), arena->tier() == table::Tier::device ? options.tiers->device
                                                                       : options.tiers->host);
      EXPECT_TRUE(takenBy(*planned) == takenBy(*all)) << seed;
      expectPredicted(*planned, seed);
    }
  }
}

/// The parts that ranks read of a tile follow each other, none larger than the first, and
/// gathering takes no memory but that of the tile.
TEST_F(PlanPipeline, RanksReadEachByteOfATileOnce) {
  for (unsigned seed = 0; seed < 25; ++seed) {
    std::string text = RandomProgram(seed).print();
    PlanOptions options;
    options.ranks = 2 + seed % 3;
    options.memory = 1 << 30;
    ASSERT_TRUE(succeeded(plan(text, options))) << seed << message << text;
    uint64_t least = decided("minimum");
    for (bool hasTiers : {false, true}) {
      options.memory = least;
      if (hasTiers)
        options.tiers = PlanOptions::Tiers{least, 4 * least};
      auto planned = plan(text, options);
      ASSERT_TRUE(succeeded(planned)) << seed << message << text;
      expectPredicted(*planned, seed);
      const table::Program &program = *table::GetProgram(planned->table.data());
      EXPECT_EQ(program.ranks(), static_cast<uint32_t>(options.ranks));
      uint64_t gathered = 0, brought = 0;
      for (const table::Command *command : *program.step()) {
        if (auto gather = command->operation_as_AllGather()) {
          gathered += gather->target()->bytes();
          EXPECT_EQ(gather->source()->rank_stride(), gather->source()->bytes());
          EXPECT_EQ(gather->source()->offset(), gather->target()->offset());
        }
        if (auto read = command->operation_as_Read()) {
          EXPECT_TRUE(read->rank_stride() == 0 || read->rank_stride() == read->bytes());
          if (read->target()->rank_stride())
            brought += options.ranks * read->bytes();
        }
        if (auto copy = command->operation_as_Copy(); copy && copy->target()->rank_stride())
          brought += options.ranks * copy->source()->bytes();
      }
      EXPECT_EQ(gathered, brought) << seed;
      bool isPartitioned = false;
      for (auto state : module->getOps<zero::StateOp>())
        isPartitioned |= state.getPartition().has_value();
      EXPECT_TRUE(isPartitioned || gathered == 0);
    }
  }
}

TEST_F(PlanPipeline, OneRankPlansAsBefore) {
  std::string text = RandomProgram(3).print();
  PlanOptions options;
  options.memory = 1 << 30;
  ASSERT_TRUE(succeeded(plan(text, options)));
  options.memory = decided("minimum");
  auto planned = plan(text, options);
  ASSERT_TRUE(succeeded(planned));
  for (const table::Command *command : *table::GetProgram(planned->table.data())->step())
    EXPECT_NE(command->operation_type(), table::Operation::AllGather);
}

TEST_F(PlanPipeline, ForcedTilesAreKept) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    PlanOptions options;
    options.memory = 1 << 30;
    options.tiles = {".*=1"};
    std::string text = RandomProgram(seed).print();
    auto planned = plan(text, options);
    if (failed(planned)) {
      EXPECT_NE(message.find("no state that kernels can take by parts"), std::string::npos) << message << text;
      continue;
    }
    for (auto state : module->getOps<zero::StateOp>())
      if (state.getTile())
        EXPECT_EQ(*state.getTile(), static_cast<uint64_t>(state.getChunkUnits())) << text;
  }
}

TEST_F(PlanPipeline, WhatLiesInAnArenaNeverOverlaps) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    PlanOptions options;
    options.memory = 1 << 30;
    std::string text = RandomProgram(seed).print();
    auto all = plan(text, options);
    ASSERT_TRUE(succeeded(all)) << seed << message << text;
    uint64_t least = decided("minimum"), most = arenaBytes(*all);
    if (seed % 2)
      options.tiers = PlanOptions::Tiers{least + most / 4, 4 * least + most / 4};
    else
      options.memory = least + most / 4;
    auto planned = plan(text, options);
    ASSERT_TRUE(succeeded(planned)) << seed << message << text;
    const table::Program &program = *table::GetProgram(planned->table.data());
    std::vector<plan::Stay> stays = plan::findStays(program, planned->simulation);
    std::map<table::Tier, uint64_t> resident;
    for (size_t a = 0; a < stays.size(); ++a) {
      if (stays[a].kind == plan::Stay::Kind::resident)
        resident[stays[a].place.tier()] += stays[a].place.bytes();
      for (size_t b = 0; b < a; ++b) {
        auto [first, second] = std::minmax(stays[a], stays[b], [](auto &x, auto &y) {
          return x.place.offset() < y.place.offset();
        });
        if (first.place.tier() == second.place.tier() &&
            second.place.offset() < first.place.offset() + first.place.bytes())
          EXPECT_TRUE(first.time.end <= second.time.begin || second.time.end <= first.time.begin)
              << seed << " " << first.label << " " << second.label << "\n"
              << text;
      }
    }
    for (auto arena : nlohmann::json::parse(planned->summary)["arenas"])
      EXPECT_EQ(resident[arena["tier"] == "device" ? table::Tier::device : table::Tier::host],
                arena["resident_bytes"])
          << seed;
  }
}
