// Attention. The probabilities are computed again: the forward half never holds them, and the backward half those of some
// heads at a time.

#include "lib/Differentiate/Rules/Rule.h"

#include <limits>

using namespace mlir;
using namespace spillway;
using namespace spillway::derivatives;

namespace {

/// What the scores of one part may take. Three tensors like them are held at once.
constexpr int64_t maxPartBytes = 16 << 20;
/// Where later queries see more keys, they are computed in so many blocks, of at least so many queries.
constexpr int64_t maxQueryBlocks = 4, leastBlockQueries = 32;

/// The cotangents of the operands; null where they are not needed.
struct OperandCotangents {
  Value query, key, value, mask;
};

/// Of all heads and batches of its operands. `offset` stands for the operation's causal one.
class PartRule {
public:
  PartRule(nn::AttentionOp op, RuleBuilder &b, Value query, Value key, Value value, Value mask, std::optional<int64_t> offset)
      : op(op), b(b), query(query), key(key), value(value), mask(mask), offset(offset) {
    ArrayRef<int64_t> q = shapeOf(query), k = shapeOf(key);
    scoresShape = {q[0], q[1], q[2], k[2]};
    // Query heads that share a key are rows of one product.
    rows = k[1] == 0 ? 0 : q[1] / k[1] * q[2];
  }

  OperandCotangents run(Value cotangent, const Cotangents &c) {
    OperandCotangents found;
    Value share = probabilities(maskedScores());
    Value ofShare = ungroup(b.matmul(group(cotangent), value, false, true), scoresShape);
    Value ofScores = b.mul(share, b.sub(ofShare, b.sumExpanded(b.mul(share, ofShare), 3)));

    if (c.needs(op.getValue()))
      found.value = b.matmul(group(share), group(cotangent), true, false);
    if (mask && c.needs(op.getMask()))
      found.mask = sumToMask(ofScores);
    if (capped) {
      Value ratio = b.mul(capped, 1 / op.getSoftcap().convertToFloat());
      ofScores = b.mul(ofScores, b.sub(b.like(ratio, 1), b.mul(ratio, ratio)));
    }
    ofScores = group(b.mul(ofScores, op.getScale().convertToFloat()));
    if (c.needs(op.getQuery()))
      found.query = ungroup(b.matmul(ofScores, key, false, false), shapeOf(query));
    if (c.needs(op.getKey()))
      found.key = b.matmul(ofScores, group(query), true, false);
    return found;
  }

private:
  /// [b, h, m, x] as [b, hk, h / hk * m, x], and back.
  Value group(Value a) {
    return b.reshape(a, {scoresShape[0], shapeOf(key)[1], rows, shapeOf(a)[3]});
  }
  Value ungroup(Value a, ArrayRef<int64_t> shape) { return b.reshape(a, shape); }

  Value maskedScores() {
    Value scores = ungroup(b.matmul(group(query), key, false, true), scoresShape);
    scores = b.mul(scores, op.getScale().convertToFloat());
    if (float cap = op.getSoftcap().convertToFloat(); cap != 0)
      scores = capped = b.mul(b.create<math::TanhOp>(b.mul(scores, 1 / cap)), cap);
    Value never = b.like(scores, -std::numeric_limits<double>::infinity());
    if (mask) {
      bool keeps = getElementTypeOrSelf(mask).isInteger(1);
      Value all = b.broadcast(keeps ? mask : b.wide(mask), dimensions(0, 4), scoresShape);
      scores = keeps ? b.select(all, scores, never) : b.add(scores, all);
    }
    // Where the first query sees all keys, all do.
    if (offset && *offset < scoresShape[3] - 1) {
      auto type = RankedTensorType::get(scoresShape, IntegerType::get(op.getContext(), 64));
      Value i = b.create<nn::IotaOp>(type, 2), j = b.create<nn::IotaOp>(type, 3);
      Value last = b.create<arith::AddIOp>(
          i, b.create<arith::ConstantOp>(DenseElementsAttr::get(type, *offset)));
      scores = b.select(b.create<arith::CmpIOp>(arith::CmpIPredicate::sle, j, last), scores, never);
    }
    return scores;
  }

