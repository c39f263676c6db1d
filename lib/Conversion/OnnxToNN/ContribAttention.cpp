// Attention and rotary position embedding as ONNX Runtime's transformer optimisers write them.

#include "lib/Conversion/OnnxToNN/Heads.h"
#include "lib/Conversion/OnnxToNN/Indices.h"

#include <cmath>

using namespace mlir;
using namespace spillway;

namespace {

using Order = Emitter::Order;

LogicalResult refuse(Node &node, unsigned input, StringRef what) {
  if (!node.has(input))
    return success();
  return node.error() << what << " (input " << input << ") is not supported";
}

Tensor addRow(Emitter &emit, Tensor x, Tensor row) {
  return emit.add(x, emit.broadcast(row, x.shape()));
}

double scaleOf(Node &node, int64_t size) {
  double scale = node.attr("scale", 0.0);
  return scale == 0 ? 1 / std::sqrt(static_cast<double>(size)) : scale;
}

/// A bias [b or 1, h or 1, m, n] of the scores.
LogicalResult readBias(Node &node, unsigned input, Heads &heads) {
  if (!node.has(input))
    return success();
  Tensor bias = node.in(input);
  Shape scores{heads.batch(), heads.query.size(1), heads.queries(), heads.keys()};
  auto joint = broadcastShapes(bias.shape(), scores);
  if (bias.rank() != 4 || !joint || *joint != scores || bias.type != heads.query.type)
    return node.error() << "attention_bias " << bias.tensorType()
                        << " does not broadcast to the scores";
  addBias(node.emit, heads, bias);
  return success();
}

/// A mask of integers, which says where a key counts: [b, n], [b, m, n], the end of each batch's
/// keys [b], or their ends and then their beginnings [2 * b]. What does not count gets
/// mask_filter_value added to its score.
LogicalResult readKeyMask(Node &node, unsigned input, Heads &heads) {
  double filter = node.attr("mask_filter_value", -10000.0);
  if (!node.has(input))
    return success();
  Emitter &emit = node.emit;
  Tensor mask = node.in(input);
  int64_t batch = heads.batch(), queries = heads.queries(), keys = heads.keys();
  if (!isInteger(mask.type) && mask.type != DataType::boolean)
    return node.error() << "the mask must hold integers, not " << name(mask.type);
  Shape given(mask.shape()), row{batch, 1, 1, keys};
  Tensor counts;
  if (given == Shape{batch, keys} || given == Shape{batch, queries, keys}) {
    Shape shape{batch, 1, mask.rank() == 3 ? queries : 1, keys};
    mask = emit.reshape(mask, shape);
    counts = mask.type == DataType::boolean
                 ? mask
                 : emit.compare(Order::greater, mask, emit.like(mask, 0));
  } else if (given == Shape{batch} || given == Shape{2 * batch}) {
    auto limit = [&](int64_t begin) {
      Tensor part = emit.reshape(emit.sliceDim(mask, 0, begin, batch), {batch, 1, 1, 1});
      return emit.broadcast(emit.cast(part, DataType::i64), row);
    };
    Tensor position = emit.iota(DataType::i64, row, 3);
    counts = emit.compare(Order::less, position, limit(0));
    if (mask.size(0) != batch)
      counts = emit.logicalAnd(counts, emit.compare(Order::greaterOrEqual, position, limit(batch)));
  } else {
    return node.error() << "a mask " << mask.tensorType() << " of " << batch << " x " << queries
                        << " queries and " << keys << " keys is not supported";
  }
  Tensor zero = emit.splat(heads.query.type, counts.shape(), 0);
  addBias(emit, heads, emit.select(counts, zero, emit.like(zero, filter)));
  return success();
}

/// The keys and values of the cache, if there are any, in front of those that are new.
LogicalResult prependPast(Node &node, std::optional<Tensor> key, std::optional<Tensor> value,
                          Heads &heads) {
  if (key.has_value() != value.has_value())
    return node.error() << "past_key and past_value come together";
  if (!key)
    return success();
  auto joins = [](Tensor past, Tensor now) {
    return past.type == now.type && past.rank() == 4 && past.size(0) == now.size(0) &&
           past.size(1) == now.size(1) && past.size(3) == now.size(3);
  };
  if (!joins(*key, heads.key) || !joins(*value, heads.value) || key->size(2) != value->size(2))
    return node.error() << "the cache " << key->tensorType() << " and " << value->tensorType()
                        << " does not fit the keys " << heads.key.tensorType();
  heads.past = key->size(2);
  heads.key = node.emit.concat({*key, heads.key}, 2);
  heads.value = node.emit.concat({*value, heads.value}, 2);
  return success();
}

FailureOr<int64_t> headCount(Node &node, StringRef attribute) {
  int64_t count = node.attr(attribute, int64_t{0});
  if (count < 1)
    return node.error() << attribute << " must be given, and at least 1";
  return count;
}

//===----------------------------------------------------------------------===//
// Attention, with the projections
//===----------------------------------------------------------------------===//

LogicalResult convertAttention(Node &node) {
  Emitter &emit = node.emit;
  Tensor x = node.in(0), weights = node.in(1);
  auto count = headCount(node, "num_heads");
  if (failed(count) || failed(node.sameTypes({0, 1})))
    return failure();
  if (node.attr("do_rotary", int64_t{0}) != 0)
    return node.error() << "do_rotary is not supported";
  if (failed(refuse(node, 6, "a cache that past and present share")))
    return failure();
  if (x.rank() != 3 || weights.rank() != 2 || weights.size(0) != x.size(2))
    return node.error() << "input " << x.tensorType() << " and weights " << weights.tensorType()
                        << " do not fit together";
  SmallVector<int64_t> sizes(3, weights.size(1) / 3);
  if (auto given = node.intsAttr("qkv_hidden_sizes"))
    sizes = *given;
  if (sizes.size() != 3 || sizes[0] + sizes[1] + sizes[2] != weights.size(1) ||
      sizes[0] != sizes[1] ||
      llvm::any_of(sizes, [&](int64_t size) { return size < 1 || size % *count != 0; }))
    return node.error() << "the weights' " << weights.size(1)
                        << " columns are no queries, keys and values of " << *count << " heads";
  Shape shape{x.size(0), x.size(1), weights.size(1)};
  Tensor projected{
      emit.create<nn::MatmulOp>(emit.typeOf(x.type, shape), x.value, weights.value, false, false),
      x.type};
  if (auto bias = node.optional(2)) {
    if (failed(node.sameTypes({0, 2})))
      return failure();
    if (Shape(bias->shape()) != Shape{weights.size(1)})
      return node.error() << "bias " << bias->tensorType() << " does not fit the weights "
                          << weights.tensorType();
    projected = addRow(emit, projected, *bias);
  }
  auto part = [&](int64_t begin, int64_t size) {
    return splitHeads(emit, emit.sliceDim(projected, 2, begin, size), *count);
  };
  Heads heads;
  heads.query = part(0, sizes[0]);
  heads.key = part(sizes[0], sizes[1]);
  heads.value = part(sizes[0] + sizes[1], sizes[2]);
  std::optional<Tensor> pastKey, pastValue;
  if (auto past = node.optional(4)) {
    if (past->rank() != 5 || past->size(0) != 2)
      return node.error() << "past must be [2, batch, heads, length, size], not "
                          << past->tensorType();
    Shape half(past->shape().drop_front());
    pastKey = emit.reshape(emit.sliceDim(*past, 0, 0, 1), half);
    pastValue = emit.reshape(emit.sliceDim(*past, 0, 1, 1), half);
  }
  if (failed(prependPast(node, pastKey, pastValue, heads)))
    return failure();
  heads.scale = scaleOf(node, heads.query.size(3));
  heads.isCausal = node.attr("unidirectional", int64_t{0}) != 0;
  if (failed(readKeyMask(node, 3, heads)) || failed(readBias(node, 5, heads)))
    return failure();
  if (node.wants(1)) {
    if (heads.key.size(3) != heads.value.size(3))
      return node.error() << "keys and values of different sizes make no present";
    auto plane = [&](Tensor half) {
      Shape whole{1};
      llvm::append_range(whole, half.shape());
      return emit.reshape(half, whole);
    };
    node.set(1, emit.concat({plane(heads.key), plane(heads.value)}, 0));
  }
  return node.result(mergeHeads(emit, attend(emit, heads)));
}

//===----------------------------------------------------------------------===//
// Multi-head attention
//===----------------------------------------------------------------------===//

/// The heads of query, key and value in one of the forms: all apart ([b, n, h * d] each), keys and
/// values as heads ([b, h, n, d]), keys and values packed ([b, n, h, 2, d] as the key), everything
/// packed ([b, n, h, 3, d] as the query).
FailureOr<Heads> unpackHeads(Node &node, int64_t count) {
  Emitter &emit = node.emit;
  Tensor query = node.in(0);
  auto pick = [&](Tensor packed, int64_t i) {
    Shape shape{packed.size(0), packed.size(1), count, packed.size(4)};
    Tensor part = emit.reshape(emit.sliceDim(packed, 3, i, 1), shape);
    return emit.transpose(part, {0, 2, 1, 3});
  };
  auto misfit = [&]() -> FailureOr<Heads> {
    auto error = node.error();
    error << "query " << query.tensorType();
    if (node.has(1))
      error << ", key " << node.in(1).tensorType();
    if (node.has(2))
      error << ", value " << node.in(2).tensorType();
    error << " are not in a form that is supported for " << count << " heads";
    return failure();
  };
  Heads heads;
  if (query.rank() == 5 && !node.has(1) && !node.has(2) && query.size(2) == count &&
      query.size(3) == 3) {
    heads.query = pick(query, 0);
    heads.key = pick(query, 1);
    heads.value = pick(query, 2);
    return heads;
  }
  if (query.rank() != 3 || query.size(2) % count != 0 || !node.has(1))
    return misfit();
  Tensor key = node.in(1);
  heads.query = splitHeads(emit, query, count);
  bool packed = key.rank() == 5;
  if (packed != !node.has(2) || (packed && (key.size(2) != count || key.size(3) != 2)))
    return misfit();
  if (packed) {
    heads.key = pick(key, 0);
    heads.value = pick(key, 1);
  } else {
    Tensor value = node.in(2);
    auto apart = [&](Tensor x) -> std::optional<Tensor> {
      if (x.rank() == 4 && x.size(1) == count)
        return x;
      if (x.rank() == 3 && x.size(2) % count == 0)
        return splitHeads(emit, x, count);
      return std::nullopt;
    };
    auto keys = apart(key), values = apart(value);
    if (!keys || !values)
      return misfit();
    heads.key = *keys;
    heads.value = *values;
  }
  ArrayRef<int64_t> q = heads.query.shape(), k = heads.key.shape(), v = heads.value.shape();
  if (k[0] != q[0] || v[0] != q[0] || k[2] != v[2] || q[3] != k[3])
    return misfit();
  return heads;
}

/// Adds the three parts of a bias [h * (d + d + e)] to query, key and value.
LogicalResult addProjectionBias(Node &node, unsigned input, Heads &heads) {
  auto bias = node.optional(input);
  if (!bias)
    return success();
  Emitter &emit = node.emit;
  int64_t total = 0;
  for (Tensor part : {heads.query, heads.key, heads.value})
    total += part.size(1) * part.size(3);
  if (Shape(bias->shape()) != Shape{total} || bias->type != heads.query.type)
    return node.error() << "bias " << bias->tensorType() << " must have " << total << " elements";
  int64_t begin = 0;
  for (Tensor *part : {&heads.query, &heads.key, &heads.value}) {
    int64_t size = part->size(1) * part->size(3);
    Tensor slice =
        emit.reshape(emit.sliceDim(*bias, 0, begin, size), {part->size(1), part->size(3)});
    *part = emit.add(*part, emit.broadcastInDims(slice, {1, 3}, part->shape()));
    begin += size;
  }
  return success();
}

LogicalResult convertMultiHeadAttention(Node &node) {
  Emitter &emit = node.emit;
  auto count = headCount(node, "num_heads");
  if (failed(count) || failed(refuse(node, 8, "past_sequence_length")) ||
      failed(refuse(node, 9, "cache_indirection")))
    return failure();
  for (unsigned i : {1u, 2u})
    if (node.has(i) && failed(node.sameTypes({0, i})))
      return failure();
  auto read = unpackHeads(node, *count);
  if (failed(read))
    return failure();
  Heads heads = *read;
  if (failed(addProjectionBias(node, 3, heads)) ||
      failed(prependPast(node, node.optional(6), node.optional(7), heads)))
    return failure();
  heads.scale = scaleOf(node, heads.query.size(3));
  heads.isCausal = node.attr("unidirectional", int64_t{0}) != 0;
  if (failed(readKeyMask(node, 4, heads)) || failed(readBias(node, 5, heads)))
    return failure();
  node.set(1, heads.key);
  node.set(2, heads.value);
  return node.result(mergeHeads(emit, attend(emit, heads)));
}

//===----------------------------------------------------------------------===//
// Rotary embedding
//===----------------------------------------------------------------------===//

/// The rows of a table of cosines or sines at positions [b or 1, length].
FailureOr<Tensor> tableRows(Node &node, unsigned input, Tensor at, int64_t half) {
  Tensor table = node.in(input);
  if (table.rank() != 2 || table.size(1) != half || table.type != node.in(0).type)
    return node.error() << "the table of angles (input " << input << ") must be [positions, "
                        << half << "] of the input's type, not " << table.tensorType();
  return node.emit.gather(table, at, 0);
}

/// The positions `first` (of rank 0, or [b, 1]) and on, [b or 1, length].
Tensor positionsFrom(Emitter &emit, Tensor first, int64_t length) {
  Shape shape{first.rank() == 0 ? 1 : first.size(0), length};
  return emit.add(emit.broadcast(emit.cast(first, DataType::i64), shape),
                  emit.iota(DataType::i64, shape, 1));
}

LogicalResult convertRotaryEmbedding(Node &node) {
  Emitter &emit = node.emit;
  Tensor x = node.in(0), at = node.in(1);
  int64_t count = node.attr("num_heads", int64_t{0});
  int64_t rotary = node.attr("rotary_embedding_dim", int64_t{0});
  bool interleaved = node.attr("interleaved", int64_t{0}) != 0;
  node.ignoreAttr("is_packed_batching"); // shapes are static: there is no padding to leave out
  if (node.attr("scale", 1.0) != 1)
    return node.error() << "a scale other than 1 is not supported";
  if (node.in(2).rank() != 2 || (x.rank() != 3 && x.rank() != 4))
    return node.error() << "input " << x.tensorType() << " or cos_cache " << node.in(2).tensorType()
                        << " has a wrong rank";
  int64_t half = node.in(2).size(1);
  bool headsFirst = x.rank() == 4;
  if (!headsFirst) {
    if (count == 0 && half > 0)
      count = x.size(2) / (2 * half);
    if (count < 1 || x.size(2) % count != 0)
      return node.error() << "num_heads must divide the last dimension of " << x.tensorType();
    x = emit.reshape(x, {x.size(0), x.size(1), count, x.size(2) / count});
  }
  if (2 * half > x.size(3) || (rotary != 0 && rotary != 2 * half))
    return node.error() << "tables of " << half << " angles do not fit heads of size " << x.size(3)
                        << " and rotary_embedding_dim = " << rotary;
  int64_t length = x.size(headsFirst ? 2 : 1);
  if (at.type != DataType::i64)
    return node.error() << "position_ids must hold i64, not " << name(at.type);
  if (Shape(at.shape()) == Shape{1})
    at = positionsFrom(emit, emit.reshape(at, {}), length);
  else if (Shape(at.shape()) != Shape{x.size(0), length})
    return node.error() << "position_ids must be [1] or [" << x.size(0) << ", " << length
                        << "], not " << at.tensorType();
  auto cos = tableRows(node, 2, at, half), sin = tableRows(node, 3, at, half);
  if (failed(cos) || failed(sin))
    return failure();
  Tensor rotated = rotate(emit, x, *cos, *sin, headsFirst ? 2 : 1, interleaved);
  return node.result(emit.reshape(rotated, node.in(0).shape()));
}

//===----------------------------------------------------------------------===//
// Grouped-query attention
//===----------------------------------------------------------------------===//

/// A cache of `length` rows: those of `past` before the position `first` ([b, 1, 1, 1]), then the
/// new ones, then zeros.
Tensor updateCache(Emitter &emit, std::optional<Tensor> past, Tensor fresh, Tensor first,
                   int64_t length) {
  Shape shape(fresh.shape());
  shape[2] = length;
  auto padded = [&](Tensor x) {
    if (x.size(2) == length)
      return x;
    Shape rest(shape);
    rest[2] = length - x.size(2);
    return emit.concat({x, emit.splat(x.type, rest, 0)}, 2);
  };
  Tensor zero = emit.splat(fresh.type, shape, 0);
  Tensor old = past ? padded(*past) : zero;
  Tensor row = emit.iota(DataType::i64, shape, 2);
  Tensor begin = emit.broadcast(first, shape);
  Tensor offset = emit.sub(row, begin);
  Tensor count = emit.splatInt(DataType::i64, shape, fresh.size(2));
  Tensor isPast = emit.compare(Order::less, row, begin);
  Tensor isNew = emit.compare(Order::less, offset, count);
  Tensor index =
      emit.min(emit.max(offset, emit.like(offset, 0)), emit.sub(count, emit.like(count, 1)));
  Tensor moved = fresh.moved(emit.create<nn::GatherElementsOp>(emit.typeOf(fresh.type, shape),
                                                               fresh.value, index.value, 2));
  return emit.select(isPast, old, emit.select(isNew, moved, zero));
}

/// One more key in front of all, which every query sees with the score `sink` (of [h], or zero) and
/// whose value is zero: it takes part in the softmax's sum alone.
void addSink(Emitter &emit, Heads &heads, std::optional<Tensor> sink) {
  auto extend = [&](Tensor x) {
    Shape shape(x.shape());
    shape[2] = 1;
    return emit.concat({emit.splat(x.type, shape, 0), x}, 2);
  };
  heads.key = extend(heads.key);
  heads.value = extend(heads.value);
  heads.past += 1;
  auto extendColumns = [&](Tensor mask, Tensor column) {
    Shape shape(mask.shape());
    shape[3] = 1;
    return emit.concat({emit.broadcast(column, shape), mask}, 3);
  };
  if (heads.keeps)
    heads.keeps = extendColumns(*heads.keeps, emit.splatInt(DataType::boolean, {1, 1, 1, 1}, 1));
  Tensor column = emit.splat(heads.query.type, {1, 1, 1, 1}, 0);
  if (sink)
    column = emit.reshape(*sink, {1, heads.query.size(1), 1, 1});
  Shape shape{1, column.size(1), 1, heads.keys() - 1};
  if (heads.bias) {
    shape = Shape(heads.bias->shape());
    shape[1] = std::max(shape[1], column.size(1));
    heads.bias = extendColumns(emit.broadcast(*heads.bias, shape), column);
  } else if (sink) {
    heads.bias = extendColumns(emit.splat(heads.query.type, shape, 0), column);
  }
}

/// Query, key and value of a node whose key and value may be packed behind its query.
FailureOr<Heads> readGroups(Node &node, int64_t queryHeads, int64_t keyHeads) {
  Emitter &emit = node.emit;
  Tensor query = node.in(0);
  if (node.has(1) != node.has(2))
    return node.error() << "key and value come together";
  if (query.rank() != 3 || queryHeads % keyHeads != 0)
    return node.error() << "the query " << query.tensorType() << " does not fit " << queryHeads
                        << " heads in " << keyHeads << " groups";
  Heads heads;
  if (node.has(1)) {
    Tensor key = node.in(1), value = node.in(2);
    if (failed(node.sameTypes({0, 1, 2})))
      return failure();
    int64_t size = query.size(2) / queryHeads;
    Shape expected{query.size(0), query.size(1), size * keyHeads};
    if (size * queryHeads != query.size(2) || Shape(key.shape()) != expected ||
        Shape(value.shape()) != expected)
      return node.error() << "query " << query.tensorType() << ", key " << key.tensorType()
                          << " and value " << value.tensorType() << " do not fit together";
    heads.query = splitHeads(emit, query, queryHeads);
    heads.key = splitHeads(emit, key, keyHeads);
    heads.value = splitHeads(emit, value, keyHeads);
    return heads;
  }
  int64_t all = queryHeads + 2 * keyHeads;
  if (query.size(2) % all != 0)
    return node.error() << "the packed query " << query.tensorType() << " does not hold " << all
                        << " heads";
  Tensor packed = splitHeads(emit, query, all);
  heads.query = emit.sliceDim(packed, 1, 0, queryHeads);
  heads.key = emit.sliceDim(packed, 1, queryHeads, keyHeads);
  heads.value = emit.sliceDim(packed, 1, queryHeads + keyHeads, keyHeads);
  return heads;
}

LogicalResult convertGroupQueryAttention(Node &node) {
  Emitter &emit = node.emit;
  auto queryHeads = headCount(node, "num_heads"), keyHeads = headCount(node, "kv_num_heads");
  if (failed(queryHeads) || failed(keyHeads))
    return failure();
  for (auto [input, what] : {std::pair(12u, "k_scale"),
                             {13u, "v_scale"},
                             {14u, "q_norm_weight"},
                             {15u, "k_norm_weight"}})
    if (failed(refuse(node, input, what)))
      return failure();
  for (StringRef name : {"k_quant_type", "v_quant_type"})
    if (node.attr(name, StringRef("NONE")) != "NONE")
      return node.error() << "a quantised cache is not supported";
  node.ignoreAttr("kv_cache_bit_width");
  if (node.attr("causal", int64_t{1}) == 0 || node.attr("qk_output", int64_t{0}) != 0)
    return node.error() << "causal = 0 and qk_output are not supported";
  if (!node.has(5))
    return node.error() << "seqlens_k (input 5) is required";
  auto read = readGroups(node, *queryHeads, *keyHeads);
  if (failed(read))
    return failure();
  Heads heads = *read;
  auto total = node.intScalar(6, "total_sequence_length");
  if (failed(total))
    return failure();
  int64_t batch = heads.batch(), length = heads.queries(), size = heads.query.size(3);
  Tensor lastKeys = node.in(5);
  if (lastKeys.type != DataType::i32 || lastKeys.count() != batch)
    return node.error() << "seqlens_k must hold an i32 per batch, not " << lastKeys.tensorType();
  if (length < 1 || *total < length)
    return node.error() << "a query of length " << length
                        << " does not fit total_sequence_length = " << *total;
  for (unsigned i : {3u, 4u})
    if (node.has(i) && (node.in(i).type != heads.key.type || node.in(i).rank() != 4 ||
                        node.in(i).size(0) != batch || node.in(i).size(1) != *keyHeads ||
                        node.in(i).size(3) != size))
      return node.error() << "the cache " << node.in(i).tensorType() << " does not fit the key "
                          << heads.key.tensorType();
  if (node.has(3) != node.has(4) || (node.has(3) && node.in(3).shape() != node.in(4).shape()))
    return node.error() << "past_key and past_value must be two caches of one shape";

  auto allowed = within(node, lastKeys, 0, *total - 1, "seqlens_k");
  if (failed(allowed))
    return failure();
  lastKeys = *allowed;

  // Where each batch's new keys begin. A prompt has no keys before it, whatever the cache holds.
  bool isPrompt = length == *total;
  Tensor first = emit.splatInt(DataType::i64, {}, 0);
  if (!isPrompt) {
    Tensor last = emit.reshape(emit.cast(lastKeys, DataType::i64), {batch, 1});
    first = emit.add(last, emit.likeInt(last, 1 - length));
  }
  if (node.attr("do_rotary", int64_t{0}) != 0) {
    if (!node.has(7) || !node.has(8) || node.in(7).rank() != 2 || 2 * node.in(7).size(1) > size)
      return node.error() << "do_rotary needs cos_cache and sin_cache for heads of size " << size;
    Tensor at = positionsFrom(emit, first, length);
    if (node.has(9)) {
      at = node.in(9);
      if (at.type != DataType::i64 || Shape(at.shape()) != Shape{batch, length})
        return node.error() << "position_ids must be i64 [" << batch << ", " << length << "], not "
                            << at.tensorType();
    }
    int64_t half = node.in(7).size(1);
    auto cos = tableRows(node, 7, at, half), sin = tableRows(node, 8, at, half);
    if (failed(cos) || failed(sin))
      return failure();
    bool interleaved = node.attr("rotary_interleaved", int64_t{0}) != 0;
    heads.query = rotate(emit, heads.query, *cos, *sin, 2, interleaved);
    heads.key = rotate(emit, heads.key, *cos, *sin, 2, interleaved);
  } else {
    node.ignoreAttr("rotary_interleaved");
  }

  int64_t capacity = std::max(*total, node.has(3) ? node.in(3).size(2) : 0);
  Tensor begin = emit.reshape(first, first.rank() == 0 ? Shape{1, 1, 1, 1} : Shape{batch, 1, 1, 1});
  Tensor keys = updateCache(emit, node.optional(3), heads.key, begin, capacity);
  Tensor values = updateCache(emit, node.optional(4), heads.value, begin, capacity);
  node.set(1, keys);
  node.set(2, values);
  int64_t window = node.attr("local_window_size", int64_t{-1});
  if (isPrompt) {
    heads.isCausal = true;
  } else {
    heads.key = emit.sliceDim(keys, 2, 0, *total);
    heads.value = emit.sliceDim(values, 2, 0, *total);
  }
  if (!isPrompt || window > 0) {
    Shape matrix{isPrompt ? 1 : batch, 1, length, heads.keys()};
    Tensor row = emit.add(emit.iota(DataType::i64, matrix, 2), emit.broadcast(begin, matrix));
    Tensor column = emit.iota(DataType::i64, matrix, 3);
    if (!isPrompt)
      keepOnly(emit, heads, emit.compare(Order::lessOrEqual, column, row));
    if (window > 0)
      keepOnly(emit, heads,
               emit.compare(Order::less, row,
                            emit.add(column, emit.splatInt(DataType::i64, matrix, window))));
  }
  heads.scale = scaleOf(node, size);
  heads.softcap = node.attr("softcap", 0.0);
  if (failed(readBias(node, 10, heads)))
    return failure();
  if (auto sink = node.optional(11);
      sink && (sink->type != heads.query.type || Shape(sink->shape()) != Shape{*queryHeads}))
    return node.error() << "head_sink must have an element per head, not " << sink->tensorType();
  if (node.attr("smooth_softmax", int64_t{0}) > 0 || node.has(11))
    addSink(emit, heads, node.optional(11));
  return node.result(mergeHeads(emit, attend(emit, heads)));
}

} // namespace

void spillway::addContribAttention(OperatorTable &table) {
  constexpr auto floats = TypeClass::floats;
  table.add({
      {"Attention", 1, convertAttention, 2, 7, 2, floats,
       "no do_rotary, no cache that past and present share, no mask of four dimensions", microsoft},
      {"GroupQueryAttention", 1, convertGroupQueryAttention, 1, 16, 3, floats,
       "total_sequence_length must be known at compile time; no quantised cache", microsoft},
      {"MultiHeadAttention", 1, convertMultiHeadAttention, 1, 10, 3, floats,
       "no cache_indirection, no cache that past and present share", microsoft},
      {"RotaryEmbedding", 1, convertRotaryEmbedding, 4, 4, 1, floats, "scale must be 1", microsoft},
  });
}
