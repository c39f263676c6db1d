// Operators that move the elements of images.

#include "lib/Conversion/OnnxToNN/Windows.h"

using namespace mlir;
using namespace spillway;

namespace {

FailureOr<int64_t> readBlockSize(Node &node) {
  int64_t block = node.attr("blocksize", int64_t{0});
  if (node.in(0).rank() != 4 || block < 1 || block > (int64_t{1} << 20) ||
      std::max(node.in(0).size(2), node.in(0).size(3)) > maxElementCount / block)
    return node.error() << "blocksize " << block << " does not go with an input "
                        << node.in(0).tensorType();
  return block;
}

LogicalResult convertDepthToSpace(Node &node) {
  Tensor x = node.in(0);
  auto block = readBlockSize(node);
  StringRef mode = node.attr("mode", StringRef("DCR"));
  if (failed(block))
    return failure();
  if (mode != "DCR" && mode != "CRD")
    return node.error() << "unknown mode '" << mode << "'";
  int64_t b = *block, channels = x.size(1) / (b * b);
  if (x.size(1) % (b * b) != 0)
    return node.error() << x.size(1) << " channels are no multiple of blocks of " << b << " x "
                        << b;
  Emitter &emit = node.emit;
  bool depthFirst = mode == "DCR";
  Shape apart = depthFirst ? Shape{x.size(0), b, b, channels, x.size(2), x.size(3)}
                           : Shape{x.size(0), channels, b, b, x.size(2), x.size(3)};
  Shape perm = depthFirst ? Shape{0, 3, 4, 1, 5, 2} : Shape{0, 1, 4, 2, 5, 3};
  return node.result(emit.reshape(emit.transpose(emit.reshape(x, apart), perm),
                                  {x.size(0), channels, x.size(2) * b, x.size(3) * b}));
}

LogicalResult convertSpaceToDepth(Node &node) {
  Tensor x = node.in(0);
  auto block = readBlockSize(node);
  if (failed(block))
    return failure();
  int64_t b = *block, height = x.size(2) / b, width = x.size(3) / b;
  if (x.size(2) % b != 0 || x.size(3) % b != 0)
    return node.error() << x.tensorType() << " is no multiple of blocks of " << b << " x " << b;
  if (!elementCount({x.size(1), b, b}))
    return node.error() << "blocks of " << b << " x " << b << " make too many channels of " << x.tensorType();
  Emitter &emit = node.emit;
  Tensor apart = emit.reshape(x, {x.size(0), x.size(1), height, b, width, b});
  return node.result(emit.reshape(emit.transpose(apart, {0, 3, 5, 1, 2, 4}),
                                  {x.size(0), x.size(1) * b * b, height, width}));
}

LogicalResult convertCol2Im(Node &node) {
  Tensor x = node.in(0);
  auto sizes = node.ints(1, "the image's shape"), block = node.ints(2, "the block's shape");
  if (failed(sizes) || failed(block))
    return failure();
  for (int64_t size : *sizes)
    if (size < 0 || size > maxElementCount)
      return node.error() << "the image's shape holds " << size;
  Shape image{x.rank() == 3 ? x.size(0) : 1, 1};
  llvm::append_range(image, *sizes);
  Emitter &emit = node.emit;
  if (x.rank() != 3 || !elementCount(image))
    return node.error() << "the input must have rank 3 and give an image of a possible size, not "
                        << x.tensorType();
  auto sliding = readWindows(node, emit.splat(x.type, image, 0), *block, /*roundUp=*/false);
  auto places = elementCount(*block),
       windows = failed(sliding) ? std::nullopt : elementCount(sliding->windows);
  if (failed(sliding))
    return failure();
  if (!places || *places > 4096)
    return node.error() << "blocks of more than 4096 elements are not supported";
  if (x.size(1) % *places != 0 || x.size(2) != windows.value_or(-1))
    return node.error() << x.tensorType() << " does not hold the blocks of the image";
  image[1] = x.size(1) / *places;
  // Each place of a block is an image with gaps.
  Shape apart{x.size(0), image[1], *places};
  llvm::append_range(apart, sliding->windows);
  Tensor blocks = emit.reshape(x, apart);
  Tensor sum = emit.splat(x.type, image, 0);
  for (int64_t place = 0; place < *places; ++place) {
    Shape shape(image.begin(), image.begin() + 2), low{0, 0};
    llvm::append_range(shape, sliding->windows);
    Tensor part = emit.reshape(emit.sliceDim(blocks, 2, place, 1), shape);
    int64_t rest = place;
    SmallVector<int64_t> index;
    for (size_t d = sliding->dims(); d-- > 0; rest /= sliding->kernel[d])
      index.insert(index.begin(), rest % sliding->kernel[d]);
    for (size_t d = 0; d < sliding->dims(); ++d) {
      part = spreadOut(emit, part, static_cast<int64_t>(d) + 2, sliding->strides[d]);
      low.push_back(index[d] * sliding->dilations[d] - sliding->low[d]);
    }
    sum = emit.add(sum, padTo(emit, part, low, image, emit.splat(x.type, {}, 0)));
  }
  return node.result(sum);
}

LogicalResult convertCenterCropPad(Node &node) {
  Tensor x = node.in(0);
  auto sizes = node.ints(1, "the shape");
  if (failed(sizes))
    return failure();
  SmallVector<int64_t> axes = allDims(x.rank());
  if (auto given = node.intsAttr("axes"))
    axes = *given;
  if (axes.size() != sizes->size())
    return node.error() << sizes->size() << " sizes for " << axes.size() << " axes";
  auto sized = node.orderedAxes(axes, x.rank());
  if (failed(sized))
    return failure();
  Shape low(x.rank(), 0), shape(x.shape());
  for (auto [axis, size] : llvm::zip_equal(*sized, *sizes)) {
    if (size < 0)
      return node.error() << "the shape holds " << size;
    shape[axis] = size;
    // Of an odd number of elements, one more is added or taken away behind.
    int64_t more = size - x.size(axis);
    low[axis] = more >= 0 ? more / 2 : -(-more / 2);
  }
  if (!elementCount(shape))
    return node.error() << "the result is too large";
  return node.result(padTo(node.emit, x, low, shape, node.emit.splat(x.type, {}, 0)));
}

} // namespace

void spillway::addImageMovement(OperatorTable &table) {
  constexpr auto numeric = TypeClass::numeric;
  table.add({
      {"CenterCropPad", 18, convertCenterCropPad, 2, 2},
      {"Col2Im", 18, convertCol2Im, 3, 3, 1, numeric, "the shapes must be known at compile time"},
      {"DepthToSpace", 1, convertDepthToSpace, 1, 1},
      {"SpaceToDepth", 1, convertSpaceToDepth, 1, 1},
  });
}
