// Reductions, softmax and scans.

#include "lib/Differentiate/Rules/Rule.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::derivatives;
using P = arith::CmpFPredicate;

namespace {

class ReductionRule {
public:
  ReductionRule(nn::ReduceOp op, Cotangents &c)
      : op(op), b(c, op), x(b.wide(op.getOperand())), y(b.wide(op)), g(b.wide(c.of(op))), stored(c.stored()) {}

  Value cotangent() {
    switch (op.getKind()) {
    case nn::ReductionKind::sum:
      return expand(g);
    case nn::ReductionKind::mean:
      return b.mul(expand(g), 1.0 / static_cast<double>(elementsOfOne()));
    case nn::ReductionKind::prod:
      return product();
    case nn::ReductionKind::max:
    case nn::ReductionKind::min:
      return extremum();
    case nn::ReductionKind::sum_square:
      return b.mul(expand(g), b.mul(x, 2));
    case nn::ReductionKind::l1:
      return b.mul(expand(g), b.sign(x));
    case nn::ReductionKind::l2: {
      Value flat = b.compare(P::OEQ, y, b.like(y, 0));
      return b.mul(expand(b.select(flat, b.like(g, 0), b.div(g, y))), x);
    }
    case nn::ReductionKind::log_sum:
      return expand(b.div(g, b.create<math::ExpOp>(y)));
    case nn::ReductionKind::log_sum_exp:
      return b.mul(expand(g), b.create<math::ExpOp>(b.sub(x, expand(y))));
    }
    llvm_unreachable("all kinds are handled");
  }

private:
  Value expand(Value a) { return b.expand(a, op.getDims(), shapeOf(x)); }

  int64_t elementsOfOne() {
    int64_t count = 1;
    for (int64_t dim : op.getDims())
      count *= shapeOf(x)[dim];
    return std::max<int64_t>(1, count);
  }

  // Equal extrema share. Where values are rounded when they are stored, the extremum is that of rounded ones, here as well:
  // the one of the forward half may have been found before they were.
  Value extremum() {
    Value candidates = b.rounded(x, stored);
    Value extremum = candidates == x ? y : b.reduce(op.getKind(), candidates, op.getDims());
    Value equal = b.compare(P::OEQ, candidates, expand(extremum));
    Value count = b.sum(b.where(equal, b.like(x, 1)), op.getDims());
    return b.where(equal, expand(b.div(g, count)));
  }

  // The product of the other elements: that of all over the element; for the only zero, that of what
  // is not zero.
  Value product() {
    Value isZero = b.compare(P::OEQ, x, b.like(x, 0)), one = b.like(x, 1);
    Value zeros = expand(b.sum(b.where(isZero, one), op.getDims()));
    Value safe = b.select(isZero, one, x);
    Value others = b.div(expand(b.reduce(nn::ReductionKind::prod, safe, op.getDims())), safe);
    Value allowed = b.where(isZero, one);
    return b.mul(expand(g), b.where(b.compare(P::OEQ, zeros, allowed), others));
  }

  nn::ReduceOp op;
  RuleBuilder b;
  Value x, y, g;
  FloatType stored;
};

} // namespace

static void reduce(nn::ReduceOp op, Cotangents &c) {
  c.add(op.getOperand(), RuleBuilder(c, op).as(op.getOperand(), ReductionRule(op, c).cotangent()));
}

static void softmax(nn::SoftmaxOp op, Cotangents &c) {
  RuleBuilder b(c, op);
  Value y = b.wide(op), g = b.wide(c.of(op));
  Value total = b.sumExpanded(b.mul(g, y), op.getDim());
  c.add(op.getOperand(), b.as(op, b.mul(y, b.sub(g, total))));
}

static void logSoftmax(nn::LogSoftmaxOp op, Cotangents &c) {
  RuleBuilder b(c, op);
  Value share = b.create<math::ExpOp>(b.wide(op)), g = b.wide(c.of(op));
  c.add(op.getOperand(), b.as(op, b.sub(g, b.mul(share, b.sumExpanded(g, op.getDim())))));
}

static void runningSum(nn::CumsumOp op, Cotangents &c) {
  c.add(op.getOperand(), RuleBuilder(c, op).create<nn::CumsumOp>(c.of(op), op.getDim(), op.getExclusive(),
                                                             !op.getReverse()));
}

void derivatives::attachReductions(MLIRContext *context) {
  attach<nn::ReduceOp, reduce>(context);
  attach<nn::SoftmaxOp, softmax>(context);
  attach<nn::LogSoftmaxOp, logSoftmax>(context);
  attach<nn::CumsumOp, runningSum>(context);
}
