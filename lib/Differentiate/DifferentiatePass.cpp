#include "spillway/Differentiate/Passes.h"

#include "dialects/Zero/Zero.h"
#include "lib/Differentiate/Rules/Rule.h"
#include "runtime/train/StepNames.h"
#include "spillway/Conversion/OnnxToNN/Bindings.h"
#include "spillway/Support/ElementType.h"
#include "spillway/Support/NamePatterns.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

namespace spillway {
#define GEN_PASS_DEF_NNDIFFERENTIATEPASS
#include "spillway/Differentiate/Passes.h.inc"
} // namespace spillway

using namespace mlir;
using namespace spillway;

namespace {

StringRef resultName(func::FuncOp function, unsigned result) {
  auto name = function.getResultAttrOfType<StringAttr>(result, valueNameAttrName);
  return name ? name.getValue() : "";
}

bool isScalar(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return isa<FloatType>(type.getElementType()) && type.getNumElements() == 1;
}

/// The result called `name`; the only scalar one where `name` is empty.
FailureOr<unsigned> findLoss(func::FuncOp function, StringRef name) {
  Operation *end = function.getFunctionBody().front().getTerminator();
  SmallVector<unsigned> scalars;
  for (auto [i, value] : llvm::enumerate(end->getOperands())) {
    if (isScalar(value))
      scalars.push_back(i);
    if (name.empty() || resultName(function, i) != name)
      continue;
    if (!isScalar(value))
      return function.emitError("the loss '") << name << "' must be one float, not " << value.getType();
    return i;
  }
  if (name.empty() && scalars.size() == 1)
    return scalars.front();
  InFlightDiagnostic error = function.emitError();
  if (name.empty())
    error << "has " << scalars.size() << " outputs of one float: one must be named as the loss";
  else
    error << "has no output '" << name << "'";
  if (scalars.empty()) {
    error << "; the outputs are";
    for (auto [i, value] : llvm::enumerate(end->getOperands()))
      error << (i ? ", '" : " '") << resultName(function, i) << "' " << value.getType();
    error << "; --loss also adds one, such as 'mse(OUTPUT, labels)'";
    return error;
  }
  error << "; outputs of one float:";
  for (unsigned i : scalars)
    error << " '" << resultName(function, i) << "'";
  return error;
}

/// What reads a parameter of floats that trains, by state.
llvm::MapVector<zero::StateOp, SmallVector<Operation *>>
readers(ModuleOp module, Block &block, const NamePatterns &frozen) {
  llvm::MapVector<zero::StateOp, SmallVector<Operation *>> result;
  llvm::StringMap<zero::StateOp> states;
  for (auto state : module.getOps<zero::StateOp>()) {
    if (state.getRole() != zero::Role::parameter || frozen.match(state.getName()) ||
        !isa<FloatType>(state.getTensorType().getElementType()))
      continue;
    states[state.getSymName()] = state;
    result[state];
  }
  for (Operation &op : block) {
    StringRef name;
    if (auto use = dyn_cast<zero::UseOp>(op))
      name = use.getState();
    else if (auto lookup = dyn_cast<zero::LookupOp>(op))
      name = lookup.getState();
    if (auto state = states.find(name); state != states.end())
      result[state->second].push_back(&op);
  }
  return result;
}

class NNDifferentiatePass : public spillway::impl::NNDifferentiatePassBase<NNDifferentiatePass> {
public:
  using NNDifferentiatePassBase::NNDifferentiatePassBase;

  void runOnOperation() override {
    auto functions = getOperation().getOps<func::FuncOp>();
    if (!llvm::hasSingleElement(functions)) {
      getOperation().emitError("the module must hold one function");
      return signalPassFailure();
    }
    if (failed(differentiateFunction(*functions.begin())))
      signalPassFailure();
  }

private:
  LogicalResult differentiateFunction(func::FuncOp function) {
    FailureOr<unsigned> lossIndex = findLoss(function, loss);
    if (failed(lossIndex))
      return failure();
    Block &block = function.getFunctionBody().front();
    FailureOr<NamePatterns> frozen =
        NamePatterns::parse(function.getLoc(), "freeze", SmallVector<std::string>(freeze.begin(), freeze.end()));
    if (failed(frozen))
      return failure();
    llvm::StringMap<int64_t> paddingRows;
    if (failed(readPadding(function, paddingRows)))
      return failure();
    auto states = readers(getOperation(), block, *frozen);
    if (failed(frozen->requireMatches(function.getLoc(), "parameter")))
      return failure();
    SmallVector<Value> roots;
    for (auto &[state, reads] : states)
      for (Operation *read : reads)
        roots.push_back(read->getResult(0));
    Operation *end = block.getTerminator();
    Value differentiated = end->getOperand(*lossIndex);
    if (scaleLoss)
      differentiated = scaled(function, differentiated);
    if (!differentiated)
      return failure();
    FailureOr<FloatType> stored = storedTypeOf(&getContext(), precision);
    if (failed(stored))
      return function.emitError("no precision '") << precision << "'; there are fp32, bf16 and fp16";
    FailureOr<SmallVector<Value>> cotangents = differentiate(differentiated, roots, *stored);
    if (failed(cotangents))
      return failure();

    // The backward half takes old values of what the forward half updates.
    for (zero::UpdateOp update : llvm::to_vector(block.getOps<zero::UpdateOp>()))
      update->moveBefore(end);
    if (onlyLoss)
      dropOthers(function, *lossIndex);
    OpBuilder builder(end);
    auto cotangent = cotangents->begin();
    for (auto &[state, reads] : states) {
      Value gradient;
      for (Operation *read : reads)
        if (Value part = *cotangent++)
          gradient = accumulate(builder, gradient, ofState(builder, state, read, part, paddingRows));
      if (gradient && failed(addResult(function, ("grad." + state.getName()).str(), gradient)))
        return failure();
    }
    return success();
  }

