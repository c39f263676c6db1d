#include "spillway/Training/Loss.h"

#include "runtime/train/StepNames.h"
#include "spillway/Conversion/OnnxToNN/Activations.h"
#include "spillway/Conversion/OnnxToNN/Bindings.h"
#include "spillway/Conversion/OnnxToNN/ClassLabels.h"
#include "spillway/Conversion/OnnxToNN/Emitter.h"
#include "spillway/Training/Passes.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

namespace spillway {
#define GEN_PASS_DEF_NNADDLOSSPASS
#include "spillway/Training/Passes.h.inc"
} // namespace spillway

using namespace mlir;
using namespace spillway;

namespace {

/// A number that a loss may be given, and what it must be.
struct Option {
  StringLiteral name;
  double otherwise;
  bool (*accepts)(double);
  StringLiteral expected;
};

bool isWhole(double value) { return std::trunc(value) == value && std::abs(value) < 0x1p53; }

constexpr Option weight{"weight", 1, [](double) { return true; }, "a number"};
constexpr Option ignoreIndex{"ignore_index", -100, isWhole, "a whole number"};
constexpr Option labelSmoothing{"label_smoothing", 0, [](double value) { return value >= 0 && value <= 1; },
                                "a number from 0 to 1"};
constexpr Option shift{"shift", 0, [](double value) { return isWhole(value) && value >= 0; },
                       "a whole number of at least 0"};
constexpr Option classDim{"dim", -1, isWhole, "a whole number"};
constexpr Option delta{"delta", 1, [](double value) { return value > 0; }, "a number above 0"};
constexpr Option beta{"beta", 1, [](double value) { return value > 0; }, "a number above 0"};
constexpr Option positiveWeight{"pos_weight", 1, [](double value) { return value > 0; }, "a number above 0"};

class LossBuilder;

struct Kind {
  StringLiteral name;
  FailureOr<Tensor> (LossBuilder::*build)();
  SmallVector<Option, 5> options;
};

/// KIND(OUTPUT, LABELS, OPTION=VALUE, ...), read.
struct Call {
  const Kind *kind = nullptr;
  std::string output, labels = "labels";
  llvm::StringMap<double> values;

  double operator[](const Option &option) const {
    auto found = values.find(option.name);
    return found == values.end() ? option.otherwise : found->second;
  }
};

/// Builds one loss at the end of a function.
class LossBuilder {
public:
  LossBuilder(func::FuncOp function, Emitter &emit, const Call &call, StringRef text)
      : function(function), emit(emit), call(call), text(text) {}

  FailureOr<Tensor> build(Tensor output) {
    if (!isFloat(output.type))
      return error() << "the output '" << call.output << "' is " << output.tensorType() << ", which holds no floats";
    predicted = emit.cast(output, output.type == DataType::f64 ? DataType::f64 : DataType::f32);
    FailureOr<Tensor> loss = (this->*call.kind->build)();
    if (failed(loss))
      return failure();
    Tensor weighted = call[weight] == 1 ? *loss : emit.mul(*loss, emit.like(*loss, call[weight]));
    return emit.cast(weighted, DataType::f32);
  }

  FailureOr<Tensor> crossEntropy() { return overClasses(/*takesLogits=*/true); }
  FailureOr<Tensor> negativeLogLikelihood() { return overClasses(/*takesLogits=*/false); }

  FailureOr<Tensor> squaredError() {
    return ofDifference([&](Tensor difference) { return emit.mul(difference, difference); });
  }
  FailureOr<Tensor> absoluteError() {
    return ofDifference([&](Tensor difference) { return emit.abs(difference); });
  }
  FailureOr<Tensor> huber() {
    return ofDifference([&](Tensor difference) { return quadraticNearZero(difference, call[delta], 1); });
  }
  FailureOr<Tensor> smoothAbsoluteError() {
    return ofDifference([&](Tensor difference) { return quadraticNearZero(difference, call[beta], 1 / call[beta]); });
  }

