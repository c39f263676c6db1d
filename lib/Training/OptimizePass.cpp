#include "spillway/Training/Optimizer.h"
#include "spillway/Training/Passes.h"

#include "runtime/train/StepNames.h"
#include "spillway/Conversion/OnnxToNN/Bindings.h"
#include "spillway/Support/ElementType.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/StringSet.h"

#include <limits>

namespace spillway {
#define GEN_PASS_DEF_NNOPTIMIZEPASS
#include "spillway/Training/Passes.h.inc"
} // namespace spillway

using namespace mlir;
using namespace spillway;

namespace {

constexpr StringLiteral gradientPrefix = "grad.";

/// A state with its gradient, which is a result of the function.
struct Trained {
  zero::StateOp state;
  unsigned result;
  Value gradient;
};

class NNOptimizePass : public spillway::impl::NNOptimizePassBase<NNOptimizePass> {
public:
  using NNOptimizePassBase::NNOptimizePassBase;

  void runOnOperation() override {
    auto functions = getOperation().getOps<func::FuncOp>();
    if (!llvm::hasSingleElement(functions)) {
      getOperation().emitError("the module must hold one function");
      return signalPassFailure();
    }
    function = *functions.begin();
    FailureOr<FloatType> stored = storedTypeOf(&getContext(), precision);
    if (failed(stored)) {
      getOperation().emitError("no precision '") << precision << "'; there are fp32, bf16 and fp16";
      return signalPassFailure();
    }
    twinType = *stored;
    if (twinType)
      getOperation()->setAttr(nn::storedTypeAttrName, TypeAttr::get(twinType));
    FailureOr<Optimizer> loaded =
        Optimizer::load(getOperation().getLoc(), optimizer,
                        SmallVector<std::string>(settings.begin(), settings.end()));
    if (failed(loaded) || failed(update(*loaded)))
      return signalPassFailure();
    RewritePatternSet patterns(&getContext());
    nn::populateNarrowReads(patterns);
    if (twinType && failed(applyPatternsGreedily(function, std::move(patterns))))
      signalPassFailure();
  }

private:
  FailureOr<std::vector<Trained>> findTrained() {
    llvm::StringMap<zero::StateOp> states;
    for (auto state : getOperation().getOps<zero::StateOp>())
      states[state.getName()] = state;
    std::vector<Trained> trained;
    Operation *end = function.getBody().front().getTerminator();
    for (auto [i, value] : llvm::enumerate(end->getOperands())) {
      auto name = function.getResultAttrOfType<StringAttr>(i, valueNameAttrName);
      StringRef stateName = name ? name.getValue() : "";
      if (!stateName.consume_front(gradientPrefix))
        continue;
      zero::StateOp state = states.lookup(stateName);
      if (!state || state.getTensorType() != value.getType())
        return function.emitError("result '") << name.getValue() << "' is the gradient of no state";
      if (!state.getTensorType().getElementType().isF32())
        return state.emitError("is ") << state.getTensorType()
                                      << "; what trains is f32: export the model in f32, and give --precision for less";
      trained.push_back({state, static_cast<unsigned>(i), value});
    }
    if (trained.empty())
      return function.emitError("the loss depends on no parameter that trains");
    return trained;
  }

