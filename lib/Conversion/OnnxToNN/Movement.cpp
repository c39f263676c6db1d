// Operators that move elements without computing: shapes, orders, parts and repeats.

#include "spillway/Conversion/OnnxToNN/Node.h"

using namespace mlir;
using namespace spillway;

namespace {

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// A reshape to a shape that the node's inputs and attributes define; an error
/// where the number of elements differs.
LogicalResult reshapeTo(Node &node, ArrayRef<int64_t> shape) {
  Tensor x = node.in(0);
  auto count = elementCount(shape);
  if (!count || *count != x.count())
    return node.error() << "cannot reshape " << x.tensorType() << " to ["
                        << llvm::iterator_range(shape.begin(), shape.end()) << "]";
  return node.result(node.emit.reshape(x, shape));
}

LogicalResult convertReshape(Node &node) {
  auto wanted = node.ints(1, "the shape");
  if (failed(wanted))
    return failure();
  bool allowZero = node.attr("allowzero", int64_t{0}) != 0;
  ArrayRef<int64_t> from = node.in(0).shape();
  Shape shape(*wanted);
  std::optional<size_t> inferred;
  for (auto [i, size] : llvm::enumerate(shape)) {
    if (size == 0 && !allowZero) {
      if (i >= from.size())
        return node.error() << "shape entry " << i << " copies a dimension that the input lacks";
      size = from[i];
    } else if (size == -1) {
      if (inferred)
        return node.error() << "the shape has more than one -1";
      inferred = i;
    } else if (size < 0) {
      return node.error() << "the shape holds " << size;
    }
  }
  if (inferred) {
    shape[*inferred] = 1;
    auto rest = elementCount(shape);
    int64_t count = node.in(0).count();
    if (!rest || *rest == 0 || count % *rest != 0)
      return node.error() << "no size for the -1 of the shape gives the " << count
                          << " elements of " << node.in(0).tensorType();
    shape[*inferred] = count / *rest;
  }
  return reshapeTo(node, shape);
}

LogicalResult convertFlatten(Node &node) {
  Tensor x = node.in(0);
  int64_t axis = node.attr("axis", int64_t{1});
  if (axis < -x.rank() || axis > x.rank())
    return node.error() << "axis " << axis << " lies outside rank " << x.rank();
  if (axis < 0)
    axis += x.rank();
  auto product = [](ArrayRef<int64_t> sizes) { return *elementCount(sizes); };
  return reshapeTo(node,
                   {product(x.shape().take_front(axis)), product(x.shape().drop_front(axis))});
}

LogicalResult squeezeAxes(Node &node, std::optional<ArrayRef<int64_t>> given) {
  Tensor x = node.in(0);
  SmallVector<int64_t> dims;
  if (given) {
    auto axes = node.axes(*given, x.rank());
    if (failed(axes))
      return failure();
    dims = *axes;
  }
  Shape shape;
  for (int64_t d = 0; d < x.rank(); ++d) {
    bool drops = given ? llvm::is_contained(dims, d) : x.size(d) == 1;
    if (drops && x.size(d) != 1)
      return node.error() << "axis " << d << " of " << x.tensorType() << " is not of size 1";
    if (!drops)
      shape.push_back(x.size(d));
  }
  return reshapeTo(node, shape);
}

LogicalResult unsqueezeAxes(Node &node, ArrayRef<int64_t> given) {
  Tensor x = node.in(0);
  int64_t rank = x.rank() + static_cast<int64_t>(given.size());
  auto axes = node.axes(given, rank);
  if (failed(axes))
    return failure();
  Shape shape;
  auto rest = x.shape();
  for (int64_t d = 0; d < rank; ++d) {
    if (llvm::is_contained(*axes, d)) {
      shape.push_back(1);
    } else {
      shape.push_back(rest.front());
      rest = rest.drop_front();
    }
  }
  return reshapeTo(node, shape);
}

LogicalResult convertSqueezeAttribute(Node &node) {
  auto axes = node.intsAttr("axes");
  return squeezeAxes(node, axes ? std::optional<ArrayRef<int64_t>>(*axes) : std::nullopt);
}

LogicalResult convertSqueeze(Node &node) {
  if (!node.has(1))
    return squeezeAxes(node, std::nullopt);
  auto axes = node.ints(1, "axes");
  return failed(axes) ? failure() : squeezeAxes(node, ArrayRef<int64_t>(*axes));
}

LogicalResult convertUnsqueezeAttribute(Node &node) {
  auto axes = node.intsAttr("axes");
  if (!axes)
    return node.error() << "the attribute axes is required";
  return unsqueezeAxes(node, *axes);
}

LogicalResult convertUnsqueeze(Node &node) {
  auto axes = node.ints(1, "axes");
  return failed(axes) ? failure() : unsqueezeAxes(node, *axes);
}

LogicalResult convertIdentity(Node &node) {
  node.set(0, node.value(0));
  return success();
}

//===----------------------------------------------------------------------===//
// Orders and repeats
//===----------------------------------------------------------------------===//

LogicalResult convertTranspose(Node &node) {
  Tensor x = node.in(0);
  SmallVector<int64_t> perm = llvm::to_vector(llvm::reverse(allDims(x.rank())));
  if (auto given = node.intsAttr("perm"))
    perm = *given;
  SmallVector<int64_t> sorted(perm);
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, x.rank())))
    return node.error() << "perm is not a permutation of " << x.rank() << " dimensions";
  return node.result(node.emit.transpose(x, perm));
}

