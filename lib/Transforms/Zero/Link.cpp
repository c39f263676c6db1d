#include "dialects/Zero/Linked.h"
#include "spillway/Transforms/Zero/Passes.h"

namespace spillway::zero {
#define GEN_PASS_DEF_ZEROLINKPASS
#include "spillway/Transforms/Zero/Passes.h.inc"
} // namespace spillway::zero

using namespace mlir;
using namespace spillway::zero;

namespace {

class Link : public spillway::zero::impl::ZeroLinkPassBase<Link> {
  void runOnOperation() override {
    for (StateOp state : getOperation().getOps<StateOp>()) {
      auto file = dyn_cast<FileAttr>(state.getSource());
      if (!file)
        continue;
      if (file.getVarint()) {
        state.emitWarning() << "'" << state.getName() << "' is copied into the bundle, not linked: "
                            << file.getPath() << " holds it as varints, which have no fixed places";
        continue;
      }
      state->setAttr(linkedAttrName, UnitAttr::get(&getContext()));
      ++numLinked;
    }
  }
};

} // namespace
