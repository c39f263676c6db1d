#include "spillway/Interpreter/Interpreter.h"

#include "Evaluators.h"
#include "spillway/StateSource/StateSource.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace spillway;

LogicalResult spillway::evaluate(Operation *op, ArrayRef<TensorValue> operands,
                                 SmallVectorImpl<TensorValue> &results, std::string &reason) {
  FailureOr<TensorValue> result =
      TypeSwitch<Operation *, FailureOr<TensorValue>>(op)
          .Case<nn::ReshapeOp, nn::UnpackOp, nn::BroadcastOp, nn::TransposeOp, nn::SliceOp,
                nn::WindowsOp, nn::ConcatOp, nn::PadOp, nn::IotaOp, nn::RandomOp,
                nn::GatherOp, nn::GatherElementsOp, nn::GatherNDOp>(
              [&](Operation *op) { return evaluateMovement(op, operands, reason); })
          .Case([&](nn::MatmulOp op) { return evaluateMatmul(op, operands); })
          .Case([&](nn::ConvOp op) { return evaluateConv(op, operands); })
          .Case([&](nn::AttentionOp op) { return evaluateAttention(op, operands); })
          .Case([&](nn::ArgsortOp op) { return evaluateArgsort(op, operands); })
          .Case([&](nn::ScatterOp op) { return evaluateScatter(op, operands, reason); })
          .Case([&](nn::AddRowsOp op) { return evaluateAddRows(op, operands, reason); })
          .Case<nn::ReduceOp, nn::SoftmaxOp, nn::LogSoftmaxOp, nn::LayerNormOp, nn::RmsNormOp,
                nn::CumsumOp>([&](Operation *op) { return evaluateReduction(op, operands); })
          .Default([&](Operation *op) { return evaluateElementwise(op, operands, reason); });
  if (failed(result))
    return failure();
  results.assign(1, *std::move(result));
  return success();
}

namespace {

/// The values of one function while it runs.
class Frame {
public:
  Frame(FunctionOpInterface function, StateProvider states, StateConsumer update)
      : function(function), states(states), update(update) {}

  LogicalResult run(ArrayRef<TensorValue> inputs, SmallVectorImpl<TensorValue> &results) {
    if (!llvm::hasSingleElement(function.getFunctionBody()))
      return function->emitError("cannot be run: it needs one block");
    Block &block = function.getFunctionBody().front();
    if (inputs.size() != block.getNumArguments())
      return function->emitError("takes ")
             << block.getNumArguments() << " inputs, not " << inputs.size();
    for (auto [argument, input] : llvm::zip(block.getArguments(), inputs)) {
      if (argument.getType() != input.getType())
        return function->emitError("input ") << argument.getArgNumber() << " is "
                                             << input.getType() << ", not " << argument.getType();
      values[argument] = input;
    }
    for (Operation &op : block)
      for (Value operand : op.getOperands())
        lastUser[operand] = &op;
    for (Operation &op : block.without_terminator())
      if (failed(step(&op)))
        return failure();
    results.clear();
    for (Value value : block.getTerminator()->getOperands())
      results.push_back(values.lookup(value));
    return success();
  }

private:
  LogicalResult step(Operation *op) {
    SmallVector<TensorValue> operands, results;
    for (Value operand : op->getOperands())
      operands.push_back(values.lookup(operand));
    std::string reason;
    LogicalResult done =
        TypeSwitch<Operation *, LogicalResult>(op)
            .Case([&](nn::CallOp call) { return runKernel(call, operands, results); })
            .Case([&](zero::UseOp use) { return useState(use, results); })
            .Case([&](zero::LookupOp lookup) { return lookupRows(lookup, operands[0], results); })
            .Case([&](zero::UpdateOp op) { return updateStates(op, operands); })
            .Default([&](Operation *op) -> LogicalResult {
              if (succeeded(evaluate(op, operands, results, reason)))
                return success();
              return op->emitError("cannot be evaluated: ") << reason;
            });
    if (failed(done))
      return failure();
    for (Value operand : op->getOperands())
      if (lastUser.lookup(operand) == op)
        values.erase(operand);
    for (auto [value, result] : llvm::zip(op->getResults(), results))
      if (!value.use_empty())
        values[value] = result;
    return success();
  }

  LogicalResult runKernel(nn::CallOp call, ArrayRef<TensorValue> operands,
                          SmallVectorImpl<TensorValue> &results) {
    nn::KernelOp kernel = call.getKernel(symbols);
    if (!kernel || call.getUnits())
      return call->emitError("cannot be run: only calls of whole kernels can");
    return Frame(kernel, states, nullptr).run(operands.take_front(call.getInputs().size()), results);
  }

  FailureOr<TensorValue> valueOf(Operation *user, FlatSymbolRefAttr name) {
    auto state = symbols.lookupNearestSymbolFrom<zero::StateOp>(user, name);
    if (!state)
      return user->emitError("no state ") << name;
    return states(state);
  }

  LogicalResult useState(zero::UseOp use, SmallVectorImpl<TensorValue> &results) {
    if (use.getTile())
      return use->emitError("cannot be run: only uses of whole states can");
    FailureOr<TensorValue> value = valueOf(use, use.getStateAttr());
    if (failed(value))
      return failure();
    results.push_back(*std::move(value));
    return success();
  }

  LogicalResult lookupRows(zero::LookupOp lookup, const TensorValue &indices,
                           SmallVectorImpl<TensorValue> &results) {
    FailureOr<TensorValue> value = valueOf(lookup, lookup.getStateAttr());
    if (failed(value))
      return failure();
    std::string reason;
    FailureOr<TensorValue> rows = gather(*value, indices, /*dim=*/0,
                                        cast<RankedTensorType>(lookup.getType()), reason);
    if (failed(rows))
      return lookup->emitError("cannot be evaluated: ") << reason;
    results.push_back(*std::move(rows));
    return success();
  }

  LogicalResult updateStates(zero::UpdateOp op, ArrayRef<TensorValue> values) {
    if (op.getTile() || !update)
      return op->emitError("cannot be run: ")
             << (update ? "only updates of whole states can" : "nothing takes new values");
    for (auto [name, value] : llvm::zip_equal(op.getStates().getAsRange<FlatSymbolRefAttr>(), values)) {
      auto state = symbols.lookupNearestSymbolFrom<zero::StateOp>(op, name);
      if (!state)
        return op->emitError("no state ") << name;
      update(state, value);
    }
    return success();
  }

  FunctionOpInterface function;
  StateProvider states;
  StateConsumer update;
  SymbolTableCollection symbols;
  llvm::DenseMap<Value, TensorValue> values;
  llvm::DenseMap<Value, Operation *> lastUser;
};

} // namespace

LogicalResult spillway::evaluateFunction(FunctionOpInterface function, ArrayRef<TensorValue> inputs,
                                         StateProvider states,
                                         SmallVectorImpl<TensorValue> &results,
                                         StateConsumer update) {
  return Frame(function, states, update).run(inputs, results);
}

FailureOr<TensorValue> spillway::readState(zero::StateOp state, StringRef folder) {
  FailureOr<std::unique_ptr<StateSource>> source = StateSource::open(state, folder);
  if (failed(source))
    return failure();
  TensorValue tensor(state.getTensorType());
  if (failed((*source)->read(0, tensor.getMutableBytes())))
    return failure();
  return tensor;
}