  /// The loss times a new input; null where the name of that is taken.
  Value scaled(func::FuncOp function, Value loss) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto name = function.getArgAttrOfType<StringAttr>(i, valueNameAttrName); name && name == lossScaleInput) {
        function.emitError("the input '") << name.getValue()
                                          << "' is called as one that a training step adds; give it another name";
        return {};
      }
    OpBuilder builder(function.getBody().front().getTerminator());
    derivatives::RuleBuilder b(builder, loss.getLoc());
    Value scale = appendInput(function, lossScaleInput, DataType::f64, {});
    if (Type element = getElementTypeOrSelf(loss); !element.isF64())
      scale = b.create<arith::TruncFOp>(RankedTensorType::get({}, element), scale);
    return b.mul(loss, b.reshape(scale, derivatives::shapeOf(loss)));
  }

  /// The sum of two parts of a gradient. What one scatters into zeros, as rows that are looked up do, it scatters into
  /// the other: so that there is one tensor of that size.
  static Value accumulate(OpBuilder &builder, Value sum, Value part) {
    if (!sum)
      return part;
    for (auto [from, to] : {std::pair(part, sum), std::pair(sum, part)}) {
      auto scatter = from.getDefiningOp<nn::ScatterOp>();
      if (!scatter || scatter.getKind() != nn::ScatterKind::add ||
          !matchPattern(scatter.getData(), m_AnyZeroFloat()))
        continue;
      return nn::ScatterOp::create(builder, scatter.getLoc(), nn::ScatterKind::add, to, scatter.getIndices(),
                                   scatter.getUpdates());
    }
    return arith::AddFOp::create(builder, part.getLoc(), sum, part);
  }

  /// The padding rows by the names of parameters, each of which rows are looked up in.
  LogicalResult readPadding(func::FuncOp function, llvm::StringMap<int64_t> &rows) {
    llvm::StringMap<int64_t> lookedUp;
    SymbolTable symbols(getOperation());
    for (auto lookup : function.getOps<zero::LookupOp>()) {
      auto state = symbols.lookup<zero::StateOp>(lookup.getState());
      lookedUp[state.getName()] = state.getTensorType().getDimSize(0);
    }
    for (StringRef given : padding) {
      auto [name, number] = given.rsplit('=');
      int64_t row = 0;
      if (number.getAsInteger(10, row) || row < 0)
        return function.emitError("padding '") << given << "': expected NAME=ROW";
      auto parameter = lookedUp.find(name);
      if (parameter == lookedUp.end())
        return function.emitError("padding '") << given << "': of no parameter of that name rows are looked up";
      if (row >= parameter->second)
        return function.emitError("padding '") << given << "': '" << name << "' has rows 0 to " << parameter->second - 1;
      rows[name] = row;
    }
    return success();
  }

  /// The cotangent of what was read as one of the whole state.
  static Value ofState(OpBuilder &builder, zero::StateOp state, Operation *read, Value cotangent,
                       const llvm::StringMap<int64_t> &paddingRows) {
    auto lookup = dyn_cast<zero::LookupOp>(read);
    if (!lookup)
      return cotangent;
    derivatives::RuleBuilder b(builder, read->getLoc());
    Value indices = lookup.getIndices();
    if (auto padding = paddingRows.find(state.getName()); padding != paddingRows.end()) {
      auto type = cast<RankedTensorType>(indices.getType());
      auto isRow = [&](int64_t row) -> Value {
        auto constant = b.create<arith::ConstantOp>(
            DenseElementsAttr::get(type, builder.getIntegerAttr(type.getElementType(), row)));
        return b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, indices, constant);
      };
      // Negative indices count from the end.
      Value isPadding = b.create<arith::OrIOp>(isRow(padding->second),
                                               isRow(padding->second - state.getTensorType().getDimSize(0)));
      auto shape = cast<RankedTensorType>(cotangent.getType()).getShape();
      isPadding = b.broadcast(isPadding, derivatives::dimensions(0, type.getRank()), shape);
      cotangent = b.select(isPadding, b.like(cotangent, 0), cotangent);
    }
    return b.scatterSlices(state.getTensorType(), indices, cotangent);
  }

  static void dropOthers(func::FuncOp function, unsigned loss) {
    llvm::BitVector others(function.getNumResults(), true);
    others.reset(loss);
    function.getFunctionBody().front().getTerminator()->eraseOperands(others);
    if (failed(function.eraseResults(others)))
      llvm_unreachable("results of a function can be erased");
  }

  LogicalResult addResult(func::FuncOp function, StringRef name, Value value) {
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (resultName(function, i) == name)
        return function.emitError("the output '") << name << "' is called as a gradient; give it another name";
    appendOutput(function, name, *dataTypeOf(getElementTypeOrSelf(value)), value);
    return success();
  }
};

} // namespace
