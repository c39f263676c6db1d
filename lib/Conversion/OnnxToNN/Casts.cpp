// Changes of the element type.

#include "spillway/Conversion/OnnxToNN/Node.h"

using namespace mlir;
using namespace spillway;

namespace {

LogicalResult convertCast(Node &node) {
  // Saturation and rounding modes speak of 8-bit floats, which nn lacks.
  node.ignoreAttr("saturate");
  node.ignoreAttr("round_mode");
  auto type = node.typeAttr("to");
  return failed(type) ? failure() : node.result(node.emit.cast(node.in(0), *type));
}

LogicalResult convertCastLike(Node &node) {
  node.ignoreAttr("saturate");
  node.ignoreAttr("round_mode");
  return node.result(node.emit.cast(node.in(0), node.in(1).type));
}

} // namespace

void spillway::addCasts(OperatorTable &table) {
  table.add({
      {"Cast", 6, convertCast, 1, 1, 1, TypeClass::any, "no strings, no 8-bit and 4-bit floats"},
      {"CastLike", 15, convertCastLike, 2, 2},
  });
}
