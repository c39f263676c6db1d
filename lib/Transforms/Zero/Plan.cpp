#include "dialects/Zero/Zero.h"
#include "runtime/base/Size.h"
#include "spillway/Plan/Planner.h"
#include "spillway/Plan/StepExtraction.h"
#include "spillway/Plan/Tiling.h"
#include "spillway/Transforms/Zero/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/MemoryBuffer.h"

namespace spillway::zero {
#define GEN_PASS_DEF_ZEROPLANPASS
#include "spillway/Transforms/Zero/Passes.h.inc"
} // namespace spillway::zero

using namespace mlir;
using namespace spillway;
using namespace spillway::zero;

namespace {

class Plan : public zero::impl::ZeroPlanPassBase<Plan> {
public:
  using ZeroPlanPassBase::ZeroPlanPassBase;
  Plan(ZeroPlanPassOptions options, plan::Machine atHand)
      : ZeroPlanPassBase(std::move(options)), machine_(std::move(atHand)) {}

private:
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto functions = module.getOps<func::FuncOp>();
    if (!llvm::hasSingleElement(functions)) {
      module.emitError("a plan is made for one function");
      return signalPassFailure();
    }
    plan::Tileability tileability(module);
    if (failed(readMachine()) || failed(plan::applyTileRules(module, tileability, states)))
      return signalPassFailure();
    FailureOr<plan::Step> step = plan::extractStep(*functions.begin(), threads);
    if (failed(step))
      return signalPassFailure();
    plan::Budget budget;
    budget.compute = device ? device : memory;
    if (device)
      budget.host = host;
    Result<plan::Placement> placement = plan::place(*step, machine_, budget);
    if (!placement) {
      module.emitError() << placement.error().message;
      return signalPassFailure();
    }
    apply(*placement, budget.host.has_value());
    note(*step, placement->seconds);
  }

  LogicalResult readMachine() {
    if (machine.empty())
      return success();
    auto file = llvm::MemoryBuffer::getFile(machine, /*IsText=*/true);
    if (!file)
      return getOperation().emitError() << machine << ": " << file.getError().message();
    Result<plan::Machine> parsed = plan::Machine::parse((*file)->getBuffer());
    if (!parsed)
      return getOperation().emitError() << machine << ": " << parsed.error().message;
    machine_ = *std::move(parsed);
    return success();
  }

  void apply(const plan::Placement &placement, bool hasHostTier) {
    ModuleOp module = getOperation();
    Tier compute = hasHostTier ? Tier::device : Tier::host;
    for (auto [i, state] : llvm::enumerate(module.getOps<StateOp>())) {
      if (placement.tileUnits[i])
        state.setTile(placement.tileUnits[i]);
      else
        state.removeTileAttr();
      SmallVector<Attribute> homes;
      for (plan::Home home : placement.homes[i]) {
        Tier tier = home == plan::Home::compute ? compute
                    : home == plan::Home::host  ? Tier::host
                                                : Tier::nvme;
        homes.push_back(TierAttr::get(&getContext(), tier));
      }
      if (llvm::all_equal(homes))
        homes.truncate(1);
      state.setHomeAttr(ArrayAttr::get(&getContext(), homes));
      explain(state, placement.homes[i]);
    }
    SmallVector<Attribute> arenas = {
        ArenaAttr::get(&getContext(), compute, device ? device : memory, placement.stagingBytes)};
    if (hasHostTier)
      arenas.push_back(ArenaAttr::get(&getContext(), Tier::host, host, placement.hostStagingBytes));
    module->setAttr(arenasAttrName, ArrayAttr::get(&getContext(), arenas));
  }

  /// Why a state lies where it does.
  void explain(StateOp state, const std::vector<plan::Home> &homes) {
    int64_t kept = llvm::count(homes, plan::Home::compute);
    int64_t inHost = llvm::count(homes, plan::Home::host);
    auto tiles = static_cast<int64_t>(homes.size());
    auto options = remark::RemarkOpts::name("placement").category("zero-plan");
    auto report = [&](StringRef what) {
      remark::passed(state.getLoc(), options)
          << state.getName() << " ("
          << formatSize(static_cast<uint64_t>(state.getStoredBytes())) << ", "
          << std::to_string(tiles) << " tiles): " << what;
    };
    if (kept == tiles)
      return report("stays where kernels compute: its transfer would not hide, or there is room");
    if (kept == 0 && inHost == 0)
      return report("streams from NVMe each step: there is no room for it, and its transfers hide "
                    "best behind what comes before");
    report("stays in part: " + std::to_string(kept) + " tiles where kernels compute, " +
           std::to_string(inHost) + " in the host, others stream from NVMe");
  }

  void note(const plan::Step &step, double seconds) {
    plan::Minimum minimum = plan::minimumOf(step);
    Builder builder(&getContext());
    StringRef at = step.moments.empty() ? "" : StringRef(step.moments[minimum.floorMoment].name);
    getOperation()->setAttr(
        planAttrName,
        builder.getDictionaryAttr(
            {builder.getNamedAttr("floor", builder.getI64IntegerAttr(minimum.floorBytes)),
             builder.getNamedAttr("floor_at", builder.getStringAttr(at)),
             builder.getNamedAttr("minimum", builder.getI64IntegerAttr(minimum.bytes)),
             builder.getNamedAttr("seconds", builder.getF64FloatAttr(seconds))}));
  }

  plan::Machine machine_;
};

} // namespace

std::unique_ptr<Pass> spillway::zero::createZeroPlanPass(ZeroPlanPassOptions options,
                                                         plan::Machine machine) {
  return std::make_unique<Plan>(std::move(options), std::move(machine));
}
