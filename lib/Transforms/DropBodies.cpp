#include "spillway/Transforms/Passes.h"

namespace spillway {
#define GEN_PASS_DEF_NNDROPBODIESPASS
#include "spillway/Transforms/Passes.h.inc"
} // namespace spillway

using namespace mlir;
using namespace spillway;

namespace {

struct DropBodies : public spillway::impl::NNDropBodiesPassBase<DropBodies> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<nn::KernelOp>()) {
      kernel.setCostAttr(nn::costOf(kernel));
      kernel.setPrivate();
      Region &body = kernel.getBody();
      body.dropAllReferences();
      body.getBlocks().clear();
    }
  }
};

} // namespace
