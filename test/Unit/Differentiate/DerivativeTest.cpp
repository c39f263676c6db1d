// Each rule against differences of the function itself, in f64.

#include "spillway/Differentiate/Differentiate.h"

#include "dialects/NN/NN.h"
#include "runtime/base/Near.h"
#include "spillway/Interpreter/Interpreter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace spillway;

namespace {

struct Interval {
  double low = -2, high = 2;
};

class DerivativeTest : public testing::Test {
protected:
  DerivativeTest() {
    DialectRegistry registry;
    registry.insert<arith::ArithDialect, func::FuncDialect, math::MathDialect, nn::NNDialect>();
    registerDerivatives(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
      diagnostics += diagnostic.str() + "\n";
      return success();
    });
  }

  static std::string replaced(std::string text, StringRef pattern, StringRef by) {
    for (size_t at; (at = text.find(pattern)) != std::string::npos;)
      text.replace(at, pattern.size(), by);
    return text;
  }

  struct Gradients {
    OwningOpRef<ModuleOp> module;
    /// Gives the loss, and then the gradients that are not null.
    func::FuncOp function;
    SmallVector<Value> roots, gradients;
  };

  /// Differentiates a random projection of the result of @main with respect to its arguments of f64.
  void differentiateMain(const std::string &text, Gradients &result) {
    diagnostics.clear();
    result.module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(result.module) << diagnostics;
    result.function = result.module->lookupSymbol<func::FuncOp>("main");
    Block &block = result.function.getBody().front();
    Value loss = project(block);
    llvm::copy_if(block.getArguments(), std::back_inserter(result.roots),
                  [](Value value) { return getElementTypeOrSelf(value).isF64(); });
    FailureOr<SmallVector<Value>> gradients = differentiate(loss, result.roots);
    ASSERT_TRUE(succeeded(gradients)) << diagnostics;
    result.gradients = *gradients;
    SmallVector<Value> results{loss};
    llvm::copy_if(*gradients, std::back_inserter(results), [](Value gradient) { return gradient; });
    setResults(result.function, results);
    ASSERT_TRUE(succeeded(verify(*result.module))) << diagnostics;
  }

  /// Compares gradients, at arguments that are drawn from `interval`, with four-point differences.
  void check(const std::string &text, Interval interval = {}) {
    SCOPED_TRACE(text);
    Gradients main;
    ASSERT_NO_FATAL_FAILURE(differentiateMain(text, main));
    auto &[module, function, roots, gradients] = main;

    SmallVector<TensorValue> inputs;
    for (Type type : function.getArgumentTypes()) {
      inputs.emplace_back(cast<RankedTensorType>(type));
      bool isFloat = getElementTypeOrSelf(type).isF64();
      inputs.back().fillUniform(generator, isFloat ? interval.low : 0, isFloat ? interval.high : 2);
    }
    SmallVector<TensorValue> values;
    ASSERT_TRUE(succeeded(evaluate(function, inputs, values))) << diagnostics;
    unsigned next = 1;
    for (auto [root, gradient] : llvm::zip_equal(roots, gradients)) {
      unsigned argument = cast<BlockArgument>(root).getArgNumber();
      ArrayRef<double> found;
      if (gradient)
        found = values[next++].get<double>();
      compare(function, inputs, argument, found);
    }
  }

  void compare(func::FuncOp function, SmallVector<TensorValue> inputs, unsigned argument,
               ArrayRef<double> gradient) {
    const TensorValue original = inputs[argument];
    for (int64_t i = 0; i < original.getNumElements(); ++i) {
      auto at = [&](double steps) {
        inputs[argument] = original;
        inputs[argument].getMutable<double>()[i] += steps * 1e-3;
        SmallVector<TensorValue> values;
        EXPECT_TRUE(succeeded(evaluate(function, inputs, values))) << diagnostics;
        return values[0].get<double>()[0];
      };
      double expected = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / 12e-3;
      double found = gradient.empty() ? 0 : gradient[i];
      EXPECT_TRUE(isNear(found, expected, 1e-7 * (1 + std::abs(expected))))
          << "argument " << argument << ", element " << i << ": " << found << ", differences give "
          << expected;
    }
  }

