// Matrix products.

#include "spillway/Conversion/OnnxToNN/Node.h"

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

LogicalResult convertMatMul(Node &node) {
  if (failed(node.sameTypes({0, 1})))
    return failure();
  Tensor a = node.in(0), b = node.in(1);
  if (a.rank() == 0 || b.rank() == 0)
    return node.error() << "operands must have one dimension or more";
  Emitter &emit = node.emit;
  Factor lhs{a.rank() == 1 ? emit.reshape(a, {1, a.size(0)}) : a};
  Factor rhs{b.rank() == 1 ? emit.reshape(b, {b.size(0), 1}) : b};
  auto batch = broadcastShapes(lhs.batch(), rhs.batch());
  if (lhs.columns() != rhs.rows() || !batch)
    return node.error() << a.tensorType() << " and " << b.tensorType()
                        << " do not fit as factors";
  Tensor product = multiply(emit, lhs, rhs, *batch);
  Shape shape(*batch);
  if (a.rank() > 1)
    shape.push_back(lhs.rows());
  if (b.rank() > 1)
    shape.push_back(rhs.columns());
  return node.result(emit.reshape(product, shape));
}

Tensor scaleBy(Emitter &emit, Tensor x, double factor) {
  return factor == 1 ? x : emit.mul(x, emit.like(x, factor));
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
  Tensor y = scaleBy(emit, multiply(emit, lhs, rhs, {}), alpha);
  if (auto c = node.optional(2)) {
    auto shape = broadcastShapes(y.shape(), c->shape());
    if (!shape || *shape != Shape(y.shape()))
      return node.error() << "C " << c->tensorType() << " does not broadcast to "
                          << y.tensorType();
    y = emit.add(y, emit.broadcast(scaleBy(emit, *c, beta), y.shape()));
  }
  return node.result(y);
}

} // namespace

void spillway::addContractions(OperatorTable &table) {
  constexpr auto numeric = TypeClass::numeric;
  table.add({
      {"Gemm", 1, convertGemm, 3, 3, 1, numeric},
      {"Gemm", 11, convertGemm, 2, 3, 1, numeric},
      {"MatMul", 1, convertMatMul, 2, 2, 1, numeric},
  });
}
