// Operations that combine elements along dimensions.

#include "Elements.h"
#include "Evaluators.h"
#include "Numbers.h"

#include "runtime/device/KernelAbi.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::nn;

namespace {

/// How the elements of a row combine: ascending; or, along the last dimension, in virtual
/// lanes (index mod 16 in the part of the row whose dimensions are the operand's last
/// ones); or so in each chunk of the row, and then with the results of the chunks.
struct Order {
  /// Elements of that part; 0 for ascending.
  int64_t inner = 0;
  bool chunked = false;
};

/// Starts from `identity`; each element goes in through `take`, lanes meet in `merge`.
template <typename T, typename Take, typename Merge>
T combine(ArrayRef<T> row, Order order, T identity, Take take, Merge merge) {
  if (order.inner == 0) {
    for (T element : row)
      identity = take(identity, element);
    return identity;
  }
  if (order.chunked && row.size() > reductionChunk) {
    std::vector<T> parts;
    for (; !row.empty(); row = row.drop_front(std::min<size_t>(row.size(), reductionChunk)))
      parts.push_back(
          combine(row.take_front(reductionChunk), {reductionChunk}, identity, take, merge));
    auto count = static_cast<int64_t>(parts.size());
    return combine(ArrayRef<T>(parts), {count}, identity, merge, merge);
  }
  std::array<T, reductionLanes> lanes;
  lanes.fill(identity);
  for (auto [i, element] : llvm::enumerate(row)) {
    T &lane = lanes[i % order.inner % reductionLanes];
    lane = take(lane, element);
  }
  for (int64_t half = reductionLanes / 2; half > 0; half /= 2)
    for (int64_t lane = 0; lane < half; ++lane)
      lanes[lane] = merge(lanes[lane], lanes[lane + half]);
  return lanes[0];
}

template <typename T> T add(T a, T b) { return a + b; }
template <> int64_t add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t multiply(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

template <typename T> T sum(ArrayRef<T> row, Order order) {
  return combine(row, order, T(0), add<T>, add<T>);
}
template <typename T> T sumOfSquares(ArrayRef<T> row, Order order) {
  return combine(row, order, T(0), [](T sum, T x) { return std::fma(x, x, sum); }, add<T>);
}
template <typename T> T highest(ArrayRef<T> row, Order order) {
  return combine(row, order, -std::numeric_limits<T>::infinity(), maximum<T>, maximum<T>);
}
template <typename T> T exponential(T x) {
  return elementary<T>([](auto x) { return std::exp(x); }, x);
}
template <typename T> T logarithm(T x) {
  return elementary<T>([](auto x) { return std::log(x); }, x);
}

template <typename T> T reduceFloats(ReductionKind kind, ArrayRef<T> row, Order order) {
  switch (kind) {
  case ReductionKind::sum:
    return sum(row, order);
  case ReductionKind::mean:
    return sum(row, order) / static_cast<T>(row.size());
  case ReductionKind::prod:
    return combine(row, order, T(1), std::multiplies<T>(), std::multiplies<T>());
  case ReductionKind::max:
    return highest(row, order);
  case ReductionKind::min:
    return combine(row, order, std::numeric_limits<T>::infinity(), minimum<T>, minimum<T>);
  case ReductionKind::sum_square:
    return sumOfSquares(row, order);
  case ReductionKind::l1:
    return combine(row, order, T(0), [](T sum, T x) { return sum + std::fabs(x); }, add<T>);
  case ReductionKind::l2:
    return std::sqrt(sumOfSquares(row, order));
  case ReductionKind::log_sum:
    return logarithm(sum(row, order));
  case ReductionKind::log_sum_exp: {
    T shift = highest(row, order);
    if (std::isinf(shift))
      return shift;
    std::vector<T> powers(row.size());
    llvm::transform(row, powers.begin(), [&](T x) { return exponential(x - shift); });
    return shift + logarithm(sum(ArrayRef<T>(powers), order));
  }
  }
  llvm_unreachable("no such kind");
}

/// Of integers of `width` bits; exact up to the wrap-around, so the order is free.
int64_t reduceIntegers(ReductionKind kind, ArrayRef<int64_t> row, unsigned width) {
  auto fold = [&](int64_t identity, auto take) {
    return combine(row, Order(), identity, take, take);
  };
  auto larger = [](int64_t a, int64_t b) { return std::max(a, b); };
  auto smaller = [](int64_t a, int64_t b) { return std::min(a, b); };
  switch (kind) {
  case ReductionKind::sum:
    return fold(0, add<int64_t>);
  case ReductionKind::prod:
    return fold(1, multiply);
  case ReductionKind::max:
    return fold(llvm::minIntN(width), larger);
  case ReductionKind::min:
    return fold(llvm::maxIntN(width), smaller);
  case ReductionKind::sum_square:
    return fold(0, [](int64_t sum, int64_t x) { return add(sum, multiply(x, x)); });
  case ReductionKind::l1:
    return fold(0, [](int64_t sum, int64_t x) { return x < 0 ? add(sum, multiply(x, -1)) : add(sum, x); });
  default:
    llvm_unreachable("refused by the verifier");
  }
}

/// Calls `visit(row, positions)` with the elements of each row of `shape` along `dims`
/// (in row-major order) and where each of them lies.
template <typename T, typename Visit>
void forEachRow(ArrayRef<int64_t> shape, ArrayRef<int64_t> dims, const std::vector<T> &elements,
                Visit visit) {
  SmallVector<int64_t> strides = computeSuffixProduct(shape);
  SmallVector<int64_t> keptShape, keptStrides, rowShape, rowStrides;
  for (auto [d, size] : llvm::enumerate(shape)) {
    bool inRow = llvm::is_contained(dims, static_cast<int64_t>(d));
    (inRow ? rowShape : keptShape).push_back(size);
    (inRow ? rowStrides : keptStrides).push_back(strides[d]);
  }
  auto positionsOf = [](ArrayRef<int64_t> shape, ArrayRef<int64_t> strides) {
    std::vector<int64_t> positions(computeProduct(shape));
    SmallVector<int64_t> basis = computeSuffixProduct(shape);
    for (auto [i, position] : llvm::enumerate(positions))
      position = linearize(delinearize(i, basis), strides);
    return positions;
  };
  std::vector<int64_t> inRow = positionsOf(rowShape, rowStrides);
  std::vector<T> row(inRow.size());
  for (int64_t start : positionsOf(keptShape, keptStrides)) {
    for (auto [element, position] : llvm::zip(row, inRow))
      element = elements[start + position];
    visit(ArrayRef<T>(row), start, ArrayRef<int64_t>(inRow));
  }
}

Order orderOf(ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  auto rank = static_cast<int64_t>(shape.size());
  if (!llvm::is_contained(dims, rank - 1))
    return {};
  Order order{1};
  for (int64_t d = rank - 1; d >= 0 && llvm::is_contained(dims, d); --d)
    order.inner *= shape[d];
  return order;
}

template <typename T> TensorValue reduce(ReduceOp op, const TensorValue &operand) {
  auto type = cast<RankedTensorType>(op.getType());
  Order order = orderOf(operand.getShape(), op.getDims());
  order.chunked = type.getRank() == 0;
  std::vector<T> results;
  results.reserve(type.getNumElements());
  if constexpr (std::is_same_v<T, int64_t>) {
    unsigned width = operand.getElementType().getIntOrFloatBitWidth();
    // Truth values are combined as 0 and 1: max is "any", min is "all".
    std::vector<int64_t> elements = loadSigned(operand);
    if (width == 1)
      for (int64_t &element : elements)
        element = -element;
    forEachRow(operand.getShape(), op.getDims(), elements,
               [&](ArrayRef<T> row, int64_t, ArrayRef<int64_t>) {
                 results.push_back(reduceIntegers(op.getKind(), row, width == 1 ? 2 : width));
               });
    return storeIntegers(type, results);
  } else {
    forEachRow(operand.getShape(), op.getDims(), loadFloats<T>(operand),
               [&](ArrayRef<T> row, int64_t, ArrayRef<int64_t>) {
                 results.push_back(reduceFloats(op.getKind(), row, order));
               });
    return storeFloats(type, ArrayRef<T>(results));
  }
}

/// An operation that maps each row along `dims` to a row of the same size:
/// `compute(row, order, result)`.
template <typename T, typename Compute>
TensorValue mapRows(const TensorValue &operand, ArrayRef<int64_t> dims, Compute compute) {
  std::vector<T> results(operand.getNumElements());
  Order order = orderOf(operand.getShape(), dims);
  std::vector<T> result;
  forEachRow(operand.getShape(), dims, loadFloats<T>(operand),
             [&](ArrayRef<T> row, int64_t start, ArrayRef<int64_t> positions) {
               result.assign(row.size(), T());
               compute(row, order, MutableArrayRef<T>(result));
               for (auto [value, position] : llvm::zip(result, positions))
                 results[start + position] = value;
             });
  return storeFloats(operand.getType(), ArrayRef<T>(results));
}

template <typename T> TensorValue softmax(const TensorValue &operand, int64_t dim) {
  return mapRows<T>(operand, dim, [](ArrayRef<T> row, Order order, MutableArrayRef<T> result) {
    T shift = highest(row, order);
    llvm::transform(row, result.begin(), [&](T x) { return exponential(x - shift); });
    T total = sum(ArrayRef<T>(result), order);
    for (T &value : result)
      value /= total;
  });
}

template <typename T> TensorValue logSoftmax(const TensorValue &operand, int64_t dim) {
  return mapRows<T>(operand, dim, [](ArrayRef<T> row, Order order, MutableArrayRef<T> result) {
    T shift = highest(row, order);
    llvm::transform(row, result.begin(), [&](T x) { return exponential(x - shift); });
    T total = logarithm(sum(ArrayRef<T>(result), order));
    llvm::transform(row, result.begin(), [&](T x) { return x - shift - total; });
  });
}

SmallVector<int64_t> dimsFrom(int64_t dim, const TensorValue &operand) {
  return llvm::to_vector(llvm::seq<int64_t>(dim, operand.getType().getRank()));
}

template <typename T> TensorValue layerNorm(LayerNormOp op, ArrayRef<TensorValue> operands) {
  std::vector<T> scale = loadFloats<T>(operands[1]);
  std::vector<T> bias = op.getBias() ? loadFloats<T>(operands[2]) : std::vector<T>();
  T epsilon = op.getEpsilon().convertToFloat();
  return mapRows<T>(operands[0], dimsFrom(op.getDim(), operands[0]),
                    [&](ArrayRef<T> row, Order order, MutableArrayRef<T> result) {
                      T size = static_cast<T>(row.size());
                      T mean = sum(row, order) / size;
                      llvm::transform(row, result.begin(), [&](T x) { return x - mean; });
                      T variance = sumOfSquares(ArrayRef<T>(result), order) / size;
                      T inverse = 1 / std::sqrt(variance + epsilon);
                      for (auto [i, value] : llvm::enumerate(result)) {
                        value = value * inverse * scale[i];
                        if (!bias.empty())
                          value += bias[i];
                      }
                    });
}

template <typename T> TensorValue rmsNorm(RmsNormOp op, ArrayRef<TensorValue> operands) {
  std::vector<T> scale = loadFloats<T>(operands[1]);
  T epsilon = op.getEpsilon().convertToFloat();
  return mapRows<T>(operands[0], dimsFrom(op.getDim(), operands[0]),
                    [&](ArrayRef<T> row, Order order, MutableArrayRef<T> result) {
                      T meanSquare = sumOfSquares(row, order) / static_cast<T>(row.size());
                      T inverse = 1 / std::sqrt(meanSquare + epsilon);
                      for (auto [i, value] : llvm::enumerate(result))
                        value = row[i] * inverse * scale[i];
                    });
}

/// Running sums of a row, `add`ing in order.
template <typename T>
void runningSums(CumsumOp op, ArrayRef<T> row, MutableArrayRef<T> result) {
  T total = 0;
  for (size_t i = 0; i < row.size(); ++i) {
    size_t at = op.getReverse() ? row.size() - 1 - i : i;
    T next = add(total, row[at]);
    result[at] = op.getExclusive() ? total : next;
    total = next;
  }
}

template <typename T> TensorValue cumsum(CumsumOp op, const TensorValue &operand) {
  int64_t dim = op.getDim();
  if constexpr (std::is_same_v<T, int64_t>) {
    std::vector<int64_t> results(operand.getNumElements()), result;
    forEachRow(operand.getShape(), dim, loadSigned(operand),
               [&](ArrayRef<T> row, int64_t start, ArrayRef<int64_t> positions) {
                 result.assign(row.size(), 0);
                 runningSums(op, row, MutableArrayRef<T>(result));
                 for (auto [value, position] : llvm::zip(result, positions))
                   results[start + position] = value;
               });
    return storeIntegers(operand.getType(), results);
  } else {
    return mapRows<T>(operand, dim, [&](ArrayRef<T> row, Order, MutableArrayRef<T> result) {
      runningSums(op, row, result);
    });
  }
}

template <typename T> TensorValue evaluateFloats(Operation *op, ArrayRef<TensorValue> operands) {
  return TypeSwitch<Operation *, TensorValue>(op)
      .Case([&](ReduceOp op) { return reduce<T>(op, operands[0]); })
      .Case([&](SoftmaxOp op) { return softmax<T>(operands[0], op.getDim()); })
      .Case([&](LogSoftmaxOp op) { return logSoftmax<T>(operands[0], op.getDim()); })
      .Case([&](LayerNormOp op) { return layerNorm<T>(op, operands); })
      .Case([&](RmsNormOp op) { return rmsNorm<T>(op, operands); })
      .Case([&](CumsumOp op) { return cumsum<T>(op, operands[0]); });
}

} // namespace

TensorValue spillway::evaluateReduction(Operation *op, ArrayRef<TensorValue> operands) {
  Type element = operands[0].getElementType();
  if (element.isF64())
    return evaluateFloats<double>(op, operands);
  if (isa<FloatType>(element))
    return evaluateFloats<float>(op, operands);
  if (auto sum = dyn_cast<CumsumOp>(op))
    return cumsum<int64_t>(sum, operands[0]);
  return reduce<int64_t>(cast<ReduceOp>(op), operands[0]);
}
