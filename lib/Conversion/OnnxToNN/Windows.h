// Windows that slide over images: what the attributes of convolutions and poolings say.
#pragma once

#include "spillway/Conversion/OnnxToNN/Node.h"

namespace spillway {

/// One entry per dimension behind batch and channels.
struct SlidingWindows {
  llvm::SmallVector<int64_t> kernel, strides, dilations, low, high;
  /// How many windows there are.
  llvm::SmallVector<int64_t> windows;

  size_t dims() const { return kernel.size(); }
  /// Elements from the first to the last one of a window.
  int64_t extent(size_t d) const { return (kernel[d] - 1) * dilations[d] + 1; }
  /// Elements that all windows reach, those before the image included.
  int64_t reach(size_t d) const {
    return windows[d] ? (windows[d] - 1) * strides[d] + extent(d) : 0;
  }
};

/// strides, dilations and pads over an image [batch, channels, size...], their numbers and
/// ranges checked.
mlir::FailureOr<SlidingWindows> readSteps(Node &node, Tensor image, llvm::ArrayRef<int64_t> kernel);
/// The same with auto_pad applied and `windows` counted; the last window may end behind the padding
/// where `roundUp` is set.
mlir::FailureOr<SlidingWindows> readWindows(Node &node, Tensor image,
                                            llvm::ArrayRef<int64_t> kernel, bool roundUp);

/// The elements of all windows [batch, channels, kernel..., windows...]; `fill` (of rank 0)
/// outside of the image.
Tensor windowElements(Emitter &emit, const SlidingWindows &sliding, Tensor image, Tensor fill);

/// `x` with `step` - 1 zeros between neighbours along `dim`.
Tensor spreadOut(Emitter &emit, Tensor x, int64_t dim, int64_t step);
/// `low` elements more before and so many behind that `size` are there; fewer where negative.
Tensor padDim(Emitter &emit, Tensor x, int64_t dim, int64_t low, int64_t size);
Tensor padTo(Emitter &emit, Tensor x, llvm::ArrayRef<int64_t> low, llvm::ArrayRef<int64_t> shape,
             Tensor fill);

/// A vector with one entry per channel, for each element of a tensor [batch, channels, ...].
Tensor perChannel(Emitter &emit, Tensor vector, llvm::ArrayRef<int64_t> shape);

} // namespace spillway
