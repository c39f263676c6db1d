#include "spillway/Conversion/NNToVector/ElementEmitter.h"

#include "spillway/Conversion/NNToVector/ElementInterface.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::kernels;

#include "lib/Conversion/NNToVector/ElementInterface.cpp.inc"

ElementEmitter::ElementEmitter(KernelBuilder &kernel, int64_t lanes, int64_t active)
    : kernel_(kernel), indices_(kernel, lanes, active) {}

ElementEmitter::ElementEmitter(ElementEmitter &outer)
    : kernel_(outer.kernel_),
      indices_(outer.kernel_, outer.lanes(), outer.indices_.active(), &outer.indices_),
      outer_(&outer), depth_(outer.depth_) {}

Value ElementEmitter::mask() {
  SmallVector<bool> active(lanes(), false);
  std::fill_n(active.begin(), indices_.active(), true);
  auto type = VectorType::get({lanes()}, builder().getI1Type());
  return arith::ConstantOp::create(builder(), DenseElementsAttr::get(type, active));
}

void ElementEmitter::bind(Value tensor, Source source) { sources_[tensor] = std::move(source); }

void ElementEmitter::bind(Value tensor, Value element) {
  sources_[tensor] = [element](ElementEmitter &, ArrayRef<LaneIndex>) { return element; };
}

const ElementEmitter::Source *ElementEmitter::source(Value tensor) const {
  for (const ElementEmitter *scope = this; scope; scope = scope->outer_)
    if (auto found = scope->sources_.find(tensor); found != scope->sources_.end())
      return &found->second;
  return nullptr;
}

Value ElementEmitter::pull(Value tensor, ArrayRef<LaneIndex> index) {
  for (const ElementEmitter *scope = this; scope; scope = scope->outer_)
    if (auto found = scope->computed_.find(tensor); found != scope->computed_.end())
      for (const Computed &computed : found->second)
        if (ArrayRef<LaneIndex>(computed.index) == index)
          return computed.element;
  Value element = compute(tensor, index);
  computed_[tensor].push_back({ElementIndex(index), element});
  return element;
}

Value ElementEmitter::compute(Value tensor, ArrayRef<LaneIndex> index) {
  if (const Source *bound = source(tensor))
    return (*bound)(*this, index);

  auto type = cast<RankedTensorType>(tensor.getType());
  if (auto argument = dyn_cast<BlockArgument>(tensor)) {
    unsigned i = argument.getArgNumber();
    return load(kernel_.argument(i), addressOf(i, type, index), type.getElementType());
  }

  Operation *op = tensor.getDefiningOp();
  if (auto pullable = dyn_cast<ElementOpInterface>(op))
    return pullable.pullElement(*this, index);
  return cloneElementwise(op, index);
}

LaneIndex ElementEmitter::addressOf(unsigned i, RankedTensorType type, ArrayRef<LaneIndex> index) {
  LaneIndex skipped;
  if (Value first = kernel_.firstUnit(i))
    skipped = LaneIndex(arith::SubIOp::create(builder(), kernel_.constantIndex(0), first));
  auto panels = dyn_cast_or_null<nn::PanelsAttr>(kernel_.attribute(i, nn::layoutAttrName));
  if (!panels) {
    LaneIndex address = indices_.linearize(index, type.getShape());
    auto rows = dyn_cast_or_null<IntegerAttr>(kernel_.attribute(i, nn::rowsAttrName));
    return rows ? indices_.add(address, indices_.multiply(skipped, rows.getInt() * nn::panelDepth(type, 0)))
                : address;
  }
  int64_t dim = panels.getDim(), width = panels.getWidth();
  LaneIndex panel = indices_.add(indices_.divide(index[dim], width), skipped);
  LaneIndex column = indices_.remainder(index[dim], width);
  ElementIndex rest(index);
  rest.erase(rest.begin() + dim);
  SmallVector<int64_t> sizes(type.getShape());
  sizes.erase(sizes.begin() + dim);
  LaneIndex address = indices_.add(indices_.multiply(panel, nn::panelDepth(type, dim)),
                                   indices_.linearize(rest, sizes));
  return indices_.add(indices_.multiply(address, width), column);
}

