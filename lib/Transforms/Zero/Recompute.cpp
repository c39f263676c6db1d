#include "dialects/Zero/Zero.h"
#include "spillway/Plan/ForwardSegments.h"
#include "spillway/Plan/Planner.h"
#include "spillway/Plan/StepExtraction.h"
#include "spillway/Plan/Tiling.h"
#include "spillway/Transforms/Zero/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace spillway::zero {
#define GEN_PASS_DEF_ZERORECOMPUTEPASS
#include "spillway/Transforms/Zero/Passes.h.inc"
} // namespace spillway::zero

using namespace mlir;
using namespace spillway;
using namespace spillway::zero;

namespace {

/// Shares of the segments that are tried, in eighths.
constexpr size_t shares = 8;

struct Choice {
  size_t segments = 0, joined = 1;
  auto operator<=>(const Choice &) const = default;
};

/// Of a step: the last segment never waits, so to compute it again saves nothing.
std::vector<Choice> choicesFor(size_t segments) {
  std::vector<Choice> choices{{0, 1}};
  size_t most = segments ? segments - 1 : 0;
  for (size_t share = 1; share <= shares; ++share)
    if (Choice choice{most * share / shares, 1}; choice != choices.back())
      choices.push_back(choice);
  for (size_t joined = 2; joined < most; joined *= 2)
    choices.push_back({most, joined});
  return choices;
}

class Recompute : public zero::impl::ZeroRecomputePassBase<Recompute> {
public:
  using ZeroRecomputePassBase::ZeroRecomputePassBase;
  Recompute(ZeroRecomputePassOptions options, plan::Machine atHand)
      : ZeroRecomputePassBase(std::move(options)), machine_(std::move(atHand)) {}

private:
  void runOnOperation() override {
    func::FuncOp function = functionOf(getOperation());
    if (!function)
      return;
    plan::ForwardSegments found(function);
    if (found.size() == 0)
      return;
    Choice choice{0, static_cast<size_t>(std::max<int64_t>(1, joined))};
    if (segments >= 0) {
      choice.segments = std::min(static_cast<size_t>(segments), found.size() - 1);
    } else if (memory) {
      FailureOr<Choice> best = chooseFor(found.size());
      if (failed(best))
        return signalPassFailure();
      choice = *best;
    }
    size_t before = llvm::range_size(function.getOps<nn::CallOp>());
    found.recompute(choice.segments, choice.joined);
    numCalls += llvm::range_size(function.getOps<nn::CallOp>()) - before;
    note(choice, found.size());
  }

  void note(Choice choice, size_t count) {
    Builder builder(&getContext());
    NamedAttrList made;
    auto set = [&](StringRef name, uint64_t value) { made.set(name, builder.getI64IntegerAttr(static_cast<int64_t>(value))); };
    set("segments", choice.segments);
    set("joined", choice.joined);
    set("of", count);
    if (minimum_)
      set("minimum", *minimum_);
    getOperation()->setAttr(recomputedAttrName, made.getDictionary(&getContext()));
  }

  static func::FuncOp functionOf(ModuleOp module) {
    auto functions = module.getOps<func::FuncOp>();
    return llvm::hasSingleElement(functions) ? *functions.begin() : func::FuncOp();
  }

  /// The choice with the fastest plan; where none fits, the one that needs the least memory.
  FailureOr<Choice> chooseFor(size_t count) {
    std::optional<Choice> best;
    double seconds = 0;
    Choice smallest;
    bool allStays = false;
    for (Choice choice : choicesFor(count)) {
      FailureOr<plan::Step> step = stepWith(choice);
      if (failed(step))
        return failure();
      if (uint64_t bytes = plan::minimumOf(*step).bytes; !minimum_ || bytes < *minimum_) {
        minimum_ = bytes;
        smallest = choice;
      }
      // Nothing is faster than to keep everything where there is room.
      if (allStays)
        continue;
      plan::Budget budget;
      budget.compute = memory;
      if (host)
        budget.host = host;
      Result<plan::Placement> placement = plan::place(*step, machine_, budget);
      if (!placement || (best && placement->seconds >= seconds))
        continue;
      best = choice;
      seconds = placement->seconds;
      allStays = llvm::all_of(placement->homes, [](const std::vector<plan::Home> &homes) {
        return llvm::all_of(homes, [](plan::Home home) { return home == plan::Home::compute; });
      });
    }
    return best.value_or(smallest);
  }

  FailureOr<plan::Step> stepWith(Choice choice) {
    OwningOpRef<ModuleOp> copy = getOperation().clone();
    func::FuncOp function = functionOf(*copy);
    plan::ForwardSegments(function).recompute(choice.segments, choice.joined);
    plan::Tileability tileability(*copy);
    if (failed(plan::applyTileRules(*copy, tileability, states)))
      return failure();
    return plan::extractStep(function, threads);
  }

  plan::Machine machine_;
  /// The smallest budget that some choice works with.
  std::optional<uint64_t> minimum_;
};

} // namespace

std::unique_ptr<Pass> spillway::zero::createZeroRecomputePass(ZeroRecomputePassOptions options, plan::Machine machine) {
  return std::make_unique<Recompute>(std::move(options), std::move(machine));
}