LogicalResult convertExpand(Node &node) {
  auto wanted = node.ints(1, "the shape");
  if (failed(wanted))
    return failure();
  for (int64_t size : *wanted)
    if (size < 0)
      return node.error() << "the shape holds " << size;
  auto shape = broadcastShapes(node.in(0).shape(), *wanted);
  if (!shape || !elementCount(*shape))
    return node.error() << node.in(0).tensorType() << " does not broadcast to ["
                        << llvm::iterator_range(wanted->begin(), wanted->end()) << "]";
  return node.result(node.emit.broadcast(node.in(0), *shape));
}

LogicalResult convertTile(Node &node) {
  Tensor x = node.in(0);
  auto repeats = node.ints(1, "repeats");
  if (failed(repeats))
    return failure();
  if (static_cast<int64_t>(repeats->size()) != x.rank())
    return node.error() << "there must be one repeat per dimension";
  // Each repeated dimension becomes two, of which the first is stretched.
  Shape split, stretched, merged;
  for (auto [repeat, size] : llvm::zip_equal(*repeats, x.shape())) {
    if (repeat < 0)
      return node.error() << "repeats hold " << repeat;
    if (repeat != 1) {
      split.push_back(1);
      stretched.push_back(repeat);
    }
    split.push_back(size);
    stretched.push_back(size);
    if (!elementCount({repeat, size}))
      return node.error() << "the result is too large";
    merged.push_back(repeat * size);
  }
  if (!elementCount(merged))
    return node.error() << "the result is too large";
  Emitter &emit = node.emit;
  return node.result(emit.reshape(emit.broadcast(emit.reshape(x, split), stretched), merged));
}

