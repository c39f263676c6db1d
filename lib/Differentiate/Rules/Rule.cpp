#include "lib/Differentiate/Rules/Rule.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::derivatives;

static RankedTensorType withShape(Value value, ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, getElementTypeOrSelf(value));
}

ArrayRef<int64_t> derivatives::shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

SmallVector<int64_t> derivatives::dimensions(int64_t first, int64_t last) {
  return llvm::to_vector(llvm::seq(first, last));
}

Value RuleBuilder::splat(RankedTensorType type, double constant) {
  return create<arith::ConstantOp>(
      DenseElementsAttr::get(type, builder.getFloatAttr(type.getElementType(), constant)));
}

Value RuleBuilder::sign(Value a) {
  Value zero = like(a, 0);
  Value negative = where(compare(arith::CmpFPredicate::OLT, a, zero), like(a, -1));
  return select(compare(arith::CmpFPredicate::OGT, a, zero), like(a, 1), negative);
}

Value RuleBuilder::wide(Value a) {
  Type element = getElementTypeOrSelf(a);
  if (!element.isF16() && !element.isBF16())
    return a;
  return create<arith::ExtFOp>(RankedTensorType::get(shapeOf(a), builder.getF32Type()), a);
}

Value RuleBuilder::rounded(Value a, FloatType stored) {
  auto type = cast<RankedTensorType>(a.getType());
  if (!stored || !type.getElementType().isF32())
    return a;
  return create<arith::ExtFOp>(type, create<arith::TruncFOp>(type.clone(stored), a));
}

Value RuleBuilder::as(Value model, Value a) {
  auto type = RankedTensorType::get(shapeOf(a), getElementTypeOrSelf(model));
  unsigned from = getElementTypeOrSelf(a).getIntOrFloatBitWidth(), to = type.getElementTypeBitWidth();
  if (type == a.getType())
    return a;
  return from > to ? create<arith::TruncFOp>(type, a) : create<arith::ExtFOp>(type, a);
}

Value RuleBuilder::reshape(Value a, ArrayRef<int64_t> shape) {
  return shapeOf(a) == shape ? a : create<nn::ReshapeOp>(withShape(a, shape), a);
}

Value RuleBuilder::transpose(Value a, ArrayRef<int64_t> perm) {
  auto shape = llvm::map_to_vector(perm, [&](int64_t dim) { return shapeOf(a)[dim]; });
  return create<nn::TransposeOp>(withShape(a, shape), a, perm);
}

Value RuleBuilder::slice(Value a, ArrayRef<int64_t> offsets, ArrayRef<int64_t> sizes,
                     ArrayRef<int64_t> strides) {
  return create<nn::SliceOp>(withShape(a, sizes), a, offsets, strides);
}

Value RuleBuilder::concat(ValueRange parts, int64_t dim) {
  if (llvm::hasSingleElement(parts))
    return parts.front();
  SmallVector<int64_t> shape(shapeOf(parts.front()));
  for (Value part : parts.drop_front())
    shape[dim] += shapeOf(part)[dim];
  return create<nn::ConcatOp>(withShape(parts.front(), shape), parts, dim);
}

Value RuleBuilder::pad(Value a, ArrayRef<int64_t> low, ArrayRef<int64_t> shape) {
  if (shapeOf(a) == shape && llvm::all_of(low, [](int64_t count) { return count == 0; }))
    return a;
  return create<nn::PadOp>(withShape(a, shape), a, splat(withShape(a, {}), 0), low,
                           nn::PadMode::constant);
}

Value RuleBuilder::spread(Value a, int64_t dim, int64_t offset, int64_t stride, int64_t size) {
  SmallVector<int64_t> shape(shapeOf(a)), zeros(shape.size(), 0), ones(shape.size(), 1);
  int64_t count = shape[dim];
  if (stride < 0 && count > 0) {
    SmallVector<int64_t> last = zeros, backwards = ones;
    last[dim] = count - 1;
    backwards[dim] = -1;
    a = slice(a, last, shape, backwards);
    offset += (count - 1) * stride;
  }
  stride = std::abs(stride);
  if (stride > 1) {
    SmallVector<int64_t> apart = shape, low(shape.size() + 1, 0);
    apart.insert(apart.begin() + dim + 1, 1);
    a = reshape(a, apart);
    apart[dim + 1] = stride;
    a = pad(a, low, apart);
    shape[dim] = count * stride;
    a = reshape(a, shape);
  }
  SmallVector<int64_t> low = zeros;
  low[dim] = count > 0 ? offset : 0;
  shape[dim] = size;
  return pad(a, low, shape);
}

Value RuleBuilder::broadcast(Value a, ArrayRef<int64_t> dims, ArrayRef<int64_t> shape) {
  return create<nn::BroadcastOp>(withShape(a, shape), a, dims);
}

Value RuleBuilder::reduce(nn::ReductionKind kind, Value a, ArrayRef<int64_t> dims) {
  if (dims.empty() && kind == nn::ReductionKind::sum)
    return a;
  SmallVector<int64_t> shape;
  for (auto [dim, size] : llvm::enumerate(shapeOf(a)))
    if (!llvm::is_contained(dims, static_cast<int64_t>(dim)))
      shape.push_back(size);
  return create<nn::ReduceOp>(withShape(a, shape), kind, a, dims);
}

Value RuleBuilder::expand(Value a, ArrayRef<int64_t> dims, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> kept;
  for (int64_t dim = 0; dim < static_cast<int64_t>(shape.size()); ++dim)
    if (!llvm::is_contained(dims, dim))
      kept.push_back(dim);
  return broadcast(a, kept, shape);
}

Value RuleBuilder::scatter(RankedTensorType type, Value indices, Value updates) {
  return create<nn::ScatterOp>(nn::ScatterKind::add, splat(type, 0), indices, updates);
}

Value RuleBuilder::scatterSlices(RankedTensorType type, Value indices, Value updates) {
  SmallVector<int64_t> tuples(shapeOf(indices));
  tuples.push_back(1);
  return scatter(type, reshape(indices, tuples), updates);
}

Value RuleBuilder::matmul(Value lhs, Value rhs, bool transposeLhs, bool transposeRhs) {
  SmallVector<int64_t> shape(shapeOf(lhs));
  int64_t last = shape.size() - 1;
  if (transposeLhs)
    shape[last - 1] = shape[last];
  shape[last] = shapeOf(rhs).take_back(2)[transposeRhs ? 0 : 1];
  return create<nn::MatmulOp>(withShape(lhs, shape), lhs, rhs, transposeLhs, transposeRhs);
}

void spillway::registerDerivatives(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) { attachArithmetic(context); });
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *) { attachElementary(context); });
  registry.addExtension(+[](MLIRContext *context, nn::NNDialect *) {
    attachMovement(context);
    attachIndexing(context);
    attachContractions(context);
    attachConvolutions(context);
    attachAttention(context);
    attachReductions(context);
    attachNormalizations(context);
  });
}
