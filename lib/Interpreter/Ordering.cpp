// Orders of elements.

#include "Elements.h"
#include "Evaluators.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace spillway;
using namespace spillway::nn;

namespace {

/// A NaN is above all numbers.
bool isBelow(double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); }
bool isBelow(int64_t a, int64_t b) { return a < b; }

template <typename T>
TensorValue argsort(ArgsortOp op, const TensorValue &operand, const std::vector<T> &elements) {
  auto type = cast<RankedTensorType>(op.getType());
  ArrayRef<int64_t> shape = operand.getShape();
  int64_t dim = op.getDim(), size = shape[dim], kept = type.getDimSize(dim);
  int64_t inner = std::accumulate(shape.begin() + dim + 1, shape.end(), int64_t(1),
                                  std::multiplies<>());
  int64_t lines = size == 0 ? 0 : operand.getNumElements() / size;
  std::vector<int64_t> result(type.getNumElements()), order(size);
  for (int64_t line = 0; line < lines; ++line) {
    int64_t outer = line / inner, column = line % inner;
    auto at = [&](int64_t i) { return elements[(outer * size + i) * inner + column]; };
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      T x = at(a), y = at(b);
      if (isBelow(x, y) || isBelow(y, x))
        return op.getDescending() ? isBelow(y, x) : isBelow(x, y);
      return a < b;
    });
    for (int64_t i = 0; i < kept; ++i)
      result[(outer * kept + i) * inner + column] = order[i];
  }
  return storeIntegers(type, result);
}

} // namespace

TensorValue spillway::evaluateArgsort(ArgsortOp op, ArrayRef<TensorValue> operands) {
  if (isa<FloatType>(operands[0].getElementType()))
    return argsort(op, operands[0], loadFloats<double>(operands[0]));
  return argsort(op, operands[0], loadSigned(operands[0]));
}
