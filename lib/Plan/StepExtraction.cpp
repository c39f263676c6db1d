#include "spillway/Plan/StepExtraction.h"

#include "spillway/Plan/Activations.h"
#include "spillway/Plan/Residents.h"
#include "spillway/Plan/Tiling.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::plan;

DataType spillway::plan::arithmeticTypeOf(nn::KernelOp kernel) {
  if (Type type = nn::costOf(kernel).getType(); type && type.isBF16())
    return DataType::bf16;
  for (Type type : kernel.getArgumentTypes()) {
    Type element = cast<RankedTensorType>(type).getElementType();
    if (isa<FloatType>(element))
      return element.isF64() ? DataType::f64 : DataType::f32;
  }
  return DataType::f32;
}

KernelCost spillway::plan::kernelCostOf(nn::KernelOp kernel) {
  nn::CostAttr cost = nn::costOf(kernel);
  return {static_cast<double>(cost.getFlops()), arithmeticTypeOf(kernel), static_cast<double>(cost.getBytes()),
          static_cast<double>(cost.getShared())};
}

namespace {

class Extraction {
public:
  Extraction(func::FuncOp function, Activations activations)
      : function_(function), module_(function->getParentOfType<ModuleOp>()),
        activations_(std::move(activations)), tileability_(module_) {}

  FailureOr<Step> run(int64_t threads) {
    step_.threads = static_cast<unsigned>(threads);
    step_.activationBytes = activations_.layout().bytes;
    step_.room = activations_.room();
    addStates();
    for (Operation &op : function_.getBody().front()) {
      if (auto use = dyn_cast<zero::UseOp>(op); use && use.getTile())
        return use.emitOpError("is of a tile; the plan is made before states are cut");
      if (auto call = dyn_cast<nn::CallOp>(op)) {
        if (failed(addCall(call)))
          return failure();
      } else if (auto lookup = dyn_cast<zero::LookupOp>(op)) {
        addLookup(lookup);
      } else if (failed(addTransfer(op))) {
        return failure();
      }
    }
    return std::move(step_);
  }

private:
  /// Of a value that waits on the drive.
  LogicalResult addTransfer(Operation &op) {
    if (auto offload = dyn_cast<zero::OffloadOp>(op)) {
      if (step_.moments.empty())
        return offload.emitOpError("is of what no call or look-up gives");
      auto index = static_cast<uint32_t>(step_.offloaded.size());
      onDrive_[offload] = index;
      step_.offloaded.push_back(nn::tensorBytes(offload.getHandle().getType().getTensor()));
      step_.moments.back().written.push_back(index);
    } else if (auto settle = dyn_cast<zero::SettleOp>(op)) {
      settled_.push_back(onDrive_.lookup(settle.getOffload()));
    } else if (auto restore = dyn_cast<zero::RestoreOp>(op)) {
      restored_.push_back(onDrive_.lookup(restore.getOffload()));
    }
    return success();
  }

  void addStates() {
    for (zero::StateOp op : module_.getOps<zero::StateOp>())
      index_[op] = static_cast<uint32_t>(index_.size());
    for (zero::StateOp op : module_.getOps<zero::StateOp>()) {
      StepState state;
      state.name = op.getName().str();
      state.units = op.getUnitCount();
      state.unitBytes = op.getUnitBytes();
      state.missingBytes = state.units * state.unitBytes - op.getStoredBytes();
      state.endsInPadding = endsInPadding(op);
      state.chunkUnits = op.getChunkUnits();
      state.ranks = op.getPartition().value_or(1);
      state.tileable = tileability_.isTileable(op);
      state.group = index_[tileability_.groupOf(op)];
      state.fixedTileUnits = op.getTile().value_or(0);
      step_.states.push_back(std::move(state));
    }
  }

  zero::StateOp lookup(Operation *op, FlatSymbolRefAttr name) {
    return symbols_.lookupNearestSymbolFrom<zero::StateOp>(op, name);
  }

