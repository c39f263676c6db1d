#include "dialects/Zero/Zero.h"
#include "spillway/Plan/ForwardSegments.h"
#include "spillway/Plan/Offload.h"
#include "spillway/Plan/Planner.h"
#include "spillway/Plan/StepExtraction.h"
#include "spillway/Plan/Tiling.h"
#include "spillway/Transforms/Zero/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <limits>

namespace spillway::zero {
#define GEN_PASS_DEF_ZEROACTIVATIONSPASS
#include "spillway/Transforms/Zero/Passes.h.inc"
} // namespace spillway::zero

using namespace mlir;
using namespace spillway;
using namespace spillway::zero;

namespace {

struct Choice {
  size_t segments = 0, joined = 1;
  plan::OffloadChoice offload{0, 1};
};

/// Shares are tried in eighths.
constexpr unsigned shares = 8;

/// Of how many segments are computed again: the last one never waits, so to compute it again saves nothing.
void addRecomputing(size_t most, std::vector<Choice> &choices) {
  size_t last = 0;
  for (size_t share = 1; share <= shares; ++share)
    if (size_t segments = most * share / shares; std::exchange(last, segments) != segments)
      choices.push_back({segments});
  for (size_t joined = 2; joined < most; joined *= 2)
    choices.push_back({most, joined});
}

std::vector<Choice> choicesFor(StringRef policy, size_t segments, bool offloads) {
  constexpr plan::OffloadChoice patient{shares, 2}, prompt{shares, 1}, atOnce{shares, 0};
  size_t most = segments ? segments - 1 : 0;
  if (policy == "keep")
    return {Choice{}};
  if (policy == "recompute")
    return {Choice{most}};
  if (policy == "offload")
    return {Choice{0, 1, patient}, Choice{0, 1, prompt}, Choice{0, 1, atOnce}};
  // What computes least comes first, so that of the others few need to be planned.
  std::vector<Choice> choices{Choice{}};
  if (!offloads) {
    addRecomputing(most, choices);
    return choices;
  }
  for (plan::OffloadChoice offload : {patient, plan::OffloadChoice{shares / 2, 2}, prompt, atOnce})
    choices.push_back({0, 1, offload});
  addRecomputing(most, choices);
  for (size_t quarters = 1; quarters <= 4 && most != 0; ++quarters)
    choices.push_back({most * quarters / 4, 1, prompt});
  if (most != 0)
    choices.push_back({most, 1, atOnce});
  return choices;
}

class Activations : public zero::impl::ZeroActivationsPassBase<Activations> {
public:
  using ZeroActivationsPassBase::ZeroActivationsPassBase;
  Activations(ZeroActivationsPassOptions options, plan::Machine atHand)
      : ZeroActivationsPassBase(std::move(options)), machine_(std::move(atHand)) {}

private:
  void runOnOperation() override {
    StringRef wanted = policy.getValue();
    if (!llvm::is_contained(ArrayRef<StringRef>{"auto", "keep", "recompute", "offload"}, wanted)) {
      getOperation().emitError("no policy '") << wanted << "'";
      return signalPassFailure();
    }
    func::FuncOp function = functionOf(getOperation());
    if (!function || function.getOps<UpdateOp>().empty())
      return;
    if (host && wanted == "offload") {
      getOperation().emitError("values are offloaded from the memory of one tier alone, not from a device's");
      return signalPassFailure();
    }
    FailureOr<Choice> choice = choose(choicesFor(wanted, plan::ForwardSegments(function).size(), /*offloads=*/host == 0));
    if (failed(choice))
      return signalPassFailure();
    note(*choice);
  }

  void note(Choice choice) {
    Builder builder(&getContext());
    NamedAttrList made;
    auto set = [&](StringRef name, uint64_t value) { made.set(name, builder.getI64IntegerAttr(static_cast<int64_t>(value))); };
    set("segments", choice.segments);
    set("joined", choice.joined);
    set("share", choice.offload.share);
    set("lead", choice.offload.lead);
    if (minimum_)
      set("minimum", *minimum_);
    getOperation()->setAttr(activationsAttrName, made.getDictionary(&getContext()));
  }

  static func::FuncOp functionOf(ModuleOp module) {
    auto functions = module.getOps<func::FuncOp>();
    return llvm::hasSingleElement(functions) ? *functions.begin() : func::FuncOp();
  }

  /// The choice with the fastest plan; where none fits, the one that needs the least memory.
  FailureOr<Choice> choose(ArrayRef<Choice> choices) {
    if (choices.size() == 1)
      return choices.front();
    std::optional<Choice> best;
    double seconds = 0;
    Choice smallest;
    bool allStays = false;
    for (const Choice &choice : choices) {
      FailureOr<plan::Step> step = stepWith(choice);
      if (failed(step))
        return failure();
      if (uint64_t bytes = plan::minimumOf(*step).bytes; !minimum_ || bytes < *minimum_) {
        minimum_ = bytes;
        smallest = choice;
      }
      // Nothing is faster than to keep everything where there is room.
      if (allStays || (best && leastSeconds(*step) >= seconds))
        continue;
      plan::Budget budget;
      budget.compute = memory;
      if (host)
        budget.host = host;
      Result<plan::Placement> placement =
          plan::place(*step, machine_, budget, best ? seconds : std::numeric_limits<double>::infinity());
      if (!placement || (best && placement->seconds >= seconds))
        continue;
      best = choice;
      seconds = placement->seconds;
      allStays = step->offloaded.empty() && choice.segments == 0 &&
                 llvm::all_of(placement->homes, [](const std::vector<plan::Home> &homes) {
                   return llvm::all_of(homes, [](plan::Home home) { return home == plan::Home::compute; });
                 });
    }
    return best.value_or(smallest);
  }

  /// No plan is faster: with all states in memory.
  double leastSeconds(const plan::Step &step) const {
    plan::Placement resident;
    resident.tileUnits.resize(step.states.size());
    resident.homes.assign(step.states.size(), {plan::Home::compute});
    return plan::predict(step, machine_, resident, /*hasHostTier=*/host != 0).value_or(0);
  }

  FailureOr<plan::Step> stepWith(const Choice &choice) {
    OwningOpRef<ModuleOp> copy = getOperation().clone();
    func::FuncOp function = functionOf(*copy);
    plan::ForwardSegments(function).recompute(choice.segments, choice.joined);
    plan::offload(function, machine_, static_cast<unsigned>(threads), choice.offload);
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

std::unique_ptr<Pass> spillway::zero::createZeroActivationsPass(ZeroActivationsPassOptions options, plan::Machine machine) {
  return std::make_unique<Activations>(std::move(options), std::move(machine));
}
