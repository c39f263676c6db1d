// Recurrent layers, step by step. The part of a step that does not depend on the steps before it is
// one product over the whole sequence; what remains is the same kernels for each step.

#include "lib/Conversion/OnnxToNN/Indices.h"
#include "spillway/Conversion/OnnxToNN/Activations.h"
#include "spillway/Conversion/OnnxToNN/Node.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace spillway;

namespace {

using Order = Emitter::Order;

/// Steps of a sequence, at most.
constexpr int64_t maxSteps = 4096;

//===----------------------------------------------------------------------===//
// Activation functions, by name
//===----------------------------------------------------------------------===//

struct Activation {
  enum Kind {
    relu,
    tanh,
    sigmoid,
    affine,
    leaky,
    thresholded,
    scaledTanh,
    hard,
    exponential,
    soft,
    plus
  } kind;
  double alpha = 0, beta = 0;

  Tensor operator()(Emitter &emit, Tensor x) const {
    auto times = [&](Tensor value, double factor) {
      return emit.mul(value, emit.like(value, factor));
    };
    switch (kind) {
    case relu:
      return emit.max(x, emit.like(x, 0));
    case tanh:
      return emit.unary<math::TanhOp>(x);
    case sigmoid:
      return emit.sigmoid(x);
    case affine:
      return emit.add(times(x, alpha), emit.like(x, beta));
    case leaky:
      return leakyRelu(emit, x, alpha);
    case thresholded:
      return thresholdedRelu(emit, x, alpha);
    case scaledTanh:
      return times(emit.unary<math::TanhOp>(times(x, beta)), alpha);
    case hard:
      return hardSigmoid(emit, x, alpha, beta);
    case exponential:
      return elu(emit, x, alpha);
    case soft:
      return softsign(emit, x);
    case plus:
      return softplus(emit, x);
    }
    llvm_unreachable("all kinds are handled");
  }
};

struct NamedActivation {
  llvm::StringLiteral name;
  Activation::Kind kind;
  bool takesAlpha = false, takesBeta = false;
  double alpha = 0, beta = 0;
};

constexpr NamedActivation namedActivations[] = {
    {"relu", Activation::relu},
    {"tanh", Activation::tanh},
    {"sigmoid", Activation::sigmoid},
    {"affine", Activation::affine, true, true, 1, 0},
    {"leakyrelu", Activation::leaky, true, false, 0.01},
    {"thresholdedrelu", Activation::thresholded, true, false, 1},
    {"scaledtanh", Activation::scaledTanh, true, true, 1, 1},
    {"hardsigmoid", Activation::hard, true, true, 0.2, 0.5},
    {"elu", Activation::exponential, true, false, 1},
    {"softsign", Activation::soft},
    {"softplus", Activation::plus},
};

FailureOr<SmallVector<double>> floatsAttr(Node &node, StringRef name) {
  Attribute attribute = node.rawAttr(name);
  auto values = dyn_cast_if_present<DenseF32ArrayAttr>(attribute);
  if (attribute && !values)
    return node.error() << "attribute " << name << " must be a list of numbers, not " << attribute;
  SmallVector<double> result;
  if (values)
    llvm::append_range(result, values.asArrayRef());
  return result;
}

/// The functions of all directions, `defaults.size()` for each. Those that take alpha or beta take
/// the next one of the list, where it has one.
FailureOr<SmallVector<Activation>> readActivations(Node &node, unsigned directions,
                                                   ArrayRef<StringRef> defaults) {
  SmallVector<StringRef> names;
  Attribute given = node.rawAttr("activations");
  if (auto list = dyn_cast_if_present<ArrayAttr>(given))
    llvm::append_range(names, list.getAsValueRange<StringAttr>());
  if (names.empty())
    for (unsigned d = 0; d < directions; ++d)
      llvm::append_range(names, defaults);
  if (names.size() != directions * defaults.size())
    return node.error() << "activations must name " << directions * defaults.size()
                        << " functions, not " << names.size();
  auto alphas = floatsAttr(node, "activation_alpha"), betas = floatsAttr(node, "activation_beta");
  if (failed(alphas) || failed(betas))
    return failure();
  size_t nextAlpha = 0, nextBeta = 0;
  auto take = [](ArrayRef<double> values, size_t &next, double otherwise) {
    return next < values.size() ? values[next++] : otherwise;
  };
  SmallVector<Activation> activations;
  for (StringRef name : names) {
    auto *found = llvm::find_if(
        namedActivations, [&](const auto &named) { return name.equals_insensitive(named.name); });
    if (found == std::end(namedActivations))
      return node.error() << "unknown activation function '" << name << "'";
    Activation activation{found->kind, found->alpha, found->beta};
    if (found->takesAlpha)
      activation.alpha = take(*alphas, nextAlpha, found->alpha);
    if (found->takesBeta)
      activation.beta = take(*betas, nextBeta, found->beta);
    activations.push_back(activation);
  }
  return activations;
}

//===----------------------------------------------------------------------===//
// What the layers share
//===----------------------------------------------------------------------===//

/// The weights of one direction.
struct Direction {
  bool backwards = false;
  /// [gates * hidden, input], [gates * hidden, hidden].
  Tensor weights, recurrence;
  /// [gates * hidden] each; absent together.
  std::optional<Tensor> bias, recurrentBias;
  /// [batch, hidden].
  Tensor initial;
  SmallVector<Activation, 3> activations;
};

struct Layer {
  /// [length, batch, input].
  Tensor x;
  int64_t gates, hidden;
  /// [batch], i32 or i64.
  std::optional<Tensor> lengths;
  bool batchFirst = false;
  std::optional<double> clip;
  SmallVector<Direction> directions;

