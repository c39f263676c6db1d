// Attention whose scores have no softmax: a state per head that each step of time decays and adds
// to.

#include "lib/Conversion/OnnxToNN/Heads.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace spillway;

namespace {

/// Steps of a sequence, at most.
constexpr int64_t maxSteps = 4096;

/// What a node computes, in the type that states are computed in.
struct Linear {
  int64_t batch, length, heads, group, keySize, valueSize;
  /// query [b, heads, t, group, dk], key [b, heads, t, dk], value [b, heads, t, dv].
  Tensor query, key, value;
  /// What multiplies the state [b, heads, t, dk or 1], and how much of an error is corrected [b,
  /// heads or 1, t, 1].
  std::optional<Tensor> decay, correction;

  /// Step `t` of `x`, whose dimension 2 is time, in this shape.
  Tensor at(Emitter &emit, Tensor x, int64_t t, ArrayRef<int64_t> shape) const {
    return emit.reshape(emit.sliceDim(x, 2, t, 1), shape);
  }
};

Tensor product(Emitter &emit, Tensor a, Tensor b) {
  Shape shape(a.shape());
  shape.back() = b.size(3);
  return {emit.create<nn::MatmulOp>(emit.typeOf(a.type, shape), a.value, b.value, false, false),
          a.type};
}

/// The state after step `t`.
Tensor step(Emitter &emit, const Linear &linear, Tensor state, int64_t t) {
  int64_t b = linear.batch, h = linear.heads;
  Shape shape(state.shape());
  if (linear.decay) {
    Tensor factor = linear.at(emit, *linear.decay, t, {b, h, linear.decay->size(3), 1});
    state = emit.mul(state, emit.broadcast(factor, shape));
  }
  Tensor value = linear.at(emit, linear.value, t, {b, h, 1, linear.valueSize});
  if (linear.correction) {
    Tensor held = product(emit, linear.at(emit, linear.key, t, {b, h, 1, linear.keySize}), state);
    Tensor rate = linear.at(emit, *linear.correction, t, {b, linear.correction->size(1), 1, 1});
    value = emit.mul(emit.broadcast(rate, value.shape()), emit.sub(value, held));
  }
  Tensor key = linear.at(emit, linear.key, t, {b, h, linear.keySize, 1});
  return emit.add(state, emit.mul(emit.broadcast(key, shape), emit.broadcast(value, shape)));
}

/// The rule's inputs: decay (4) and beta (5), which it takes or must not have.
LogicalResult readRule(Node &node, Linear &linear, DataType type) {
  Emitter &emit = node.emit;
  StringRef rule = node.attr("update_rule", StringRef("gated_delta"));
  bool decays = rule == "gated" || rule == "gated_delta";
  bool corrects = rule == "delta" || rule == "gated_delta";
  if (!decays && !corrects && rule != "linear")
    return node.error() << "unknown update_rule '" << rule << "'";
  if (node.has(4) != decays || node.has(5) != corrects)
    return node.error() << "update_rule '" << rule << "' takes " << (decays ? "a" : "no")
                        << " decay (input 4) and " << (corrects ? "a" : "no") << " beta (input 5)";
  auto read = [&](unsigned input, ArrayRef<int64_t> sizes) -> FailureOr<Tensor> {
    Tensor x = node.in(input);
    bool fits = isFloat(x.type) && x.rank() == 3 && x.size(0) == linear.batch &&
                x.size(1) == linear.length && llvm::is_contained(sizes, x.size(2));
    if (!fits)
      return node.error() << "input " << input << " " << x.tensorType() << " does not fit "
                          << linear.heads << " heads of " << node.in(1).tensorType();
    return emit.cast(x, type);
  };
  if (decays) {
    auto decay = read(4, {linear.heads, linear.heads * linear.keySize});
    if (failed(decay))
      return failure();
    linear.decay = emit.unary<math::ExpOp>(splitHeads(emit, *decay, linear.heads));
  }
  if (corrects) {
    auto beta = read(5, {linear.heads, 1});
    if (failed(beta))
      return failure();
    linear.correction = splitHeads(emit, *beta, beta->size(2));
  }
  return success();
}

LogicalResult convertLinearAttention(Node &node) {
  Emitter &emit = node.emit;
  Tensor query = node.in(0), key = node.in(1), value = node.in(2);
  int64_t queryHeads = node.attr("q_num_heads", int64_t{0});
  int64_t heads = node.attr("kv_num_heads", int64_t{0});
  double scale = node.attr("scale", 0.0);
  node.ignoreAttr("chunk_size"); // a hint
  if (failed(node.sameTypes({0, 1, 2})))
    return failure();
  if (query.rank() != 3 || key.rank() != 3 || value.rank() != 3)
    return node.error() << "query, key and value must have three dimensions";
  if (queryHeads < 1 || heads < 1 || key.size(2) == 0 || queryHeads % heads != 0 ||
      query.size(2) % queryHeads != 0 || key.size(2) % heads != 0 || value.size(2) % heads != 0 ||
      query.size(2) / queryHeads != key.size(2) / heads ||
      query.shape().drop_back() != key.shape().drop_back() ||
      query.shape().drop_back() != value.shape().drop_back())
    return node.error() << "query " << query.tensorType() << ", key " << key.tensorType()
                        << " and value " << value.tensorType() << " do not fit " << queryHeads
                        << " and " << heads << " heads";
  Linear linear{};
  linear.batch = query.size(0);
  linear.length = query.size(1);
  linear.heads = heads;
  linear.group = queryHeads / heads;
  linear.keySize = key.size(2) / heads;
  linear.valueSize = value.size(2) / heads;
  if (linear.length > maxSteps)
    return node.error() << "sequences of more than " << maxSteps << " steps are not supported";
  DataType type = query.type == DataType::f64 ? DataType::f64 : DataType::f32;
  if (failed(readRule(node, linear, type)))
    return failure();

  Shape stateShape{linear.batch, heads, linear.keySize, linear.valueSize};
  DataType stateType = node.has(3) ? node.in(3).type : query.type;
  if (node.has(3) && (!isFloat(stateType) || Shape(node.in(3).shape()) != stateShape))
    return node.error() << "the state " << node.in(3).tensorType() << " does not fit " << heads
                        << " heads of " << key.tensorType() << " and " << value.tensorType();
  Tensor state = node.has(3) ? emit.cast(node.in(3), type) : emit.splat(type, stateShape, 0);
  if (scale == 0)
    scale = 1 / std::sqrt(static_cast<double>(linear.keySize));
  linear.key = splitHeads(emit, emit.cast(key, type), heads);
  linear.value = splitHeads(emit, emit.cast(value, type), heads);
  Tensor wide = emit.cast(query, type);
  Tensor apart = emit.reshape(emit.mul(wide, emit.like(wide, scale)),
                              {linear.batch, linear.length, heads, linear.group, linear.keySize});
  linear.query = emit.transpose(apart, {0, 2, 1, 3, 4});

  SmallVector<Tensor> results;
  for (int64_t t = 0; t < linear.length; ++t) {
    state = step(emit, linear, state, t);
    Tensor asked =
        linear.at(emit, linear.query, t, {linear.batch, heads, linear.group, linear.keySize});
    results.push_back(emit.reshape(product(emit, asked, state),
                                   {linear.batch, 1, queryHeads * linear.valueSize}));
  }
  node.set(1, emit.cast(state, stateType));
  Shape empty{linear.batch, 0, queryHeads * linear.valueSize};
  Tensor y = results.empty() ? emit.splat(type, empty, 0) : emit.join(results, 1);
  return node.result(emit.cast(y, query.type));
}

} // namespace

void spillway::addLinearAttention(OperatorTable &table) {
  table.add({
      {"LinearAttention", 27, convertLinearAttention, 3, 6, 2, TypeClass::floats,
       "at most 4096 steps"},
  });
}