  LogicalResult evaluate(func::FuncOp function, ArrayRef<TensorValue> inputs,
                         SmallVectorImpl<TensorValue> &values) {
    return evaluateFunction(function, inputs,
                            [](zero::StateOp) -> FailureOr<TensorValue> { return failure(); }, values);
  }

  /// The sum of the products of what the function returns with random numbers.
  Value project(Block &block) {
    Operation *end = block.getTerminator();
    OpBuilder builder(end);
    Location loc = end->getLoc();
    auto type = cast<RankedTensorType>(end->getOperand(0).getType());
    TensorValue weights(type);
    weights.fillUniform(generator, -1, 1);
    Value random = arith::ConstantOp::create(builder, loc, weights.toAttr());
    Value product = arith::MulFOp::create(builder, loc, end->getOperand(0), random);
    return nn::ReduceOp::create(builder, loc, RankedTensorType::get({}, type.getElementType()),
                                nn::ReductionKind::sum, product,
                                llvm::to_vector(llvm::seq<int64_t>(0, type.getRank())));
  }

  static void setResults(func::FuncOp function, ValueRange results) {
    function.getBody().front().getTerminator()->setOperands(results);
    function.setFunctionType(FunctionType::get(function.getContext(), function.getArgumentTypes(),
                                               TypeRange(results)));
  }

  /// Checks `operation`, an operation of %x (and %y) of type T with the result type T, in several shapes.
  void checkElementwise(const std::string &operation, Interval interval = {}, bool binary = false) {
    for (const char *shape : {"tensor<f64>", "tensor<1x3xf64>", "tensor<2x0xf64>", "tensor<5xf64>"}) {
      std::string text = "func.func @main(%x: T" + std::string(binary ? ", %y: T" : "") +
                         ") -> T { %r = " + operation + " : T return %r : T }";
      check(replaced(text, "T", shape), interval);
    }
  }
  void checkBinary(const std::string &operation, Interval interval = {}) {
    checkElementwise(operation + " %x, %y", interval, /*binary=*/true);
  }

  MLIRContext context;
  std::mt19937_64 generator{7};
  std::string diagnostics;
};

} // namespace

TEST_F(DerivativeTest, arithmetic) {
  for (const char *op : {"arith.addf", "arith.subf", "arith.mulf", "arith.maximumf", "arith.minimumf"})
    checkBinary(op);
  checkBinary("arith.divf", {0.5, 2});
  checkBinary("arith.remf", {0.9, 1.9});
  checkElementwise("arith.negf %x");
  check(R"(func.func @main(%c: tensor<7xi1>, %x: tensor<7xf64>, %y: tensor<7xf64>) -> tensor<7xf64> {
    %r = arith.select %c, %x, %y : tensor<7xi1>, tensor<7xf64>
    return %r : tensor<7xf64> })");
}

TEST_F(DerivativeTest, elementaryFunctions) {
  for (const char *op : {"exp", "exp2", "expm1", "tanh", "erf", "erfc", "sin", "cos", "atan", "sinh", "cosh",
                         "asinh", "absf", "floor", "ceil", "round", "roundeven", "trunc"})
    checkElementwise("math." + std::string(op) + " %x");
  for (const char *op : {"log", "log1p", "log2", "log10", "sqrt", "rsqrt"})
    checkElementwise("math." + std::string(op) + " %x", {0.5, 3});
  for (const char *op : {"asin", "acos", "atanh", "tan"})
    checkElementwise("math." + std::string(op) + " %x", {-0.9, 0.9});
  checkElementwise("math.acosh %x", {1.2, 3});
  checkBinary("math.powf", {0.3, 2});
  checkBinary("math.atan2", {0.3, 2});
  checkBinary("math.copysign");
  check(R"(func.func @main(%a: tensor<3xf64>, %b: tensor<3xf64>, %c: tensor<3xf64>) -> tensor<3xf64> {
    %r = math.fma %a, %b, %c : tensor<3xf64>
    return %r : tensor<3xf64> })");
}

