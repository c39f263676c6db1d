// Canonicalization patterns: fewer and simpler operations, the same elements.

#include "dialects/NN/NN.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace spillway::nn;

namespace {

/// The value before a transpose of its last two dimensions alone, or null.
Value beforeMatrixTranspose(Value value) {
  auto transpose = value.getDefiningOp<TransposeOp>();
  if (!transpose)
    return {};
  ArrayRef<int64_t> perm = transpose.getPerm();
  int64_t rank = perm.size();
  if (rank < 2 || perm[rank - 1] != rank - 2 || perm[rank - 2] != rank - 1 ||
      !llvm::is_sorted(perm.drop_back(2)))
    return {};
  return transpose.getOperand();
}

/// matmul(transpose(a), transpose(b)): the matmul reads them transposed.
struct TransposeIntoMatmul : public OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MatmulOp op, PatternRewriter &rewriter) const override {
    Value lhs = beforeMatrixTranspose(op.getLhs()), rhs = beforeMatrixTranspose(op.getRhs());
    if (!lhs && !rhs)
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      if (lhs) {
        op.getLhsMutable().assign(lhs);
        op.setTransposeLhs(!op.getTransposeLhs());
      }
      if (rhs) {
        op.getRhsMutable().assign(rhs);
        op.setTransposeRhs(!op.getTransposeRhs());
      }
    });
    return success();
  }
};

/// [l..., x, y] merged to [l, x, y], transposed, split again: exporters write the
/// transpose of a matrix of higher rank so.
struct TransposeBetweenReshapes : public OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReshapeOp split, PatternRewriter &rewriter) const override {
    Value merged = beforeMatrixTranspose(split.getOperand());
    auto merge = merged ? merged.getDefiningOp<ReshapeOp>() : nullptr;
    if (!merge)
      return failure();
    ArrayRef<int64_t> from = merge.getOperand().getType().getShape();
    ArrayRef<int64_t> middle = merge.getType().getShape(), to = split.getType().getShape();
    int64_t rank = from.size();
    if (rank < 2 || static_cast<int64_t>(to.size()) != rank ||
        from.take_back(2) != middle.take_back(2) || from.drop_back(2) != to.drop_back(2) ||
        from[rank - 1] != to[rank - 2] || from[rank - 2] != to[rank - 1])
      return failure();
    SmallVector<int64_t> perm = llvm::to_vector(llvm::seq<int64_t>(rank));
    std::swap(perm[rank - 1], perm[rank - 2]);
    rewriter.replaceOpWithNewOp<TransposeOp>(split, split.getType(), merge.getOperand(), perm);
    return success();
  }
};

/// broadcast(broadcast(x)) is one broadcast.
struct MergeBroadcasts : public OpRewritePattern<BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(BroadcastOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getOperand().getDefiningOp<BroadcastOp>();
    if (!inner)
      return failure();
    SmallVector<int64_t> dims;
    for (int64_t dim : inner.getDims())
      dims.push_back(op.getDims()[dim]);
    rewriter.replaceOpWithNewOp<BroadcastOp>(op, op.getType(), inner.getOperand(), dims);
    return success();
  }
};

/// A transpose that moves only dimensions of size one is a reshape.
struct TransposeOfUnitDims : public OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    SmallVector<int64_t> moved;
    for (int64_t dim : op.getPerm())
      if (op.getOperand().getType().getDimSize(dim) != 1)
        moved.push_back(dim);
    if (!llvm::is_sorted(moved))
      return failure();
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getOperand());
    return success();
  }
};

/// product(extf(a), extf(b)) of f32: the product reads its operands as they are stored.
template <typename Op, unsigned factors> struct ReadNarrow : public OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    bool changed = false;
    for (OpOperand &operand : op->getOpOperands().take_front(factors)) {
      auto widening = operand.get().template getDefiningOp<arith::ExtFOp>();
      if (!widening || !getElementTypeOrSelf(op.getResult()).isF32())
        continue;
      rewriter.modifyOpInPlace(op, [&] { operand.set(widening.getIn()); });
      changed = true;
    }
    return success(changed);
  }
};

/// movement(extf(x)) is extf(movement(x)).
template <typename Op> struct MoveNarrow : public OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    auto widening = op.getOperand().template getDefiningOp<arith::ExtFOp>();
    if (!widening || !getElementTypeOrSelf(op.getType()).isF32())
      return failure();
    Operation *moved = rewriter.clone(*op);
    moved->setOperand(0, widening.getIn());
    moved->getResult(0).setType(op.getType().clone(getElementTypeOrSelf(widening.getIn())));
    rewriter.replaceOpWithNewOp<arith::ExtFOp>(op, op.getType(), moved->getResult(0));
    return success();
  }
};

} // namespace

void spillway::nn::populateNarrowReads(RewritePatternSet &patterns) {
  patterns.add<ReadNarrow<MatmulOp, 2>, ReadNarrow<ConvOp, 2>, ReadNarrow<AttentionOp, 3>, MoveNarrow<ReshapeOp>,
               MoveNarrow<TransposeOp>, MoveNarrow<SliceOp>>(patterns.getContext());
}

void MatmulOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<TransposeIntoMatmul>(context);
}

void ReshapeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<TransposeBetweenReshapes>(context);
}

void BroadcastOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<MergeBroadcasts>(context);
}

void TransposeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<TransposeOfUnitDims>(context);
}
