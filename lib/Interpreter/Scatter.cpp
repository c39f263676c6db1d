// Updates of a tensor at index tuples.

#include "Elements.h"
#include "Evaluators.h"
#include "Numbers.h"

#include "runtime/base/SmallFloat.h"

#include <numeric>

using namespace mlir;
using namespace spillway;
using namespace spillway::nn;

namespace {

template <typename T> T combine(ScatterKind kind, T a, T b) {
  switch (kind) {
  case ScatterKind::replace:
    return b;
  case ScatterKind::add:
    return a + b;
  case ScatterKind::mul:
    return a * b;
  case ScatterKind::max:
    return maximum(a, b);
  case ScatterKind::min:
    return minimum(a, b);
  }
  llvm_unreachable("no such kind");
}

/// Integers wrap around.
template <> int64_t combine(ScatterKind kind, int64_t a, int64_t b) {
  auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  switch (kind) {
  case ScatterKind::replace:
    return b;
  case ScatterKind::add:
    return static_cast<int64_t>(ua + ub);
  case ScatterKind::mul:
    return static_cast<int64_t>(ua * ub);
  case ScatterKind::max:
    return std::max(a, b);
  case ScatterKind::min:
    return std::min(a, b);
  }
  llvm_unreachable("no such kind");
}

/// What a float of an element type is after it was stored.
template <typename T> T stored(Type element, T value) {
  if (element.isF16())
    return static_cast<T>(halfToFloat(halfFromDouble(static_cast<double>(value))));
  if (element.isBF16())
    return static_cast<T>(bfloat16ToFloat(bfloat16FromDouble(static_cast<double>(value))));
  return value;
}

/// The row, of the slices that tuples address, of each tuple.
FailureOr<std::vector<int64_t>> rowsOf(const TensorValue &indices, ArrayRef<int64_t> addressed,
                                       std::string &reason) {
  std::vector<int64_t> values = loadSigned(indices), rows;
  int64_t tuple = static_cast<int64_t>(addressed.size());
  for (size_t first = 0; first < values.size(); first += tuple) {
    int64_t row = 0;
    for (int64_t t = 0; t < tuple; ++t) {
      int64_t value = values[first + t], size = addressed[t];
      if (value < -size || value >= size) {
        reason = "index " + std::to_string(value) + " is out of range of size " + std::to_string(size);
        return failure();
      }
      row = row * size + (value < 0 ? value + size : value);
    }
    rows.push_back(row);
  }
  return rows;
}

/// A slice of updates and the row that it goes to.
struct Update {
  int64_t row, source;
};

template <typename T>
std::vector<T> apply(ScatterKind kind, Type element, std::vector<T> data, const std::vector<T> &updates,
                     ArrayRef<Update> order, int64_t width) {
  for (auto [row, source] : order)
    for (int64_t column = 0; column < width; ++column) {
      T &place = data[row * width + column];
      place = combine(kind, place, updates[source * width + column]);
      if constexpr (std::is_floating_point_v<T>)
        place = stored(element, place);
    }
  return data;
}

/// `data` with slices of its last dimensions updated, one after the other.
TensorValue updated(ScatterKind kind, const TensorValue &data, const TensorValue &updates, ArrayRef<Update> order,
                    ArrayRef<int64_t> slice) {
  int64_t width = std::accumulate(slice.begin(), slice.end(), int64_t(1), std::multiplies<>());
  Type element = data.getElementType();
  auto run = [&](auto from) { return apply(kind, element, from(data), from(updates), order, width); };
  if (element.isF64())
    return storeFloats(data.getType(), ArrayRef<double>(run(loadFloats<double>)));
  if (isa<FloatType>(element))
    return storeFloats(data.getType(), ArrayRef<float>(run(loadFloats<float>)));
  return storeIntegers(data.getType(), run(loadSigned));
}

} // namespace

FailureOr<TensorValue> spillway::evaluateScatter(ScatterOp op, ArrayRef<TensorValue> operands,
                                                std::string &reason) {
  const TensorValue &data = operands[0];
  int64_t tuple = operands[1].getShape().back();
  auto rows = rowsOf(operands[1], data.getShape().take_front(tuple), reason);
  if (failed(rows))
    return failure();
  std::vector<Update> order;
  for (auto [i, row] : llvm::enumerate(*rows))
    order.push_back({row, static_cast<int64_t>(i)});
  return updated(op.getKind(), data, operands[2], order, data.getShape().drop_front(tuple));
}

FailureOr<TensorValue> spillway::evaluateAddRows(AddRowsOp, ArrayRef<TensorValue> operands, std::string &reason) {
  const TensorValue &data = operands[0];
  std::vector<int64_t> rows = loadSigned(operands[1]), sources = loadSigned(operands[2]);
  if (!llvm::is_sorted(rows)) {
    reason = "its rows are not in ascending order";
    return failure();
  }
  std::vector<Update> order;
  for (auto [row, source] : llvm::zip_equal(rows, sources)) {
    auto size = static_cast<int64_t>(rows.size());
    if (source < -size || source >= size) {
      reason = "there is no update " + std::to_string(source);
      return failure();
    }
    if (row >= 0 && row < data.getShape().front())
      order.push_back({row, source < 0 ? source + size : source});
  }
  return updated(ScatterKind::add, data, operands[3], order, data.getShape().drop_front());
}
