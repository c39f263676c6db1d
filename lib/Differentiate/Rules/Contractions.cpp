// Matrix products.

#include "lib/Differentiate/Rules/Rule.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::derivatives;

static Value swapLastTwo(RuleBuilder &b, Value a) {
  SmallVector<int64_t> perm = dimensions(0, shapeOf(a).size());
  std::swap(perm.back(), *std::prev(perm.end(), 2));
  return b.transpose(a, perm);
}

/// All batches as rows of one matrix.
static Value flattenRows(RuleBuilder &b, Value a) {
  ArrayRef<int64_t> shape = shapeOf(a);
  int64_t rows = 1;
  for (int64_t size : shape.drop_back())
    rows *= size;
  return b.reshape(a, {rows, shape.back()});
}

static void multiply(nn::MatmulOp op, Cotangents &c) {
  RuleBuilder b(c, op);
  auto [lhs, rhs] = b.alike(op.getLhs(), op.getRhs());
  Value cotangent = b.as(lhs, c.of(op));
  bool transposesLhs = op.getTransposeLhs(), transposesRhs = op.getTransposeRhs();
  if (c.needs(op.getLhs())) {
    Value ofRows = b.matmul(cotangent, rhs, false, !transposesRhs);
    c.add(op.getLhs(), b.as(op.getLhs(), transposesLhs ? swapLastTwo(b, ofRows) : ofRows));
  }
  if (!c.needs(op.getRhs()))
    return;
  if (shapeOf(rhs).size() < shapeOf(lhs).size()) {
    lhs = flattenRows(b, transposesLhs ? swapLastTwo(b, lhs) : lhs);
    cotangent = flattenRows(b, cotangent);
    transposesLhs = false;
  }
  Value ofColumns = transposesRhs ? b.matmul(cotangent, lhs, true, transposesLhs)
                                  : b.matmul(lhs, cotangent, !transposesLhs, false);
  c.add(op.getRhs(), b.as(op.getRhs(), ofColumns));
}

void derivatives::attachContractions(MLIRContext *context) {
  attach<nn::MatmulOp, multiply>(context);
}