TEST_F(DerivativeTest, movement) {
  struct Case {
    const char *operation, *operand, *result;
  };
  for (auto [operation, operand, result] : std::initializer_list<Case>{
           {"nn.reshape %x", "2x6", "3x4"},
           {"nn.broadcast %x dims [1]", "3", "2x3"},
           {"nn.broadcast %x dims [0, 2]", "1x3", "4x2x3"},
           {"nn.broadcast %x dims [0, 1]", "1x1", "1x3"},
           {"nn.broadcast %x dims [0, 1]", "2x1", "2x0"},
           {"nn.transpose %x perm [2, 0, 1]", "2x3x4", "4x2x3"},
           {"nn.slice %x offsets [1, 0] strides [1, 1]", "4x3", "2x3"},
           {"nn.slice %x offsets [1, 5] strides [2, -2]", "6x7", "3x3"},
           {"nn.slice %x offsets [0, 0] strides [1, 3]", "2x7", "2x0"},
           {"nn.slice %x offsets [2] strides [-1]", "3", "3"},
           {"nn.pad <reflect> %x low [2, 1]", "4x3", "8x5"},
           {"nn.pad <reflect> %x low [3]", "2", "9"},
           {"nn.pad <edge> %x low [2, 0]", "3x2", "7x3"},
           {"nn.pad <wrap> %x low [4]", "3", "11"},
           {"nn.pad <edge> %x low [-1]", "4", "5"},
           {"nn.windows %x strides [2] dilations [1]", "2x9", "2x3x4"},
           {"nn.windows %x strides [1, 2] dilations [2, 1]", "2x5x4", "2x2x3x3x1"},
           {"nn.windows %x strides [3] dilations [1]", "7", "2x2"}})
    check("func.func @main(%x: tensor<" + std::string(operand) + "xf64>) -> tensor<" + result +
          "xf64> { %r = " + operation + " : tensor<" + operand + "xf64> -> tensor<" + result +
          "xf64> return %r : tensor<" + result + "xf64> }");
  check(R"(func.func @main(%x: tensor<2x1xf64>, %y: tensor<2x3xf64>, %z: tensor<2x0xf64>) -> tensor<2x7xf64> {
    %r = nn.concat %x, %y, %z, %y dim 1
      : (tensor<2x1xf64>, tensor<2x3xf64>, tensor<2x0xf64>, tensor<2x3xf64>) -> tensor<2x7xf64>
    return %r : tensor<2x7xf64> })");
  check(R"(func.func @main(%x: tensor<2x3xf64>, %v: tensor<f64>) -> tensor<4x2xf64> {
    %r = nn.pad <constant> %x value %v : tensor<f64> low [1, -1] : tensor<2x3xf64> -> tensor<4x2xf64>
    return %r : tensor<4x2xf64> })");
}

TEST_F(DerivativeTest, indexing) {
  check(R"(func.func @main(%x: tensor<2x3x4xf64>, %i: tensor<2x5xi64>) -> tensor<2x2x5x4xf64> {
    %r = nn.gather %x[%i] dim 1 : tensor<2x3x4xf64>, tensor<2x5xi64> -> tensor<2x2x5x4xf64>
    return %r : tensor<2x2x5x4xf64> })");
  check(R"(func.func @main(%x: tensor<3xf64>, %i: tensor<i32>) -> tensor<f64> {
    %r = nn.gather %x[%i] dim 0 : tensor<3xf64>, tensor<i32> -> tensor<f64>
    return %r : tensor<f64> })");
  check(R"(func.func @main(%x: tensor<2x3x2xf64>, %i: tensor<2x5x1xi32>) -> tensor<2x5x1xf64> {
    %r = nn.gather_elements %x[%i] dim 1 : tensor<2x3x2xf64>, tensor<2x5x1xi32> -> tensor<2x5x1xf64>
    return %r : tensor<2x5x1xf64> })");
  check(R"(func.func @main(%x: tensor<3x3x2xf64>, %i: tensor<4x2xi64>) -> tensor<4x2xf64> {
    %r = nn.gather_nd %x[%i] batch_dims 0 : tensor<3x3x2xf64>, tensor<4x2xi64> -> tensor<4x2xf64>
    return %r : tensor<4x2xf64> })");
  check(R"(func.func @main(%x: tensor<2x3x3xf64>, %i: tensor<2x4x1xi64>) -> tensor<2x4x3xf64> {
    %r = nn.gather_nd %x[%i] batch_dims 1 : tensor<2x3x3xf64>, tensor<2x4x1xi64> -> tensor<2x4x3xf64>
    return %r : tensor<2x4x3xf64> })");
  check(R"(func.func @main(%x: tensor<3x2xf64>, %i: tensor<5x1xi64>, %u: tensor<5x2xf64>) -> tensor<3x2xf64> {
    %r = nn.scatter <add> %x[%i] %u : tensor<3x2xf64>, tensor<5x1xi64>, tensor<5x2xf64>
    return %r : tensor<3x2xf64> })");
  check(R"(func.func @main(%x: tensor<3x2xf64>, %u: tensor<2x2xf64>) -> tensor<3x2xf64> {
    %i = arith.constant dense<[[2], [0]]> : tensor<2x1xi64>
    %r = nn.scatter <replace> %x[%i] %u : tensor<3x2xf64>, tensor<2x1xi64>, tensor<2x2xf64>
    return %r : tensor<3x2xf64> })");
}

