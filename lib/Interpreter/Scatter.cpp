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

template <typename T>
std::vector<T> scatter(ScatterOp op, std::vector<T> data, const std::vector<T> &updates,
                       ArrayRef<int64_t> rows, int64_t width) {
  Type element = op.getType().getElementType();
  for (auto [i, row] : llvm::enumerate(rows))
    for (int64_t column = 0; column < width; ++column) {
      T &place = data[row * width + column];
      place = combine(op.getKind(), place, updates[i * width + column]);
      if constexpr (std::is_floating_point_v<T>)
        place = stored(element, place);
    }
  return data;
}

} // namespace

FailureOr<TensorValue> spillway::evaluateScatter(ScatterOp op, ArrayRef<TensorValue> operands,
                                                std::string &reason) {
  const TensorValue &data = operands[0], &updates = operands[2];
  int64_t tuple = operands[1].getShape().back();
  auto rows = rowsOf(operands[1], data.getShape().take_front(tuple), reason);
  if (failed(rows))
    return failure();
  ArrayRef<int64_t> slice = data.getShape().drop_front(tuple);
  int64_t width = std::accumulate(slice.begin(), slice.end(), int64_t(1), std::multiplies<>());
  auto run = [&](auto from) { return scatter(op, from(data), from(updates), *rows, width); };
  Type element = data.getElementType();
  if (element.isF64())
    return storeFloats(data.getType(), ArrayRef<double>(run(loadFloats<double>)));
  if (isa<FloatType>(element))
    return storeFloats(data.getType(), ArrayRef<float>(run(loadFloats<float>)));
  return storeIntegers(data.getType(), run(loadSigned));
}
