// Comparisons, logic and choice.

#include "spillway/Conversion/OnnxToNN/Node.h"

using namespace mlir;
using namespace spillway;

namespace {

using BinaryMethod = Tensor (Emitter::*)(Tensor, Tensor);
using Order = Emitter::Order;

template <Order order> LogicalResult convertComparison(Node &node) {
  auto inputs = node.broadcastInputs();
  if (failed(inputs))
    return failure();
  return node.result(node.emit.compare(order, (*inputs)[0], (*inputs)[1]));
}

template <BinaryMethod method> LogicalResult convertLogic(Node &node) {
  auto inputs = node.broadcastInputs();
  if (failed(inputs))
    return failure();
  return node.result((node.emit.*method)((*inputs)[0], (*inputs)[1]));
}

LogicalResult convertNot(Node &node) { return node.result(node.emit.logicalNot(node.in(0))); }

LogicalResult convertIsNaN(Node &node) { return node.result(node.emit.isNaN(node.in(0))); }

LogicalResult convertIsInf(Node &node) {
  bool negative = node.attr("detect_negative", int64_t{1}) != 0;
  bool positive = node.attr("detect_positive", int64_t{1}) != 0;
  Emitter &emit = node.emit;
  Tensor x = node.in(0);
  auto isInfinity = [&](double infinity) {
    return emit.compare(Order::equal, x, emit.like(x, infinity));
  };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (negative && positive)
    return node.result(emit.logicalOr(isInfinity(infinity), isInfinity(-infinity)));
  if (!negative && !positive)
    return node.result(emit.splatInt(DataType::boolean, x.shape(), 0));
  return node.result(isInfinity(positive ? infinity : -infinity));
}

LogicalResult convertWhere(Node &node) {
  if (failed(node.sameTypes({1, 2})))
    return failure();
  auto inputs = node.broadcastAll({node.in(0), node.in(1), node.in(2)});
  if (failed(inputs))
    return failure();
  return node.result(node.emit.select((*inputs)[0], (*inputs)[1], (*inputs)[2]));
}

} // namespace

void spillway::addLogic(OperatorTable &table) {
  constexpr auto boolean = TypeClass::boolean, numeric = TypeClass::numeric,
                 floats = TypeClass::floats;
  table.add({
      {"And", 1, convertLogic<&Emitter::logicalAnd>, 2, 2, 1, boolean},
      {"Equal", 1, convertComparison<Order::equal>, 2, 2},
      {"Greater", 1, convertComparison<Order::greater>, 2, 2, 1, numeric},
      {"GreaterOrEqual", 12, convertComparison<Order::greaterOrEqual>, 2, 2, 1, numeric},
      {"IsInf", 10, convertIsInf, 1, 1, 1, floats},
      {"IsNaN", 9, convertIsNaN, 1, 1, 1, floats},
      {"Less", 1, convertComparison<Order::less>, 2, 2, 1, numeric},
      {"LessOrEqual", 12, convertComparison<Order::lessOrEqual>, 2, 2, 1, numeric},
      {"Not", 1, convertNot, 1, 1, 1, boolean},
      {"Or", 1, convertLogic<&Emitter::logicalOr>, 2, 2, 1, boolean},
      {"Where", 9, convertWhere, 3, 3, 1, boolean},
      {"Xor", 1, convertLogic<&Emitter::logicalXor>, 2, 2, 1, boolean},
  });
}