  /// (1 - y) x + (1 + (w - 1) y) softplus(-x).
  FailureOr<Tensor> binaryCrossEntropy() {
    FailureOr<Tensor> labels = targets();
    if (failed(labels))
      return failure();
    Tensor x = predicted, y = *labels, one = emit.like(x, 1);
    Tensor ofPositive = softplus(emit, emit.neg(x));
    if (double more = call[positiveWeight] - 1; more != 0)
      ofPositive = emit.mul(ofPositive, emit.add(one, emit.mul(y, emit.like(y, more))));
    return mean(emit.add(emit.mul(emit.sub(one, y), x), ofPositive));
  }

private:
  InFlightDiagnostic error() { return emitError(function.getLoc()) << "the loss '" << text << "': "; }

  Tensor mean(Tensor values) {
    return emit.reduce(nn::ReductionKind::mean, values, allDims(values.rank()), /*keep=*/false);
  }

  template <typename Build> FailureOr<Tensor> ofDifference(Build build) {
    FailureOr<Tensor> labels = targets();
    if (failed(labels))
      return failure();
    return mean(build(emit.sub(predicted, *labels)));
  }

  /// scale * d^2 / 2 where |d| is at most `reach`, the tangent there where it is more.
  Tensor quadraticNearZero(Tensor difference, double reach, double scale) {
    Tensor size = emit.abs(difference), limit = emit.like(size, reach);
    Tensor square = emit.mul(emit.mul(difference, difference), emit.like(size, scale / 2));
    Tensor line = emit.mul(emit.sub(size, emit.like(size, reach / 2)), emit.like(size, scale * reach));
    return emit.select(emit.compare(Emitter::Order::lessOrEqual, size, limit), square, line);
  }

  /// Labels of the prediction's shape.
  FailureOr<Tensor> targets() {
    FailureOr<Tensor> labels =
        input(predicted.type, predicted.shape(), {DataType::f16, DataType::bf16, DataType::f32, DataType::f64});
    if (failed(labels))
      return failure();
    return emit.cast(*labels, predicted.type);
  }

  /// Of the mean over labels that count, where each names a class.
  FailureOr<Tensor> overClasses(bool takesLogits) {
    int64_t rank = predicted.rank();
    auto dim = static_cast<int64_t>(call[classDim]);
    if (rank < 2 || dim < -rank || dim >= rank)
      return error() << "'" << call.output << "' is " << predicted.tensorType() << "; classes lie along "
                     << "dimension " << dim << " of two or more";
    dim = dim < 0 ? dim + rank : dim;
    int64_t classes = predicted.size(dim);
    Shape shape(predicted.shape());
    shape.erase(shape.begin() + dim);
    FailureOr<Tensor> given = input(DataType::i64, shape, {DataType::i32, DataType::i64});
    if (failed(given))
      return failure();
    Tensor labels = emit.cast(*given, DataType::i64);
    auto places = static_cast<int64_t>(call[shift]);
    if (places != 0 && (shape.size() < 2 || places >= shape[1]))
      return error() << "the labels '" << call.labels << "' are " << labels.tensorType()
                     << ", which cannot be shifted by " << places << " along dimension 1";
    markClasses(given->value, classes, static_cast<int64_t>(call[ignoreIndex]), places);

    // Of what is shifted away nothing is known: the last places do not count.
    std::optional<Tensor> known;
    if (places != 0) {
      Shape rest(shape);
      rest[1] = places;
      labels = emit.concat(
          {emit.sliceDim(labels, 1, places, shape[1] - places), emit.splatInt(DataType::i64, rest, 0)}, 1);
      known = emit.compare(Emitter::Order::less, emit.iota(DataType::i64, shape, 1),
                           emit.splatInt(DataType::i64, shape, shape[1] - places));
    }
    Tensor ignored = emit.splatInt(DataType::i64, shape, static_cast<int64_t>(call[ignoreIndex]));
    Tensor counts = emit.logicalNot(emit.compare(Emitter::Order::equal, labels, ignored));
    counts = known ? emit.logicalAnd(counts, *known) : counts;
    // A negative class is none, where an index would count from the end.
    Tensor zero = emit.like(labels, 0);
    Tensor isNegative = emit.compare(Emitter::Order::less, labels, zero);
    labels = emit.select(counts, emit.select(isNegative, emit.splatInt(DataType::i64, shape, classes), labels), zero);

    Tensor logs = takesLogits ? Tensor{emit.create<nn::LogSoftmaxOp>(predicted.value, dim), predicted.type} : predicted;
    Tensor loss = negatedPick(emit, logs, labels, dim);
    if (double smoothing = call[labelSmoothing]; smoothing != 0) {
      Tensor all = emit.neg(emit.reduce(nn::ReductionKind::sum, logs, {dim}, /*keep=*/false));
      loss = emit.add(emit.mul(loss, emit.like(loss, 1 - smoothing)),
                      emit.mul(all, emit.like(all, smoothing / static_cast<double>(classes))));
    }
    SmallVector<int64_t> dims = allDims(loss.rank());
    auto sum = [&](Tensor values) { return emit.reduce(nn::ReductionKind::sum, values, dims, /*keep=*/false); };
    return emit.div(sum(emit.select(counts, loss, emit.like(loss, 0))), sum(emit.cast(counts, loss.type)));
  }