TEST_F(DerivativeTest, matrixProducts) {
  struct Case {
    const char *lhs, *rhs, *flags, *result;
  };
  for (auto [lhs, rhs, flags, result] : std::initializer_list<Case>{
           {"2x3", "3x4", "", "2x4"},       {"3x2", "3x4", "l", "2x4"},     {"2x3", "4x3", "r", "2x4"},
           {"3x2", "4x3", "lr", "2x4"},     {"2x2x3", "2x3x4", "", "2x2x4"}, {"2x3x2", "2x4x3", "lr", "2x2x4"},
           {"2x2x3", "3x4", "", "2x2x4"},   {"2x3x2", "3x4", "l", "2x2x4"}, {"2x2x3", "4x3", "r", "2x2x4"},
           {"2x3x2", "4x3", "lr", "2x2x4"}, {"1x3", "3x1", "", "1x1"},      {"2x0", "0x3", "", "2x3"},
           {"0x2", "2x3", "", "0x3"}}) {
    StringRef names(flags);
    std::string a = "tensor<" + std::string(lhs) + "xf64>", b = "tensor<" + std::string(rhs) + "xf64>",
                r = "tensor<" + std::string(result) + "xf64>";
    check("func.func @main(%x: " + a + ", %y: " + b + ") -> " + r + " { %r = nn.matmul %x" +
          (names.contains('l') ? " transpose" : "") + ", %y" + (names.contains('r') ? " transpose" : "") +
          " : " + a + ", " + b + " -> " + r + " return %r : " + r + " }");
  }
}

TEST_F(DerivativeTest, convolutions) {
  struct Case {
    const char *input, *filter, *steps, *result;
  };
  for (auto [input, filter, steps, result] : std::initializer_list<Case>{
           {"2x3x5", "4x3x2", "strides [1] dilations [1] low [0] groups 1", "2x4x4"},
           {"1x2x7", "2x2x3", "strides [2] dilations [1] low [1] groups 1", "1x2x4"},
           {"2x4x6", "6x2x2", "strides [1] dilations [3] low [2] groups 2", "2x6x5"},
           {"1x3x5x4", "3x1x3x2", "strides [2, 1] dilations [1, 2] low [1, 0] groups 3", "1x3x3x2"},
           {"1x1x2x3x2", "2x1x1x2x2", "strides [1, 1, 1] dilations [1, 1, 1] low [0, 1, 0] groups 1", "1x2x2x3x1"},
           {"1x2x5", "1x2x2", "strides [3] dilations [1] low [-1] groups 1", "1x1x1"},
           {"0x2x5", "1x2x2", "strides [1] dilations [1] low [0] groups 1", "0x1x4"}}) {
    std::string x = "tensor<" + std::string(input) + "xf64>", w = "tensor<" + std::string(filter) + "xf64>",
                r = "tensor<" + std::string(result) + "xf64>";
    check("func.func @main(%x: " + x + ", %w: " + w + ") -> " + r + " { %r = nn.conv %x, %w " + steps + " : " +
          x + ", " + w + " -> " + r + " return %r : " + r + " }");
  }
}

