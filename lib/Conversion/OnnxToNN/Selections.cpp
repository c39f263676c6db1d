// Operators that order elements, or keep some of them. Where the number of elements that stay depends
// on the data, it must be known at compile time.

#include "spillway/Conversion/OnnxToNN/Node.h"

#include <map>

using namespace mlir;
using namespace spillway;

namespace {

//===----------------------------------------------------------------------===//
// TopK
//===----------------------------------------------------------------------===//

LogicalResult topK(Node &node, int64_t k, bool largest) {
  Tensor x = node.in(0);
  auto axis = node.axis(node.attr("axis", int64_t{-1}), x.rank());
  if (failed(axis))
    return failure();
  if (k < 0 || k > x.size(*axis))
    return node.error() << "k is " << k << ", but axis " << *axis << " of " << x.tensorType()
                        << " has " << x.size(*axis) << " elements";
  Emitter &emit = node.emit;
  Shape shape(x.shape());
  shape[*axis] = k;
  Tensor key = isUnsigned(x.type) ? emit.inSignedOrder(x) : x;
  Tensor indices{emit.create<nn::ArgsortOp>(emit.typeOf(DataType::i64, shape), key.value, *axis,
                                            largest),
                 DataType::i64};
  node.set(1, indices);
  if (node.wants(0))
    node.set(0, x.moved(emit.create<nn::GatherElementsOp>(emit.typeOf(x.type, shape), x.value,
                                                          indices.value, *axis)));
  return success();
}

LogicalResult convertTopKAttribute(Node &node) {
  if (!node.hasAttr("k"))
    return node.error() << "the attribute k is required";
  return topK(node, node.attr("k", int64_t{0}), /*largest=*/true);
}

LogicalResult convertTopK(Node &node) {
  bool largest = node.attr("largest", int64_t{1}) != 0;
  node.ignoreAttr("sorted"); // any order would do where it is zero
  auto k = node.intScalar(1, "k");
  return failed(k) ? failure() : topK(node, *k, largest);
}

//===----------------------------------------------------------------------===//
// Elements that a condition or the data keep
//===----------------------------------------------------------------------===//

/// The attribute axis; without it `x` becomes a list of its elements, of axis 0.
FailureOr<int64_t> axisOrFlat(Node &node, Tensor &x) {
  if (node.hasAttr("axis"))
    return node.axis(node.attr("axis", int64_t{0}), x.rank());
  x = node.emit.reshape(x, {x.count()});
  return 0;
}

LogicalResult convertCompress(Node &node) {
  Tensor x = node.in(0);
  Emitter &emit = node.emit;
  auto axis = axisOrFlat(node, x);
  if (failed(axis))
    return failure();
  auto condition = node.known(1, "the condition");
  if (failed(condition))
    return failure();
  if (node.in(1).type != DataType::boolean || node.in(1).rank() != 1 ||
      node.in(1).size(0) > x.size(*axis))
    return node.error() << "the condition must hold a boolean for each of at most " << x.size(*axis)
                        << " elements, not be " << node.in(1).tensorType();
  SmallVector<int64_t> kept;
  for (auto [i, keeps] : llvm::enumerate(asIntegers(*condition, true)))
    if (keeps)
      kept.push_back(static_cast<int64_t>(i));
  return node.result(emit.gather(x, emit.vector(DataType::i64, kept), *axis));
}

LogicalResult convertNonZero(Node &node) {
  Tensor x = node.in(0);
  auto value = node.known(0, "which elements are zero");
  if (failed(value))
    return failure();
  SmallVector<int64_t> found, indices;
  for (auto [i, number] : llvm::enumerate(asNumbers(*value, isUnsigned(x.type))))
    if (number != 0)
      found.push_back(static_cast<int64_t>(i));
  int64_t inner = x.count();
  for (int64_t size : x.shape()) {
    inner = size == 0 ? 0 : inner / size;
    for (int64_t at : found)
      indices.push_back(at / inner % size);
  }
  Emitter &emit = node.emit;
  return node.result(emit.reshape(emit.vector(DataType::i64, indices),
                                  {x.rank(), static_cast<int64_t>(found.size())}));
}

//===----------------------------------------------------------------------===//
// Unique
//===----------------------------------------------------------------------===//

/// Numbers of a slice, compared one after the other. NaNs equal each other, above all numbers.
struct Key {
  std::vector<long double> numbers;