  Value probabilities(Value scores) {
    Value share = b.create<nn::SoftmaxOp>(scores, 3);
    if (op.getMaskedRow() == nn::MaskedRow::nan)
      return share;
    Value largest = b.expand(b.reduce(nn::ReductionKind::max, scores, 3), 3, scoresShape);
    Value sees = b.compare(arith::CmpFPredicate::UNE, largest,
                           b.like(largest, -std::numeric_limits<double>::infinity()));
    return b.where(sees, share);
  }

  Value sumToMask(Value a) {
    SmallVector<int64_t> repeated;
    for (int64_t dim = 0; dim < 4; ++dim)
      if (shapeOf(mask)[dim] != scoresShape[dim])
        repeated.push_back(dim);
    return b.reshape(b.sum(a, repeated), shapeOf(mask));
  }

  nn::AttentionOp op;
  RuleBuilder &b;
  Value query, key, value, mask, capped;
  std::optional<int64_t> offset;
  SmallVector<int64_t> scoresShape;
  int64_t rows;
};

/// Cuts an attention into parts of some batches, or of some heads of one.
class AttentionRule {
public:
  AttentionRule(nn::AttentionOp op, Cotangents &c)
      : op(op), c(c), b(c, op), query(b.wide(op.getQuery())), key(b.wide(op.getKey())),
        value(b.wide(op.getValue())), cotangent(b.wide(c.of(op))) {}

  void run() {
    ArrayRef<int64_t> q = shapeOf(query), k = shapeOf(key);
    int64_t batches = q[0], keyHeads = k[1];
    if (!maskLearns()) {
      auto fitting = [](int64_t count, int64_t bytes) {
        return std::clamp<int64_t>(maxPartBytes / std::max<int64_t>(1, bytes), 1, std::max<int64_t>(1, count));
      };
      int64_t queries = llvm::divideCeil(q[2], countQueryBlocks());
      int64_t headBytes = keyHeads == 0 ? 0 : q[1] / keyHeads * queries * k[2] * nn::elementBytes(getElementTypeOrSelf(query));
      batches = fitting(batches, keyHeads * headBytes);
      keyHeads = fitting(keyHeads, headBytes);
    }

    Parts parts;
    for (int64_t batch = 0; batch == 0 || batch < q[0]; batch += batches) {
      Parts ofBatch;
      for (int64_t head = 0; head == 0 || head < k[1]; head += keyHeads)
        ofBatch.add(part({batch, head}, {std::min(batches, q[0] - batch), std::min(keyHeads, k[1] - head)}));
      parts.add(ofBatch.join(b, 1));
    }
    OperandCotangents all = parts.join(b, 0);
    auto add = [&](Value operand, Value found) {
      if (found)
        c.add(operand, b.as(operand, found));
    };
    add(op.getValue(), all.value);
    add(op.getMask(), all.mask);
    add(op.getQuery(), all.query);
    add(op.getKey(), all.key);
  }

private:
  struct Parts {
    SmallVector<Value> query, key, value;
    /// Of the only one.
    Value mask;

    void add(const OperandCotangents &part) {
      for (auto [list, found] : {std::pair(&query, part.query), {&key, part.key}, {&value, part.value}})
        if (found)
          list->push_back(found);
      mask = part.mask;
    }
    OperandCotangents join(RuleBuilder &b, int64_t dim) const {
      auto one = [&](ArrayRef<Value> list) { return list.empty() ? Value() : b.concat(list, dim); };
      return {one(query), one(key), one(value), mask};
    }
  };

  /// What is added to the scores then collects those of all parts.
  bool maskLearns() { return op.getMask() && c.needs(op.getMask()); }

  /// More than one where later queries see more keys. A query that sees none gives the same for all keys.
  int64_t countQueryBlocks() {
    std::optional<int64_t> offset = op.getCausalOffset();
    if (!offset || *offset < 0 || *offset >= shapeOf(key)[2] - 1 || maskLearns())
      return 1;
    return std::clamp<int64_t>(shapeOf(query)[2] / leastBlockQueries, 1, maxQueryBlocks);
  }