TEST_F(DerivativeTest, attention) {
  struct Case {
    const char *kind, *mask, *options;
  };
  for (auto [kind, mask, options] : std::initializer_list<Case>{
           {"nan", "", "scale 0.5"},
           {"nan", "1x4x3x5xf64", "scale 0.5"},
           {"nan", "2x1x1x5xf64", "scale 0.25 {softcap = 2.0 : f32}"},
           {"zero", "2x1x3x5xi1", "scale 0.5"},
           {"zero", "", "scale 0.5 {causal_offset = -1 : i64}"},
           {"nan", "", "scale 0.5 {causal_offset = 2 : i64}"}}) {
    std::string type = "tensor<" + std::string(mask) + ">";
    bool masked = !StringRef(mask).empty();
    check("func.func @main(%q: tensor<2x4x3x2xf64>, %k: tensor<2x2x5x2xf64>, %v: tensor<2x2x5x3xf64>" +
          (masked ? ", %m: " + type : "") + ") -> tensor<2x4x3x3xf64> { %r = nn.attention <" + kind +
          "> %q, %k, %v " + (masked ? "mask %m : " + type : "") + " " + options +
          " : tensor<2x4x3x2xf64>, tensor<2x2x5x2xf64>, tensor<2x2x5x3xf64> -> tensor<2x4x3x3xf64>"
          " return %r : tensor<2x4x3x3xf64> }");
  }
}

// Where the mask has a gradient, all is computed at once, else by parts.
class AttentionInParts : public DerivativeTest {
protected:
  /// Gradients of an attention of so many queries and keys, once in parts and once whole; `options` stand behind the operands. Some
  /// keys are hidden by a mask of the sizes `hides`, of i1 in parts and of floats, which learn, where it is whole; where empty, none are.
  void compare(int64_t queries, int64_t keys, const std::string &options, double tolerance, const std::string &hides = "") {
    SCOPED_TRACE(testing::Message() << queries << " queries, " << keys << " keys, " << options << ", mask " << hides);
    std::vector<SmallVector<TensorValue>> found;
    TensorValue kept;
    for (bool masked : {false, true}) {
      std::string mask = !hides.empty() ? "tensor<" + hides + (masked ? "xf64>" : "xi1>") : masked ? "tensor<1x1x1x1xf64>" : "";
      std::string text = replaced("func.func @main(%q: tensor<2x4xMx1xf64>, %k: tensor<2x2xNx1xf64>, %v: tensor<2x2xNx2xf64>" +
                                      std::string(mask.empty() ? "" : ", %m: " + mask) +
                                      ") -> tensor<2x4xMx2xf64> { %r = nn.attention <zero> %q, %k, %v " +
                                      (mask.empty() ? "" : "mask %m : " + mask + " ") + options +
                                      " : tensor<2x4xMx1xf64>, tensor<2x2xNx1xf64>, "
                                      "tensor<2x2xNx2xf64> -> tensor<2x4xMx2xf64> return %r : tensor<2x4xMx2xf64> }",
                                  "M", std::to_string(queries));
      text = replaced(text, "N", std::to_string(keys));
      generator.seed(3);
      Gradients main;
      ASSERT_NO_FATAL_FAILURE(differentiateMain(text, main));
      bool isWhole = main.function.getBody().front().getOps<nn::SliceOp>().empty();
      EXPECT_EQ(isWhole, masked);
      SmallVector<TensorValue> inputs;
      for (Type type : main.function.getArgumentTypes()) {
        inputs.emplace_back(cast<RankedTensorType>(type));
        if (inputs.size() <= 3)
          inputs.back().fillUniform(generator, -2, 2);
      }
      if (!hides.empty() && masked)
        for (auto [added, keeps] : llvm::zip_equal(inputs[3].getMutable<double>(), kept.get<uint8_t>()))
          added = keeps ? 0 : -std::numeric_limits<double>::infinity();
      else if (!hides.empty()) {
        inputs[3].fillUniform(generator, 0, 1);
        kept = inputs[3];
      }
      ASSERT_TRUE(succeeded(evaluate(main.function, inputs, found.emplace_back()))) << diagnostics;
    }
    for (unsigned i = 0; i < 4; ++i)
      for (auto [part, whole] : llvm::zip_equal(found[0][i].get<double>(), found[1][i].get<double>()))
        ASSERT_TRUE(std::abs(part - whole) <= tolerance) << "value " << i << ": " << part << ", not " << whole;
  }
};

