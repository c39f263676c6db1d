// Reductions along axes, and running sums.

#include "lib/Conversion/OnnxToNN/Indices.h"
#include "lib/Conversion/OnnxToNN/Windows.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace spillway;

namespace {

using Kind = nn::ReductionKind;

/// What a reduction over no axes does to each element.
Tensor reduceNothing(Emitter &emit, Kind kind, Tensor x) {
  switch (kind) {
  case Kind::sum_square:
    return emit.mul(x, x);
  case Kind::l1:
  case Kind::l2:
    return emit.abs(x);
  case Kind::log_sum:
    return emit.unary<math::LogOp>(x);
  default:
    return x;
  }
}

/// Integers have no logarithm or root: those kinds are computed in f64.
bool needsFloats(Kind kind) {
  return kind == Kind::l2 || kind == Kind::log_sum || kind == Kind::log_sum_exp;
}

template <Kind kind> LogicalResult convertReduce(Node &node) {
  Tensor x = node.in(0);
  bool keep = node.attr("keepdims", int64_t{1}) != 0;
  bool noop = node.attr("noop_with_empty_axes", int64_t{0}) != 0;
  bool axesAreInput = node.getOperator().maxInputs == 2;
  SmallVector<int64_t> given;
  if (axesAreInput && node.has(1)) {
    auto values = node.ints(1, "axes");
    if (failed(values))
      return failure();
    given = *values;
  } else if (auto values = axesAreInput ? std::nullopt : node.intsAttr("axes")) {
    given = *values;
  }
  auto axes = node.axes(given, x.rank());
  if (failed(axes))
    return failure();
  if (axes->empty() && !(axesAreInput && noop))
    *axes = allDims(x.rank());

  Emitter &emit = node.emit;
  if (x.type == DataType::boolean && kind != Kind::max && kind != Kind::min)
    return node.error() << "booleans have a maximum and a minimum only";
  auto reduce = [&](Tensor a) {
    return axes->empty() ? reduceNothing(emit, kind, a) : emit.reduce(kind, a, *axes, keep);
  };
  if (isInteger(x.type) && needsFloats(kind))
    return node.result(emit.cast(reduce(emit.cast(x, DataType::f64)), x.type));
  return node.result(reduce(x));
}

/// The first (or last) index of the largest (or smallest) element along an axis: the lowest (or
/// highest) index among those that equal the extremum.
Tensor extremeIndex(Emitter &emit, Kind kind, Tensor x, int64_t axis, bool last, bool keep) {
  Tensor extremum = emit.broadcast(emit.reduce(kind, x, {axis}, true), x.shape());
  Tensor isExtreme = emit.compare(Emitter::Order::equal, x, extremum);
  if (isFloat(x.type)) // a NaN is the extremum, and equals nothing
    isExtreme = emit.logicalOr(isExtreme, emit.isNaN(x));
  Tensor index = emit.iota(DataType::i64, x.shape(), axis);
  Tensor none = emit.likeInt(index, last ? -1 : x.size(axis));
  Tensor candidates = emit.select(isExtreme, index, none);
  return emit.reduce(last ? Kind::max : Kind::min, candidates, {axis}, keep);
}

template <Kind kind> LogicalResult convertArg(Node &node) {
  Tensor x = node.in(0);
  auto axis = node.axis(node.attr("axis", int64_t{0}), x.rank());
  bool keep = node.attr("keepdims", int64_t{1}) != 0;
  bool last = node.attr("select_last_index", int64_t{0}) != 0;
  if (failed(axis))
    return failure();
  if (x.size(*axis) == 0)
    return node.error() << "axis " << *axis << " has no elements";
  return node.result(extremeIndex(node.emit, kind, x, *axis, last, keep));
}

/// One at the first largest element along an axis, zero elsewhere.
Tensor hardmax(Emitter &emit, Tensor x, int64_t axis) {
  if (x.count() == 0)
    return x;
  Tensor index = extremeIndex(emit, Kind::max, x, axis, /*last=*/false, /*keep=*/true);
  Tensor isFirst = emit.compare(Emitter::Order::equal, emit.broadcast(index, x.shape()),
                                emit.iota(DataType::i64, x.shape(), axis));
  return emit.cast(isFirst, x.type);
}

LogicalResult convertHardmax(Node &node) {
  auto axis = node.axis(node.attr("axis", int64_t{-1}), node.in(0).rank());
  return failed(axis) ? failure() : node.result(hardmax(node.emit, node.in(0), *axis));
}

LogicalResult convertFlattenedHardmax(Node &node) {
  return convertAsMatrix(node, [](Emitter &emit, Tensor x) { return hardmax(emit, x, x.rank() - 1); });
}

/// `along` the axis that input 1 holds.
LogicalResult convertAlongAxis(Node &node, llvm::function_ref<Tensor(int64_t)> along) {
  Emitter &emit = node.emit;
  Tensor x = node.in(0);
  Tensor where = node.in(1);
  if (!isInteger(where.type) || where.count() != 1)
    return node.error() << "the axis must be one integer, not " << where.tensorType();
  if (!node.isKnown(1)) {
    // Of all axes the one that it turns out to be.
    auto allowed = within(node, emit.reshape(where, {}), -x.rank(), x.rank() - 1, "the axis");
    if (failed(allowed))
      return failure();
    where = emit.cast(*allowed, DataType::i64);
    Tensor result = x;
    for (int64_t axis = 0; axis < x.rank(); ++axis) {
      auto is = [&](int64_t value) {
        return emit.compare(Emitter::Order::equal, where, emit.splatInt(where.type, {}, value));
      };
      Tensor isAxis = emit.logicalOr(is(axis), is(axis - x.rank()));
      result = emit.select(emit.broadcast(isAxis, x.shape()), along(axis), result);
    }
    return node.result(result);
  }
  auto given = node.intScalar(1, "the axis");
  auto axis = failed(given) ? given : node.axis(*given, x.rank());
  return failed(axis) ? failure() : node.result(along(*axis));
}

LogicalResult convertCumSum(Node &node) {
  Tensor x = node.in(0);
  bool exclusive = node.attr("exclusive", int64_t{0}) != 0;
  bool reverse = node.attr("reverse", int64_t{0}) != 0;
  return convertAlongAxis(node, [&](int64_t axis) -> Tensor {
    return {node.emit.create<nn::CumsumOp>(x.tensorType(), x.value, axis, exclusive, reverse),
            x.type};
  });
}

/// Products of 1, 2, 4, ... elements up to each one, each step from two of the step before.
Tensor runningProduct(Emitter &emit, Tensor x, int64_t axis, bool exclusive, bool reverse) {
  auto shifted = [&](Tensor product, int64_t by) {
    Shape low(x.rank(), 0);
    low[axis] = reverse ? -by : by;
    return padTo(emit, product, low, x.shape(), emit.splat(product.type, {}, 1));
  };
  return emit.inComputeType(x, [&](Tensor product) {
    if (exclusive)
      product = shifted(product, 1);
    for (int64_t reach = 1; reach < x.size(axis); reach *= 2)
      product = emit.mul(product, shifted(product, reach));
    return product;
  });
}

LogicalResult convertCumProd(Node &node) {
  bool exclusive = node.attr("exclusive", int64_t{0}) != 0;
  bool reverse = node.attr("reverse", int64_t{0}) != 0;
  return convertAlongAxis(node, [&](int64_t axis) {
    return runningProduct(node.emit, node.in(0), axis, exclusive, reverse);
  });
}

/// A reduction whose axes are an attribute below `inputSince`, and an input from then on.
template <Kind kind>
void addReduction(OperatorTable &table, llvm::StringLiteral name, int64_t inputSince,
                  TypeClass types) {
  table.add({{name, 1, convertReduce<kind>, 1, 1, 1, types},
             {name, inputSince, convertReduce<kind>, 1, 2, 1, types,
              "the axes must be known at compile time"}});
}

} // namespace