  /// The input that the labels are: one of the model's, of one of the types, or a new one.
  FailureOr<Tensor> input(DataType type, ArrayRef<int64_t> shape, ArrayRef<DataType> accepted) {
    for (BlockArgument argument : function.getArguments()) {
      auto nameAttr = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), valueNameAttrName);
      if (!nameAttr || nameAttr.getValue() != call.labels)
        continue;
      auto typeAttr = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), valueTypeAttrName);
      std::optional<DataType> known = typeAttr ? dataTypeFromName(typeAttr.getValue()) : std::nullopt;
      RankedTensorType expected = emit.typeOf(type, shape);
      if (!known || !llvm::is_contained(accepted, *known) ||
          cast<RankedTensorType>(argument.getType()).getShape() != shape)
        return error() << "the model's input '" << call.labels << "' is " << argument.getType() << "; the labels of '"
                       << call.output << "' are " << expected << ". Name another one, which the step then gets";
      return Tensor{argument, *known};
    }
    for (StringRef name : {rateInput, stepInput, lossScaleInput, trainingInput, randomInput})
      if (name == call.labels)
        return error() << "labels cannot be called '" << name << "', as what a training step adds is";
    if (shape.empty())
      return error() << "the output '" << call.output << "' is one number: it has no dimension of samples";
    return Tensor{appendInput(function, call.labels, type, shape), type};
  }

  func::FuncOp function;
  Emitter &emit;
  const Call &call;
  StringRef text;
  Tensor predicted;
};

ArrayRef<Kind> kinds() {
  static const Kind all[] = {
      {"bce_with_logits", &LossBuilder::binaryCrossEntropy, {positiveWeight, weight}},
      {"cross_entropy", &LossBuilder::crossEntropy, {classDim, ignoreIndex, labelSmoothing, shift, weight}},
      {"huber", &LossBuilder::huber, {delta, weight}},
      {"l1", &LossBuilder::absoluteError, {weight}},
      {"mse", &LossBuilder::squaredError, {weight}},
      {"nll", &LossBuilder::negativeLogLikelihood, {classDim, ignoreIndex, shift, weight}},
      {"smooth_l1", &LossBuilder::smoothAbsoluteError, {beta, weight}},
  };
  return all;
}

template <typename Named> std::string namesOf(ArrayRef<Named> all) {
  return llvm::join(llvm::map_range(all, [](const Named &one) { return StringRef(one.name); }), ", ");
}