  LogicalResult addCall(nn::CallOp call) {
    StepMoment moment;
    moment.name = nameOf(call.getLoc());
    moment.cost = kernelCostOf(call.getKernel(symbols_));
    llvm::SetVector<uint32_t> states, values;
    for (Value operand : call.getInputs()) {
      Value source = sourceOf(operand);
      if (auto use = source.getDefiningOp<zero::UseOp>())
        states.insert(index_[lookup(use, use.getStateAttr())]);
      else if (values.insert(activations_.indexOf(source)))
        addWorking(moment, source);
      if (auto restore = source.getDefiningOp<zero::RestoreOp>(); restore && taken_.insert(restore).second)
        moment.taken.push_back(onDrive_.lookup(restore.getOffload()));
    }
    for (Value target : call.getInto()) {
      auto use = sourceOf(target).getDefiningOp<zero::UseOp>();
      if (!use)
        return call.emitOpError("computes into what is no state; the plan is made before states are cut");
      uint32_t state = index_[lookup(use, use.getStateAttr())];
      if (states.insert(state))
        moment.blank.push_back(state);
      moment.rewritten.push_back(state);
    }
    if (call.getInto().empty())
      for (Value result : call.getResults())
        if (values.insert(activations_.indexOf(result)))
          addWorking(moment, result);
    if (auto scratch = activations_.scratchOf(call))
      moment.working.emplace_back("scratch", activations_.intervals()[*scratch].bytes);
    moment.states.assign(states.begin(), states.end());
    push(std::move(moment));
    return success();
  }

  void addLookup(zero::LookupOp op) {
    zero::StateOp state = lookup(op, op.getStateAttr());
    StepMoment moment;
    moment.name = nameOf(op.getLoc());
    moment.lookupState = index_[state];
    moment.lookupCount = cast<RankedTensorType>(op.getIndices().getType()).getNumElements();
    moment.lookupPieceBytes = lookupPieceBytes(state);
    moment.lookupStagingBytes = activations_.intervals()[*activations_.stagingOf(op)].bytes;
    moment.lookupResultBytes = nn::tensorBytes(cast<RankedTensorType>(op.getType()));
    addWorking(moment, sourceOf(op.getIndices()));
    addWorking(moment, op.getResult());
    moment.working.emplace_back("staging", moment.lookupPieceBytes);
    push(std::move(moment));
  }

  void addWorking(StepMoment &moment, Value value) {
    StringRef name = nameOf(value.getLoc());
    // An input's place is that of the model.
    if (auto argument = dyn_cast<BlockArgument>(value))
      if (auto given = function_.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "spillway.name"))
        name = given;
    moment.working.emplace_back(name.empty() ? "a tensor" : name,
                                activations_.intervals()[activations_.indexOf(value)].bytes);
  }

  void push(StepMoment moment) {
    moment.settled = std::exchange(settled_, {});
    moment.restored = std::exchange(restored_, {});
    llvm::sort(moment.working, [](const auto &a, const auto &b) {
      return std::pair(b.second, a.first) < std::pair(a.second, b.first);
    });
    step_.moments.push_back(std::move(moment));
  }

  func::FuncOp function_;
  ModuleOp module_;
  Activations activations_;
  Tileability tileability_;
  SymbolTableCollection symbols_;
  DenseMap<Operation *, uint32_t> index_;
  /// The places of offloads in the step.
  DenseMap<Operation *, uint32_t> onDrive_;
  /// Those that the next moment finds on the drive, and those that begin to come back before it.
  std::vector<uint32_t> settled_, restored_;
  /// Restores whose values some call has taken.
  DenseSet<Operation *> taken_;
  Step step_;
};

} // namespace

FailureOr<Step> spillway::plan::extractStep(func::FuncOp function, int64_t threads) {
  FailureOr<Activations> activations = Activations::of(function, threads);
  if (failed(activations))
    return failure();
  return Extraction(function, std::move(*activations)).run(threads);
}
