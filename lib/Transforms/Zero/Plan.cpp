#include "dialects/Zero/Zero.h"
#include "runtime/base/Size.h"
#include "spillway/Plan/Planner.h"
#include "spillway/Plan/StepExtraction.h"
#include "spillway/Plan/Tiling.h"
#include "spillway/Transforms/Zero/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
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
    if (failed(verifyUpdates(cast<FunctionOpInterface>((*functions.begin()).getOperation()))))
      return signalPassFailure();
    if (auto updates = (*functions.begin()).getOps<UpdateOp>(); !updates.empty())
      if (llvm::any_of(module.getOps<StateOp>(), [](StateOp state) { return state.getPartition().has_value(); })) {
        (*updates.begin()).emitError("a step that trains is planned for one rank alone");
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
    note(*step, *placement);
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
    reasons_.clear();
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
      reasons_.push_back(explain(placement.homes[i], placement.kept[i], placement.awaited[i]));
      remark::passed(state.getLoc(), remark::RemarkOpts::name("placement").category("zero-plan"))
          << state.getName() << " ("
          << formatSize(static_cast<uint64_t>(state.getStoredBytes())) << "): " << reasons_.back();
    }
    SmallVector<Attribute> arenas = {
        ArenaAttr::get(&getContext(), compute, device ? device : memory, placement.stagingBytes, /*outgoing=*/0)};
    if (hasHostTier)
      arenas.push_back(ArenaAttr::get(&getContext(), Tier::host, host, placement.hostStagingBytes,
                                      placement.hostOutgoingBytes));
    module->setAttr(arenasAttrName, ArrayAttr::get(&getContext(), arenas));
  }

  /// Why a state lies where it does.
  static std::string explain(const std::vector<plan::Home> &homes,
                             const std::vector<plan::Kept> &kept, const std::vector<bool> &awaited) {
    auto tiles = static_cast<int64_t>(homes.size());
    SmallVector<std::string> reasons;
    auto add = [&](const char *what, int64_t count, const char *why) {
      if (count)
        reasons.push_back(count == tiles
                              ? llvm::formatv("{0} all of it, {1}", what, why).str()
                              : llvm::formatv("{0} {1} of {2} tiles, {3}", what, count, tiles, why).str());
    };
    add("keeps", llvm::count(kept, plan::Kept::small),
        "since so small a transfer costs more than its bytes");
    add("keeps", llvm::count(kept, plan::Kept::repeated),
        "since each tile of another weight would bring it in again");
    add("keeps", llvm::count(kept, plan::Kept::late), "since a call would wait for the transfer");
    add("keeps", llvm::count(kept, plan::Kept::room), "since there is room");
    int64_t streamed = llvm::count(homes, plan::Home::nvme), waited = 0;
    for (auto [home, isAwaited] : llvm::zip_equal(homes, awaited))
      waited += home == plan::Home::nvme && isAwaited;
    add("streams", waited, "since there is no room for more, though a call waits for the transfer");
    add("streams", streamed - waited, "since the transfer hides behind other calls");
    return llvm::join(reasons, "; ");
  }

  void note(const plan::Step &step, const plan::Placement &placement) {
    plan::Minimum minimum = plan::minimumOf(step);
    Builder builder(&getContext());
    StringRef at = step.moments.empty() ? "" : StringRef(step.moments[minimum.floorMoment].name);
    NamedAttrList decided;
    if (auto activations = getOperation()->getAttrOfType<DictionaryAttr>(activationsAttrName))
      if (auto least = activations.getAs<IntegerAttr>("minimum"))
        minimum.bytes = std::min(minimum.bytes, static_cast<uint64_t>(least.getInt()));
    decided.set("minimum", builder.getI64IntegerAttr(minimum.bytes));
    decided.set("minimum_host", builder.getI64IntegerAttr(minimum.hostBytes));
    decided.set("floor", builder.getI64IntegerAttr(minimum.floorBytes));
    decided.set("floor_at", builder.getStringAttr(at));
    decided.set("seconds", builder.getF64FloatAttr(placement.seconds));
    decided.set("staging", builder.getI64IntegerAttr(placement.stagingBytes));
    decided.set("host_staging", builder.getI64IntegerAttr(placement.hostStagingBytes + placement.hostOutgoingBytes));
    decided.set("reasons", builder.getStrArrayAttr(
                               SmallVector<StringRef>(reasons_.begin(), reasons_.end())));
    getOperation()->setAttr(planAttrName, decided.getDictionary(&getContext()));
  }

  plan::Machine machine_;
  /// Per state.
  std::vector<std::string> reasons_;
};

} // namespace

std::unique_ptr<Pass> spillway::zero::createZeroPlanPass(ZeroPlanPassOptions options,
                                                         plan::Machine machine) {
  return std::make_unique<Plan>(std::move(options), std::move(machine));
}
