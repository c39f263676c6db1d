#include "lib/Conversion/OnnxToNN/Windows.h"

using namespace mlir;
using namespace spillway;

namespace {

/// So that no position in an image overflows.
constexpr int64_t maxStep = int64_t{1} << 31;

/// An attribute with one entry per dimension.
FailureOr<SmallVector<int64_t>> readList(Node &node, StringRef name, size_t count,
                                         int64_t otherwise, int64_t lowest) {
  auto given = node.intsAttr(name);
  if (!given)
    return SmallVector<int64_t>(count, otherwise);
  if (given->size() != count)
    return node.error() << name << " must have " << count << " entries, not " << given->size();
  for (int64_t value : *given)
    if (value < lowest || value > maxStep)
      return node.error() << name << " holds " << value << ", which lies outside " << lowest
                          << " to " << maxStep;
  return *given;
}

} // namespace

FailureOr<SlidingWindows> spillway::readSteps(Node &node, Tensor image, ArrayRef<int64_t> kernel) {
  if (image.rank() < 3)
    return node.error() << "the input must have batch, channels and one dimension or more, not "
                        << image.tensorType();
  size_t dims = image.rank() - 2;
  if (kernel.size() != dims)
    return node.error() << "kernel_shape must have " << dims << " entries, not " << kernel.size();
  for (int64_t size : kernel)
    if (size < 1 || size > maxStep)
      return node.error() << "kernel_shape holds " << size;
  auto strides = readList(node, "strides", dims, 1, 1);
  auto dilations = readList(node, "dilations", dims, 1, 1);
  auto pads = readList(node, "pads", 2 * dims, 0, 0);
  if (failed(strides) || failed(dilations) || failed(pads))
    return failure();
  SlidingWindows sliding{SmallVector<int64_t>(kernel),
                         *strides,
                         *dilations,
                         SmallVector<int64_t>(ArrayRef(*pads).take_front(dims)),
                         SmallVector<int64_t>(ArrayRef(*pads).drop_front(dims)),
                         {}};
  for (size_t d = 0; d < dims; ++d)
    if (image.size(static_cast<int64_t>(d) + 2) > maxElementCount / sliding.strides[d])
      return node.error() << "a stride of " << sliding.strides[d] << " is too large for "
                          << image.tensorType();
  for (size_t d = 0; d < dims; ++d)
    if (sliding.kernel[d] > maxStep / sliding.dilations[d])
      return node.error() << "windows of " << sliding.kernel[d] << " elements, "
                          << sliding.dilations[d] << " apart, are too large";
  return sliding;
}

FailureOr<SlidingWindows> spillway::readWindows(Node &node, Tensor image, ArrayRef<int64_t> kernel,
                                                bool roundUp) {
  auto sliding = readSteps(node, image, kernel);
  if (failed(sliding))
    return failure();
  StringRef autoPad = node.attr("auto_pad", StringRef("NOTSET"));
  bool same = autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER", valid = autoPad == "VALID";
  if (!same && !valid && autoPad != "NOTSET" && !autoPad.empty())
    return node.error() << "unknown auto_pad '" << autoPad << "'";
  for (size_t d = 0; d < sliding->dims(); ++d) {
    int64_t size = image.size(static_cast<int64_t>(d) + 2), stride = sliding->strides[d];
    int64_t &low = sliding->low[d], &high = sliding->high[d];
    if (valid)
      low = high = 0;
    if (same) {
      int64_t windows = (size + stride - 1) / stride;
      int64_t total = std::max<int64_t>(0, (windows - 1) * stride + sliding->extent(d) - size);
      low = autoPad == "SAME_UPPER" ? total / 2 : total - total / 2;
      high = total - low;
      sliding->windows.push_back(windows);
      continue;
    }
    int64_t room = size + low + high - sliding->extent(d);
    if (room < 0 && size > 0)
      return node.error() << "a window of " << sliding->extent(d)
                          << " elements does not fit into dimension " << d + 2 << " of "
                          << image.tensorType() << " with padding " << low << " and " << high;
    int64_t windows = llvm::divideFloorSigned(roundUp && !valid ? room + stride - 1 : room, stride) + 1;
    // The last window begins in the image or in the padding before it.
    if (roundUp && windows > 0 && (windows - 1) * stride >= size + low)
      --windows;
    sliding->windows.push_back(std::max<int64_t>(0, windows));
  }
  return sliding;
}

Tensor spillway::padTo(Emitter &emit, Tensor x, ArrayRef<int64_t> low, ArrayRef<int64_t> shape,
                       Tensor fill) {
  if (x.shape() == shape && llvm::all_of(low, [](int64_t count) { return count == 0; }))
    return x;
  return x.moved(emit.create<nn::PadOp>(emit.typeOf(x.type, shape), x.value, fill.value, low,
                                        nn::PadMode::constant));
}

Tensor spillway::padDim(Emitter &emit, Tensor x, int64_t dim, int64_t low, int64_t size) {
  Shape lows(x.rank(), 0), shape(x.shape());
  lows[dim] = low;
  shape[dim] = size;
  return padTo(emit, x, lows, shape, emit.splat(x.type, {}, 0));
}

Tensor spillway::windowElements(Emitter &emit, const SlidingWindows &sliding, Tensor image,
                                Tensor fill) {
  Shape low{0, 0}, padded(image.shape().take_front(2)), shape = padded;
  for (size_t d = 0; d < sliding.dims(); ++d) {
    low.push_back(sliding.low[d]);
    padded.push_back(sliding.reach(d));
  }
  llvm::append_range(shape, sliding.kernel);
  llvm::append_range(shape, sliding.windows);
  Tensor x = padTo(emit, image, low, padded, fill);
  return image.moved(emit.create<nn::WindowsOp>(emit.typeOf(image.type, shape), x.value,
                                                sliding.strides, sliding.dilations));
}

Tensor spillway::spreadOut(Emitter &emit, Tensor x, int64_t dim, int64_t step) {
  if (step == 1 || x.size(dim) <= 1)
    return x;
  Shape apart(x.shape()), merged(x.shape());
  apart.insert(apart.begin() + dim + 1, 1);
  merged[dim] *= step;
  Tensor spread = emit.reshape(padDim(emit, emit.reshape(x, apart), dim + 1, 0, step), merged);
  return emit.sliceDim(spread, dim, 0, merged[dim] - step + 1);
}

Tensor spillway::perChannel(Emitter &emit, Tensor vector, ArrayRef<int64_t> shape) {
  return emit.broadcastInDims(vector, {1}, shape);
}