  int64_t length() const { return x.size(0); }
  int64_t batch() const { return x.size(1); }
};

/// What a step hands to the next: [batch, hidden] each; an LSTM has a cell.
struct State {
  Tensor hidden;
  std::optional<Tensor> cell;
};

/// One of the parts [hidden] or [batch, hidden] of a tensor that holds them side by side.
Tensor gate(Emitter &emit, const Layer &layer, Tensor x, int64_t i) {
  return emit.sliceDim(x, x.rank() - 1, i * layer.hidden, layer.hidden);
}

Tensor clipped(Emitter &emit, const Layer &layer, Tensor x) {
  if (!layer.clip)
    return x;
  return emit.min(emit.max(x, emit.like(x, -*layer.clip)), emit.like(x, *layer.clip));
}

/// Row d of a tensor whose first dimension is the directions.
Tensor ofDirection(Emitter &emit, Tensor x, int64_t d) {
  return emit.reshape(emit.sliceDim(x, 0, d, 1), x.shape().drop_front());
}

Tensor timesTransposed(Emitter &emit, Tensor x, Tensor weights) {
  Shape shape(x.shape());
  shape.back() = weights.size(0);
  return {
      emit.create<nn::MatmulOp>(emit.typeOf(x.type, shape), x.value, weights.value, false, true),
      x.type};
}

LogicalResult expectShape(Node &node, unsigned input, StringRef what, ArrayRef<int64_t> shape) {
  if (!node.has(input))
    return success();
  Tensor x = node.in(input);
  if (x.type == node.in(0).type && x.shape() == shape)
    return success();
  return node.error() << what << " (input " << input << ") must be "
                      << node.emit.typeOf(node.in(0).type, shape) << ", not " << x.tensorType();
}

/// [directions, batch, hidden] of an input that holds a state, zeros where it is absent.
FailureOr<Tensor> readInitial(Node &node, const Layer &layer, unsigned input, int64_t directions) {
  Emitter &emit = node.emit;
  Shape shape{directions, layer.batch(), layer.hidden};
  if (!node.has(input))
    return emit.splat(layer.x.type, shape, 0);
  Shape given = layer.batchFirst ? Shape{shape[1], shape[0], shape[2]} : shape;
  if (failed(expectShape(node, input, "the initial state", given)))
    return failure();
  return layer.batchFirst ? emit.transpose(node.in(input), {1, 0, 2}) : node.in(input);
}

/// Inputs 0 to 5: x, weights, recurrent weights, bias, lengths, initial hidden state.
FailureOr<Layer> readLayer(Node &node, int64_t gates, ArrayRef<StringRef> defaults) {
  Emitter &emit = node.emit;
  Layer layer;
  layer.gates = gates;
  layer.batchFirst = node.attr("layout", int64_t{0}) != 0;
  node.ignoreAttr("output_sequence"); // of opset 7 and older, told by the outputs that are used
  if (node.hasAttr("clip"))
    layer.clip = node.attr("clip", 0.0);
  StringRef direction = node.attr("direction", StringRef("forward"));
  bool isBoth = direction == "bidirectional", isReverse = direction == "reverse";
  if (!isBoth && !isReverse && direction != "forward")
    return node.error() << "unknown direction '" << direction << "'";
  int64_t directions = isBoth ? 2 : 1;
  if (node.in(0).rank() != 3 || node.in(2).rank() != 3)
    return node.error() << "x " << node.in(0).tensorType() << " and the recurrent weights "
                        << node.in(2).tensorType() << " must have three dimensions";
  layer.x = layer.batchFirst ? emit.transpose(node.in(0), {1, 0, 2}) : node.in(0);
  layer.hidden = node.in(2).size(2);
  if (node.attr("hidden_size", layer.hidden) != layer.hidden)
    return node.error() << "hidden_size differs from that of the recurrent weights "
                        << node.in(2).tensorType();
  if (layer.length() > maxSteps)
    return node.error() << "sequences of more than " << maxSteps << " steps are not supported";
  int64_t rows = gates * layer.hidden;
  if (failed(expectShape(node, 1, "the weights", {directions, rows, layer.x.size(2)})) ||
      failed(expectShape(node, 2, "the recurrent weights", {directions, rows, layer.hidden})) ||
      failed(expectShape(node, 3, "the bias", {directions, 2 * rows})))
    return failure();
  if (auto lengths = node.optional(4)) {
    if ((lengths->type != DataType::i32 && lengths->type != DataType::i64) ||
        Shape(lengths->shape()) != Shape{layer.batch()})
      return node.error() << "sequence_lens must hold an i32 per batch, not "
                          << lengths->tensorType();
    auto steps = within(node, *lengths, 0, layer.length(), "sequence_lens");
    if (failed(steps))
      return failure();
    layer.lengths = *steps;
  }
  auto activations = readActivations(node, directions, defaults);
  auto initial = readInitial(node, layer, 5, directions);
  if (failed(activations) || failed(initial))
    return failure();
  for (int64_t d = 0; d < directions; ++d) {
    Direction each;
    each.backwards = isReverse || d == 1;
    each.weights = ofDirection(emit, node.in(1), d);
    each.recurrence = ofDirection(emit, node.in(2), d);
    if (auto bias = node.optional(3)) {
      Tensor both = ofDirection(emit, *bias, d);
      each.bias = emit.sliceDim(both, 0, 0, rows);
      each.recurrentBias = emit.sliceDim(both, 0, rows, rows);
    }
    each.initial = ofDirection(emit, *initial, d);
    llvm::append_range(each.activations, ArrayRef<Activation>(*activations)
                                             .slice(d * defaults.size(), defaults.size()));
    layer.directions.push_back(each);
  }
  return layer;
}

/// The state after a step of one direction. `x` is the step's part of the product of the weights
/// and the sequence, bias included, [batch, gates * hidden].
using Step = llvm::function_ref<State(const Direction &direction, Tensor x, const State &state)>;

/// Where sequences have ended, a step changes nothing, and its output is zero.
struct StepMask {
  Tensor runs;

