#include "spillway/Conversion/NNToVector/KernelBuilder.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace mlir;
using namespace spillway;
using namespace spillway::kernels;

Type kernels::storageType(Type element) {
  return element.isInteger(1) ? IntegerType::get(element.getContext(), 8) : element;
}

Type kernels::laneType(Type element, int64_t lanes) {
  return lanes == 1 ? element : VectorType::get({lanes}, element);
}

/// Elements of an operand as stored.
static int64_t storedElements(RankedTensorType type, nn::PanelsAttr panels) {
  if (!panels)
    return type.getNumElements();
  int64_t dim = panels.getDim();
  return llvm::alignTo(type.getDimSize(dim), panels.getWidth()) * nn::panelDepth(type, dim);
}

KernelBuilder::KernelBuilder(nn::KernelOp kernel, const CpuTarget &target, OpBuilder &builder)
    : kernel_(kernel), target_(target), types_(kernel.getContext()),
      builder_(kernel.getLoc(), builder) {
  Type pointer = LLVM::LLVMPointerType::get(kernel.getContext());
  function_ = func::FuncOp::create(builder_, kernel.getSymName(),
                                   builder_.getFunctionType({pointer, pointer, pointer, pointer}, {}));
  builder_.setInsertionPointToStart(function_.addEntryBlock());
  begin_ = field(launchRange, offsetof(KernelRange, begin));
  end_ = field(launchRange, offsetof(KernelRange, end));
  part_ = field(launchRange, offsetof(KernelRange, part));
  parts_ = field(launchRange, offsetof(KernelRange, parts));

  auto addOperand = [&](Type type, nn::PanelsAttr panels) {
    auto tensor = cast<RankedTensorType>(type);
    Value data = LLVM::LoadOp::create(
        builder_, pointer,
        address(function_.getArgument(argumentList), memrefs_.size() * sizeof(KernelArgument)));
    memrefs_.push_back(memrefAt(data, MemRefType::get({storedElements(tensor, panels)},
                                                      storageType(tensor.getElementType()))));
  };
  for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes()))
    addOperand(type, kernel.getArgAttrOfType<nn::PanelsAttr>(i, nn::layoutAttrName));
  for (auto [i, type] : llvm::enumerate(kernel.getResultTypes()))
    addOperand(type, kernel.getResultAttrOfType<nn::PanelsAttr>(i, nn::layoutAttrName));
  for (unsigned i = 0; i < memrefs_.size(); ++i)
    if (attribute(i, nn::tiledAttrName) || attribute(i, nn::depthTiledAttrName))
      setFirstUnit(i, origin(i));
}

Attribute KernelBuilder::attribute(unsigned i, StringRef name) {
  unsigned arguments = kernel_.getNumArguments();
  return i < arguments ? kernel_.getArgAttr(i, name) : kernel_.getResultAttr(i - arguments, name);
}

nn::YieldOp KernelBuilder::yield() { return cast<nn::YieldOp>(body().getTerminator()); }

Value KernelBuilder::address(Value pointer, int64_t byteOffset) {
  return LLVM::GEPOp::create(builder_, pointer.getType(), builder_.getI8Type(), pointer,
                             LLVM::GEPArg(static_cast<int32_t>(byteOffset)));
}

Value KernelBuilder::memrefAt(Value pointer, MemRefType type) {
  Value descriptor =
      MemRefDescriptor::fromStaticShape(builder_, builder_.getLoc(), types_, type, pointer);
  return UnrealizedConversionCastOp::create(builder_, TypeRange(type), ValueRange(descriptor))
      .getResult(0);
}

Value KernelBuilder::field(Parameter parameter, int64_t byteOffset) {
  Value stored = LLVM::LoadOp::create(builder_, builder_.getI64Type(), address(function_.getArgument(parameter), byteOffset));
  return arith::IndexCastOp::create(builder_, builder_.getIndexType(), stored);
}

Value KernelBuilder::argumentField(unsigned i, int64_t byteOffset) {
  OpBuilder::InsertionGuard guard(builder_);
  builder_.setInsertionPointToStart(&function_.getBody().front());
  return field(argumentList, i * sizeof(KernelArgument) + byteOffset);
}

Value KernelBuilder::origin(unsigned i) {
  Value &origin = origins_[i];
  if (!origin)
    origin = argumentField(i, offsetof(KernelArgument, origin));
  return origin;
}

Value KernelBuilder::heldUnits(unsigned i) { return argumentField(i, offsetof(KernelArgument, units)); }

Value KernelBuilder::scratch(int64_t byteOffset, MemRefType type) {
  Value offset = LLVM::ConstantOp::create(builder_, builder_.getI64Type(), byteOffset);
  Value memory = function_.getArgument(scratchMemory);
  Value pointer = LLVM::GEPOp::create(builder_, memory.getType(), builder_.getI8Type(), memory, offset);
  return memrefAt(pointer, type);
}

Value KernelBuilder::view(Value memref, Value offset, ArrayRef<int64_t> shape) {
  auto from = cast<MemRefType>(memref.getType());
  Value pointer = LLVM::GEPOp::create(
      builder_, LLVM::LLVMPointerType::get(builder_.getContext()), from.getElementType(),
      MemRefDescriptor(UnrealizedConversionCastOp::create(
                           builder_, TypeRange(types_.convertType(from)), ValueRange(memref))
                           .getResult(0))
          .alignedPtr(builder_, builder_.getLoc()),
      ValueRange(arith::IndexCastOp::create(builder_, builder_.getI64Type(), offset).getResult()));
  return memrefAt(pointer, MemRefType::get(shape, from.getElementType()));
}