  /// That what a training step adds is called as nothing of the model.
  LogicalResult requireFreeNames(const Optimizer &rule, ArrayRef<Trained> trained) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto name = function.getArgAttrOfType<StringAttr>(i, valueNameAttrName);
          name && (name == rateInput || name == stepInput || (name == lossScaleInput && !scalesLoss())))
        return function.emitError("the input '")
               << name.getValue() << "' is called as one that a training step adds; give it another name";
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (auto name = function.getResultAttrOfType<StringAttr>(i, valueNameAttrName);
          name && (name == gradientNormOutput || name == overflowOutput))
        return function.emitError("the output '")
               << name.getValue() << "' is called as one that a training step adds; give it another name";
    llvm::StringSet<> names;
    for (auto state : getOperation().getOps<zero::StateOp>())
      names.insert(state.getName());
    for (Trained one : trained) {
      SmallVector<StringRef> added(rule.states().begin(), rule.states().end());
      if (hasTwin(one.state))
        added.push_back(precision.getValue());
      for (StringRef kept : added)
        if (std::string name = (one.state.getName() + "." + kept).str(); !names.insert(name).second)
          return one.state.emitError("what training keeps for '")
                 << one.state.getName() << "' would be called '" << name << "', as something else is already";
    }
    return success();
  }

  /// Whether it is also kept rounded.
  bool hasTwin(zero::StateOp state) const { return twinType && state.getTensorType().getRank() >= 2; }

  LogicalResult update(const Optimizer &rule) {
    FailureOr<std::vector<Trained>> trained = findTrained();
    if (failed(trained) || failed(requireFreeNames(rule, *trained)))
      return failure();
    OpBuilder builder(function.getBody().front().getTerminator());
    Value scale = scalesLoss() ? findLossScale() : Value();
    Value norm = clip > 0 || gradNorm || scale ? globalNorm(builder, *trained) : Value();
    Value factor, overflow;
    if (scale) {
      factor = inverseOf(builder, scale);
      norm = arith::MulFOp::create(builder, function.getLoc(), norm, factor);
      overflow = isNotFinite(builder, norm);
      keepOnOverflow(builder, overflow);
    }
    if (clip > 0) {
      Value share = clippingFactor(builder, norm);
      factor = factor ? arith::MulFOp::create(builder, function.getLoc(), factor, share) : share;
    }
    llvm::StringMap<Value> inputs;
    for (StringRef name : rule.stepInputs())
      inputs[name] = appendInput(function, name, DataType::f64, {});
    for (Trained &one : *trained) {
      Location location = one.gradient.getLoc();
      RankedTensorType type = one.state.getTensorType();
      SmallVector<zero::StateOp> states{one.state};
      one.state.setRewritten(true);
      auto zeros = zero::SplatAttr::get(&getContext(), builder.getF32FloatAttr(0));
      for (StringRef kept : rule.states())
        states.push_back(addState(one.state, kept, type, zero::Role::moment, zeros, states.back()));
      zero::StateOp twin;
      if (hasTwin(one.state)) {
        auto source = zero::RoundedAttr::get(&getContext(), one.state.getSource());
        twin = addState(one.state, precision.getValue(), type.clone(twinType), zero::Role::twin, source, states.back());
        readTwin(one.state, twin);
      }
      auto values = llvm::map_to_vector(states, [&](zero::StateOp state) -> Value {
        return zero::UseOp::create(builder, location, type, state.getSymName(), IntegerAttr());
      });
      Value gradient = one.gradient;
      if (factor)
        gradient = arith::MulFOp::create(builder, location, gradient, spread(builder, factor, type));
      SmallVector<Value> next =
          rule.build(builder, location, values.front(), gradient, ArrayRef(values).drop_front(),
                     [&](StringRef name) { return inputs.lookup(name); }, type.getRank() >= 2);
      if (overflow)
        for (auto [value, old] : llvm::zip_equal(next, values))
          value = arith::SelectOp::create(builder, location, spread(builder, overflow, type.clone(builder.getI1Type())),
                                          old, value);
      if (twin) {
        states.push_back(twin);
        next.push_back(arith::TruncFOp::create(builder, location, twin.getTensorType(), next.front()));
      }
      SmallVector<Attribute> names = llvm::map_to_vector(states, [](zero::StateOp state) -> Attribute {
        return FlatSymbolRefAttr::get(state);
      });
      zero::UpdateOp::create(builder, location, builder.getArrayAttr(names), /*tile=*/IntegerAttr(), next);
    }
    if (failed(removeGradients(*trained)))
      return failure();
    // Where it clips, nothing else tells that all gradients became zero, or no numbers.
    if (gradNorm || clip > 0)
      appendOutput(function, gradientNormOutput, DataType::f32, norm);
    if (overflow)
      appendOutput(function, overflowOutput, DataType::boolean, overflow);
    return success();
  }

  static Value constant(OpBuilder &builder, Location location, double value) {
    auto type = RankedTensorType::get({}, builder.getF32Type());
    return arith::ConstantOp::create(builder, location,
                                     DenseElementsAttr::get(type, static_cast<float>(value)));
  }
  static Value spread(OpBuilder &builder, Value scalar, RankedTensorType type) {
    return nn::BroadcastOp::create(builder, scalar.getLoc(), type, scalar, ArrayRef<int64_t>());
  }

  Value globalNorm(OpBuilder &builder, MutableArrayRef<Trained> trained) {
    Location location = function.getLoc();
    Value sum = constant(builder, location, 0);
    for (Trained &one : trained) {
      auto dims = llvm::to_vector(llvm::seq<int64_t>(0, one.state.getTensorType().getRank()));
      Value square = nn::ReduceOp::create(builder, one.gradient.getLoc(), sum.getType(),
                                          nn::ReductionKind::sum_square, one.gradient, dims);
      sum = arith::AddFOp::create(builder, location, sum, square);
    }
    return math::SqrtOp::create(builder, location, sum);
  }

  /// Whether gradients may be of a scaled loss.
  bool scalesLoss() const { return precision == "fp16"; }
  /// The input that the loss was multiplied by; null where it was not.
  Value findLossScale() {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto name = function.getArgAttrOfType<StringAttr>(i, valueNameAttrName); name && name == lossScaleInput)
        return function.getArgument(i);
    return {};
  }
  /// In f32; exact for a power of two.
  Value inverseOf(OpBuilder &builder, Value scale) {
    Location location = function.getLoc();
    Value one = constant(builder, location, 1);
    return arith::DivFOp::create(builder, location, one, arith::TruncFOp::create(builder, location, one.getType(), scale));
  }
  Value isNotFinite(OpBuilder &builder, Value number) {
    Value infinity = constant(builder, function.getLoc(), std::numeric_limits<double>::infinity());
    return arith::CmpFOp::create(builder, function.getLoc(), arith::CmpFPredicate::UGE, number, infinity);
  }

  /// What the forward half makes of states, as running statistics, does not last where gradients overflow.
  void keepOnOverflow(OpBuilder &builder, Value overflow) {
    for (zero::UpdateOp update : llvm::to_vector(function.getOps<zero::UpdateOp>())) {
      SmallVector<Value> kept;
      for (auto [name, value] : llvm::zip_equal(update.getStates().getAsRange<FlatSymbolRefAttr>(), update.getValues())) {
        auto type = cast<RankedTensorType>(value.getType());
        Value old = zero::UseOp::create(builder, update.getLoc(), type, name, IntegerAttr());
        kept.push_back(arith::SelectOp::create(builder, update.getLoc(),
                                               spread(builder, overflow, type.clone(builder.getI1Type())), old, value));
      }
      update.getValuesMutable().assign(kept);
      update->moveBefore(function.getBody().front().getTerminator());
    }
  }

  /// min(1, clip / (norm + 1e-6)), as PyTorch's clip_grad_norm_.
  Value clippingFactor(OpBuilder &builder, Value norm) {
    Location location = function.getLoc();
    Value divisor = arith::AddFOp::create(builder, location, norm, constant(builder, location, 1e-6));
    Value share = arith::DivFOp::create(builder, location, constant(builder, location, clip), divisor);
    return arith::MinimumFOp::create(builder, location, share, constant(builder, location, 1));
  }

  /// `what` is kept for a parameter.
  static zero::StateOp addState(zero::StateOp parameter, StringRef what, RankedTensorType type, zero::Role role,
                                Attribute source, Operation *behind) {
    OpBuilder builder(parameter);
    builder.setInsertionPointAfter(behind);
    return zero::StateOp::create(builder, parameter.getLoc(), (parameter.getSymName() + "." + what).str(),
                                 (parameter.getName() + "." + what).str(), type, role, /*rewritten=*/true,
                                 nn::PanelsAttr(), /*rows=*/IntegerAttr(), /*tile=*/IntegerAttr(),
                                 /*partition=*/IntegerAttr(), ArrayAttr(), IntegerAttr(), source);
  }

  /// What reads a parameter so far, reads its twin.
  void readTwin(zero::StateOp parameter, zero::StateOp twin) {
    auto replace = [&](Operation *read, auto create) {
      OpBuilder builder(read);
      auto type = cast<RankedTensorType>(read->getResult(0).getType());
      Value narrow = create(builder, type.clone(twinType));
      read->replaceAllUsesWith(arith::ExtFOp::create(builder, read->getLoc(), type, narrow)->getResults());
      read->erase();
    };
    for (Operation &op : llvm::make_early_inc_range(function.getBody().front()))
      if (auto use = dyn_cast<zero::UseOp>(op); use && use.getState() == parameter.getSymName())
        replace(use, [&](OpBuilder &builder, Type type) {
          return zero::UseOp::create(builder, use.getLoc(), type, twin.getSymName(), IntegerAttr());
        });
      else if (auto lookup = dyn_cast<zero::LookupOp>(op); lookup && lookup.getState() == parameter.getSymName())
        replace(lookup, [&](OpBuilder &builder, Type type) {
          return zero::LookupOp::create(builder, lookup.getLoc(), type, twin.getSymName(), lookup.getIndices());
        });
  }

  LogicalResult removeGradients(ArrayRef<Trained> trained) {
    Operation *end = function.getBody().front().getTerminator();
    llvm::BitVector gradients(function.getNumResults());
    for (const Trained &one : trained)
      gradients.set(one.result);
    end->eraseOperands(gradients);
    return function.eraseResults(gradients);
  }

  func::FuncOp function;
  /// Null where there are no twins.
  FloatType twinType;
};

} // namespace