Value ElementEmitter::cloneElementwise(Operation *op, ArrayRef<LaneIndex> index) {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(pull(operand, index));
  auto isVector = [](Value value) { return isa<VectorType>(value.getType()); };
  bool uniform = llvm::none_of(operands, isVector);
  if (!uniform)
    for (Value &operand : operands)
      operand = spread(operand);
  Type element = cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
  Operation *clone = Operation::create(
      op->getLoc(), op->getName(), TypeRange(laneType(element, uniform ? 1 : lanes())), operands,
      op->getDiscardableAttrDictionary(), op->getPropertiesStorage(), BlockRange(), 0u);
  return builder().insert(clone)->getResult(0);
}

Value ElementEmitter::spread(Value element) {
  if (lanes() == 1 || isa<VectorType>(element.getType()))
    return element;
  for (const ElementEmitter *scope = this; scope; scope = scope->outer_)
    if (Value known = scope->spread_.lookup(element))
      return known;
  Value vector = vector::BroadcastOp::create(
      builder(), VectorType::get({lanes()}, element.getType()), element);
  spread_[element] = vector;
  return vector;
}

Value ElementEmitter::constant(TypedAttr value) {
  return arith::ConstantOp::create(builder(), value);
}

Value ElementEmitter::load(Value memref, const LaneIndex &unresolved, Type element) {
  ImplicitLocOpBuilder &b = builder();
  LaneIndex address = indices_.resolve(unresolved);
  Type stored = storageType(element);
  VectorType type = VectorType::get({lanes()}, stored);
  Value loaded;
  // An index into a dimension without elements has reported its fault.
  if (cast<MemRefType>(memref.getType()).getNumElements() == 0)
    return arith::ConstantOp::create(b, b.getZeroAttr(element));
  if (lanes() == 1 || (!address.offsets && address.stride == 0)) {
    loaded = memref::LoadOp::create(b, memref, indices_.value(address.base));
  } else if (!address.offsets && address.stride == 1) {
    Value base = indices_.value(address.base);
    if (allActive())
      loaded = vector::LoadOp::create(b, type, memref, base);
    else
      loaded = vector::MaskedLoadOp::create(b, type, memref, ValueRange(base), mask(),
                                            arith::ConstantOp::create(b, b.getZeroAttr(type)));
  } else {
    loaded = vector::GatherOp::create(b, type, memref, ValueRange(indices_.value(address.base)),
                                      indices_.offsets(address), mask(),
                                      arith::ConstantOp::create(b, b.getZeroAttr(type)));
  }
  if (stored == element)
    return loaded;
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(loaded.getType()));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, loaded, zero);
}

void ElementEmitter::store(Value element, Value memref, const LaneIndex &unresolved) {
  ImplicitLocOpBuilder &b = builder();
  LaneIndex address = indices_.resolve(unresolved);
  Value base = indices_.value(address.base);
  Type stored = cast<MemRefType>(memref.getType()).getElementType();
  if (getElementTypeOrSelf(element) != stored) {
    Type wide = isa<VectorType>(element.getType()) ? VectorType::get({lanes()}, stored) : stored;
    element = arith::ExtUIOp::create(b, wide, element);
  }
  // A lone element of a vector too: LLVM 22 makes a masked store of one, truncated, as wide as it was before.
  bool isLone = lanes() == 1 || (!address.offsets && (address.stride == 0 || indices_.active() == 1));
  if (isLone) {
    if (isa<VectorType>(element.getType()))
      element = vector::ExtractOp::create(b, element, 0);
    memref::StoreOp::create(b, element, memref, base);
    return;
  }
  element = spread(element);
  if (address.offsets || address.stride != 1)
    vector::ScatterOp::create(b, /*resultType=*/Type(), memref, ValueRange(base),
                              indices_.offsets(address), mask(), element);
  else if (allActive())
    vector::StoreOp::create(b, element, memref, base);
  else
    vector::MaskedStoreOp::create(b, memref, ValueRange(base), mask(), element);
}

Value ElementEmitter::loadResult(unsigned i, ArrayRef<LaneIndex> index) {
  nn::KernelOp kernel = kernel_.kernel();
  auto type = cast<RankedTensorType>(kernel.getResultTypes()[i]);
  return load(kernel_.result(i), addressOf(kernel.getNumArguments() + i, type, index), type.getElementType());
}