Value KernelBuilder::constantMemref(DenseElementsAttr values) {
  Value &memref = constants_[values];
  if (memref)
    return memref;
  int64_t count = values.getNumElements();
  Type element = storageType(values.getElementType());
  DenseElementsAttr stored =
      values.reshape(RankedTensorType::get({count}, values.getElementType()));
  if (values.getElementType().isInteger(1))
    stored = stored.mapValues(element, [](const APInt &bit) { return bit.zext(8); });
  auto type = MemRefType::get({count}, element);
  OpBuilder::InsertionGuard guard(builder_);
  builder_.setInsertionPoint(function_);
  auto global = memref::GlobalOp::create(
      builder_, (function_.getName() + "_constant" + Twine(constants_.size())).str(),
      builder_.getStringAttr("private"), type, stored, /*constant=*/true,
      /*alignment=*/builder_.getI64IntegerAttr(64));
  builder_.setInsertionPointToStart(&function_.getBody().front());
  memref = memref::GetGlobalOp::create(builder_, type, global.getName());
  return memref;
}

Value KernelBuilder::constantIndex(int64_t value) {
  return arith::ConstantIndexOp::create(builder_, value);
}

void KernelBuilder::reportFault(Value condition, KernelFault fault) {
  when(condition, [&] {
    Value code =
        LLVM::ConstantOp::create(builder_, builder_.getI32Type(), static_cast<int32_t>(fault));
    // Concurrent calls may share the word.
    LLVM::StoreOp::create(builder_, code, function_.getArgument(faultWord), /*alignment=*/4,
                          /*isVolatile=*/false, /*isNonTemporal=*/false,
                          /*isInvariantGroup=*/false, LLVM::AtomicOrdering::monotonic);
  });
}

void KernelBuilder::loop(Value from, Value to, int64_t step, LoopBody body) { loop(from, to, constantIndex(step), body); }

void KernelBuilder::loop(Value from, Value to, Value step, LoopBody body) {
  auto loop = scf::ForOp::create(builder_, from, to, step);
  auto divisorOf = [&](Value value) {
    IntegerAttr constant;
    return matchPattern(value, m_Constant(&constant)) ? constant.getInt() : facts(value).divisor;
  };
  IndexFacts known;
  IntegerAttr bound;
  known.divisor = std::gcd(divisorOf(from), divisorOf(step));
  known.bound = matchPattern(to, m_Constant(&bound)) ? bound.getInt() : facts(to).bound;
  setFacts(loop.getInductionVar(), known);
  OpBuilder::InsertionGuard guard(builder_);
  builder_.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

void KernelBuilder::loop(int64_t from, int64_t to, int64_t step, LoopBody body) {
  loop(constantIndex(from), constantIndex(to), step, body);
}

SmallVector<Value> KernelBuilder::reduce(int64_t from, int64_t to, int64_t step, ValueRange initial,
                                         ReducingBody body) {
  auto loop = scf::ForOp::create(builder_, constantIndex(from), constantIndex(to),
                                 constantIndex(step), initial);
  setFacts(loop.getInductionVar(), {std::gcd(from, step), to});
  OpBuilder::InsertionGuard guard(builder_);
  builder_.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  scf::YieldOp::create(builder_, next);
  return SmallVector<Value>(loop.getResults());
}

void KernelBuilder::when(Value condition, function_ref<void()> then) {
  auto branch = scf::IfOp::create(builder_, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder_);
  builder_.setInsertionPointToStart(branch.thenBlock());
  then();
}

IndexFacts KernelBuilder::facts(Value index) const { return facts_.lookup(index); }

const IndexSplit *KernelBuilder::split(const LaneIndex &linear, ArrayRef<int64_t> sizes) {
  for (const IndexSplit &split : splits_)
    if (split.linear == linear && ArrayRef<int64_t>(split.sizes) == sizes)
      return &split;
  splits_.push_back({linear, SmallVector<int64_t>(sizes)});
  return &splits_.back();
}

/// The operand of the function behind a memref that a load reads.
static bool readsInput(Operation *op, ArrayRef<Value> inputs) {
  Value memref = llvm::TypeSwitch<Operation *, Value>(op)
                     .Case<memref::LoadOp>([](auto load) { return load.getMemRef(); })
                     .Case<vector::LoadOp, vector::MaskedLoadOp, vector::GatherOp>(
                         [](auto load) { return load.getBase(); })
                     .Default(Value());
  return memref && (llvm::is_contained(inputs, memref) ||
                    isa_and_nonnull<memref::GetGlobalOp>(memref.getDefiningOp()));
}

void KernelBuilder::finish() {
  func::ReturnOp::create(builder_);
  ArrayRef<Value> inputs = ArrayRef(memrefs_).take_front(kernel_.getNumArguments());
  function_.walk([&](scf::ForOp loop) {
    moveLoopInvariantCode(
        loop.getLoopRegions(),
        [&](Value value, Region *) { return loop.isDefinedOutsideOfLoop(value); },
        [&](Operation *op, Region *) {
          return readsInput(op, inputs) || (isMemoryEffectFree(op) && isSpeculatable(op));
        },
        [&](Operation *op, Region *) { loop.moveOutOfLoop(op); });
  });
}
