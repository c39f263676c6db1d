#include "Plugin.h"

using namespace mlir;
using namespace spillway;

LogicalResult convertSwish(Node &node) {
  Emitter &emit = node.emit;
  Tensor x = node.in(0);
  double alpha = node.attr("alpha", 1.0);
  // f16 and bf16 are computed in f32 and rounded once.
  return node.result(emit.inComputeType(x, [&](Tensor a) {
    return emit.mul(a, emit.sigmoid(emit.mul(a, emit.like(a, alpha))));
  }));
}
