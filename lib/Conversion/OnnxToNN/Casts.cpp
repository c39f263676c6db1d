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
  if (Tensor like = node.in(1); like.bits != 0)
    return node.error() << "elements of " << int{like.bits} << " bits are not supported as results";
  return node.result(node.emit.cast(node.in(0), node.in(1).type));
}

/// The same bits as another type of the same width.
LogicalResult convertBitCast(Node &node) {
  Emitter &emit = node.emit;
  Tensor x = node.in(0);
  auto type = node.typeAttr("to");
  if (failed(type))
    return failure();
  if (x.bits != 0 || byteWidth(x.type) != byteWidth(*type))
    return node.error() << "the elements of " << x.tensorType() << " have not the width of "
                        << name(*type);
  if (isFloat(x.type) == isFloat(*type) && (!isFloat(x.type) || x.type == *type))
    return node.result(emit.cast(x, *type));
  return node.result(
      {emit.create<arith::BitcastOp>(emit.typeOf(*type, x.shape()), x.value), *type});
}

} // namespace

void spillway::addCasts(OperatorTable &table) {
  table.add({
      {"BitCast", 26, convertBitCast, 1, 1, 1, TypeClass::any,
       "no strings, no types of fewer bits than a byte"},
      {"Cast", 6, convertCast, 1, 1, 1, TypeClass::any, "no strings, no 8-bit and 4-bit floats"},
      {"CastLike", 15, convertCastLike, 2, 2},
  });
}
