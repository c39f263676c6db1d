#include "spillway/Training/Optimizer.h"

#include "Optimizers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "dialects/NN/NN.h"
#include "runtime/train/StepNames.h"
#include "spillway/Interpreter/Interpreter.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"

#include <fmt/format.h>

#include <cmath>

using namespace mlir;
using namespace spillway;

namespace {

constexpr StringLiteral stateAttr = "spillway.state", stepAttr = "spillway.step",
                        optionAttr = "spillway.option", defaultAttr = "spillway.default",
                        decayOption = "weight_decay";

/// Attributes of an option that say what its values must be.
struct Bound {
  StringLiteral attr, text;
  bool (*holds)(double value, double bound);
};
constexpr Bound bounds[] = {
    {"spillway.least", "at least", [](double value, double bound) { return value >= bound; }},
    {"spillway.most", "at most", [](double value, double bound) { return value <= bound; }},
    {"spillway.below", "below", [](double value, double bound) { return value < bound; }},
};

OwningOpRef<ModuleOp> parse(Location location, StringRef name) {
  MLIRContext *context = location.getContext();
  for (auto [shipped, text] : shippedOptimizers)
    if (name == shipped)
      return parseSourceString<ModuleOp>(text, context, name);
  if (name.ends_with(".mlir"))
    return parseSourceFile<ModuleOp>(name, context);
  InFlightDiagnostic error = emitError(location) << "no optimizer '" << name << "'; there are";
  for (auto [shipped, text] : shippedOptimizers)
    error << " " << shipped << ",";
  error << " or the path of an .mlir file";
  return {};
}

/// Whether kernels compute with numbers of this type.
bool isNumber(Type type) {
  return isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(type) ||
         (type.isSignlessInteger() && llvm::is_contained({1, 8, 16, 32, 64}, type.getIntOrFloatBitWidth()));
}

/// Whether an operation computes scalars from scalars.
bool isScalarOperation(Operation *op) {
  return isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect()) &&
         op->getNumResults() == 1 && op->getNumRegions() == 0 && isNumber(op->getResult(0).getType());
}

/// Copies the body onto tensors: what depends on scalars alone stays of rank 0, what depends on options alone is a
/// constant.
class Lifting {
public:
  Lifting(OpBuilder &builder, Location location, ArrayRef<int64_t> shape)
      : builder(builder), location(location), shape(shape) {}

  void set(Value scalar, Value tensor) { tensors[scalar] = tensor; }

  /// The tensor of `scalar`, of `shape`.
  Value whole(Value scalar) {
    Value tensor = tensors.lookup(scalar);
    if (shapeOf(tensor) == shape)
      return tensor;
    return nn::BroadcastOp::create(builder, location, typeOf(scalar, shape), tensor, ArrayRef<int64_t>());
  }

  void lift(Operation &op) {
    Value result = op.getResult(0);
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      auto value = DenseElementsAttr::get(typeOf(result, {}), constant.getValue());
      return set(result, arith::ConstantOp::create(builder, location, value));
    }
    bool isScalar = llvm::all_of(op.getOperands(), [&](Value operand) {
      return shapeOf(tensors.lookup(operand)).empty();
    });
    OperationState state(location, op.getName());
    for (Value operand : op.getOperands())
      state.addOperands(isScalar ? tensors.lookup(operand) : whole(operand));
    state.addTypes(typeOf(result, isScalar ? ArrayRef<int64_t>() : shape));
    state.addAttributes(op.getAttrs());
    Operation *lifted = builder.create(state);
    set(result, lifted->getResult(0));
    if (isScalar)
      fold(result, lifted);
  }

private:
  void fold(Value scalar, Operation *lifted) {
    SmallVector<TensorValue> operands, results;
    for (Value operand : lifted->getOperands()) {
      DenseElementsAttr known;
      if (!matchPattern(operand, m_Constant(&known)))
        return;
      operands.push_back(*TensorValue::fromAttr(known));
    }
    std::string ignored;
    if (failed(evaluate(lifted, operands, results, ignored)))
      return;
    set(scalar, arith::ConstantOp::create(builder, location, results.front().toAttr()));
    lifted->erase();
  }

  static RankedTensorType typeOf(Value scalar, ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, scalar.getType());
  }
  static ArrayRef<int64_t> shapeOf(Value tensor) {
    return cast<RankedTensorType>(tensor.getType()).getShape();
  }

  OpBuilder &builder;
  Location location;
  ArrayRef<int64_t> shape;
  llvm::DenseMap<Value, Value> tensors;
};

} // namespace

FailureOr<Optimizer> Optimizer::load(Location location, StringRef name, ArrayRef<std::string> settings) {
  Optimizer optimizer;
  optimizer.module_ = parse(location, name);
  if (!optimizer.module_ || failed(optimizer.read(location, settings)))
    return failure();
  return optimizer;
}