  /// Of `counts` batches and key heads from `first` on.
  OperandCotangents part(std::array<int64_t, 2> first, std::array<int64_t, 2> counts) {
    int64_t keyHeads = shapeOf(key)[1];
    auto cut = [&](Value a) {
      if (!a)
        return a;
      SmallVector<int64_t> offsets(4, 0), sizes(shapeOf(a));
      // Of a mask dimensions may be one; heads of the query share those of the key.
      int64_t shared = keyHeads == 0 ? 1 : std::max<int64_t>(1, shapeOf(query)[1] / keyHeads);
      std::array<int64_t, 2> scale = {1, a == key || a == value ? 1 : shared};
      for (auto [dim, size] : llvm::enumerate(MutableArrayRef(sizes).take_front(2)))
        if (a != op.getMask() || size != 1) {
          offsets[dim] = first[dim] * scale[dim];
          size = counts[dim] * scale[dim];
        }
      return sizes == shapeOf(a) ? a : b.slice(a, offsets, sizes, {1, 1, 1, 1});
    };
    return queryBlocks(cut(query), cut(key), cut(value), cut(op.getMask()), cut(cotangent));
  }

  /// Each block of queries with the keys that one of them sees.
  OperandCotangents queryBlocks(Value query, Value key, Value value, Value mask, Value cotangent) {
    int64_t queries = shapeOf(query)[2], keys = shapeOf(key)[2];
    std::optional<int64_t> offset = op.getCausalOffset();
    int64_t count = countQueryBlocks();
    if (count == 1)
      return PartRule(op, b, query, key, value, mask, offset).run(cotangent, c);
    auto range = [&](Value a, int64_t dim, int64_t from, int64_t to) {
      if (!a || shapeOf(a)[dim] == 1 || (from == 0 && to == shapeOf(a)[dim]))
        return a;
      SmallVector<int64_t> offsets(4, 0), sizes(shapeOf(a));
      offsets[dim] = from;
      sizes[dim] = to - from;
      return b.slice(a, offsets, sizes, {1, 1, 1, 1});
    };

    SmallVector<Value> ofQueries;
    // What each block gives for the keys from 0 on, and how many it sees.
    SmallVector<OperandCotangents> blocks;
    SmallVector<int64_t> seen;
    for (int64_t block = 0; block < count; ++block) {
      int64_t from = queries * block / count, to = queries * (block + 1) / count;
      int64_t end = std::min(to + *offset, keys);
      Value masks = range(range(mask, 2, from, to), 3, 0, end);
      blocks.push_back(PartRule(op, b, range(query, 2, from, to), range(key, 2, 0, end), range(value, 2, 0, end), masks, *offset + from)
                           .run(range(cotangent, 2, from, to), c));
      seen.push_back(end);
      ofQueries.push_back(blocks.back().query);
    }
    auto sumOverBlocks = [&](Value OperandCotangents::*operand) {
      if (!(blocks.front().*operand))
        return Value();
      SmallVector<Value> ranges;
      int64_t from = 0;
      for (auto [first, end] : llvm::enumerate(seen)) {
        if (end == from)
          continue;
        Value sum;
        for (const OperandCotangents &block : ArrayRef(blocks).drop_front(first)) {
          Value part = range(block.*operand, 2, from, end);
          sum = sum ? b.add(sum, part) : part;
        }
        ranges.push_back(sum);
        from = end;
      }
      Value all = b.concat(ranges, 2);
      SmallVector<int64_t> shape(shapeOf(all));
      shape[2] = keys;
      return from == keys ? all : b.pad(all, {0, 0, 0, 0}, shape);
    };
    return {c.needs(op.getQuery()) ? b.concat(ofQueries, 2) : Value(), sumOverBlocks(&OperandCotangents::key),
            sumOverBlocks(&OperandCotangents::value), Value()};
  }

  nn::AttentionOp op;
  Cotangents &c;
  RuleBuilder b;
  Value query, key, value, cotangent;
};

} // namespace

static void attend(nn::AttentionOp op, Cotangents &c) { AttentionRule(op, c).run(); }

void derivatives::attachAttention(MLIRContext *context) {
  attach<nn::AttentionOp, attend>(context);
}
