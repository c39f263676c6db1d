// Matrix products.

#include "lib/Conversion/OnnxToNN/Products.h"

using namespace mlir;
using namespace spillway;

namespace {

/// An operand of a product, to be read with its last two dimensions swapped.
struct Factor {
  Tensor tensor;
  bool transposed = false;

  int64_t rows() const { return tensor.size(tensor.rank() - (transposed ? 1 : 2)); }
  int64_t columns() const { return tensor.size(tensor.rank() - (transposed ? 2 : 1)); }
  ArrayRef<int64_t> batch() const { return tensor.shape().drop_back(2); }
};

/// Reads through transposes of the last two dimensions.
Factor readThrough(Factor factor) {
  while (auto transpose = factor.tensor.value.getDefiningOp<nn::TransposeOp>()) {
    SmallVector<int64_t> swapped = allDims(factor.tensor.rank());
    std::swap(swapped.end()[-1], swapped.end()[-2]);
    if (transpose.getPerm() != ArrayRef<int64_t>(swapped))
      break;
    factor = {{transpose.getOperand(), factor.tensor.type}, !factor.transposed};
  }
  return factor;
}

Factor broadcastBatch(Emitter &emit, Factor factor, ArrayRef<int64_t> batch) {
  Shape shape(batch);
  llvm::append_range(shape, factor.tensor.shape().take_back(2));
  return {emit.broadcast(factor.tensor, shape), factor.transposed};
}

/// The product of factors of rank 2 and more; their contracted sizes agree and `batch` is
/// what their leading dimensions broadcast to.
Tensor multiply(Emitter &emit, Factor lhs, Factor rhs, ArrayRef<int64_t> batch) {
  lhs = readThrough(lhs);
  rhs = readThrough(rhs);
  // A rhs without batches of its own serves all of them.
  if (rhs.tensor.rank() > 2 && llvm::all_of(rhs.batch(), [](int64_t size) { return size == 1; }))
    rhs.tensor = emit.reshape(rhs.tensor, rhs.tensor.shape().take_back(2));
  if (rhs.tensor.rank() > 2)
    rhs = broadcastBatch(emit, rhs, batch);
  lhs = broadcastBatch(emit, lhs, batch);
  Shape shape(batch);
  shape.push_back(lhs.rows());
  shape.push_back(rhs.columns());
  DataType type = lhs.tensor.type;
  return {emit.create<nn::MatmulOp>(emit.typeOf(type, shape), lhs.tensor.value, rhs.tensor.value,
                                    lhs.transposed, rhs.transposed),
          type};
}

/// numpy's product: vectors are a row on the left, a column on the right, and leave no dimension.
FailureOr<Tensor> multiplyFactors(Node &node, Factor a, Factor b) {
  Emitter &emit = node.emit;
  bool isRow = a.tensor.rank() == 1, isColumn = b.tensor.rank() == 1;
  if (a.tensor.rank() == 0 || b.tensor.rank() == 0)
    return node.error() << "operands must have one dimension or more";
  Factor lhs = isRow ? Factor{emit.reshape(a.tensor, {1, a.tensor.size(0)})} : a;
  Factor rhs = isColumn ? Factor{emit.reshape(b.tensor, {b.tensor.size(0), 1})} : b;
  auto batch = broadcastShapes(lhs.batch(), rhs.batch());
  if (lhs.columns() != rhs.rows() || !batch)
    return node.error() << a.tensor.tensorType() << " and " << b.tensor.tensorType()
                        << " do not fit as factors";
  Tensor product = multiply(emit, lhs, rhs, *batch);
  Shape shape(*batch);
  if (!isRow)
    shape.push_back(lhs.rows());
  if (!isColumn)
    shape.push_back(rhs.columns());
  return emit.reshape(product, shape);
}

LogicalResult convertMatMul(Node &node) {
  if (failed(node.sameTypes({0, 1})))
    return failure();
  auto product = matmul(node, node.in(0), node.in(1));
  return failed(product) ? failure() : node.result(*product);
}

Tensor scaleBy(Emitter &emit, Tensor x, double factor) {
  return factor == 1 ? x : emit.mul(x, emit.like(x, factor));
}

/// A factor whose first dimension may be moved behind the batches, and which is then read with its
/// last two dimensions swapped. Vectors stay as they are.
Factor fusedFactor(Node &node, Tensor x, StringRef movesFirst, StringRef swaps) {
  bool moves = node.attr(movesFirst, int64_t{0}) != 0;
  bool transposed = node.attr(swaps, int64_t{0}) != 0;
  if (x.rank() < 2)
    return Factor{x};
  if (moves) {
    SmallVector<int64_t> perm = allDims(x.rank());
    std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
    x = node.emit.transpose(x, perm);
  }
  return Factor{x, transposed};
}

LogicalResult convertFusedMatMul(Node &node) {
  double alpha = node.attr("alpha", 1.0);
  if (failed(node.sameTypes({0, 1})))
    return failure();
  Factor lhs = fusedFactor(node, node.in(0), "transBatchA", "transA");
  Factor rhs = fusedFactor(node, node.in(1), "transBatchB", "transB");
  auto product = multiplyFactors(node, lhs, rhs);
  return failed(product) ? failure() : node.result(scaleBy(node.emit, *product, alpha));
}

LogicalResult convertGemm(Node &node) {
  double alpha = node.attr("alpha", 1.0), beta = node.attr("beta", 1.0);
  if (node.version() < 7)
    node.ignoreAttr("broadcast"); // C broadcasts wherever it must
  Tensor a = node.in(0), b = node.in(1);
  if (failed(node.sameTypes({0, 1})) || (node.has(2) && failed(node.sameTypes({0, 2}))))
    return failure();
  if (a.rank() != 2 || b.rank() != 2)
    return node.error() << "A and B must be matrices";
  Factor lhs{a, node.attr("transA", int64_t{0}) != 0};
  Factor rhs{b, node.attr("transB", int64_t{0}) != 0};
  if (lhs.columns() != rhs.rows())
    return node.error() << a.tensorType() << " and " << b.tensorType()
                        << " do not fit as factors";
  Emitter &emit = node.emit;
  Tensor y = multiply(emit, lhs, rhs, {});
  // Neither factor need be an integer where the matrices hold some.
  if (!isFloat(a.type) && (alpha != 1 || beta != 1))
    y = emit.cast(y, DataType::f64);
  y = scaleBy(emit, y, alpha);
  if (auto c = node.optional(2)) {
    auto shape = broadcastShapes(y.shape(), c->shape());
    if (!shape || *shape != Shape(y.shape()))
      return node.error() << "C " << c->tensorType() << " does not broadcast to "
                          << y.tensorType();
    y = emit.add(y, emit.broadcast(scaleBy(emit, emit.cast(*c, y.type), beta), y.shape()));
  }
  return node.result(emit.cast(y, a.type));
}

} // namespace

FailureOr<Tensor> spillway::matmul(Node &node, Tensor a, Tensor b) {
  return multiplyFactors(node, Factor{a}, Factor{b});
}

void spillway::addContractions(OperatorTable &table) {
  constexpr auto numeric = TypeClass::numeric;
  table.add({
      {"Gemm", 1, convertGemm, 3, 3, 1, numeric},
      {"Gemm", 11, convertGemm, 2, 3, 1, numeric},
      {"FusedMatMul", 1, convertFusedMatMul, 2, 2, 1, TypeClass::floats, "", microsoft},
      {"TransposeMatMul", 1, convertFusedMatMul, 2, 2, 1, TypeClass::floats, "", microsoft},
      {"MatMul", 1, convertMatMul, 2, 2, 1, numeric},
  });
}