LogicalResult convertConcat(Node &node) {
  if (!node.hasAttr("axis"))
    return node.error() << "the attribute axis is required";
  SmallVector<Tensor> inputs = node.tensorsFrom(0);
  auto axis = node.axis(node.attr("axis", int64_t{0}), inputs.front().rank());
  if (failed(axis) || failed(node.sameTypesOfAll()))
    return failure();
  for (Tensor input : inputs) {
    Shape rest(input.shape()), expected(inputs.front().shape());
    if (rest.size() == expected.size())
      rest[*axis] = expected[*axis];
    if (rest != expected)
      return node.error() << input.tensorType() << " does not fit "
                          << inputs.front().tensorType() << " along axis " << *axis;
  }
  return node.result(node.emit.concat(inputs, *axis));
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

struct SliceArguments {
  SmallVector<int64_t> starts, ends, axes, steps;
};

LogicalResult sliceWith(Node &node, const SliceArguments &arguments) {
  Tensor x = node.in(0);
  size_t count = arguments.starts.size();
  if (arguments.ends.size() != count || arguments.axes.size() != count ||
      arguments.steps.size() != count)
    return node.error() << "starts, ends, axes and steps differ in length";
  auto axes = node.orderedAxes(arguments.axes, x.rank());
  if (failed(axes))
    return failure();
  Shape offsets(x.rank(), 0), sizes(x.shape()), strides(x.rank(), 1);
  for (auto [i, axis] : llvm::enumerate(*axes)) {
    int64_t size = x.size(axis), step = arguments.steps[i];
    if (step == 0)
      return node.error() << "a step is zero";
    // Where a step passes the whole dimension, how far makes no difference.
    step = std::clamp<int64_t>(step, -std::max<int64_t>(size, 1), std::max<int64_t>(size, 1));
    auto clamped = [&](int64_t index, int64_t low, int64_t high) {
      return std::clamp(index < 0 ? index + size : index, low, high);
    };
    int64_t begin, length;
    if (step > 0) {
      begin = clamped(arguments.starts[i], 0, size);
      length = clamped(arguments.ends[i], 0, size) - begin;
    } else {
      begin = clamped(arguments.starts[i], -1, size - 1);
      length = begin - clamped(arguments.ends[i], -1, size - 1);
    }
    int64_t stride = std::abs(step);
    sizes[axis] = length > 0 ? (length + stride - 1) / stride : 0;
    offsets[axis] = sizes[axis] ? begin : 0;
    strides[axis] = sizes[axis] ? step : 1;
  }
  return node.result(node.emit.slice(x, offsets, sizes, strides));
}

LogicalResult convertSliceAttributes(Node &node) {
  auto starts = node.intsAttr("starts"), ends = node.intsAttr("ends"), axes = node.intsAttr("axes");
  if (!starts || !ends)
    return node.error() << "the attributes starts and ends are required";
  SliceArguments arguments{*starts, *ends, allDims(static_cast<int64_t>(starts->size())),
                           SmallVector<int64_t>(starts->size(), 1)};
  if (axes)
    arguments.axes = *axes;
  return sliceWith(node, arguments);
}

LogicalResult convertSlice(Node &node) {
  auto starts = node.ints(1, "starts"), ends = node.ints(2, "ends");
  if (failed(starts) || failed(ends))
    return failure();
  SliceArguments arguments{*starts, *ends, allDims(static_cast<int64_t>(starts->size())),
                           SmallVector<int64_t>(starts->size(), 1)};
  if (node.has(3)) {
    auto axes = node.ints(3, "axes");
    if (failed(axes))
      return failure();
    arguments.axes = *axes;
  }
  if (node.has(4)) {
    auto steps = node.ints(4, "steps");
    if (failed(steps))
      return failure();
    arguments.steps = *steps;
  }
  return sliceWith(node, arguments);
}

LogicalResult splitInto(Node &node, int64_t axis, ArrayRef<int64_t> sizes) {
  Tensor x = node.in(0);
  if (sizes.size() != node.numOutputs())
    return node.error() << sizes.size() << " parts for " << node.numOutputs() << " outputs";
  int64_t rest = x.size(axis);
  for (int64_t size : sizes) {
    if (size < 0 || size > rest)
      return node.error() << "the parts do not add up to the " << x.size(axis)
                          << " elements of axis " << axis;
    rest -= size;
  }
  if (rest != 0)
    return node.error() << "the parts do not add up to the " << x.size(axis)
                        << " elements of axis " << axis;
  int64_t begin = 0;
  for (auto [i, size] : llvm::enumerate(sizes)) {
    if (node.wants(i))
      node.set(i, node.emit.sliceDim(x, axis, begin, size));
    begin += size;
  }
  return success();
}

LogicalResult convertSplit(Node &node) {
  auto axis = node.axis(node.attr("axis", int64_t{0}), node.in(0).rank());
  if (failed(axis))
    return failure();
  if (auto sizes = node.version() < 13 ? node.intsAttr("split") : std::nullopt)
    return splitInto(node, *axis, *sizes);
  if (node.has(1)) {
    auto sizes = node.ints(1, "split");
    return failed(sizes) ? failure() : splitInto(node, *axis, *sizes);
  }
  int64_t size = node.in(0).size(*axis), parts = node.numOutputs();
  if (node.version() >= 18 && node.attr("num_outputs", parts) != parts)
    return node.error() << "num_outputs differs from the number of outputs";
  if (node.version() < 18 && size % parts != 0)
    return node.error() << "axis " << *axis << " of size " << size << " does not split into "
                        << parts << " equal parts";
  // From opset 18 on the last part is what is left.
  int64_t chunk = (size + parts - 1) / parts;
  SmallVector<int64_t> sizes;
  for (int64_t i = 0; i < parts; ++i)
    sizes.push_back(std::clamp<int64_t>(size - i * chunk, 0, chunk));
  return splitInto(node, *axis, sizes);
}

//===----------------------------------------------------------------------===//
// Pad
//===----------------------------------------------------------------------===//

LogicalResult padWith(Node &node, ArrayRef<int64_t> pads, ArrayRef<int64_t> axes,
                      std::optional<Tensor> value) {
  Tensor x = node.in(0);
  StringRef modeName = node.attr("mode", StringRef("constant"));
  auto mode = nn::symbolizePadMode(modeName);
  if (!mode)
    return node.error() << "unknown mode '" << modeName << "'";
  if (pads.size() != 2 * axes.size())
    return node.error() << "pads must hold two numbers per axis";
  auto padded = node.orderedAxes(axes, x.rank());
  if (failed(padded))
    return failure();
  Shape low(x.rank(), 0), shape(x.shape());
  for (auto [i, axis] : llvm::enumerate(*padded)) {
    int64_t before = pads[i], after = pads[i + axes.size()];
    low[axis] = before;
    auto isHuge = [](int64_t pad) { return pad < -maxElementCount || pad > maxElementCount; };
    if (isHuge(before) || isHuge(after) || (shape[axis] += before + after) < 0)
      return node.error() << "pads of axis " << axis << " leave no valid size";
    bool repeats = *mode != nn::PadMode::constant && (before > 0 || after > 0);
    if (repeats && x.size(axis) == 0)
      return node.error() << "axis " << axis << " has no elements to repeat";
  }
  if (!elementCount(shape))
    return node.error() << "the result is too large";
  if (shape == Shape(x.shape()) && llvm::all_of(low, [](int64_t count) { return count == 0; }))
    return node.result(x);
  Emitter &emit = node.emit;
  Value fill;
  if (*mode == nn::PadMode::constant)
    fill = (value ? emit.reshape(*value, {}) : emit.splat(x.type, {}, 0)).value;
  return node.result(
      x.moved(emit.create<nn::PadOp>(emit.typeOf(x.type, shape), x.value, fill, low, *mode)));
}

LogicalResult convertPadAttributes(Node &node) {
  auto pads = node.intsAttr("pads");
  if (!pads)
    return node.error() << "the attribute pads is required";
  double value = node.attr("value", 0.0);
  return padWith(node, *pads, allDims(node.in(0).rank()),
                 node.emit.splat(node.in(0).type, {}, value));
}

LogicalResult convertPad(Node &node) {
  auto pads = node.ints(1, "pads");
  if (failed(pads))
    return failure();
  SmallVector<int64_t> axes = allDims(node.in(0).rank());
  if (node.has(3)) {
    auto given = node.ints(3, "axes");
    if (failed(given))
      return failure();
    axes = *given;
  }
  auto value = node.optional(2);
  if (value && (value->count() != 1 || failed(node.sameTypes({0, 2}))))
    return node.error() << "the value must be a scalar of the input's type";
  return padWith(node, *pads, axes, value);
}

} // namespace

void spillway::addMovement(OperatorTable &table) {
  table.add({
      {"Concat", 4, convertConcat, 1, anyNumber},
      {"Expand", 8, convertExpand, 2, 2},
      {"Flatten", 1, convertFlatten, 1, 1},
      {"Identity", 1, convertIdentity, 1, 1, 1, TypeClass::any, "", "", true},
      {"Pad", 2, convertPadAttributes, 1, 1},
      {"Pad", 11, convertPad, 2, 4},
      {"Reshape", 5, convertReshape, 2, 2},
      {"Slice", 1, convertSliceAttributes, 1, 1},
      {"Slice", 10, convertSlice, 3, 5},
      {"Split", 2, convertSplit, 1, 1, anyNumber},
      {"Split", 13, convertSplit, 1, 2, anyNumber},
      {"Squeeze", 1, convertSqueezeAttribute, 1, 1},
      {"Squeeze", 13, convertSqueeze, 1, 2},
      {"Tile", 6, convertTile, 2, 2},
      {"Transpose", 1, convertTranspose, 1, 1},
      {"Unsqueeze", 1, convertUnsqueezeAttribute, 1, 1},
      {"Unsqueeze", 13, convertUnsqueeze, 2, 2},
  });
}