void spillway::addReductions(OperatorTable &table) {
  constexpr auto numeric = TypeClass::numeric;
  addReduction<Kind::l1>(table, "ReduceL1", 18, numeric);
  addReduction<Kind::l2>(table, "ReduceL2", 18, numeric);
  addReduction<Kind::log_sum>(table, "ReduceLogSum", 18, numeric);
  addReduction<Kind::log_sum_exp>(table, "ReduceLogSumExp", 18, numeric);
  addReduction<Kind::max>(table, "ReduceMax", 18, TypeClass::any);
  addReduction<Kind::mean>(table, "ReduceMean", 18, numeric);
  addReduction<Kind::min>(table, "ReduceMin", 18, TypeClass::any);
  addReduction<Kind::prod>(table, "ReduceProd", 18, numeric);
  addReduction<Kind::sum>(table, "ReduceSum", 13, numeric);
  addReduction<Kind::sum_square>(table, "ReduceSumSquare", 18, numeric);
  table.add({
      {"ArgMax", 1, convertArg<Kind::max>, 1, 1, 1, numeric},
      {"ArgMin", 1, convertArg<Kind::min>, 1, 1, 1, numeric},
      {"Hardmax", 1, convertFlattenedHardmax, 1, 1, 1, TypeClass::floats},
      {"Hardmax", 13, convertHardmax, 1, 1, 1, TypeClass::floats},
      {"CumProd", 26, convertCumProd, 2, 2, 1, numeric},
      {"CumSum", 11, convertCumSum, 2, 2, 1, numeric},
  });
}
