// A step of several micro-batches against one run for each.

#include "spillway/Training/Passes.h"
#include "spillway/Training/Stacking.h"

#include "spillway/Interpreter/Interpreter.h"
#include "spillway/Pipelines/Registration.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace spillway;

namespace {

constexpr int64_t count = 3;

class AccumulateTest : public testing::Test {
protected:
  AccumulateTest() {
    DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  struct Run {
    SmallVector<TensorValue> results;
    std::map<std::string, TensorValue> states;
  };

  void run(ModuleOp module, ArrayRef<TensorValue> inputs, Run &run) {
    auto function = module.lookupSymbol<func::FuncOp>("main");
    auto read = [&](zero::StateOp state) -> FailureOr<TensorValue> {
      auto [found, isNew] = run.states.try_emplace(state.getName().str());
      if (isNew)
        found->second = *readState(state, "");
      return found->second;
    };
    std::map<std::string, TensorValue> updates;
    auto update = [&](zero::StateOp state, TensorValue value) { updates[state.getName().str()] = value; };
    run.results.clear();
    ASSERT_TRUE(succeeded(evaluateFunction(function, inputs, read, run.results, update)));
    for (auto &[name, value] : updates)
      run.states[name] = value;
  }

  /// Compares what @main gives for each micro-batch, one result after another and states from one to the next, with
  /// what it gives for all of them. Arguments are samples along dimension 0. What is not `isSplit` must have no
  /// operation that runs for one micro-batch after the other.
  void check(const std::string &text, bool isSplit = false) {
    SCOPED_TRACE(text);
    OwningOpRef<ModuleOp> one = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(one);
    OwningOpRef<ModuleOp> all = one->clone();
    PassManager passes(&context);
    passes.addPass(createNNAccumulatePass({.count = count}));
    ASSERT_TRUE(succeeded(passes.run(*all)));
    bool joins = false;
    all->walk([&](nn::ConcatOp concat) { joins |= concat.getInputs().size() == count && concat.getDim() == 0; });
    EXPECT_EQ(joins, isSplit);

    auto function = one->lookupSymbol<func::FuncOp>("main");
    SmallVector<SmallVector<TensorValue>> samples(count);
    for (auto &inputs : samples)
      for (Type type : function.getArgumentTypes()) {
        bool isFloat = isa<FloatType>(getElementTypeOrSelf(type));
        inputs.emplace_back(cast<RankedTensorType>(type));
        inputs.back().fillUniform(generator, isFloat ? -2 : 0, isFloat ? 2 : 1);
      }
    SmallVector<TensorValue> inputs;
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      inputs.push_back(join(llvm::map_to_vector(samples, [&](auto &own) { return own[i]; })));
    Run each, whole;
    SmallVector<SmallVector<TensorValue>> results(function.getNumResults());
    for (auto &own : samples) {
      run(*one, own, each);
      for (auto [joined, result] : llvm::zip_equal(results, each.results))
        joined.push_back(result);
    }
    run(*all, inputs, whole);
    for (auto [expected, found] : llvm::zip_equal(results, whole.results))
      expectEqual(join(expected), found);
    for (auto &[name, value] : each.states)
      expectEqual(value, whole.states.at(name));
  }

  static TensorValue join(ArrayRef<TensorValue> parts) {
    SmallVector<int64_t> shape(parts.front().getType().getShape());
    shape[0] *= static_cast<int64_t>(parts.size());
    TensorValue joined(parts.front().getType().clone(shape));
    auto *to = joined.getMutableBytes().data();
    for (const TensorValue &part : parts)
      to = std::copy(part.getBytes().begin(), part.getBytes().end(), to);
    return joined;
  }

  static void expectEqual(const TensorValue &expected, const TensorValue &found) {
    ASSERT_EQ(expected.getType(), found.getType());
    EXPECT_EQ(expected.getBytes(), found.getBytes());
  }

  MLIRContext context;
  std::mt19937_64 generator{7};
};

/// A function of %x and %i, of which the result is %r.
std::string function(const std::string &result, const std::string &body) {
  return "func.func @main(%x: tensor<2x4x6xf32>, %i: tensor<2x3xi64>) -> " + result + " {\n" + body + "\nreturn %r : " +
         result + " }";
}

} // namespace

TEST_F(AccumulateTest, elementwise) {
  check(function("tensor<2x4x6xf32>", "%w = nn.iota dim 2 : tensor<2x4x6xf32> "
                                      "%s = arith.mulf %x, %w : tensor<2x4x6xf32> "
                                      "%r = math.exp %s : tensor<2x4x6xf32>"));
  check(function("tensor<2x3xf32>", "%r = arith.sitofp %i : tensor<2x3xi64> to tensor<2x3xf32>"));
}

TEST_F(AccumulateTest, movement) {
  check(function("tensor<8x6xf32>", "%r = nn.reshape %x : tensor<2x4x6xf32> -> tensor<8x6xf32>"));
  check(function("tensor<5x2x4x6xf32>",
                 "%r = nn.broadcast %x dims [1, 2, 3] : tensor<2x4x6xf32> -> tensor<5x2x4x6xf32>"));
  check(function("tensor<6x2x4xf32>", "%r = nn.transpose %x perm [2, 0, 1] : tensor<2x4x6xf32> -> tensor<6x2x4xf32>"));
  check(function("tensor<1x2x6xf32>",
                 "%r = nn.slice %x offsets [1, 3, 0] strides [1, -2, 1] : tensor<2x4x6xf32> -> tensor<1x2x6xf32>"));
  check(function("tensor<2x4x2x5xf32>",
                 "%r = nn.windows %x strides [1] dilations [1] : tensor<2x4x6xf32> -> tensor<2x4x2x5xf32>"));
  check(function("tensor<5x4x6xf32>",
                 "%w = nn.iota dim 1 : tensor<3x4x6xf32> "
                 "%r = nn.concat %x, %w dim 0 : (tensor<2x4x6xf32>, tensor<3x4x6xf32>) -> tensor<5x4x6xf32>"));
  check(function("tensor<4x4x7xf32>", "%z = arith.constant dense<3.0> : tensor<f32> "
                                      "%r = nn.pad <constant> %x value %z : tensor<f32> low [1, -1, 0] "
                                      ": tensor<2x4x6xf32> -> tensor<4x4x7xf32>"));
  check(function("tensor<2x4x8xf32>",
                 "%r = nn.pad <reflect> %x low [0, 0, 1] : tensor<2x4x6xf32> -> tensor<2x4x8xf32>"));
}

TEST_F(AccumulateTest, randomNumbers) {
  check(function("tensor<2x3x5xi32>", "%r = nn.random %i : tensor<2x3xi64> -> tensor<2x3x5xi32>"));
  check(function("tensor<7x2x3xi32>", "%s = nn.slice %i offsets [1, 2] strides [1, 1] : tensor<2x3xi64> -> tensor<1x1xi64> "
                                      "%k = nn.reshape %s : tensor<1x1xi64> -> tensor<i64> "
                                      "%r = nn.random %k : tensor<i64> -> tensor<7x2x3xi32>"));
}

TEST_F(AccumulateTest, indexing) {
  check(function("tensor<2x3x5xf32>", "%w = nn.iota dim 0 : tensor<7x5xf32> "
                                      "%r = nn.gather %w[%i] dim 0 : tensor<7x5xf32>, tensor<2x3xi64> -> tensor<2x3x5xf32>"));
  check(function("tensor<7x2x3xf32>", "%w = nn.iota dim 0 : tensor<7x5xf32> "
                                      "%r = nn.gather %w[%i] dim 1 : tensor<7x5xf32>, tensor<2x3xi64> -> tensor<7x2x3xf32>"));
  check(function("tensor<2x4x3xf32>", "%w = nn.iota dim 0 : tensor<3xi64> "
                                      "%r = nn.gather %x[%w] dim 2 : tensor<2x4x6xf32>, tensor<3xi64> -> tensor<2x4x3xf32>"));
  check(function("tensor<2x3x4x6xf32>",
                 "%r = nn.gather %x[%i] dim 0 : tensor<2x4x6xf32>, tensor<2x3xi64> -> tensor<2x3x4x6xf32>"));
  check(function("tensor<2x2x3x6xf32>",
                 "%r = nn.gather %x[%i] dim 1 : tensor<2x4x6xf32>, tensor<2x3xi64> -> tensor<2x2x3x6xf32>"),
        /*isSplit=*/true);
  check(function("tensor<2x3xf32>",
                 "%w = nn.iota dim 1 : tensor<2x4xf32> "
                 "%r = nn.gather_elements %w[%i] dim 1 : tensor<2x4xf32>, tensor<2x3xi64> -> tensor<2x3xf32>"));
  check(function("tensor<2x6xf32>",
                 "%t = nn.slice %i offsets [0, 0] strides [1, 1] : tensor<2x3xi64> -> tensor<2x1xi64> "
                 "%r = nn.gather_nd %x[%t] batch_dims 1 : tensor<2x4x6xf32>, tensor<2x1xi64> -> tensor<2x6xf32>"));
  check(function("tensor<4x5xf32>",
                 "%z = nn.iota dim 0 : tensor<4x5xf32> "
                 "%t = nn.reshape %i : tensor<2x3xi64> -> tensor<6x1xi64> "
                 "%u = nn.iota dim 1 : tensor<6x5xf32> "
                 "%r = nn.scatter <add> %z[%t] %u : tensor<4x5xf32>, tensor<6x1xi64>, tensor<6x5xf32>"));
  check(function("tensor<2x4x3xi64>",
                 "%r = nn.argsort %x dim 2 descending : tensor<2x4x6xf32> -> tensor<2x4x3xi64>"));
}

TEST_F(AccumulateTest, products) {
  check(function("tensor<2x4x5xf32>", "%w = nn.iota dim 0 : tensor<6x5xf32> "
                                      "%r = nn.matmul %x, %w : tensor<2x4x6xf32>, tensor<6x5xf32> -> tensor<2x4x5xf32>"));
  check(function("tensor<2x5x4xf32>", "%w = nn.iota dim 0 : tensor<2x6x5xf32> "
                                      "%r = nn.matmul %w transpose, %x transpose "
                                      ": tensor<2x6x5xf32>, tensor<2x4x6xf32> -> tensor<2x5x4xf32>"));
  // A matrix of each micro-batch.
  check(function("tensor<3x5x4xf32>",
                 "%m = nn.reduce <sum> %x dims [0] : tensor<2x4x6xf32> -> tensor<4x6xf32> "
                 "%w = nn.iota dim 1 : tensor<3x5x6xf32> "
                 "%r = nn.matmul %w, %m transpose : tensor<3x5x6xf32>, tensor<4x6xf32> -> tensor<3x5x4xf32>"));
  check(function("tensor<4x4xf32>", "%m = nn.reduce <sum> %x dims [0] : tensor<2x4x6xf32> -> tensor<4x6xf32> "
                                    "%r = nn.matmul %m, %m transpose : tensor<4x6xf32>, tensor<4x6xf32> -> tensor<4x4xf32>"));
  check(function("tensor<2x6x4xf32>", "%w = nn.iota dim 2 : tensor<6x2x3xf32> "
                                      "%r = nn.conv %x, %w strides [1] dilations [1] low [0] groups 2 "
                                      ": tensor<2x4x6xf32>, tensor<6x2x3xf32> -> tensor<2x6x4xf32>"));
  check(function("tensor<1x2x3xf32>", "%w = nn.iota dim 2 : tensor<1x4x8xf32> "
                                      "%r = nn.conv %w, %x strides [1] dilations [1] low [0] groups 1 "
                                      ": tensor<1x4x8xf32>, tensor<2x4x6xf32> -> tensor<1x2x3xf32>"),
        /*isSplit=*/true);
}

TEST_F(AccumulateTest, attention) {
  std::string heads = "%q = nn.reshape %x : tensor<2x4x6xf32> -> tensor<2x2x4x3xf32> ";
  for (std::string mask : {"", "mask %m : tensor<1x1x4x4xf32> ", "mask %n : tensor<2x1x1x4xi1> ",
                           "mask %o : tensor<1x1x1x4xf32> "})
    check(function("tensor<2x2x4x3xf32>",
                   heads +
                       "%m = nn.iota dim 3 : tensor<1x1x4x4xf32> "
                       "%h = arith.constant dense<0.5> : tensor<2x1x1x4xf32> "
                       "%k = nn.slice %x offsets [0, 0, 0] strides [1, 1, 1] : tensor<2x4x6xf32> -> tensor<2x1x4xf32> "
                       "%l = nn.reshape %k : tensor<2x1x4xf32> -> tensor<2x1x1x4xf32> "
                       "%n = arith.cmpf olt, %l, %h : tensor<2x1x1x4xf32> "
                       "%o = nn.slice %l offsets [0, 0, 0, 0] strides [1, 1, 1, 1] : tensor<2x1x1x4xf32> -> tensor<1x1x1x4xf32> "
                       "%r = nn.attention <zero> %q, %q, %q " + mask + "scale 0.5 "
                       ": tensor<2x2x4x3xf32>, tensor<2x2x4x3xf32>, tensor<2x2x4x3xf32> -> tensor<2x2x4x3xf32>"));
}

TEST_F(AccumulateTest, rows) {
  check(function("tensor<2x6xf32>", "%r = nn.reduce <max> %x dims [1] : tensor<2x4x6xf32> -> tensor<2x6xf32>"));
  for (const char *op : {"nn.softmax", "nn.log_softmax", "nn.cumsum"})
    check(function("tensor<2x4x6xf32>", std::string("%r = ") + op + " %x dim 2 : tensor<2x4x6xf32>"));
  check(function("tensor<2x4x6xf32>", "%s = nn.iota dim 0 : tensor<4x6xf32> "
                                      "%r = nn.layer_norm %x scale %s : tensor<4x6xf32> bias %s : tensor<4x6xf32> dim 1 "
                                      "epsilon 1.0e-5 : tensor<2x4x6xf32>"));
  check(function("tensor<2x4x6xf32>", "%m = nn.reduce <max> %x dims [0, 1] : tensor<2x4x6xf32> -> tensor<6xf32> "
                                      "%r = nn.rms_norm %x scale %m : tensor<6xf32> dim 2 epsilon 1.0e-5 : tensor<2x4x6xf32>"),
        /*isSplit=*/true);
}

TEST_F(AccumulateTest, states) {
  // Rows are looked up for all; what is updated goes from micro-batch to micro-batch.
  check(R"(
    zero.state @w "w" : tensor<3x6xf32> role(<parameter>) source(#zero.splat<2.0 : f32>)
    zero.state @s "s" : tensor<6xf32> role(<statistic>) rewritten source(#zero.splat<1.0 : f32>)
    func.func @main(%x: tensor<2x4x6xf32>, %i: tensor<2x3xi64>) -> tensor<2x3x6xf32> {
      %r = zero.lookup @w[%i] : tensor<2x3xi64> -> tensor<2x3x6xf32>
      %s = zero.use @s : tensor<6xf32>
      %m = nn.reduce <mean> %x dims [0, 1] : tensor<2x4x6xf32> -> tensor<6xf32>
      %c = arith.constant dense<0.9> : tensor<6xf32>
      %k = arith.mulf %s, %c : tensor<6xf32>
      %n = arith.addf %k, %m : tensor<6xf32>
      zero.update [@s](%n) : tensor<6xf32>
      return %r : tensor<2x3x6xf32>
    })");
}
