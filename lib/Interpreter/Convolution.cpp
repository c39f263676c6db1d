// Products of filters with windows.

#include "Elements.h"
#include "Evaluators.h"
#include "MultiplyAdd.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::nn;

namespace {

/// Steps to the next index in row-major order.
void advance(MutableArrayRef<int64_t> index, ArrayRef<int64_t> shape) {
  for (size_t d = shape.size(); d-- > 0;) {
    if (++index[d] < shape[d])
      return;
    index[d] = 0;
  }
}

/// One channel of an image, and the windows over it.
struct Plane {
  ArrayRef<int64_t> strides, dilations, low, sizes, kernel, windows;

  explicit Plane(ConvOp op)
      : strides(op.getStrides()), dilations(op.getDilations()), low(op.getLow()),
        sizes(op.getInput().getType().getShape().drop_front(2)),
        kernel(op.getFilter().getType().getShape().drop_front(2)),
        windows(cast<RankedTensorType>(op.getType()).getShape().drop_front(2)) {}

  /// The element at `place` in each window.
  template <typename T>
  void gather(const T *plane, ArrayRef<int64_t> place, MutableArrayRef<T> elements) const {
    SmallVector<int64_t> window(windows.size());
    for (T &element : elements) {
      int64_t at = 0;
      bool inside = true;
      for (size_t d = 0; d < sizes.size(); ++d) {
        int64_t position = window[d] * strides[d] + place[d] * dilations[d] - low[d];
        inside &= position >= 0 && position < sizes[d];
        at = at * sizes[d] + position;
      }
      element = inside ? plane[at] : T(0);
      advance(window, windows);
    }
  }
};

template <typename T>
std::vector<T> convolve(ConvOp op, const std::vector<T> &input, const std::vector<T> &filter) {
  Plane plane(op);
  int64_t batch = op.getInput().getType().getDimSize(0), groups = op.getGroups();
  int64_t channels = op.getFilter().getType().getDimSize(1);
  int64_t filters = op.getFilter().getType().getDimSize(0) / groups;
  int64_t area = ShapedType::getNumElements(plane.sizes), places = ShapedType::getNumElements(plane.kernel),
          windows = ShapedType::getNumElements(plane.windows);
  std::vector<T> sums(batch * groups * filters * windows), elements(windows);
  for (int64_t image = 0; image < batch * groups; ++image)
    for (int64_t c = 0; c < channels; ++c) {
      SmallVector<int64_t> place(plane.kernel.size());
      for (int64_t k = 0; k < places; ++k, advance(place, plane.kernel)) {
        plane.gather(input.data() + (image * channels + c) * area, place,
                     MutableArrayRef<T>(elements));
        for (int64_t m = 0; m < filters; ++m)
          multiplyAddRow(filter[((image % groups * filters + m) * channels + c) * places + k],
                         elements.data(), sums.data() + (image * filters + m) * windows, windows);
      }
    }
  return sums;
}

} // namespace

TensorValue spillway::evaluateConv(ConvOp op, ArrayRef<TensorValue> operands) {
  auto type = cast<RankedTensorType>(op.getType());
  Type element = type.getElementType();
  if (element.isF64())
    return storeFloats(type, ArrayRef<double>(convolve(op, loadFloats<double>(operands[0]),
                                                       loadFloats<double>(operands[1]))));
  if (isa<FloatType>(element))
    return storeFloats(type, ArrayRef<float>(convolve(op, loadFloats<float>(operands[0]),
                                                      loadFloats<float>(operands[1]))));
  return storeIntegers(type, convolve(op, loadSigned(operands[0]), loadSigned(operands[1])));
}