TEST_F(AttentionInParts, ofBatchesAndHeads) {
  for (int64_t rows : {724, 725})
    compare(rows, rows, "scale 0.5", 0);
}

// Each block of queries has the keys that one of it sees; what several give for a key is added.
TEST_F(AttentionInParts, ofQueries) {
  for (int64_t offset : {0, 1, 17, 60})
    compare(70, 64, "scale 0.5 {causal_offset = " + std::to_string(offset) + " : i64}", 1e-12);
  compare(130, 130, "scale 0.5 {causal_offset = 0 : i64}", 1e-12);
  for (const char *hides : {"1x4xMxN", "2x1x1xN", "2x4xMx1", "1x1xMxN"})
    compare(70, 64, "scale 0.5 {causal_offset = 5 : i64}", 1e-12, hides);
  // The last keys are seen by nobody.
  compare(129, 200, "scale 0.5 {causal_offset = 3 : i64, softcap = 2.0 : f32}", 1e-12);
}

TEST_F(DerivativeTest, reductions) {
  struct Case {
    const char *operand, *dims, *result;
  };
  for (const char *kind : {"sum", "mean", "prod", "max", "min", "sum_square", "l1", "l2", "log_sum", "log_sum_exp"})
    for (auto [operand, dims, result] : std::initializer_list<Case>{{"2x3x4xf64", "1", "2x4xf64"},
                                                                    {"2x3xf64", "0, 1", "f64"},
                                                                    {"3x1xf64", "1", "3xf64"},
                                                                    {"0x3xf64", "1", "0xf64"}})
      check("func.func @main(%x: tensor<" + std::string(operand) + ">) -> tensor<" + result +
                "> { %r = nn.reduce <" + kind + "> %x dims [" + dims + "] : tensor<" + operand +
                "> -> tensor<" + result + "> return %r : tensor<" + result + "> }",
            {0.5, 2});
  for (const char *op : {"softmax", "log_softmax", "cumsum"})
    for (const char *dim : {"0", "1"})
      check("func.func @main(%x: tensor<3x4xf64>) -> tensor<3x4xf64> { %r = nn." + std::string(op) +
            " %x dim " + dim + " : tensor<3x4xf64> return %r : tensor<3x4xf64> }");
  for (const char *flags : {"exclusive", "reverse", "exclusive reverse"})
    check("func.func @main(%x: tensor<4xf64>) -> tensor<4xf64> { %r = nn.cumsum %x dim 0 " +
          std::string(flags) + " : tensor<4xf64> return %r : tensor<4xf64> }");
}

// One zero leaves the product of the others; two leave nothing.
TEST_F(DerivativeTest, productsWithZeros) {
  check(R"(func.func @main(%x: tensor<3x4xf64>) -> tensor<3xf64> {
    %m = arith.constant dense<[[1., 1., 1., 1.], [1., 0., 1., 1.], [0., 1., 0., 1.]]> : tensor<3x4xf64>
    %y = arith.mulf %x, %m : tensor<3x4xf64>
    %r = nn.reduce <prod> %y dims [1] : tensor<3x4xf64> -> tensor<3xf64>
    return %r : tensor<3xf64> })");
}

TEST_F(DerivativeTest, normalizations) {
  check(R"(func.func @main(%x: tensor<3x4xf64>, %s: tensor<4xf64>, %b: tensor<4xf64>) -> tensor<3x4xf64> {
    %r = nn.layer_norm %x scale %s : tensor<4xf64> bias %b : tensor<4xf64> dim 1 epsilon 1.0e-3 : tensor<3x4xf64>
    return %r : tensor<3x4xf64> })");
  check(R"(func.func @main(%x: tensor<2x2x3xf64>, %s: tensor<2x3xf64>) -> tensor<2x2x3xf64> {
    %r = nn.layer_norm %x scale %s : tensor<2x3xf64> dim 1 epsilon 1.0e-3 : tensor<2x2x3xf64>
    return %r : tensor<2x2x3xf64> })");
  check(R"(func.func @main(%x: tensor<3x4xf64>, %s: tensor<4xf64>) -> tensor<3x4xf64> {
    %r = nn.rms_norm %x scale %s : tensor<4xf64> dim 1 epsilon 1.0e-3 : tensor<3x4xf64>
    return %r : tensor<3x4xf64> })");
}

