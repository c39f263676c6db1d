// What rules are written with.
#pragma once

#include "spillway/Differentiate/Differentiate.h"

#include "dialects/NN/NN.h"

namespace spillway::derivatives {

llvm::ArrayRef<int64_t> shapeOf(mlir::Value value);

/// Builds tensor operations at the location of the operation that is differentiated. Operands of a
/// binary operation have one type.
class RuleBuilder {
public:
  RuleBuilder(Cotangents &cotangents, mlir::Operation *op)
      : RuleBuilder(cotangents.builder(), op->getLoc()) {}
  RuleBuilder(mlir::OpBuilder &builder, mlir::Location location)
      : builder(builder), location(location) {}

  template <typename Op, typename... Args> mlir::Value create(Args &&...args) {
    return Op::create(builder, location, std::forward<Args>(args)...);
  }

  /// A splat of the type of `value`.
  mlir::Value like(mlir::Value value, double constant) {
    return splat(llvm::cast<mlir::RankedTensorType>(value.getType()), constant);
  }
  mlir::Value splat(mlir::RankedTensorType type, double constant);

  mlir::Value add(mlir::Value a, mlir::Value b) { return create<mlir::arith::AddFOp>(a, b); }
  mlir::Value sub(mlir::Value a, mlir::Value b) { return create<mlir::arith::SubFOp>(a, b); }
  mlir::Value mul(mlir::Value a, mlir::Value b) { return create<mlir::arith::MulFOp>(a, b); }
  mlir::Value mul(mlir::Value a, double b) { return b == 1 ? a : mul(a, like(a, b)); }
  mlir::Value div(mlir::Value a, mlir::Value b) { return create<mlir::arith::DivFOp>(a, b); }
  mlir::Value neg(mlir::Value a) { return create<mlir::arith::NegFOp>(a); }
  mlir::Value compare(mlir::arith::CmpFPredicate predicate, mlir::Value a, mlir::Value b) {
    return create<mlir::arith::CmpFOp>(predicate, a, b);
  }
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b) {
    return create<mlir::arith::SelectOp>(condition, a, b);
  }
  /// `a` where the condition holds, else zero.
  mlir::Value where(mlir::Value condition, mlir::Value a) {
    return select(condition, a, like(a, 0));
  }
  /// 1, 0 or -1 (0 for NaN).
  mlir::Value sign(mlir::Value a);

  /// `a` in the type that f16 and bf16 are computed in.
  mlir::Value wide(mlir::Value a);
  /// Both as they are where their element types are equal, else wide.
  std::pair<mlir::Value, mlir::Value> alike(mlir::Value a, mlir::Value b) {
    bool areEqual = mlir::getElementTypeOrSelf(a) == mlir::getElementTypeOrSelf(b);
    return areEqual ? std::pair(a, b) : std::pair(wide(a), wide(b));
  }
  /// `a` as it may be stored, in its own type; `a` where values are stored as they are.
  mlir::Value rounded(mlir::Value a, mlir::FloatType stored);
  /// `a` with the element type of `model`, both of floats.
  mlir::Value as(mlir::Value model, mlir::Value a);

  mlir::Value reshape(mlir::Value a, llvm::ArrayRef<int64_t> shape);
  mlir::Value transpose(mlir::Value a, llvm::ArrayRef<int64_t> perm);
  mlir::Value slice(mlir::Value a, llvm::ArrayRef<int64_t> offsets, llvm::ArrayRef<int64_t> sizes,
                    llvm::ArrayRef<int64_t> strides);
  /// One after another along `dim`; not empty.
  mlir::Value concat(mlir::ValueRange parts, int64_t dim);
  /// Zeros around `a`: low[d] before it, and after it up to `shape`; a negative count cuts.
  mlir::Value pad(mlir::Value a, llvm::ArrayRef<int64_t> low, llvm::ArrayRef<int64_t> shape);
  /// The elements of `a` at every stride-th place from `offset` on of dimension `dim`, which becomes `size`
  /// long, between zeros; those that would lie outside are left out.
  mlir::Value spread(mlir::Value a, int64_t dim, int64_t offset, int64_t stride, int64_t size);
  mlir::Value broadcast(mlir::Value a, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> shape);
  mlir::Value reduce(nn::ReductionKind kind, mlir::Value a, llvm::ArrayRef<int64_t> dims);
  mlir::Value sum(mlir::Value a, llvm::ArrayRef<int64_t> dims) {
    return reduce(nn::ReductionKind::sum, a, dims);
  }
  /// The inverse of a reduction's shape: repeats `a` along the dimensions `dims` of `shape`, which it lacks.
  mlir::Value expand(mlir::Value a, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> shape);
  /// The sums (the means) along `dims`, in the shape of `a`.
  mlir::Value sumExpanded(mlir::Value a, llvm::ArrayRef<int64_t> dims) {
    return expand(sum(a, dims), dims, shapeOf(a));
  }
  mlir::Value meanExpanded(mlir::Value a, llvm::ArrayRef<int64_t> dims) {
    return expand(reduce(nn::ReductionKind::mean, a, dims), dims, shapeOf(a));
  }
  /// Zeros of `type` with `updates` added to the slices that the tuples of `indices` address.
  mlir::Value scatter(mlir::RankedTensorType type, mlir::Value indices, mlir::Value updates);
  /// The same where each element of `indices` addresses a slice of dimension 0.
  mlir::Value scatterSlices(mlir::RankedTensorType type, mlir::Value indices, mlir::Value updates);
  mlir::Type integer(unsigned bits) { return builder.getIntegerType(bits); }
  mlir::Value matmul(mlir::Value lhs, mlir::Value rhs, bool transposeLhs, bool transposeRhs);

private:
  mlir::OpBuilder &builder;
  mlir::Location location;
};

/// Attaches `rule`, a `void(Op, Cotangents &)`, to an operation.
template <typename Op, auto rule>
struct Rule : public DifferentiableOpInterface::ExternalModel<Rule<Op, rule>, Op> {
  void addCotangents(mlir::Operation *op, Cotangents &cotangents) const {
    rule(llvm::cast<Op>(op), cotangents);
  }
};
template <typename Op, auto rule> void attach(mlir::MLIRContext *context) {
  Op::template attachInterface<Rule<Op, rule>>(*context);
}

/// The indices from `first` up to `last`.
llvm::SmallVector<int64_t> dimensions(int64_t first, int64_t last);

/// One a file.
void attachArithmetic(mlir::MLIRContext *context);
void attachElementary(mlir::MLIRContext *context);
void attachMovement(mlir::MLIRContext *context);
void attachIndexing(mlir::MLIRContext *context);
void attachContractions(mlir::MLIRContext *context);
void attachConvolutions(mlir::MLIRContext *context);
void attachAttention(mlir::MLIRContext *context);
void attachReductions(mlir::MLIRContext *context);
void attachNormalizations(mlir::MLIRContext *context);

} // namespace spillway::derivatives
