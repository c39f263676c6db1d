#include "dialects/Zero/Zero.h"
#include "spillway/Plan/ForwardSegments.h"
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

class Recompute : public zero::impl::ZeroRecomputePassBase<Recompute> {
public:
  using ZeroRecomputePassBase::ZeroRecomputePassBase;

private:
  void runOnOperation() override {
    auto functions = getOperation().getOps<func::FuncOp>();
    if (!llvm::hasSingleElement(functions))
      return;
    func::FuncOp function = *functions.begin();
    plan::ForwardSegments found(function);
    if (found.size() == 0)
      return;
    int64_t count = segments < 0 ? decided("segments", 0) : int64_t(segments);
    int64_t atOnce = std::max<int64_t>(1, segments < 0 ? decided("joined", 1) : int64_t(joined));
    count = std::min(count, static_cast<int64_t>(found.size()) - 1);
    size_t before = llvm::range_size(function.getOps<nn::CallOp>());
    found.recompute(static_cast<size_t>(count), static_cast<size_t>(atOnce));
    numCalls += llvm::range_size(function.getOps<nn::CallOp>()) - before;

    Builder builder(&getContext());
    NamedAttrList made;
    made.set("segments", builder.getI64IntegerAttr(count));
    made.set("joined", builder.getI64IntegerAttr(atOnce));
    made.set("of", builder.getI64IntegerAttr(static_cast<int64_t>(found.size())));
    getOperation()->setAttr(recomputedAttrName, made.getDictionary(&getContext()));
  }

  int64_t decided(StringRef name, int64_t otherwise) {
    auto activations = getOperation()->getAttrOfType<DictionaryAttr>(activationsAttrName);
    auto number = activations ? activations.getAs<IntegerAttr>(name) : IntegerAttr();
    return number ? number.getInt() : otherwise;
  }
};

} // namespace