// The bits have no derivative; what they choose has.
TEST_F(DerivativeTest, dropout) {
  check(R"(func.func @main(%x: tensor<3x8xf64>) -> tensor<3x8xf64> {
    %k = arith.constant dense<7> : tensor<i64>
    %bits = nn.random %k : tensor<i64> -> tensor<3x8xi32>
    %limit = arith.constant dense<1610612736> : tensor<3x8xi32>
    %drops = arith.cmpi ult, %bits, %limit : tensor<3x8xi32>
    %zero = arith.constant dense<0.0> : tensor<3x8xf64>
    %scale = arith.constant dense<1.6> : tensor<3x8xf64>
    %s = arith.mulf %x, %scale : tensor<3x8xf64>
    %r = arith.select %drops, %zero, %s : tensor<3x8xi1>, tensor<3x8xf64>
    return %r : tensor<3x8xf64> })");
}

// What is equal shares, but a constant bound passes all on and zero nothing.
TEST_F(DerivativeTest, kinksFollowPyTorch) {
  // With respect to %x, which equals %y.
  auto gradient = [&](const std::string &body, double x) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
        "func.func @main(%x: tensor<f64>, %y: tensor<f64>) -> tensor<f64> {" + body + " return %r : tensor<f64> }", &context);
    EXPECT_TRUE(module) << diagnostics;
    auto function = module->lookupSymbol<func::FuncOp>("main");
    Block &block = function.getBody().front();
    auto gradients = differentiate(block.getTerminator()->getOperand(0), block.getArgument(0));
    setResults(function, *gradients);
    TensorValue input(RankedTensorType::get({}, Float64Type::get(&context)));
    input.getMutable<double>()[0] = x;
    SmallVector<TensorValue> values;
    EXPECT_TRUE(succeeded(evaluate(function, {input, input}, values))) << diagnostics;
    return values[0].get<double>()[0];
  };
  std::string zero = "%c = arith.constant dense<0.0> : tensor<f64>", one = "%c = arith.constant dense<1.0> : tensor<f64>";
  EXPECT_EQ(gradient(zero + " %r = arith.maximumf %x, %c : tensor<f64>", 0), 0);
  EXPECT_EQ(gradient(one + " %r = arith.minimumf %c, %x : tensor<f64>", 1), 1);
  std::string spread = "%c = arith.constant dense<1.0> : tensor<1x1xf64> %b = nn.reshape %c : tensor<1x1xf64> -> tensor<f64>";
  EXPECT_EQ(gradient(spread + " %r = arith.maximumf %x, %b : tensor<f64>", 1), 1);
  EXPECT_EQ(gradient("%r = arith.maximumf %x, %x : tensor<f64>", 1), 1);
  EXPECT_EQ(gradient("%r = arith.maximumf %y, %x : tensor<f64>", 1), 0.5);
  EXPECT_EQ(gradient("%r = math.absf %x : tensor<f64>", 0), 0);
  EXPECT_EQ(gradient("%r = nn.reduce <l2> %x dims [] : tensor<f64> -> tensor<f64>", 0), 0);
}

TEST_F(DerivativeTest, namesWhatHasNoDerivative) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(R"(
    func.func @main(%x: tensor<f32>) -> tensor<f32> {
      %i = arith.bitcast %x : tensor<f32> to tensor<i32>
      %f = arith.bitcast %i : tensor<i32> to tensor<f32>
      %s = math.cbrt %x : tensor<f32>
      %r = arith.addf %f, %s : tensor<f32>
      return %r : tensor<f32> })", &context);
  ASSERT_TRUE(module) << diagnostics;
  Block &block = module->lookupSymbol<func::FuncOp>("main").getBody().front();
  SmallVector<Value> roots(block.getArguments());
  EXPECT_TRUE(failed(differentiate(block.getTerminator()->getOperand(0), roots)));
  EXPECT_NE(diagnostics.find("math.cbrt has no derivative"), std::string::npos) << diagnostics;
}
