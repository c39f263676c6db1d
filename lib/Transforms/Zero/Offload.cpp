#include "spillway/Plan/Offload.h"

#include "dialects/Zero/Zero.h"
#include "spillway/Transforms/Zero/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace spillway::zero {
#define GEN_PASS_DEF_ZEROOFFLOADPASS
#include "spillway/Transforms/Zero/Passes.h.inc"
} // namespace spillway::zero

using namespace mlir;
using namespace spillway;
using namespace spillway::zero;

namespace {

class Offload : public zero::impl::ZeroOffloadPassBase<Offload> {
public:
  using ZeroOffloadPassBase::ZeroOffloadPassBase;
  Offload(ZeroOffloadPassOptions options, plan::Machine atHand)
      : ZeroOffloadPassBase(std::move(options)), machine_(std::move(atHand)) {}

private:
  void runOnOperation() override {
    auto functions = getOperation().getOps<func::FuncOp>();
    if (!llvm::hasSingleElement(functions))
      return;
    plan::OffloadChoice choice{static_cast<unsigned>(std::max<int64_t>(0, share)),
                               static_cast<unsigned>(std::max<int64_t>(0, lead))};
    if (auto decided = getOperation()->getAttrOfType<DictionaryAttr>(activationsAttrName); decided && share < 0)
      choice = {static_cast<unsigned>(decided.getAs<IntegerAttr>("share").getInt()),
                static_cast<unsigned>(decided.getAs<IntegerAttr>("lead").getInt())};
    plan::Offloaded done = plan::offload(*functions.begin(), machine_, static_cast<unsigned>(threads), choice);
    numValues += done.values;
    if (done.values == 0)
      return;
    Builder builder(&getContext());
    NamedAttrList made;
    made.set("values", builder.getI64IntegerAttr(static_cast<int64_t>(done.values)));
    made.set("bytes", builder.getI64IntegerAttr(static_cast<int64_t>(done.bytes)));
    getOperation()->setAttr(offloadedAttrName, made.getDictionary(&getContext()));
  }

  plan::Machine machine_;
};

} // namespace

std::unique_ptr<Pass> spillway::zero::createZeroOffloadPass(ZeroOffloadPassOptions options, plan::Machine machine) {
  return std::make_unique<Offload>(std::move(options), std::move(machine));
}
