// Determinants, by elimination with the largest element of a column as pivot. Every step is written
// out, so matrices are small.

#include "spillway/Conversion/OnnxToNN/Node.h"

using namespace mlir;
using namespace spillway;

namespace {

using Order = Emitter::Order;

constexpr int64_t maxSize = 32;

/// The first column's row of largest magnitude, as [batch, 1, 1].
Tensor pivotRow(Emitter &emit, Tensor matrix) {
  Tensor magnitude = emit.abs(emit.sliceDim(matrix, 2, 0, 1));
  Tensor largest = emit.reduce(nn::ReductionKind::max, magnitude, {1}, true);
  Tensor isLargest = emit.compare(Order::equal, magnitude, emit.broadcast(largest, magnitude.shape()));
  Tensor row = emit.iota(DataType::i64, magnitude.shape(), 1);
  // Where a NaN makes nothing equal, the last row does.
  Tensor none = emit.likeInt(row, matrix.size(1) - 1);
  return emit.reduce(nn::ReductionKind::min, emit.select(isLargest, row, none), {1}, true);
}

/// Rows `pivot` and 0 exchanged.
Tensor exchangeRows(Emitter &emit, Tensor matrix, Tensor pivot) {
  Tensor row = emit.iota(DataType::i64, matrix.shape(), 1), first = emit.like(row, 0);
  Tensor chosen = emit.broadcast(pivot, matrix.shape());
  Tensor source = emit.select(emit.compare(Order::equal, row, chosen), first, row);
  source = emit.select(emit.compare(Order::equal, row, first), chosen, source);
  return matrix.moved(
      emit.create<nn::GatherElementsOp>(matrix.tensorType(), matrix.value, source.value, 1));
}

/// Of [batch, n, n], as [batch, 1, 1].
Tensor determinant(Emitter &emit, Tensor matrix) {
  Tensor result = emit.splat(matrix.type, {matrix.size(0), 1, 1}, 1);
  for (int64_t size = matrix.size(1); size > 0; --size) {
    if (size > 1) {
      Tensor pivot = pivotRow(emit, matrix);
      matrix = exchangeRows(emit, matrix, pivot);
      Tensor stays = emit.compare(Order::equal, pivot, emit.like(pivot, 0));
      result = emit.select(stays, result, emit.neg(result));
    }
    Tensor corner = emit.sliceDim(emit.sliceDim(matrix, 1, 0, 1), 2, 0, 1);
    result = emit.mul(result, corner);
    if (size == 1)
      break;
    Tensor below = emit.sliceDim(matrix, 1, 1, size - 1);
    Tensor column = emit.sliceDim(below, 2, 0, 1), rest = emit.sliceDim(below, 2, 1, size - 1);
    Tensor row = emit.sliceDim(emit.sliceDim(matrix, 1, 0, 1), 2, 1, size - 1);
    // Below a pivot of zero is nothing to eliminate.
    Tensor isZero = emit.compare(Order::equal, corner, emit.like(corner, 0));
    Tensor divisor = emit.select(isZero, emit.like(corner, 1), corner);
    Tensor factor = emit.div(column, emit.broadcast(divisor, column.shape()));
    Tensor taken = emit.mul(emit.broadcast(factor, rest.shape()), emit.broadcast(row, rest.shape()));
    matrix = emit.sub(rest, taken);
  }
  return result;
}

LogicalResult convertDet(Node &node) {
  Tensor x = node.in(0);
  if (x.rank() < 2 || x.size(x.rank() - 1) != x.size(x.rank() - 2))
    return node.error() << "the input must hold square matrices, not be " << x.tensorType();
  int64_t size = x.size(x.rank() - 1);
  if (size > maxSize)
    return node.error() << "matrices of " << size << " rows, at most " << maxSize << " are supported";
  Emitter &emit = node.emit;
  Shape batches(x.shape().drop_back(2));
  Tensor matrices = emit.reshape(x, {*elementCount(batches), size, size});
  return node.result(emit.inComputeType(
      matrices, [&](Tensor m) { return emit.reshape(determinant(emit, m), batches); }));
}

} // namespace

void spillway::addDeterminants(OperatorTable &table) {
  table.add({{"Det", 11, convertDet, 1, 1, 1, TypeClass::floats, "matrices of at most 32 rows"}});
}