void ElementEmitter::storeResult(unsigned i, ArrayRef<LaneIndex> index, Value element) {
  nn::KernelOp kernel = kernel_.kernel();
  auto type = cast<RankedTensorType>(kernel.getResultTypes()[i]);
  store(element, kernel_.result(i), addressOf(kernel.getNumArguments() + i, type, index));
}

Value ElementEmitter::branch(Value condition, Type element, bool uniform, Branch then,
                             Branch otherwise) {
  ImplicitLocOpBuilder &b = builder();
  Type type = uniform ? element : laneType(element, lanes());
  auto branches = scf::IfOp::create(b, TypeRange(type), condition, /*withElseRegion=*/true);
  auto fill = [&](Block *block, Branch make) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(block);
    ElementEmitter nested(*this);
    nested.depth_ += !uniform;
    Value made = make(nested);
    scf::YieldOp::create(b, uniform ? made : nested.spread(made));
  };
  fill(branches.thenBlock(), then);
  fill(branches.elseBlock(), otherwise);
  return branches.getResult(0);
}

LaneIndex ElementEmitter::checkedIndex(Value index, int64_t size) {
  ImplicitLocOpBuilder &b = builder();
  if (unsigned width = getElementTypeOrSelf(index).getIntOrFloatBitWidth(); !llvm::isIntN(width, size))
    index = arith::ExtSIOp::create(
        b, laneType(b.getI64Type(), isa<VectorType>(index.getType()) ? lanes() : 1), index);
  Type type = index.getType();
  auto limit = [&](int64_t value) -> Value {
    TypedAttr attr = b.getIntegerAttr(getElementTypeOrSelf(type), value);
    if (auto vector = dyn_cast<VectorType>(type))
      attr = DenseElementsAttr::get(vector, Attribute(attr));
    return arith::ConstantOp::create(b, attr);
  };
  auto compare = [&](arith::CmpIPredicate predicate, Value lhs, Value rhs) -> Value {
    return arith::CmpIOp::create(b, predicate, lhs, rhs);
  };
  Value negative = compare(arith::CmpIPredicate::slt, index, limit(0));
  Value shifted =
      arith::SelectOp::create(b, negative, arith::AddIOp::create(b, index, limit(size)), index);
  Value clamped =
      arith::MinSIOp::create(b, arith::MaxSIOp::create(b, shifted, limit(0)), limit(size - 1));
  // Of nothing, all indices are outside.
  Value outside = size == 0 ? compare(arith::CmpIPredicate::eq, index, index)
                            : compare(arith::CmpIPredicate::ne, clamped, shifted);
  bool lanewise = isa<VectorType>(type);
  if (lanewise) {
    if (!allActive())
      outside = arith::AndIOp::create(b, outside, mask());
    outside = vector::ReductionOp::create(b, vector::CombiningKind::OR, outside);
  }
  kernel_.reportFault(outside, KernelFault::indexOutOfRange);

  LaneIndex position;
  if (size == 0)
    return position;
  if (lanewise) {
    position.offsets =
        arith::IndexCastOp::create(b, VectorType::get({lanes()}, b.getIndexType()), clamped);
    return position;
  }
  position.base.value = arith::IndexCastOp::create(b, b.getIndexType(), clamped);
  kernel_.setFacts(position.base.value, {1, size});
  return position;
}

LogicalResult kernels::verifyElements(nn::KernelOp kernel, Operation *anchor) {
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op);
        constant && !isa<DenseElementsAttr>(constant.getValue()))
      return op.emitOpError("holds no dense elements");
    if (&op == anchor || isa<ElementOpInterface>(op))
      continue;
    bool elementwise = OpTrait::hasElementwiseMappableTraits(&op) && op.getNumResults() == 1 &&
                       op.getNumRegions() == 0;
    auto isTensor = [](Type type) { return isa<RankedTensorType>(type); };
    if (!elementwise || !llvm::all_of(op.getOperandTypes(), isTensor))
      return op.emitOpError("cannot be computed element by element in a kernel of this schedule");
  }
  return success();
}
