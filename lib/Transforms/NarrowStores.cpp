#include "spillway/Transforms/Passes.h"

#include "Groups.h"

#include "dialects/NN/Views.h"
#include "dialects/Zero/Zero.h"
#include "spillway/Conversion/NNToVector/KernelSpace.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/SetVector.h"

namespace spillway {
#define GEN_PASS_DEF_NNNARROWSTORESPASS
#include "spillway/Transforms/Passes.h.inc"
} // namespace spillway

using namespace mlir;
using namespace spillway;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// The operation that sets a kernel's loops; null where elements are computed one by one.
nn::AnchorOpInterface anchorOf(nn::KernelOp kernel) {
  auto anchors = kernel.getOps<nn::AnchorOpInterface>();
  return anchors.empty() ? nn::AnchorOpInterface() : *anchors.begin();
}

/// Finds the values of one function that are stored in fewer bits.
class Choice {
public:
  Choice(SymbolTable &symbols, FloatType stored) : symbols(symbols), stored(stored) {}

  SmallVector<Value> choose(Block &block) {
    for (Operation &op : block) {
      if (auto use = dyn_cast<zero::UseOp>(op))
        visitRead(use);
      else if (auto lookup = dyn_cast<zero::LookupOp>(op))
        visitRead(lookup);
      else if (isa<nn::ReshapeOp, nn::SliceOp>(op))
        visitView(op);
      else if (auto call = dyn_cast<nn::CallOp>(op))
        visitCall(call);
    }
    return std::move(chosen);
  }

private:
  template <typename Read> void visitRead(Read read) {
    if (symbols.lookup<zero::StateOp>(read.getState()).getRewritten())
      trained.insert(read.getResult());
  }

  void visitView(Operation &view) {
    for (llvm::DenseSet<Value> *values : {&trained, &statistics})
      if (values->contains(view.getOperand(0)))
        values->insert(view.getResult(0));
  }

  void visitCall(nn::CallOp call) {
    bool isTrained = llvm::any_of(call.getInputs(), [&](Value input) { return trained.contains(input); });
    if (isTrained)
      trained.insert_range(call.getResults());
    if (!call.getInto().empty())
      return;
    auto kernel = symbols.lookup<nn::KernelOp>(call.getCallee());
    if (givesStatistics(call, kernel))
      statistics.insert_range(call.getResults());
    else if (isTrained && !needsF32(kernel))
      llvm::copy_if(call.getResults(), std::back_inserter(chosen), [&](Value result) { return canBeNarrow(result); });
  }

  bool givesStatistics(nn::CallOp call, nn::KernelOp kernel) const {
    if (nn::AnchorOpInterface anchor = anchorOf(kernel))
      return isa<nn::ReduceOp>(anchor);
    auto isTensor = [](Value input) {
      return isa<FloatType>(typeOf(input).getElementType()) && typeOf(input).getNumElements() > 1;
    };
    return llvm::any_of(call.getInputs(), isTensor) && llvm::all_of(call.getInputs(), [&](Value input) {
             return !isTensor(input) || statistics.contains(input);
           });
  }

  /// Whether results hold accumulators for a while, or are rounded more than once.
  static bool needsF32(nn::KernelOp kernel) {
    nn::AnchorOpInterface anchor = anchorOf(kernel);
    return (anchor && !anchor.takesEpilogue()) ||
           llvm::any_of(llvm::seq(kernel.getNumArguments()), [&](unsigned i) {
             return static_cast<bool>(kernel.getArgAttr(i, nn::depthTiledAttrName));
           });
  }

  bool canBeNarrow(Value result) const {
    return typeOf(result).getElementType().isF32() && typeOf(result).getNumElements() > 1 &&
           llvm::all_of(result.getUses(), [&](OpOperand &use) { return allowsNarrow(use); });
  }

  bool allowsNarrow(OpOperand &use) const {
    Operation *user = use.getOwner();
    if (isa<nn::ReshapeOp, nn::SliceOp>(user)) {
      Value view = user->getResult(0);
      uint64_t elements = nn::offsetInSource(view) / sizeof(float);
      return elements * nn::elementBytes(stored) % viewAlignment == 0 &&
             llvm::all_of(view.getUses(), [&](OpOperand &next) { return allowsNarrow(next); });
    }
    auto call = dyn_cast<nn::CallOp>(user);
    if (!call)
      return false;
    if (!call.getInto().empty())
      return !llvm::is_contained(call.getResultTypes(), use.get().getType());
    return !isOverwrittenInF32(use, symbols.lookup<nn::KernelOp>(call.getCallee()));
  }