FailureOr<Call> parseCall(Location location, StringRef text) {
  auto error = [&] { return emitError(location) << "the loss '" << text << "': "; };
  auto [kindName, rest] = text.split('(');
  Call call;
  for (const Kind &kind : kinds())
    if (kind.name == kindName.trim())
      call.kind = &kind;
  if (!call.kind)
    return error() << "there is none called '" << kindName.trim() << "'; there are " << namesOf(kinds());
  SmallVector<StringRef> parts, names;
  rest.drop_back().split(parts, ',');
  for (StringRef part : parts) {
    auto [name, value] = part.trim().split('=');
    if (!part.contains('=')) {
      names.push_back(part.trim());
      continue;
    }
    const auto *option = llvm::find_if(
        call.kind->options, [name = name.trim()](const Option &option) { return option.name == name; });
    if (option == call.kind->options.end())
      return error() << "it has no option '" << name.trim() << "'; there are "
                     << namesOf(ArrayRef<Option>(call.kind->options));
    double number = 0;
    if (value.trim().getAsDouble(number) || !std::isfinite(number) || !option->accepts(number))
      return error() << "'" << option->name << "' is " << option->expected << ", not '" << value.trim() << "'";
    call.values[option->name] = number;
  }
  if (names.empty() || names.size() > 2 || llvm::is_contained(names, ""))
    return error() << "expected " << call.kind->name << "(OUTPUT, LABELS, OPTION=VALUE, ...), of which OUTPUT is needed";
  call.output = names[0].str();
  if (names.size() == 2)
    call.labels = names[1].str();
  return call;
}

/// The result of a function called `name`.
FailureOr<Tensor> findOutput(func::FuncOp function, StringRef name) {
  Operation *end = function.getBody().front().getTerminator();
  auto nameOf = [&](unsigned i) {
    auto attr = function.getResultAttrOfType<StringAttr>(i, valueNameAttrName);
    return attr ? attr.getValue() : StringRef();
  };
  for (auto [i, value] : llvm::enumerate(end->getOperands())) {
    auto type = function.getResultAttrOfType<StringAttr>(i, valueTypeAttrName);
    std::optional<DataType> element = type ? dataTypeFromName(type.getValue()) : std::nullopt;
    if (nameOf(i) == name && element)
      return Tensor{value, *element};
  }
  InFlightDiagnostic error = function.emitError("has no output '") << name << "'; the outputs are";
  for (auto [i, value] : llvm::enumerate(end->getOperands()))
    error << (i ? ", '" : " '") << nameOf(i) << "' " << value.getType();
  return error;
}

FailureOr<Tensor> buildTerm(func::FuncOp function, Emitter &emit, StringRef text) {
  if (isLossCall(text)) {
    FailureOr<Call> call = parseCall(function.getLoc(), text);
    if (failed(call))
      return failure();
    FailureOr<Tensor> output = findOutput(function, call->output);
    if (failed(output))
      return failure();
    return LossBuilder(function, emit, *call, text).build(*output);
  }
  FailureOr<Tensor> output = findOutput(function, text);
  if (failed(output))
    return failure();
  if (!isFloat(output->type) || output->count() != 1)
    return function.emitError("the loss '") << text << "' must be one float, not " << output->tensorType();
  return emit.cast(emit.reshape(*output, {}), DataType::f32);
}

/// The sum of the losses becomes a result, in place of one of that name.
LogicalResult addLoss(func::FuncOp function, ArrayRef<std::string> losses) {
  Operation *end = function.getBody().front().getTerminator();
  OpBuilder builder(end);
  KnownValues known;
  Emitter emit(builder, known);
  std::optional<Tensor> sum;
  for (StringRef text : losses) {
    emit.setLocation(NameLoc::get(builder.getStringAttr(text)));
    FailureOr<Tensor> term = buildTerm(function, emit, text);
    if (failed(term))
      return failure();
    sum = sum ? emit.add(*sum, *term) : *term;
  }
  if (!sum)
    return function.emitError("is given no loss");
  for (unsigned i = function.getNumResults(); i-- > 0;)
    if (auto name = function.getResultAttrOfType<StringAttr>(i, valueNameAttrName); name && name == lossOutput) {
      end->eraseOperand(i);
      if (failed(function.eraseResult(i)))
        return failure();
    }
  appendOutput(function, lossOutput, DataType::f32, sum->value);
  return success();
}

class NNAddLossPass : public spillway::impl::NNAddLossPassBase<NNAddLossPass> {
public:
  using NNAddLossPassBase::NNAddLossPassBase;

  void runOnOperation() override {
    if (failed(addLoss(getOperation(), SmallVector<std::string>(losses.begin(), losses.end()))))
      signalPassFailure();
  }
};

} // namespace

bool spillway::isLossCall(StringRef text) { return text.contains('(') && text.ends_with(")"); }