  bool operator<(const Key &other) const {
    return std::lexicographical_compare(numbers.begin(), numbers.end(), other.numbers.begin(),
                                        other.numbers.end(), [](long double a, long double b) {
                                          return a < b || (std::isnan(b) && !std::isnan(a));
                                        });
  }
};

/// The slices of a tensor along an axis.
SmallVector<Key> slicesOf(const TensorValue &value, bool isUnsigned, ArrayRef<int64_t> shape,
                          int64_t axis) {
  SmallVector<Key> slices(shape[axis]);
  int64_t inner = 1;
  for (int64_t size : shape.drop_front(axis + 1))
    inner *= size;
  for (auto [i, number] : llvm::enumerate(asNumbers(value, isUnsigned)))
    slices[static_cast<int64_t>(i) / inner % shape[axis]].numbers.push_back(number);
  return slices;
}

LogicalResult convertUnique(Node &node) {
  Tensor x = node.in(0);
  Emitter &emit = node.emit;
  bool sorted = node.attr("sorted", int64_t{1}) != 0;
  auto value = node.known(0, "which elements differ");
  if (failed(value))
    return failure();
  auto axis = axisOrFlat(node, x);
  if (failed(axis))
    return failure();
  SmallVector<Key> slices = slicesOf(*value, isUnsigned(x.type), x.shape(), *axis);
  std::map<Key, int64_t> groups; // to the number of the group
  for (const Key &slice : slices)
    groups.emplace(slice, static_cast<int64_t>(groups.size()));
  if (sorted)
    for (auto [i, group] : llvm::enumerate(groups))
      group.second = static_cast<int64_t>(i);
  auto count = static_cast<int64_t>(groups.size());
  SmallVector<int64_t> first(count, -1), group, counts(count, 0);
  for (auto [i, slice] : llvm::enumerate(slices)) {
    int64_t number = groups.at(slice);
    group.push_back(number);
    ++counts[number];
    if (first[number] < 0)
      first[number] = static_cast<int64_t>(i);
  }
  Tensor indices = emit.vector(DataType::i64, first);
  node.set(0, emit.gather(x, indices, *axis));
  node.set(1, indices);
  node.set(2, emit.vector(DataType::i64, group));
  node.set(3, emit.vector(DataType::i64, counts));
  return success();
}

//===----------------------------------------------------------------------===//
// Non-maximum suppression
//===----------------------------------------------------------------------===//

struct Box {
  double low[2], high[2];

  double area() const { return (high[0] - low[0]) * (high[1] - low[1]); }
};

double overlap(const Box &a, const Box &b) {
  double both = 1;
  for (int d = 0; d < 2; ++d)
    both *= std::max(0.0, std::min(a.high[d], b.high[d]) - std::max(a.low[d], b.low[d]));
  double either = a.area() + b.area() - both;
  return either > 0 ? both / either : 0;
}

/// Corners in any order, or a centre with width and height.
Box readBox(const long double *numbers, bool isCentred) {
  Box box;
  for (int d = 0; d < 2; ++d) {
    auto a = static_cast<double>(numbers[d]), b = static_cast<double>(numbers[d + 2]);
    box.low[d] = isCentred ? a - b / 2 : std::min(a, b);
    box.high[d] = isCentred ? a + b / 2 : std::max(a, b);
  }
  return box;
}

LogicalResult convertNonMaxSuppression(Node &node) {
  bool isCentred = node.attr("center_point_box", int64_t{0}) != 0;
  Tensor boxes = node.in(0), scores = node.in(1);
  if (failed(node.sameTypes({0, 1})))
    return failure();
  if (boxes.rank() != 3 || scores.rank() != 3 || boxes.size(2) != 4 ||
      boxes.size(0) != scores.size(0) || boxes.size(1) != scores.size(2))
    return node.error() << "boxes " << boxes.tensorType() << " and scores " << scores.tensorType()
                        << " do not fit together";
  auto boxValue = node.known(0, "the boxes"), scoreValue = node.known(1, "the scores");
  if (failed(boxValue) || failed(scoreValue))
    return failure();
  auto most = node.has(2) ? node.intScalar(2, "the highest number of boxes") : int64_t{0};
  auto threshold = node.has(3) ? node.floatScalar(3, "the threshold of overlaps") : 0.0;
  auto least = node.has(4) ? node.floatScalar(4, "the threshold of scores")
                           : -std::numeric_limits<double>::infinity();
  if (failed(most) || failed(threshold) || failed(least))
    return failure();
  std::vector<long double> corners = asNumbers(*boxValue, false), points = asNumbers(*scoreValue, false);
  int64_t classes = scores.size(1), count = boxes.size(1);
  SmallVector<int64_t> chosen;
  for (int64_t line = 0; line < scores.size(0) * classes; ++line) {
    int64_t batch = line / classes;
    auto score = [&](int64_t box) { return points[line * count + box]; };
    auto boxAt = [&](int64_t box) {
      return readBox(corners.data() + (batch * count + box) * 4, isCentred);
    };
    SmallVector<int64_t> order, kept;
    for (int64_t box = 0; box < count; ++box)
      if (score(box) > *least)
        order.push_back(box);
    llvm::sort(order, [&](int64_t a, int64_t b) {
      return std::pair(-score(a), a) < std::pair(-score(b), b);
    });
    for (int64_t box : order) {
      if (static_cast<int64_t>(kept.size()) >= *most)
        break;
      if (llvm::none_of(kept, [&](int64_t other) { return overlap(boxAt(box), boxAt(other)) > *threshold; }))
        kept.push_back(box);
    }
    for (int64_t box : kept)
      chosen.append({batch, line % classes, box});
  }
  Emitter &emit = node.emit;
  return node.result(emit.reshape(emit.vector(DataType::i64, chosen),
                                  {static_cast<int64_t>(chosen.size()) / 3, 3}));
}

} // namespace

void spillway::addSelections(OperatorTable &table) {
  constexpr auto numeric = TypeClass::numeric;
  table.add({
      {"Compress", 9, convertCompress, 2, 2, 1, TypeClass::any,
       "the condition must be known at compile time"},
      {"NonMaxSuppression", 10, convertNonMaxSuppression, 2, 5, 1, TypeClass::floats,
       "all operands must be known at compile time"},
      {"NonZero", 9, convertNonZero, 1, 1, 1, TypeClass::any,
       "the operand must be known at compile time"},
      {"TopK", 1, convertTopKAttribute, 1, 1, 2, numeric},
      {"TopK", 10, convertTopK, 2, 2, 2, numeric, "k must be known at compile time"},
      {"Unique", 11, convertUnique, 1, 1, 4, TypeClass::any,
       "the operand must be known at compile time"},
  });
}