  Tensor keep(Emitter &emit, Tensor next, Tensor last) const {
    return emit.select(emit.broadcast(runs, next.shape()), next, last);
  }
};

/// Runs a direction; gives the outputs of all steps in the order of the sequence and the last
/// state.
std::pair<SmallVector<Tensor>, State> runDirection(Emitter &emit, const Layer &layer,
                                                   const Direction &direction, Tensor projected,
                                                   State state, Step step) {
  SmallVector<Tensor> outputs(layer.length());
  for (int64_t i = 0; i < layer.length(); ++i) {
    int64_t t = direction.backwards ? layer.length() - 1 - i : i;
    State next = step(direction, ofDirection(emit, projected, t), state);
    outputs[t] = next.hidden;
    if (layer.lengths) {
      Tensor now = emit.splatInt(layer.lengths->type, layer.lengths->shape(), t);
      Tensor runs = emit.compare(Order::less, now, *layer.lengths);
      StepMask mask{emit.reshape(runs, {layer.batch(), 1})};
      outputs[t] = mask.keep(emit, next.hidden, emit.like(next.hidden, 0));
      next.hidden = mask.keep(emit, next.hidden, state.hidden);
      if (next.cell)
        next.cell = mask.keep(emit, *next.cell, *state.cell);
    }
    state = next;
  }
  return {outputs, state};
}

/// Runs all directions from `cells` ([directions, batch, hidden], where there are any) on and sets
/// the outputs: of all steps, the last hidden state, the last cell. The projection has the bias
/// `bias` makes.
LogicalResult runLayer(Node &node, const Layer &layer, std::optional<Tensor> cells,
                       llvm::function_ref<std::optional<Tensor>(const Direction &)> bias,
                       Step step) {
  Emitter &emit = node.emit;
  auto count = static_cast<int64_t>(layer.directions.size());
  SmallVector<Tensor> sequences, hidden, cell;
  Shape plane{1, layer.batch(), layer.hidden};
  for (auto [d, direction] : llvm::enumerate(layer.directions)) {
    Tensor projected = timesTransposed(emit, layer.x, direction.weights);
    if (auto row = bias(direction))
      projected = emit.add(projected, emit.broadcast(*row, projected.shape()));
    State state{direction.initial,
                cells ? std::optional(ofDirection(emit, *cells, d)) : std::nullopt};
    auto [outputs, last] = runDirection(emit, layer, direction, projected, state, step);
    for (Tensor &output : outputs)
      output = emit.reshape(output, plane);
    Shape whole{layer.length(), layer.batch(), layer.hidden};
    sequences.push_back(outputs.empty() ? emit.splat(layer.x.type, whole, 0)
                                        : emit.join(outputs, 0));
    hidden.push_back(emit.reshape(last.hidden, plane));
    if (last.cell)
      cell.push_back(emit.reshape(*last.cell, plane));
  }
  // [directions, length, batch, hidden], the order of which the layout says.
  SmallVector<Tensor> planes;
  for (Tensor sequence : sequences)
    planes.push_back(emit.reshape(sequence, {1, layer.length(), layer.batch(), layer.hidden}));
  Tensor all = emit.concat(planes, 0);
  auto states = [&](ArrayRef<Tensor> parts) {
    Tensor joined = emit.concat(parts, 0);
    return layer.batchFirst ? emit.transpose(joined, {1, 0, 2}) : joined;
  };
  if (count == 1 && !layer.batchFirst)
    node.set(0, emit.reshape(all, {layer.length(), 1, layer.batch(), layer.hidden}));
  else
    node.set(0, layer.batchFirst ? emit.transpose(all, {2, 1, 0, 3})
                                 : emit.transpose(all, {1, 0, 2, 3}));
  node.set(1, states(hidden));
  if (!cell.empty())
    node.set(2, states(cell));
  return success();
}

/// The sum of both biases.
std::optional<Tensor> wholeBias(Emitter &emit, const Direction &direction) {
  if (!direction.bias)
    return std::nullopt;
  return emit.add(*direction.bias, *direction.recurrentBias);
}

//===----------------------------------------------------------------------===//
// RNN, GRU, LSTM
//===----------------------------------------------------------------------===//

LogicalResult convertRNN(Node &node) {
  Emitter &emit = node.emit;
  auto read = readLayer(node, 1, {"Tanh"});
  if (failed(read))
    return failure();
  const Layer &layer = *read;
  auto bias = [&](const Direction &direction) { return wholeBias(emit, direction); };
  return runLayer(
      node, layer, std::nullopt, bias,
      [&](const Direction &direction, Tensor x, const State &state) -> State {
        Tensor sum = emit.add(timesTransposed(emit, state.hidden, direction.recurrence), x);
        return {direction.activations[0](emit, clipped(emit, layer, sum)), std::nullopt};
      });
}

/// Gates: update z, reset r, hidden h.
LogicalResult convertGRU(Node &node) {
  Emitter &emit = node.emit;
  auto read = readLayer(node, 3, {"Sigmoid", "Tanh"});
  if (failed(read))
    return failure();
  const Layer &layer = *read;
  int64_t hidden = layer.hidden;
  bool resetsProduct = node.attr("linear_before_reset", int64_t{0}) != 0;
  auto bias = [&](const Direction &direction) -> std::optional<Tensor> {
    if (!resetsProduct || !direction.bias)
      return wholeBias(emit, direction);
    // The hidden gate's recurrent bias is reset with its product.
    Tensor first = emit.add(emit.sliceDim(*direction.bias, 0, 0, 2 * hidden),
                            emit.sliceDim(*direction.recurrentBias, 0, 0, 2 * hidden));
    return emit.concat({first, gate(emit, layer, *direction.bias, 2)}, 0);
  };
  auto step = [&](const Direction &direction, Tensor x, const State &state) -> State {
    Tensor last = state.hidden;
    const Activation &f = direction.activations[0], &g = direction.activations[1];
    auto activate = [&](const Activation &function, Tensor a, Tensor b) {
      return function(emit, clipped(emit, layer, emit.add(a, b)));
    };
    Tensor candidate, update;
    if (resetsProduct) {
      Tensor product = timesTransposed(emit, last, direction.recurrence);
      update = activate(f, gate(emit, layer, x, 0), gate(emit, layer, product, 0));
      Tensor reset = activate(f, gate(emit, layer, x, 1), gate(emit, layer, product, 1));
      Tensor inner = gate(emit, layer, product, 2);
      if (direction.recurrentBias)
        inner = emit.add(
            inner, emit.broadcast(gate(emit, layer, *direction.recurrentBias, 2), inner.shape()));
      candidate = activate(g, gate(emit, layer, x, 2), emit.mul(reset, inner));
    } else {
      Tensor outer = emit.sliceDim(direction.recurrence, 0, 0, 2 * hidden);
      Tensor product = timesTransposed(emit, last, outer);
      update = activate(f, gate(emit, layer, x, 0), gate(emit, layer, product, 0));
      Tensor reset = activate(f, gate(emit, layer, x, 1), gate(emit, layer, product, 1));
      Tensor inner = timesTransposed(emit, emit.mul(reset, last),
                                     emit.sliceDim(direction.recurrence, 0, 2 * hidden, hidden));
      candidate = activate(g, gate(emit, layer, x, 2), inner);
    }
    Tensor rest = emit.sub(emit.like(update, 1), update);
    return {emit.add(emit.mul(rest, candidate), emit.mul(update, last)), std::nullopt};
  };
  return runLayer(node, layer, std::nullopt, bias, step);
}

/// Gates: input i, output o, forget f, cell c.
LogicalResult convertLSTM(Node &node) {
  Emitter &emit = node.emit;
  auto read = readLayer(node, 4, {"Sigmoid", "Tanh", "Tanh"});
  if (failed(read))
    return failure();
  const Layer &layer = *read;
  auto count = static_cast<int64_t>(layer.directions.size());
  bool couples = node.attr("input_forget", int64_t{0}) != 0;
  auto cells = readInitial(node, layer, 6, count);
  if (failed(cells) || failed(expectShape(node, 7, "the peepholes", {count, 3 * layer.hidden})))
    return failure();
  auto bias = [&](const Direction &direction) { return wholeBias(emit, direction); };
  auto step = [&](const Direction &direction, Tensor x, const State &state) -> State {
    Tensor sum = emit.add(timesTransposed(emit, state.hidden, direction.recurrence), x);
    Tensor last = *state.cell;
    /// A gate that sees the cell through peephole p.
    auto activate = [&](int64_t i, int64_t p, Tensor cell) {
      Tensor value = gate(emit, layer, sum, i);
      if (node.has(7)) {
        Tensor peepholes = ofDirection(emit, node.in(7), &direction - layer.directions.data());
        Tensor row = emit.broadcast(gate(emit, layer, peepholes, p), cell.shape());
        value = emit.add(value, emit.mul(row, cell));
      }
      return direction.activations[0](emit, clipped(emit, layer, value));
    };
    Tensor input = activate(0, 0, last);
    Tensor forget = couples ? emit.sub(emit.like(input, 1), input) : activate(2, 2, last);
    Tensor fresh = direction.activations[1](emit, clipped(emit, layer, gate(emit, layer, sum, 3)));
    Tensor cell = emit.add(emit.mul(forget, last), emit.mul(input, fresh));
    Tensor output = activate(1, 1, cell);
    return {emit.mul(output, direction.activations[2](emit, cell)), cell};
  };
  return runLayer(node, layer, *cells, bias, step);
}

} // namespace

void spillway::addRecurrent(OperatorTable &table) {
  constexpr auto floats = TypeClass::floats;
  constexpr llvm::StringLiteral limits = "at most 4096 steps";
  table.add({
      {"GRU", 7, convertGRU, 3, 6, 2, floats, limits},
      {"LSTM", 7, convertLSTM, 3, 8, 3, floats, limits},
      {"RNN", 7, convertRNN, 3, 6, 2, floats, limits},
  });
}