  /// Whether an operand's bytes are those of a result that stays f32.
  static bool isOverwrittenInF32(OpOperand &use, nn::KernelOp kernel) {
    return needsF32(kernel) && llvm::any_of(llvm::seq(kernel.getNumResults()), [&](unsigned i) {
             auto over = kernel.getResultAttrOfType<IntegerAttr>(i, nn::overAttrName);
             return over && over.getInt() == use.getOperandNumber();
           });
  }

  SymbolTable &symbols;
  FloatType stored;
  /// What follows from states that the step rewrites, and what follows from results of reductions alone.
  llvm::DenseSet<Value> trained, statistics;
  SmallVector<Value> chosen;
};

class NarrowStores : public spillway::impl::NNNarrowStoresPassBase<NarrowStores> {
  void runOnOperation() override {
    auto stored = getOperation()->getAttrOfType<TypeAttr>(nn::storedTypeAttrName);
    if (!stored)
      return;
    auto type = dyn_cast<FloatType>(stored.getValue());
    if (!isa_and_present<BFloat16Type, Float16Type>(type)) {
      getOperation().emitError(nn::storedTypeAttrName) << " must be bf16 or f16, not " << stored.getValue();
      return signalPassFailure();
    }
    kernels.clear();
    SymbolTable symbols(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      Block &block = function.getBody().front();
      for (Value value : Choice(symbols, type).choose(block)) {
        setElement(value, type);
        ++numNarrowed;
      }
      for (auto call : block.getOps<nn::CallOp>())
        if (failed(adaptKernel(call, symbols)))
          return signalPassFailure();
    }
    eraseUnused();
  }

  static void setElement(Value value, FloatType element) {
    value.setType(typeOf(value).clone(element));
    for (Operation *user : value.getUsers())
      if (isa<nn::ReshapeOp, nn::SliceOp>(user))
        setElement(user->getResult(0), element);
  }

  /// Lets a call run a kernel of its types.
  LogicalResult adaptKernel(nn::CallOp call, SymbolTable &symbols) {
    auto kernel = symbols.lookup<nn::KernelOp>(call.getCallee());
    auto type = FunctionType::get(&getContext(), call.getInputs().getTypes(), call.getResultTypes());
    if (type == kernel.getFunctionType())
      return success();
    nn::KernelOp &adapted = kernels[{kernel, type}];
    if (!adapted) {
      adapted = kernel.clone();
      symbols.insert(adapted);
      if (failed(convert(adapted, type)))
        return failure();
    }
    call.setCallee(adapted.getSymName());
    return success();
  }

  static LogicalResult convert(nn::KernelOp kernel, FunctionType type) {
    Block &body = kernel.getBody().front();
    auto builder = OpBuilder::atBlockBegin(&body);
    for (auto [argument, narrow] : llvm::zip_equal(body.getArguments(), type.getInputs())) {
      Type wide = argument.getType();
      if (wide == narrow)
        continue;
      argument.setType(narrow);
      auto widening = arith::ExtFOp::create(builder, argument.getLoc(), wide, argument);
      argument.replaceAllUsesExcept(widening, widening);
    }
    builder.setInsertionPoint(body.getTerminator());
    for (auto [operand, narrow] : llvm::zip_equal(body.getTerminator()->getOpOperands(), type.getResults()))
      if (operand.get().getType() != narrow)
        operand.set(arith::TruncFOp::create(builder, operand.get().getLoc(), narrow, operand.get()));
    kernel.setFunctionType(type);
    for (unsigned i = 0; i < kernel.getNumResults(); ++i)
      if (auto over = kernel.getResultAttrOfType<IntegerAttr>(i, nn::overAttrName);
          over && type.getInput(over.getInt()) != type.getResult(i))
        kernel.removeResultAttr(i, builder.getStringAttr(nn::overAttrName));
    RewritePatternSet patterns(kernel.getContext());
    nn::populateNarrowReads(patterns);
    if (failed(applyPatternsGreedily(kernel, std::move(patterns))))
      return failure();
    FailureOr<kernels::KernelSpace> space = kernels::kernelSpace(kernel);
    if (failed(space))
      return failure();
    space->describe(kernel);
    kernel.removeCostAttr();
    kernel.setCostAttr(nn::costOf(kernel));
    return success();
  }

  void eraseUnused() {
    llvm::DenseSet<StringRef> called;
    getOperation().walk([&](nn::CallOp call) { called.insert(call.getCallee()); });
    llvm::SmallSetVector<nn::KernelOp, 16> originals;
    for (auto &[key, adapted] : kernels)
      originals.insert(key.first);
    for (nn::KernelOp original : originals)
      if (!called.contains(original.getSymName()))
        original.erase();
  }

  /// Of other types, by the original.
  llvm::DenseMap<std::pair<nn::KernelOp, Type>, nn::KernelOp> kernels;
};

} // namespace
