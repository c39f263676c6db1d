// Matrix products and attention.

#include "Elements.h"
#include "Evaluators.h"
#include "MultiplyAdd.h"
#include "Numbers.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::nn;

namespace {

/// Batched matrices with the transposes read away: rows x columns, row-major.
template <typename T>
std::vector<T> untransposed(std::vector<T> matrices, int64_t rows, int64_t columns, bool transposed) {
  if (!transposed)
    return matrices;
  std::vector<T> result(matrices.size());
  int64_t size = rows * columns;
  for (size_t start = 0; start < matrices.size(); start += size)
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        result[start + r * columns + c] = matrices[start + c * rows + r];
  return result;
}

template <typename T>
std::vector<T> product(MatmulOp op, std::vector<T> lhsElements, std::vector<T> rhsElements) {
  int64_t m = op.getM(), n = op.getN(), k = op.getK(), batch = op.getBatch();
  bool shared = cast<RankedTensorType>(op.getRhs().getType()).getRank() == 2;
  std::vector<T> lhs = untransposed(std::move(lhsElements), m, k, op.getTransposeLhs());
  std::vector<T> rhs = untransposed(std::move(rhsElements), k, n, op.getTransposeRhs());
  std::vector<T> sums(batch * m * n);
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t p = 0; p < k; ++p)
        multiplyAddRow(lhs[(b * m + i) * k + p], rhs.data() + ((shared ? 0 : b * k) + p) * n,
                       sums.data() + (b * m + i) * n, n);
  return sums;
}

/// One query's scores and weighted values.
template <typename T> struct AttentionRow {
  AttentionOp op;
  ArrayRef<T> query;
  ArrayRef<T> keys;   // [n, d]
  ArrayRef<T> values; // [n, e]

  /// Scores before the mask, of n keys.
  std::vector<T> scores(int64_t n) {
    std::vector<T> result(n);
    T scale = op.getScale().convertToFloat(), cap = op.getSoftcap().convertToFloat();
    for (int64_t j = 0; j < n; ++j) {
      T dot = 0;
      for (auto [q, k] : llvm::zip(query, keys.slice(j * query.size(), query.size())))
        dot = std::fma(q, k, dot);
      T score = dot * scale;
      result[j] = cap != 0 ? cap * elementary<T>([](auto x) { return std::tanh(x); }, score / cap)
                           : score;
    }
    return result;
  }

  void write(ArrayRef<T> scores, MutableArrayRef<T> result) {
    T highest = -std::numeric_limits<T>::infinity();
    for (T score : scores)
      highest = maximum(highest, score);
    // The softmax of no scores is empty, whatever that of hidden ones is.
    if (scores.empty() || (highest == -std::numeric_limits<T>::infinity() && op.getMaskedRow() == MaskedRow::zero))
      return;
    T sum = 0;
    for (auto [j, score] : llvm::enumerate(scores)) {
      T weight = elementary<T>([](auto x) { return std::exp(x); }, score - highest);
      sum += weight;
      multiplyAddRow(weight, values.data() + j * result.size(), result.data(), result.size());
    }
    for (T &value : result)
      value /= sum;
  }
};

template <typename T> TensorValue attention(AttentionOp op, ArrayRef<TensorValue> operands) {
  ArrayRef<int64_t> q = operands[0].getShape(), k = operands[1].getShape(),
                    v = operands[2].getShape();
  int64_t heads = q[1], keyHeads = k[1], m = q[2], d = q[3], n = k[2], e = v[3];
  std::vector<T> query = loadFloats<T>(operands[0]), key = loadFloats<T>(operands[1]),
                 value = loadFloats<T>(operands[2]);
  std::vector<T> added;
  std::vector<uint64_t> kept;
  ArrayRef<int64_t> maskShape;
  if (op.getMask()) {
    maskShape = operands[3].getShape();
    if (operands[3].getElementType().isInteger(1))
      kept = loadUnsigned(operands[3]);
    else
      added = loadFloats<T>(operands[3]);
  }
  auto maskAt = [&](std::array<int64_t, 4> index) {
    int64_t at = 0;
    for (int64_t dim = 0; dim < 4; ++dim)
      at = at * maskShape[dim] + (maskShape[dim] == 1 ? 0 : index[dim]);
    return at;
  };
  constexpr T hidden = -std::numeric_limits<T>::infinity();

  auto type = cast<RankedTensorType>(op.getType());
  std::vector<T> result(type.getNumElements());
  for (int64_t b = 0; b < q[0]; ++b)
    for (int64_t h = 0; h < heads; ++h) {
      int64_t keyHead = b * keyHeads + h / (heads / keyHeads);
      for (int64_t i = 0; i < m; ++i) {
        int64_t at = (b * heads + h) * m + i;
        AttentionRow<T> row{op, ArrayRef<T>(query).slice(at * d, d),
                            ArrayRef<T>(key).slice(keyHead * n * d, n * d),
                            ArrayRef<T>(value).slice(keyHead * n * e, n * e)};
        std::vector<T> scores = row.scores(n);
        for (int64_t j = 0; j < n; ++j) {
          if (!added.empty())
            scores[j] += added[maskAt({b, h, i, j})];
          if ((!kept.empty() && !kept[maskAt({b, h, i, j})]) ||
              (op.getCausalOffset() && j > i + static_cast<int64_t>(*op.getCausalOffset())))
            scores[j] = hidden;
        }
        row.write(scores, MutableArrayRef<T>(result).slice(at * e, e));
      }
    }
  return storeFloats(type, ArrayRef<T>(result));
}

} // namespace

TensorValue spillway::evaluateMatmul(MatmulOp op, ArrayRef<TensorValue> operands) {
  auto type = cast<RankedTensorType>(op.getType());
  Type element = operands[0].getElementType();
  if (element.isF64())
    return storeFloats(type, ArrayRef<double>(product(op, loadFloats<double>(operands[0]),
                                                      loadFloats<double>(operands[1]))));
  if (isa<FloatType>(element))
    return storeFloats(type, ArrayRef<float>(product(op, loadFloats<float>(operands[0]),
                                                     loadFloats<float>(operands[1]))));
  std::vector<int64_t> sums = product(op, loadSigned(operands[0]), loadSigned(operands[1]));
  if (!isa<FloatType>(type.getElementType()))
    return storeIntegers(type, sums);
  // An integer product asked for in f32: wrapped to its own type, then rounded.
  TensorValue wrapped = storeIntegers(type.clone(element), sums);
  std::vector<int64_t> exact = loadSigned(wrapped);
  return storeFloats(type, ArrayRef<long double>(std::vector<long double>(exact.begin(), exact.end())));
}

TensorValue spillway::evaluateAttention(AttentionOp op, ArrayRef<TensorValue> operands) {
  return operands[0].getElementType().isF64() ? attention<double>(op, operands)
                                              : attention<float>(op, operands);
}
