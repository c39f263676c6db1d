#include "WindowRows.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::kernels;

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Value ScalarMath::add(Value lhs, Value rhs) { return b.createOrFold<arith::AddIOp>(lhs, rhs); }
Value ScalarMath::sub(Value lhs, Value rhs) { return b.createOrFold<arith::SubIOp>(lhs, rhs); }
Value ScalarMath::mul(Value lhs, int64_t rhs) {
  return b.createOrFold<arith::MulIOp>(lhs, constant(rhs));
}
Value ScalarMath::min(Value lhs, Value rhs) { return b.createOrFold<arith::MinSIOp>(lhs, rhs); }
Value ScalarMath::max(Value lhs, Value rhs) { return b.createOrFold<arith::MaxSIOp>(lhs, rhs); }

SmallVector<Value> ScalarMath::delinearize(Value linear, ArrayRef<int64_t> sizes) {
  SmallVector<Value> index(sizes.size());
  for (size_t d = sizes.size(); d-- > 0;) {
    if (d == 0) {
      index[d] = linear;
    } else {
      index[d] = arith::RemUIOp::create(b, linear, constant(sizes[d]));
      linear = arith::DivUIOp::create(b, linear, constant(sizes[d]));
    }
  }
  return index;
}

Value ScalarMath::linearize(ArrayRef<Value> index, ArrayRef<int64_t> sizes) {
  Value linear = constant(0);
  for (auto [position, size] : llvm::zip_equal(index, sizes))
    linear = add(mul(linear, size), position);
  return linear;
}

Value ScalarMath::areInside(ArrayRef<Value> positions, ArrayRef<int64_t> sizes) {
  Value all;
  for (auto [position, size] : llvm::zip_equal(positions, sizes)) {
    Value one = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, position, constant(size));
    all = all ? arith::AndIOp::create(b, all, one).getResult() : one;
  }
  return all;
}

void ScalarMath::either(Value condition, function_ref<void()> yes, function_ref<void()> no) {
  if (!condition)
    return yes();
  auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  yes();
  b.setInsertionPointToStart(branch.elseBlock());
  no();
}

Value kernels::fromAccumulator(ImplicitLocOpBuilder &builder, Value value, Type element) {
  if (getElementTypeOrSelf(value) == element)
    return value;
  Type type = element;
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    type = vector.clone(element);
  return arith::TruncFOp::create(builder, type, value);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

WindowRows::WindowRows(KernelBuilder &kernel, Value image, int64_t columns, int64_t count,
                       int64_t stride, int64_t lowest, int64_t highest)
    : kernel(kernel), image(image), columns(columns), count(count), stride(stride),
      lanes(count > 8 ? 16 : 8) {
  // Reads go up to the element before the one that would follow.
  int64_t end = highest + written(count) * stride;
  alwaysInside = lowest >= 0 && end <= columns;
  bool isSmall = std::abs(lowest) < (1 << 30) && end < (1 << 30) && columns < (1 << 30);
  position = isSmall ? kernel.builder().getI32Type() : kernel.builder().getI64Type();
  element = cast<MemRefType>(image.getType()).getElementType();
}

void WindowRows::forVectors(function_ref<void(Value)> body) const {
  constexpr int64_t unrolled = 4;
  if (count > unrolled * lanes)
    return kernel.loop(0, count, lanes, body);
  for (int64_t offset = 0; offset < count; offset += lanes)
    body(kernel.constantIndex(offset));
}

void WindowRows::copy(Value row, Value first, Value target, Value at) const {
  ScalarMath math(kernel);
  forVectors([&](Value offset) {
    Value elements = load(row, math.add(first, math.mul(offset, stride)));
    vector::StoreOp::create(kernel.builder(), toAccumulator(kernel.builder(), elements), target,
                            math.add(at, offset));
  });
}

void WindowRows::clear(Value target, Value at) const {
  ImplicitLocOpBuilder &b = kernel.builder();
  auto type = VectorType::get({lanes}, cast<MemRefType>(target.getType()).getElementType());
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type));
  forVectors([&](Value offset) {
    vector::StoreOp::create(b, zero, target, arith::AddIOp::create(b, at, offset).getResult());
  });
}

Value WindowRows::load(Value row, Value first) const {
  ImplicitLocOpBuilder &b = kernel.builder();
  Value address = arith::AddIOp::create(b, row, first);
  if (stride > 2)
    return loadMasked(address, first);
  if (alwaysInside)
    return loadInside(address);
  // One comparison of unsigned numbers: `first` below zero is beyond the end.
  int64_t last = columns - lanes * stride;
  if (last < 0)
    return loadMasked(address, first);
  Value inside =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ule, first, kernel.constantIndex(last));
  auto branch = scf::IfOp::create(b, TypeRange(VectorType::get({lanes}, element)), inside,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, loadInside(address));
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, loadMasked(address, first));
  return branch.getResult(0);
}

Value WindowRows::takeStrided(function_ref<Value(int64_t)> part) const {
  if (stride == 1)
    return part(0);
  SmallVector<int64_t> even;
  for (int64_t lane = 0; lane < lanes; ++lane)
    even.push_back(2 * lane);
  return vector::ShuffleOp::create(kernel.builder(), part(0), part(lanes), even);
}

Value WindowRows::loadInside(Value address) const {
  ScalarMath math(kernel);
  return takeStrided([&](int64_t offset) -> Value {
    return vector::LoadOp::create(kernel.builder(), VectorType::get({lanes}, element), image,
                                  math.add(address, offset));
  });
}

Value WindowRows::loadMasked(Value address, Value first) const {
  ImplicitLocOpBuilder &b = kernel.builder();
  ScalarMath math(kernel);
  auto type = VectorType::get({lanes}, element), positions = VectorType::get({lanes}, position);
  auto constant = [&](llvm::function_ref<int64_t(int64_t)> value) -> Value {
    SmallVector<APInt> values;
    for (int64_t lane = 0; lane < lanes; ++lane)
      values.push_back(APInt(position.getIntOrFloatBitWidth(), static_cast<uint64_t>(value(lane)),
                             /*isSigned=*/true));
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(cast<ShapedType>(Type(positions)), values));
  };
  Value base =
      vector::BroadcastOp::create(b, positions, arith::IndexCastOp::create(b, position, first));
  auto areInside = [&](Value distances) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ult,
                                 arith::AddIOp::create(b, base, distances),
                                 constant([&](int64_t) { return columns; }));
  };
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type));
  if (stride > 2) {
    Value distances = constant([&](int64_t lane) { return lane * stride; });
    return vector::GatherOp::create(b, type, image, ValueRange(address), distances,
                                    areInside(distances), zero);
  }
  return takeStrided([&](int64_t offset) -> Value {
    Value mask = areInside(constant([&](int64_t lane) { return offset + lane; }));
    return vector::MaskedLoadOp::create(b, type, image, ValueRange(math.add(address, offset)), mask,
                                        zero);
  });
}
