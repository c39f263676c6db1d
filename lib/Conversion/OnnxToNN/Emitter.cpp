#include "spillway/Conversion/OnnxToNN/Emitter.h"

#include "dialects/Zero/Zero.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace spillway;

namespace {

bool isIdentityPermutation(ArrayRef<int64_t> perm) { return llvm::is_sorted(perm); }

APFloat toFloat(double value, FloatType type) {
  APFloat result(value);
  bool losesInfo;
  result.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
  return result;
}

/// The bits of a number as an integer or a boolean; nothing where `type` lacks the number.
std::optional<int64_t> toInteger(double value, DataType type) {
  if (value == 0) // also the negative one, which APFloat counts as inexact
    return 0;
  unsigned width = type == DataType::boolean ? 1 : static_cast<unsigned>(byteWidth(type) * 8);
  APSInt integer(width, isUnsigned(type));
  bool isExact;
  APFloat(value).convertToInteger(integer, APFloat::rmTowardZero, &isExact);
  if (!isExact)
    return std::nullopt;
  return isUnsigned(type) ? static_cast<int64_t>(integer.getZExtValue()) : integer.getSExtValue();
}

} // namespace

void Emitter::checkSize(Value value) {
  oversized |= !elementCount(cast<RankedTensorType>(value.getType()).getShape());
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

Tensor Emitter::constant(DataType type, DenseElementsAttr value) {
  Value result = arith::ConstantOp::create(builder, location, value);
  ++made;
  checkSize(result);
  return {result, type};
}

Tensor Emitter::splat(DataType type, ArrayRef<int64_t> shape, double value) {
  auto tensor = typeOf(type, shape);
  if (auto element = dyn_cast<FloatType>(tensor.getElementType()))
    return constant(type, DenseElementsAttr::get(tensor, toFloat(value, element)));
  std::optional<int64_t> integer = toInteger(value, type);
  if (!integer)
    unfit = Unfit{value, type};
  return splatInt(type, shape, integer.value_or(0));
}

Tensor Emitter::splatInt(DataType type, ArrayRef<int64_t> shape, int64_t value) {
  auto tensor = typeOf(type, shape);
  if (isFloat(type))
    return splat(type, shape, static_cast<double>(value));
  unsigned width = tensor.getElementTypeBitWidth();
  return constant(type, DenseElementsAttr::get(
                            tensor, APInt(64, static_cast<uint64_t>(value)).trunc(width)));
}

Tensor Emitter::vector(DataType type, ArrayRef<int64_t> values) {
  auto tensor = typeOf(type, {static_cast<int64_t>(values.size())});
  SmallVector<APInt> elements;
  for (int64_t value : values)
    elements.push_back(
        APInt(64, static_cast<uint64_t>(value)).trunc(tensor.getElementTypeBitWidth()));
  return constant(type, DenseElementsAttr::get(tensor, elements));
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

/// Moving equal elements gives equal elements, however many there were.
std::optional<Tensor> Emitter::movedSplat(Tensor a, ArrayRef<int64_t> shape) {
  if (DenseElementsAttr value = splatConstant(a.value))
    return a.moved(constant(a.type, value.resizeSplat(typeOf(a.type, shape))).value);
  return std::nullopt;
}

Tensor Emitter::reshape(Tensor a, ArrayRef<int64_t> shape) {
  if (a.shape() == shape)
    return a;
  if (auto splat = movedSplat(a, shape))
    return *splat;
  return a.moved(create<nn::ReshapeOp>(typeOf(a.type, shape), a.value));
}

Tensor Emitter::broadcast(Tensor a, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> dims;
  for (int64_t i = 0; i < a.rank(); ++i)
    dims.push_back(static_cast<int64_t>(shape.size()) - a.rank() + i);
  return broadcastInDims(a, dims, shape);
}

Tensor Emitter::broadcastInDims(Tensor a, ArrayRef<int64_t> dims, ArrayRef<int64_t> shape) {
  if (a.shape() == shape)
    return a;
  if (auto splat = movedSplat(a, shape))
    return *splat;
  return a.moved(create<nn::BroadcastOp>(typeOf(a.type, shape), a.value, dims));
}

Tensor Emitter::transpose(Tensor a, ArrayRef<int64_t> perm) {
  if (isIdentityPermutation(perm))
    return a;
  Shape shape;
  for (int64_t dim : perm)
    shape.push_back(a.size(dim));
  if (auto splat = movedSplat(a, shape))
    return *splat;
  return a.moved(create<nn::TransposeOp>(typeOf(a.type, shape), a.value, perm));
}

Tensor Emitter::slice(Tensor a, ArrayRef<int64_t> offsets, ArrayRef<int64_t> sizes,
                      ArrayRef<int64_t> strides) {
  bool whole = a.shape() == sizes &&
               llvm::all_of(offsets, [](int64_t offset) { return offset == 0; }) &&
               llvm::all_of(strides, [](int64_t stride) { return stride == 1; });
  if (whole)
    return a;
  if (auto splat = movedSplat(a, sizes))
    return *splat;
  return a.moved(create<nn::SliceOp>(typeOf(a.type, sizes), a.value, offsets, strides));
}

Tensor Emitter::sliceDim(Tensor a, int64_t dim, int64_t begin, int64_t size) {
  Shape offsets(a.rank(), 0), sizes(a.shape()), strides(a.rank(), 1);
  offsets[dim] = begin;
  sizes[dim] = size;
  return slice(a, offsets, sizes, strides);
}

Tensor Emitter::concat(ArrayRef<Tensor> inputs, int64_t dim) {
  SmallVector<Value> values;
  Shape shape(inputs.front().shape());
  shape[dim] = 0;
  for (Tensor input : inputs) {
    oversized |= llvm::AddOverflow(shape[dim], input.size(dim), shape[dim]) != 0;
    if (input.size(dim) != 0)
      values.push_back(input.value);
  }
  Tensor first = inputs.front();
  if (values.empty())
    return first;
  if (values.size() == 1)
    return first.moved(values.front());
  return first.moved(create<nn::ConcatOp>(typeOf(first.type, shape), values, dim));
}

Tensor Emitter::join(ArrayRef<Tensor> inputs, int64_t dim) {
  constexpr size_t atOnce = 8;
  SmallVector<Tensor> level(inputs);
  while (level.size() > 1) {
    SmallVector<Tensor> next;
    for (ArrayRef<Tensor> rest = level; !rest.empty();) {
      size_t count = std::min(rest.size(), atOnce);
      next.push_back(concat(rest.take_front(count), dim));
      rest = rest.drop_front(count);
    }
    level = next;
  }
  return level.front();
}

Tensor Emitter::unpack(Tensor a, int64_t bits, bool isSigned, ArrayRef<int64_t> shape) {
  Shape unpacked(a.shape());
  unpacked.back() *= 8 / bits;
  DataType type = isSigned ? DataType::i8 : DataType::u8;
  Tensor all{create<nn::UnpackOp>(typeOf(type, unpacked), a.value, bits, isSigned), type,
             static_cast<uint8_t>(bits)};
  int64_t count = *elementCount(shape);
  if (all.rank() == 1 && all.count() != count)
    all = sliceDim(all, 0, 0, count);
  return reshape(all, shape);
}

Tensor Emitter::iota(DataType type, ArrayRef<int64_t> shape, int64_t dim) {
  return {create<nn::IotaOp>(typeOf(type, shape), dim), type};
}

Tensor Emitter::gather(Tensor data, Tensor indices, int64_t dim) {
  Shape shape(data.shape().take_front(dim));
  llvm::append_range(shape, indices.shape());
  llvm::append_range(shape, data.shape().drop_front(dim + 1));
  auto use = data.value.getDefiningOp<zero::UseOp>();
  if (use && dim == 0 && data.rank() >= 2 && !values.isKnown(indices.value))
    return data.moved(
        create<zero::LookupOp>(typeOf(data.type, shape), use.getState(), indices.value));
  return data.moved(
      create<nn::GatherOp>(typeOf(data.type, shape), data.value, indices.value, dim));
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

Tensor Emitter::cast(Tensor a, DataType type) {
  if (a.type == type)
    return {a.value, type};
  auto to = typeOf(type, a.shape());
  auto from = a.tensorType();
  unsigned fromBits = from.getElementTypeBitWidth(), toBits = to.getElementTypeBitWidth();
  auto make = [&]<typename Op>() { return Tensor{create<Op>(to, a.value), type}; };

  if (type == DataType::boolean) {
    if (isFloat(a.type))
      return {create<arith::CmpFOp>(arith::CmpFPredicate::UNE, a.value, like(a, 0).value), type};
    return {create<arith::CmpIOp>(arith::CmpIPredicate::ne, a.value, like(a, 0).value), type};
  }
  if (isFloat(a.type) && isFloat(type)) {
    if (fromBits == toBits) // f16 and bf16
      return cast(cast(a, DataType::f32), type);
    return fromBits < toBits ? make.operator()<arith::ExtFOp>()
                             : make.operator()<arith::TruncFOp>();
  }
  if (isFloat(type))
    return isUnsigned(a.type) ? make.operator()<arith::UIToFPOp>()
                              : make.operator()<arith::SIToFPOp>();
  if (isFloat(a.type)) {
    // Narrow integers wrap from a wider one, as numpy's casts do.
    if (toBits < 32)
      return cast(cast(a, DataType::i32), type);
    if (type == DataType::u32)
      return cast(cast(a, DataType::i64), type);
    return type == DataType::u64 ? make.operator()<arith::FPToUIOp>()
                                 : make.operator()<arith::FPToSIOp>();
  }
  if (fromBits == toBits)
    return {a.value, type};
  if (fromBits > toBits)
    return make.operator()<arith::TruncIOp>();
  return isUnsigned(a.type) ? make.operator()<arith::ExtUIOp>() : make.operator()<arith::ExtSIOp>();
}

template <typename FloatOp, typename SignedOp, typename UnsignedOp>
Tensor Emitter::binary(Tensor a, Tensor b) {
  if (isFloat(a.type))
    return {create<FloatOp>(a.value, b.value), a.type};
  if (isUnsigned(a.type))
    return {create<UnsignedOp>(a.value, b.value), a.type};
  return {create<SignedOp>(a.value, b.value), a.type};
}

Tensor Emitter::add(Tensor a, Tensor b) {
  return binary<arith::AddFOp, arith::AddIOp, arith::AddIOp>(a, b);
}
Tensor Emitter::sub(Tensor a, Tensor b) {
  return binary<arith::SubFOp, arith::SubIOp, arith::SubIOp>(a, b);
}
Tensor Emitter::mul(Tensor a, Tensor b) {
  return binary<arith::MulFOp, arith::MulIOp, arith::MulIOp>(a, b);
}

/// `b` with one in place of what a machine's division traps on: zero, and -1
/// below the lowest integer, whose quotient by one is also what wraps around.
Tensor Emitter::safeDivisor(Tensor a, Tensor b) {
  Tensor one = splatInt(b.type, b.shape(), 1);
  if (DenseElementsAttr value = splatConstant(b.value)) {
    auto divisor = value.getSplatValue<APInt>();
    if (!divisor.isZero() && (isUnsigned(b.type) || !divisor.isAllOnes()))
      return b;
  }
  Tensor traps = compare(Order::equal, b, splatInt(b.type, b.shape(), 0));
  if (!isUnsigned(b.type)) {
    int64_t lowest = APInt::getSignedMinValue(b.tensorType().getElementTypeBitWidth()).getSExtValue();
    Tensor overflows =
        logicalAnd(compare(Order::equal, a, splatInt(a.type, a.shape(), lowest)),
                   compare(Order::equal, b, splatInt(b.type, b.shape(), -1)));
    traps = logicalOr(traps, overflows);
  }
  return select(traps, one, b);
}

Tensor Emitter::div(Tensor a, Tensor b) {
  if (!isFloat(a.type))
    b = safeDivisor(a, b);
  return binary<arith::DivFOp, arith::DivSIOp, arith::DivUIOp>(a, b);
}
Tensor Emitter::rem(Tensor a, Tensor b) {
  if (!isFloat(a.type))
    b = safeDivisor(a, b);
  return binary<arith::RemFOp, arith::RemSIOp, arith::RemUIOp>(a, b);
}
Tensor Emitter::max(Tensor a, Tensor b) {
  return binary<arith::MaximumFOp, arith::MaxSIOp, arith::MaxUIOp>(a, b);
}
Tensor Emitter::min(Tensor a, Tensor b) {
  return binary<arith::MinimumFOp, arith::MinSIOp, arith::MinUIOp>(a, b);
}

Tensor Emitter::neg(Tensor a) {
  if (isFloat(a.type))
    return {create<arith::NegFOp>(a.value), a.type};
  return sub(like(a, 0), a);
}

Tensor Emitter::abs(Tensor a) {
  if (isFloat(a.type))
    return {create<math::AbsFOp>(a.value), a.type};
  return isUnsigned(a.type) ? a : max(a, neg(a));
}

Tensor Emitter::logicalAnd(Tensor a, Tensor b) {
  return {create<arith::AndIOp>(a.value, b.value), a.type};
}
Tensor Emitter::logicalOr(Tensor a, Tensor b) {
  return {create<arith::OrIOp>(a.value, b.value), a.type};
}
Tensor Emitter::logicalXor(Tensor a, Tensor b) {
  return {create<arith::XOrIOp>(a.value, b.value), a.type};
}
Tensor Emitter::logicalNot(Tensor a) { return logicalXor(a, splatInt(a.type, a.shape(), -1)); }

Tensor Emitter::compare(Order order, Tensor a, Tensor b) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  struct Predicates {
    F ordered;
    I signedInt, unsignedInt;
  };
  auto predicates = [order]() -> Predicates {
    switch (order) {
    case Order::equal:
      return {F::OEQ, I::eq, I::eq};
    case Order::less:
      return {F::OLT, I::slt, I::ult};
    case Order::lessOrEqual:
      return {F::OLE, I::sle, I::ule};
    case Order::greater:
      return {F::OGT, I::sgt, I::ugt};
    case Order::greaterOrEqual:
      return {F::OGE, I::sge, I::uge};
    }
    llvm_unreachable("all orders are handled");
  }();
  if (isFloat(a.type))
    return {create<arith::CmpFOp>(predicates.ordered, a.value, b.value), DataType::boolean};
  return {create<arith::CmpIOp>(isUnsigned(a.type) ? predicates.unsignedInt : predicates.signedInt,
                                a.value, b.value),
          DataType::boolean};
}

Tensor Emitter::isNaN(Tensor a) {
  return {create<arith::CmpFOp>(arith::CmpFPredicate::UNO, a.value, a.value), DataType::boolean};
}

Tensor Emitter::select(Tensor condition, Tensor a, Tensor b) {
  return a.moved(create<arith::SelectOp>(condition.value, a.value, b.value));
}

namespace {

Tensor flipHighestBit(Emitter &emit, Tensor a, DataType type) {
  auto highest = static_cast<int64_t>(uint64_t{1} << (byteWidth(a.type) * 8 - 1));
  return {emit.logicalXor(a, emit.splatInt(a.type, a.shape(), highest)).value, type};
}

} // namespace

Tensor Emitter::inSignedOrder(Tensor a) {
  switch (a.type) {
  case DataType::u8:
    return flipHighestBit(*this, a, DataType::i8);
  case DataType::u16:
    return flipHighestBit(*this, a, DataType::i16);
  case DataType::u32:
    return flipHighestBit(*this, a, DataType::i32);
  default:
    return flipHighestBit(*this, a, DataType::i64);
  }
}

Tensor Emitter::asUnsigned(Tensor a, DataType type) { return flipHighestBit(*this, a, type); }

Tensor Emitter::pow(Tensor base, Tensor exponent) {
  // Squares and cubes are everywhere in exported norms and activations.
  if (DenseElementsAttr value = splatConstant(exponent.value)) {
    APFloat element = value.getSplatValue<APFloat>();
    bool losesInfo;
    element.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
    double power = element.convertToDouble();
    if (power == 1)
      return base;
    if (power == 2)
      return mul(base, base);
    if (power == 3)
      return inComputeType(base, [&](Tensor x) { return mul(mul(x, x), x); });
  }
  return inComputeType(base, [&](Tensor x) -> Tensor {
    return {create<math::PowFOp>(x.value, cast(exponent, x.type).value), x.type};
  });
}

Tensor Emitter::sigmoid(Tensor a) {
  return inComputeType(a, [&](Tensor x) {
    return div(like(x, 1), add(like(x, 1), unary<math::ExpOp>(neg(x))));
  });
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Tensor Emitter::reduce(nn::ReductionKind kind, Tensor a, ArrayRef<int64_t> dims, bool keep) {
  bool ordered = kind == nn::ReductionKind::max || kind == nn::ReductionKind::min;
  if (ordered && isUnsigned(a.type))
    return reduceUnsignedOrder(kind, a, dims, keep);
  if (kind == nn::ReductionKind::mean && !isFloat(a.type))
    return integerMean(a, dims, keep);
  if (kind == nn::ReductionKind::l1 && isUnsigned(a.type))
    kind = nn::ReductionKind::sum;
  Shape reduced, kept(a.shape());
  for (int64_t d = 0; d < a.rank(); ++d) {
    if (llvm::is_contained(dims, d))
      kept[d] = 1;
    else
      reduced.push_back(a.size(d));
  }
  Tensor result{create<nn::ReduceOp>(typeOf(a.type, reduced), kind, a.value, dims), a.type};
  return keep ? reshape(result, kept) : result;
}

/// The sum is divided in 64 bits, which hold it and the number of elements; the quotient truncates.
Tensor Emitter::integerMean(Tensor a, ArrayRef<int64_t> dims, bool keep) {
  Tensor wide = cast(a, isUnsigned(a.type) ? DataType::u64 : DataType::i64);
  Tensor sum = reduce(nn::ReductionKind::sum, wide, dims, keep);
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= a.size(dim);
  return cast(div(sum, splatInt(sum.type, sum.shape(), count)), a.type);
}

/// nn.reduce compares integers as signed ones. Booleans go through i8.
Tensor Emitter::reduceUnsignedOrder(nn::ReductionKind kind, Tensor a, ArrayRef<int64_t> dims,
                                    bool keep) {
  if (a.type == DataType::boolean)
    return cast(reduce(kind, cast(a, DataType::i8), dims, keep), DataType::boolean);
  return asUnsigned(reduce(kind, inSignedOrder(a), dims, keep), a.type);
}
