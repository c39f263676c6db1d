#include "spillway/Training/Passes.h"
#include "spillway/Training/Stacking.h"

#include "runtime/train/StepNames.h"
#include "spillway/Conversion/OnnxToNN/Passes.h"
#include "spillway/Conversion/OnnxToNN/Tensor.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace spillway {
#define GEN_PASS_DEF_NNACCUMULATEPASS
#include "spillway/Training/Passes.h.inc"
} // namespace spillway

using namespace mlir;
using namespace spillway;

namespace {

class Accumulation {
public:
  Accumulation(func::FuncOp function, int64_t count)
      : function(function), block(function.getBody().front()), count(count) {}

  LogicalResult run() {
    SmallVector<Operation *> operations;
    for (Operation &op : block)
      operations.push_back(&op);
    for (auto update : block.getOps<zero::UpdateOp>())
      findCarried(update);
    if (failed(stackArguments()))
      return failure();
    for (Operation *op : operations)
      if (failed(convert(op)))
        return failure();
    for (Operation *op : llvm::reverse(operations))
      if (replaced.contains(op))
        op->erase();
    function.setType(FunctionType::get(function.getContext(), block.getArgumentTypes(),
                                       block.getTerminator()->getOperandTypes()));
    return success();
  }

private:
  LogicalResult stackArguments() {
    OpBuilder builder(&block, block.begin());
    for (BlockArgument argument : block.getArguments()) {
      auto type = cast<RankedTensorType>(argument.getType());
      auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), valueNameAttrName);
      if (name && name == trainingInput && type.getRank() == 0)
        continue;
      if (type.getRank() == 0)
        return function.emitError("input ") << name << " is one number: it has no dimension of samples, of which "
                                            << "a step could take more";
      SmallVector<int64_t> all(type.getShape()), stacked(all);
      all[0] *= count;
      if (!elementCount(all))
        return function.emitError("input ") << name << " of " << count << " micro-batches is too large";
      stacked.insert(stacked.begin(), count);
      argument.setType(type.clone(all));
      if (name && name == randomInput) {
        stackKeys(argument, builder);
        continue;
      }
      forms[argument] = {nn::ReshapeOp::create(builder, argument.getLoc(), type.clone(stacked), argument), false};
    }
    return success();
  }

  /// Keys of random numbers. Those of one place lie together for all micro-batches, as a run of elements, so that
  /// places that compute the same have equal kernels.
  void stackKeys(BlockArgument keys, OpBuilder &builder) {
    auto type = cast<RankedTensorType>(keys.getType());
    int64_t places = type.getDimSize(0) / count;
    RankedTensorType ofPlace = type.clone({count}), stacked = type.clone({count, 1});
    for (Operation *user : llvm::to_vector(keys.getUsers())) {
      auto slice = dyn_cast<nn::SliceOp>(user);
      if (!slice || slice.getType().getNumElements() != 1)
        continue;
      Value own = nn::SliceOp::create(builder, slice.getLoc(), ofPlace, keys, ArrayRef<int64_t>{slice.getOffsets()[0] * count},
                                        ArrayRef<int64_t>{1});
      forms[slice.getResult()] = {nn::ReshapeOp::create(builder, slice.getLoc(), stacked, own), false};
      replaced.insert(slice);
    }
    Value byPlace = nn::ReshapeOp::create(builder, keys.getLoc(), type.clone({places, count}), keys);
    forms[keys] = {nn::TransposeOp::create(builder, keys.getLoc(), type.clone({count, places}), byPlace,
                                           ArrayRef<int64_t>{1, 0}),
                   false};
  }

  Stacked formOf(Value value) const {
    auto found = forms.find(value);
    return found == forms.end() ? Stacked{value} : found->second;
  }

  LogicalResult convert(Operation *op) {
    if (carried.contains(op) || replaced.contains(op))
      return success();
    if (auto update = dyn_cast<zero::UpdateOp>(op))
      return carryOn(update);
    for (Value operand : op->getOperands())
      if (Operation *source = operand.getDefiningOp(); source && carried.contains(source) && !forms.contains(operand))
        return op->emitError("takes what the step makes of a state; it would have to run for one micro-batch after "
                             "the other");
    auto operands = llvm::map_to_vector(op->getOperands(), [&](Value operand) { return formOf(operand); });
    OpBuilder builder(op);
    StackBuilder stacks(builder, op, count);
    if (op->hasTrait<OpTrait::IsTerminator>()) {
      for (auto [operand, form] : llvm::zip_equal(op->getOpOperands(), operands))
        operand.set(result(stacks, form));
      return success();
    }
    if (llvm::all_of(operands, [](Stacked operand) { return operand.isShared; }))
      return success();
    replaced.insert(op);
    if (OpTrait::hasElementwiseMappableTraits(op))
      return record(op, stacks.cloneOperation(op, stacks.stacked(operands))->getResults());
    if (auto stackable = dyn_cast<StackableOpInterface>(op))
      if (Value stacked = stackable.stack(operands, stacks))
        return record(op, stacked);
    return record(op, runEach(op, operands, stacks));
  }

  LogicalResult record(Operation *op, ValueRange stacked) {
    for (auto [result, value] : llvm::zip_equal(op->getResults(), stacked))
      forms[result] = {value, false};
    return success();
  }

  /// The operation for one micro-batch after the other.
  SmallVector<Value> runEach(Operation *op, ArrayRef<Stacked> operands, StackBuilder &stacks) {
    SmallVector<SmallVector<Value>> results(op->getNumResults());
    for (int64_t i = 0; i < count; ++i) {
      auto own = llvm::map_to_vector(operands, [&](Stacked operand) { return stacks.slice(operand, i); });
      OpBuilder builder(op);
      Operation *made = builder.clone(*op);
      made->setOperands(own);
      for (auto [all, result] : llvm::zip_equal(results, made->getResults()))
        all.push_back(result);
    }
    return llvm::map_to_vector(results, [&](ArrayRef<Value> values) { return stacks.join(values); });
  }

  /// What the function returns of a value: the mean of numbers, the others as samples one after another.
  static Value result(StackBuilder &stacks, Stacked form) {
    if (form.isShared)
      return form.value;
    auto type = cast<RankedTensorType>(form.value.getType());
    if (isa<FloatType>(type.getElementType()) && type.getNumElements() == type.getDimSize(0))
      return stacks.reduce(nn::ReductionKind::mean, form.value, 0);
    return type.getRank() == 1 ? form.value : stacks.mergeInBatch(form.value);
  }

  //===--------------------------------------------------------------------===//
  // States that the function updates
  //===--------------------------------------------------------------------===//

  static bool reads(Operation *op, zero::UpdateOp update) {
    auto use = dyn_cast<zero::UseOp>(op);
    return use && llvm::is_contained(update.getStates(), use.getStateAttr());
  }

  /// What lies between the old values of an update's states and the new ones.
  void findCarried(zero::UpdateOp update) {
    llvm::SetVector<Operation *> needed;
    auto need = [&](ValueRange values) {
      for (Value value : values)
        if (Operation *source = value.getDefiningOp())
          needed.insert(source);
    };
    need(update.getValues());
    for (size_t i = 0; i < needed.size(); ++i)
      need(needed[i]->getOperands());
    llvm::DenseSet<Operation *> dependent;
    SmallVector<Operation *> &chain = chains[update];
    for (Operation &op : block) {
      if (reads(&op, update)) {
        dependent.insert(&op);
        continue;
      }
      if (llvm::none_of(op.getOperands(), [&](Value operand) { return dependent.contains(operand.getDefiningOp()); }))
        continue;
      dependent.insert(&op);
      if (needed.contains(&op))
        chain.push_back(&op);
    }
    carried.insert(chain.begin(), chain.end());
  }

  /// Each micro-batch goes on with the states that the one before has left.
  LogicalResult carryOn(zero::UpdateOp update) {
    OpBuilder builder(update);
    StackBuilder stacks(builder, update, count);
    SmallVector<Value> values;
    for (int64_t i = 0; i < count; ++i) {
      IRMapping mapping;
      auto own = [&](Value operand) -> Value {
        if (Value mapped = mapping.lookupOrNull(operand))
          return mapped;
        auto use = operand.getDefiningOp<zero::UseOp>();
        if (use && reads(use, update) && !values.empty())
          return values[llvm::find(update.getStates(), use.getStateAttr()) - update.getStates().begin()];
        return stacks.slice(formOf(operand), i);
      };
      for (Operation *op : chains[update]) {
        auto operands = llvm::map_to_vector(op->getOperands(), own);
        Operation *made = builder.clone(*op);
        made->setOperands(operands);
        mapping.map(op->getResults(), made->getResults());
      }
      values = llvm::map_to_vector(update.getValues(), own);
      for (Operation *op : chains[update])
        for (Value result : op->getResults())
          forms[result] = {mapping.lookup(result)};
    }
    update.getValuesMutable().assign(values);
    replaced.insert(chains[update].begin(), chains[update].end());
    return success();
  }

  func::FuncOp function;
  Block &block;
  int64_t count;
  /// By the value of one micro-batch; what is not here all share.
  llvm::DenseMap<Value, Stacked> forms;
  llvm::SetVector<Operation *> replaced;
  llvm::DenseMap<Operation *, SmallVector<Operation *>> chains;
  llvm::DenseSet<Operation *> carried;
};

class NNAccumulatePass : public spillway::impl::NNAccumulatePassBase<NNAccumulatePass> {
public:
  using NNAccumulatePassBase::NNAccumulatePassBase;

  void runOnOperation() override {
    if (count < 1) {
      getOperation().emitError("there must be a micro-batch or more, not ") << count;
      return signalPassFailure();
    }
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(Accumulation(function, count).run()))
        return signalPassFailure();
  }
};

} // namespace
