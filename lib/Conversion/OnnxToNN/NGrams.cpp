// Counts of n-grams.

#include "spillway/Conversion/OnnxToNN/Node.h"

using namespace mlir;
using namespace spillway;

namespace {

using Order = Emitter::Order;

/// No list of n-grams that is compared as one has more.
constexpr int64_t maxNGrams = 64 << 10;
/// Comparisons that are written out, each of one element of an n-gram at one distance, at most.
constexpr int64_t maxComparisons = 4 << 10;

class Vectorizer {
public:
  explicit Vectorizer(Node &node) : node(node), emit(node.emit) {}

  LogicalResult convert() {
    if (failed(read()))
      return failure();
    Tensor x = node.in(0);
    bool isBatch = x.rank() == 2;
    x = emit.cast(emit.reshape(x, {isBatch ? x.size(0) : 1, x.shape().back()}), DataType::i64);
    int64_t width = *std::max_element(places.begin(), places.end()) + 1;
    Tensor result = emit.splat(DataType::f32, {width, x.size(0)}, 0);
    for (auto [i, begin] : llvm::enumerate(begins)) {
      auto n = static_cast<int64_t>(i) + 1;
      int64_t end = i + 1 < begins.size() ? begins[i + 1] : static_cast<int64_t>(pool.size());
      int64_t count = (end - begin) / n;
      if (n >= shortest && n <= longest && count > 0)
        result = addTo(result, scored(occurrences(x, n, begin, count), first, count), first, count);
      first += count;
    }
    SmallVector<int64_t> swapped{1, 0};
    result = emit.transpose(result, swapped);
    return node.result(isBatch ? result : emit.reshape(result, {width}));
  }

private:
  LogicalResult read() {
    if (node.rawAttr("pool_strings"))
      return node.error() << "strings are not supported";
    auto counts = node.intsAttr("ngram_counts"), indices = node.intsAttr("ngram_indexes"),
         numbers = node.intsAttr("pool_int64s");
    if (!counts || !indices || !numbers || counts->empty() || indices->empty())
      return node.error() << "the attributes ngram_counts, ngram_indexes and pool_int64s are required";
    begins = *counts, places = *indices, pool = *numbers;
    mode = node.attr("mode", StringRef("TF"));
    shortest = node.attr("min_gram_length", int64_t{1});
    longest = node.attr("max_gram_length", int64_t{1});
    skips = node.attr("max_skip_count", int64_t{0});
    if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
      return node.error() << "unknown mode '" << mode << "'";
    if (auto given = dyn_cast_if_present<DenseF32ArrayAttr>(node.rawAttr("weights")))
      weights.assign(given.asArrayRef().begin(), given.asArrayRef().end());
    weights.resize(std::max(weights.size(), places.size()), 1);
    int64_t total = 0, last = 0;
    for (auto [i, begin] : llvm::enumerate(begins)) {
      int64_t end = i + 1 < begins.size() ? begins[i + 1] : static_cast<int64_t>(pool.size());
      if (begin < last || end < begin || end > static_cast<int64_t>(pool.size()) ||
          (end - begin) % (static_cast<int64_t>(i) + 1) != 0)
        return node.error() << "ngram_counts do not cut pool_int64s into n-grams";
      total += (end - begin) / (static_cast<int64_t>(i) + 1);
      last = begin;
    }
    if (total != static_cast<int64_t>(places.size()) || total > maxNGrams ||
        llvm::any_of(places, [](int64_t place) { return place < 0 || place >= maxNGrams; }))
      return node.error() << "ngram_indexes must hold a place below " << maxNGrams
                          << " for each of the " << total << " n-grams";
    Tensor x = node.in(0);
    if (x.rank() < 1 || x.rank() > 2)
      return node.error() << "the input must have one or two dimensions, not be " << x.tensorType();
    // Skips past the end find nothing.
    skips = std::clamp<int64_t>(skips, 0, x.shape().back());
    auto lengths = std::min<int64_t>(static_cast<int64_t>(begins.size()), maxComparisons);
    if (skips > maxComparisons || (skips + 1) * lengths * lengths > maxComparisons)
      return node.error() << "n-grams of up to " << begins.size() << " elements that skip up to "
                          << skips << " are too many to compare";
    return success();
  }

  /// How often each of `count` n-grams, the first at `begin` of the pool, occurs: [batch, count].
  Tensor occurrences(Tensor x, int64_t n, int64_t begin, int64_t count) {
    int64_t batch = x.size(0);
    Tensor total = emit.splat(DataType::f32, {batch, count}, 0);
    // An element alone has nothing to skip.
    for (int64_t step = 1; step <= (n == 1 ? 1 : skips + 1); ++step) {
      int64_t positions = x.size(1) - step * (n - 1);
      if (positions <= 0)
        break;
      Shape shape{batch, positions, count};
      Tensor matches = emit.splatInt(DataType::boolean, shape, 1);
      for (int64_t j = 0; j < n; ++j) {
        SmallVector<int64_t> column;
        for (int64_t gram = 0; gram < count; ++gram)
          column.push_back(pool[begin + gram * n + j]);
        Tensor found = emit.broadcastInDims(emit.sliceDim(x, 1, j * step, positions), {0, 1}, shape);
        Tensor wanted = emit.broadcastInDims(emit.vector(DataType::i64, column), {2}, shape);
        matches = emit.logicalAnd(matches, emit.compare(Order::equal, found, wanted));
      }
      total = emit.add(total, emit.reduce(nn::ReductionKind::sum, emit.cast(matches, DataType::f32),
                                          {1}, /*keep=*/false));
    }
    return total;
  }

  /// Counts as the mode wants them.
  Tensor scored(Tensor counts, int64_t first, int64_t count) {
    if (mode == "TF")
      return counts;
    auto type = emit.typeOf(DataType::f32, {count});
    Tensor weight = emit.constant(
        DataType::f32, DenseElementsAttr::get(type, ArrayRef<float>(weights).slice(first, count)));
    weight = emit.broadcastInDims(weight, {1}, counts.shape());
    if (mode == "TFIDF")
      return emit.mul(counts, weight);
    Tensor zero = emit.like(counts, 0);
    return emit.select(emit.compare(Order::greater, counts, zero), weight, zero);
  }

  /// Scores [batch, count] added to the rows of `result` where their n-grams have their places.
  Tensor addTo(Tensor result, Tensor scores, int64_t first, int64_t count) {
    Tensor rows = emit.reshape(
        emit.vector(DataType::i64, ArrayRef<int64_t>(places).slice(first, count)), {count, 1});
    SmallVector<int64_t> swapped{1, 0};
    return {emit.create<nn::ScatterOp>(nn::ScatterKind::add, result.value, rows.value,
                                       emit.transpose(scores, swapped).value),
            result.type};
  }

  Node &node;
  Emitter &emit;
  /// Where the n-grams of each n begin in the pool, and the place of each n-gram in the result.
  SmallVector<int64_t> begins, places, pool;
  std::vector<float> weights;
  StringRef mode;
  int64_t shortest = 1, longest = 1, skips = 0;
  /// The n-grams before those of the current n.
  int64_t first = 0;
};

LogicalResult convertTfIdfVectorizer(Node &node) { return Vectorizer(node).convert(); }

} // namespace

void spillway::addNGrams(OperatorTable &table) {
  table.add({{"TfIdfVectorizer", 9, convertTfIdfVectorizer, 1, 1, 1, TypeClass::integers,
              "no strings"}});
}