LogicalResult Optimizer::read(Location location, ArrayRef<std::string> settings) {
  auto functions = module_->getOps<func::FuncOp>();
  if (!llvm::hasSingleElement(functions))
    return module_->emitError("an optimizer is one function");
  function_ = *functions.begin();
  if (function_.isExternal() || !llvm::hasSingleElement(function_.getBody()) ||
      function_.getNumArguments() < 2)
    return function_.emitError("an optimizer takes a parameter and its gradient, and has a body of one block");
  for (Type type : llvm::concat<const Type>(function_.getArgumentTypes().take_front(2), function_.getResultTypes()))
    if (!type.isF32())
      return function_.emitError("parameter, gradient and results of an optimizer are f32, not ") << type;
  for (unsigned i = 2; i < function_.getNumArguments(); ++i) {
    auto name = [&](StringRef attr) { return function_.getArgAttrOfType<StringAttr>(i, attr); };
    auto error = [&] { return emitError(function_.getArgument(i).getLoc()) << "argument " << i + 1; };
    constexpr StringLiteral kinds[] = {stateAttr, stepAttr, optionAttr};
    if (llvm::count_if(kinds, [&](StringRef attr) { return name(attr) != nullptr; }) > 1)
      return error() << " has more than one of " << stateAttr << ", " << stepAttr << " and " << optionAttr;
    for (StringRef attr : kinds)
      for (unsigned other = 2; other < i; ++other)
        if (name(attr) && name(attr) == function_.getArgAttr(other, attr))
          return error() << ": " << attr << " is '" << name(attr).getValue() << "', as that of argument " << other + 1;
    auto initial = function_.getArgAttrOfType<FloatAttr>(i, defaultAttr);
    StringAttr state = name(stateAttr);
    if (Type type = function_.getArgumentTypes()[i]; state ? !type.isF32() : !type.isF64())
      return error() << (state ? " must be f32" : " must be f64 where it has no ") << (state ? "" : stateAttr) << ", not " << type;
    if (state)
      states_.push_back(state.str());
    else if (StringAttr input = name(stepAttr)) {
      if (input != rateInput && input != stepInput)
        return error() << ": " << stepAttr << " is '" << rateInput << "' or '" << stepInput << "', not '" << input.getValue()
                       << "'";
      stepInputs_.push_back(input.str());
    } else if (StringAttr option = name(optionAttr); option && initial) {
      double value = options_[option.getValue()] = initial.getValueAsDouble();
      if (std::string range = rangeWithout(option, value); !range.empty())
        return error() << ": " << defaultAttr << " must be " << range << ", not " << fmt::format("{}", value);
    } else
      return error() << " needs one of " << stateAttr << ", " << stepAttr << " and " << optionAttr << " with " << defaultAttr;
  }
  if (function_.getNumResults() != 1 + states_.size())
    return function_.emitError("an optimizer returns the parameter and its ")
           << states_.size() << " states, not " << function_.getNumResults() << " values";
  for (Operation &op : function_.getBody().front().without_terminator())
    if (!isScalarOperation(&op))
      return op.emitError("an optimizer computes with operations of arith and math on scalars of 8 to 64 bits and booleans alone");
  for (const std::string &setting : settings) {
    auto [name, text] = StringRef(setting).split('=');
    double value;
    auto option = options_.find(name);
    if (option == options_.end() || text.getAsDouble(value)) {
      SmallVector<StringRef> names(options_.keys());
      llvm::sort(names);
      return emitError(location) << "the optimizer's option '" << setting
                                 << "': expected NAME=NUMBER, with one of " << llvm::join(names, ", ");
    }
    if (std::string range = rangeWithout(name, value); !range.empty())
      return emitError(location) << "the optimizer's option '" << setting << "': must be " << range;
    option->second = value;
  }
  return success();
}

std::string Optimizer::rangeWithout(StringRef name, double value) {
  bool isInside = std::isfinite(value);
  std::vector<std::string> range;
  for (unsigned i = 2; i < function_.getNumArguments(); ++i)
    if (auto option = function_.getArgAttrOfType<StringAttr>(i, optionAttr); option && option == name)
      for (const Bound &bound : bounds)
        if (auto limit = function_.getArgAttrOfType<FloatAttr>(i, bound.attr)) {
          isInside &= bound.holds(value, limit.getValueAsDouble());
          range.push_back(fmt::format("{} {}", std::string_view(bound.text), limit.getValueAsDouble()));
        }
  if (isInside)
    return "";
  return range.empty() ? "finite" : llvm::join(range, " and ");
}

SmallVector<Value> Optimizer::build(OpBuilder &builder, Location location, Value parameter, Value gradient,
                                    ValueRange states, function_ref<Value(StringRef)> stepInput,
                                    bool decays) const {
  Lifting lifting(builder, location, cast<RankedTensorType>(parameter.getType()).getShape());
  func::FuncOp function = function_;
  Block &body = function.getBody().front();
  lifting.set(body.getArgument(0), parameter);
  lifting.set(body.getArgument(1), gradient);
  auto scalar = RankedTensorType::get({}, builder.getF64Type());
  auto state = states.begin();
  for (unsigned i = 2; i < function.getNumArguments(); ++i) {
    Value tensor;
    if (function.getArgAttr(i, stateAttr)) {
      tensor = *state++;
    } else if (auto input = function.getArgAttrOfType<StringAttr>(i, stepAttr)) {
      tensor = stepInput(input.getValue());
    } else {
      StringRef option = function.getArgAttrOfType<StringAttr>(i, optionAttr).getValue();
      double value = option == decayOption && !decays ? 0 : options_.lookup(option);
      tensor = arith::ConstantOp::create(builder, location, DenseElementsAttr::get(scalar, value));
    }
    lifting.set(body.getArgument(i), tensor);
  }
  for (Operation &op : body.without_terminator())
    lifting.lift(op);
  return llvm::map_to_vector(body.getTerminator()->getOperands(),
                             [&](Value value) { return lifting.whole(value); });
}
