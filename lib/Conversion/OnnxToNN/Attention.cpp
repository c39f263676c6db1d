// Attention and rotary position embedding.

#include "lib/Conversion/OnnxToNN/Heads.h"
#include "lib/Conversion/OnnxToNN/Indices.h"
#include "lib/Conversion/OnnxToNN/Windows.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace spillway;

namespace {

using Order = Emitter::Order;

LogicalResult readMask(Node &node, Heads &heads) {
  Tensor mask = node.in(3);
  Emitter &emit = node.emit;
  if (mask.rank() < 1 || mask.rank() > 4)
    return node.error() << "the mask must have one to four dimensions";
  bool isBoolean = mask.type == DataType::boolean;
  if (!isBoolean)
    mask = emit.cast(mask, heads.query.type);
  Shape shape(4 - mask.rank(), 1);
  llvm::append_range(shape, mask.shape());
  mask = emit.reshape(mask, shape);
  if (shape[3] < heads.keys()) { // keys that the mask does not reach are hidden
    Tensor hidden = isBoolean ? emit.splatInt(DataType::boolean, {}, 0)
                              : emit.splat(mask.type, {}, -std::numeric_limits<double>::infinity());
    shape[3] = heads.keys();
    mask = padTo(emit, mask, {0, 0, 0, 0}, shape, hidden);
  }
  Shape scores{heads.batch(), heads.query.size(1), heads.queries(), heads.keys()};
  auto joint = broadcastShapes(shape, scores);
  if (!joint || *joint != scores)
    return node.error() << "the mask " << node.in(3).tensorType()
                        << " does not broadcast to the scores";
  if (isBoolean)
    heads.keeps = mask;
  else
    heads.bias = mask;
  return success();
}

/// Keys beyond each batch's count are padding; the last query stands at the last counted key.
LogicalResult readKeyCounts(Node &node, Heads &heads) {
  Tensor counts = node.in(6);
  Emitter &emit = node.emit;
  if (counts.type != DataType::i64 || Shape(counts.shape()) != Shape{heads.batch()})
    return node.error() << "nonpad_kv_seqlen must hold an i64 per batch";
  if (node.has(4))
    return node.error() << "nonpad_kv_seqlen and past_key exclude each other";
  auto allowed = within(node, counts, 0, heads.keys(), "nonpad_kv_seqlen");
  if (failed(allowed))
    return failure();
  counts = emit.reshape(*allowed, {heads.batch(), 1, 1, 1});
  Shape row{heads.batch(), 1, 1, heads.keys()};
  Tensor isCounted = emit.compare(Order::less, positions(emit, heads, 3, row),
                                  emit.broadcast(counts, row));
  if (heads.isCausal) {
    Shape matrix{heads.batch(), 1, heads.queries(), heads.keys()};
    Tensor offset = emit.sub(counts, emit.likeInt(counts, heads.queries()));
    Tensor limit = emit.add(positions(emit, heads, 2, matrix), emit.broadcast(offset, matrix));
    keepOnly(emit, heads, emit.compare(Order::lessOrEqual, positions(emit, heads, 3, matrix), limit));
    heads.isCausal = false;
  }
  keepOnly(emit, heads, isCounted);
  return success();
}

/// From opset 25 on: a query sees `left` keys before its position and `right` after it.
LogicalResult readWindow(Node &node, Heads &heads) {
  Emitter &emit = node.emit;
  Shape matrix{1, 1, heads.queries(), heads.keys()};
  int64_t left = node.attr("left_window_size", int64_t{-1});
  int64_t right = node.attr("right_window_size", int64_t{-1});
  if ((left >= 0 || right >= 0) && node.has(6))
    return node.error() << "a window together with nonpad_kv_seqlen is not supported";
  auto keepWithin = [&](Order order, int64_t distance) {
    Tensor limit = emit.add(positions(emit, heads, 2, matrix),
                            emit.splatInt(DataType::i64, matrix, distance));
    keepOnly(emit, heads, emit.compare(order, positions(emit, heads, 3, matrix), limit));
  };
  if (left >= 0)
    keepWithin(Order::greaterOrEqual, -std::min(left, heads.keys() + heads.queries()));
  if (right >= 0)
    keepWithin(Order::lessOrEqual, std::min(right, heads.keys() + heads.queries()));
  return success();
}

/// The queries, keys and values with their heads apart and the cache in front.
FailureOr<Heads> readHeads(Node &node) {
  Emitter &emit = node.emit;
  Heads heads;
  heads.query = node.in(0);
  heads.key = node.in(1);
  heads.value = node.in(2);
  int64_t queryHeads = node.attr("q_num_heads", int64_t{0});
  int64_t keyHeads = node.attr("kv_num_heads", int64_t{0});
  int64_t rank = heads.query.rank();
  if ((rank != 3 && rank != 4) || heads.key.rank() != rank || heads.value.rank() != rank)
    return node.error() << "query, key and value must all have three or four dimensions";
  if (failed(node.sameTypes({0, 1})) || !isFloat(heads.value.type))
    return node.error() << "query, key and value must be floating-point tensors";
  if (rank == 3) {
    if (queryHeads < 1 || keyHeads < 1 || heads.query.size(2) % queryHeads != 0 ||
        heads.key.size(2) % keyHeads != 0 || heads.value.size(2) % keyHeads != 0)
      return node.error() << "q_num_heads and kv_num_heads must divide the last dimensions";
    heads.query = splitHeads(emit, heads.query, queryHeads);
    heads.key = splitHeads(emit, heads.key, keyHeads);
    heads.value = splitHeads(emit, heads.value, keyHeads);
  }
  if (node.has(4) != node.has(5))
    return node.error() << "past_key and past_value come together";
  if (node.has(4)) {
    auto joins = [](Tensor past, Tensor now) {
      return past.type == now.type && past.rank() == 4 && past.size(0) == now.size(0) &&
             past.size(1) == now.size(1) && past.size(3) == now.size(3);
    };
    if (!joins(node.in(4), heads.key) || !joins(node.in(5), heads.value))
      return node.error() << "past_key or past_value does not fit key or value";
    heads.past = node.in(4).size(2);
    heads.key = emit.concat({node.in(4), heads.key}, 2);
    heads.value = emit.concat({node.in(5), heads.value}, 2);
  }
  ArrayRef<int64_t> q = heads.query.shape(), k = heads.key.shape(), v = heads.value.shape();
  if (k[0] != q[0] || v[0] != q[0] || k[1] != v[1] || k[2] != v[2] || q[3] != k[3] || k[1] == 0 ||
      q[1] % k[1] != 0)
    return node.error() << "query " << heads.query.tensorType() << ", key "
                        << heads.key.tensorType() << " and value " << heads.value.tensorType()
                        << " do not fit together";
  return heads;
}

/// The scores as the node's fourth output asks for them: 0 as multiplied, 1 capped, 2
/// masked, 3 after the softmax.
Tensor scoresAt(Emitter &emit, const Heads &heads, int64_t mode) {
  int64_t groups = heads.query.size(1) / heads.key.size(1);
  Shape split{heads.batch(), heads.key.size(1), 1, heads.keys(), heads.key.size(3)};
  Shape repeated(split);
  repeated[2] = groups;
  Tensor key = emit.broadcast(emit.reshape(heads.key, split), repeated);
  key = emit.reshape(key, {heads.batch(), heads.query.size(1), heads.keys(), heads.key.size(3)});
  Shape shape{heads.batch(), heads.query.size(1), heads.queries(), heads.keys()};
  Tensor scores{emit.create<nn::MatmulOp>(emit.typeOf(heads.query.type, shape), heads.query.value,
                                          key.value, false, true),
                heads.query.type};
  scores = emit.mul(scores, emit.like(scores, heads.scale));
  if (mode >= 1 && heads.softcap != 0) {
    Tensor cap = emit.like(scores, heads.softcap);
    scores = emit.mul(cap, emit.unary<math::TanhOp>(emit.div(scores, cap)));
  }
  if (mode < 2)
    return scores;
  if (heads.bias)
    scores = emit.add(scores, emit.broadcast(*heads.bias, shape));
  Tensor hidden = emit.like(scores, -std::numeric_limits<double>::infinity());
  if (heads.keeps)
    scores = emit.select(emit.broadcast(*heads.keeps, shape), scores, hidden);
  if (heads.isCausal)
    scores = emit.select(emit.compare(Order::lessOrEqual, positions(emit, heads, 3, shape),
                                      positions(emit, heads, 2, shape)),
                         scores, hidden);
  if (mode < 3)
    return scores;
  Tensor softmax{emit.create<nn::SoftmaxOp>(scores.value, 3), scores.type};
  // A query that sees no key gives zeros.
  return emit.select(emit.isNaN(softmax), emit.like(softmax, 0), softmax);
}

LogicalResult convertAttention(Node &node) {
  Emitter &emit = node.emit;
  auto read = readHeads(node);
  if (failed(read))
    return failure();
  Heads heads = *read;
  heads.isCausal = node.attr("is_causal", int64_t{0}) != 0;
  heads.softcap = node.attr("softcap", 0.0);
  heads.scale = node.attr("scale", 1 / std::sqrt(static_cast<double>(heads.query.size(3))));
  int64_t mode = node.attr("qk_matmul_output_mode", int64_t{0});
  // The softmax is computed in f32 (f64 for f64), whatever is asked for.
  node.ignoreAttr("softmax_precision");
  if (mode < 0 || mode > 3)
    return node.error() << "qk_matmul_output_mode must be 0 to 3";
  if (node.has(3) && failed(readMask(node, heads)))
    return failure();
  if (node.has(6) && failed(readKeyCounts(node, heads)))
    return failure();
  if (node.version() >= 25 && failed(readWindow(node, heads)))
    return failure();

  node.set(1, heads.key);
  node.set(2, heads.value);
  if (node.wants(3))
    node.set(3, scoresAt(emit, heads, mode));
  Tensor y = attend(emit, heads);
  return node.result(node.in(0).rank() == 3 ? mergeHeads(emit, y) : y);
}

//===----------------------------------------------------------------------===//
// Rotary embedding
//===----------------------------------------------------------------------===//

/// The table's rows for each position, [b or 1, length, half].
FailureOr<Tensor> rotaryRows(Node &node, unsigned i, int64_t batch, int64_t length, int64_t half) {
  Tensor table = node.in(i);
  if (node.has(3)) {
    Tensor at = node.in(3);
    bool isIndex = at.type == DataType::i64 || at.type == DataType::i32;
    if (!isIndex || Shape(at.shape()) != Shape{batch, length} || table.rank() != 2)
      return node.error() << "position_ids must be [batch, length], and cos and sin tables of "
                             "two dimensions";
    table = node.emit.gather(table, at, 0);
  }
  auto shape = broadcastShapes(table.shape(), Shape{batch, length, half});
  if (table.rank() != 3 || !shape || *shape != Shape{batch, length, half} ||
      table.size(1) != length || table.size(2) != half)
    return node.error() << "cos or sin " << node.in(i).tensorType()
                        << " does not fit the input " << node.in(0).tensorType();
  return table;
}

LogicalResult convertRotaryEmbedding(Node &node) {
  Emitter &emit = node.emit;
  Tensor x = node.in(0);
  int64_t heads = node.attr("num_heads", int64_t{0});
  int64_t rotary = node.attr("rotary_embedding_dim", int64_t{0});
  bool interleaved = node.attr("interleaved", int64_t{0}) != 0;
  if (x.rank() != 3 && x.rank() != 4)
    return node.error() << "the input must have three or four dimensions";
  // [batch, heads, length, size], or [batch, length, heads, size] for three dimensions.
  bool headsFirst = x.rank() == 4;
  if (!headsFirst) {
    if (heads < 1 || x.size(2) % heads != 0)
      return node.error() << "num_heads must divide the last dimension";
    x = emit.reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads});
  }
  int64_t size = x.size(3);
  if (rotary == 0)
    rotary = size;
  if (rotary < 0 || rotary > size || rotary % 2 != 0)
    return node.error() << "rotary_embedding_dim must be even and at most " << size;
  int64_t half = rotary / 2, length = x.size(headsFirst ? 2 : 1);
  if (failed(node.sameTypes({0, 1, 2})))
    return failure();
  auto cosRows = rotaryRows(node, 1, x.size(0), length, half);
  auto sinRows = rotaryRows(node, 2, x.size(0), length, half);
  if (failed(cosRows) || failed(sinRows))
    return failure();

  Tensor rotated = rotate(emit, x, *cosRows, *sinRows, headsFirst ? 2 : 1, interleaved);
  return node.result(emit.reshape(rotated, node.in(0).shape()));
}

} // namespace

void spillway::addAttention(OperatorTable &table) {
  constexpr auto floats = TypeClass::floats;
  table.add({
      {"Attention", 23, convertAttention, 3, 6, 4, floats},
      {"Attention", 24, convertAttention, 3, 7, 4, floats,
       "softmax_precision is ignored; no window together with nonpad_kv_seqlen"},
      {"RotaryEmbedding", 23, convertRotaryEmbedding, 3, 4, 1, floats},
  });
}
