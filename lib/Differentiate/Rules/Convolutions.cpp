// Convolutions: the cotangents of both operands are convolutions again.

#include "lib/Differentiate/Rules/Rule.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::derivatives;

namespace {

class ConvolutionRule {
public:
  ConvolutionRule(nn::ConvOp op, Cotangents &c)
      : op(op), b(c, op), groups(op.getGroups()), image(shapeOf(op.getInput())), filter(shapeOf(op.getFilter())),
        result(shapeOf(op)) {
    std::tie(input, filters) = b.alike(op.getInput(), op.getFilter());
    cotangent = b.as(input, c.of(op));
  }

  /// Each filter, mirrored and with inputs and outputs exchanged, over the cotangent at the windows' places
  /// between zeros.
  Value ofInput() {
    Value apart = cotangent;
    SmallVector<int64_t> low, ones(dims(), 1), sizes(image.drop_front(2)), last(filter.size(), 0),
        backwards(filter.size(), 1);
    for (int64_t d = 0; d < dims(); ++d) {
      int64_t count = result[d + 2], stride = op.getStrides()[d];
      apart = b.spread(apart, d + 2, 0, stride, count == 0 ? 0 : (count - 1) * stride + 1);
      low.push_back((filter[d + 2] - 1) * op.getDilations()[d] - op.getLow()[d]);
      last[d + 2] = filter[d + 2] - 1;
      backwards[d + 2] = -1;
    }
    Value mirrored = b.slice(filters, last, filter, backwards);
    // [groups * m, c, k...] to [groups * c, m, k...].
    Value exchanged = regroup(mirrored, 0, {0, 2, 1}, {filter[1] * groups, filter[0] / groups});
    return b.as(op.getInput(), convolve(apart, exchanged, ones, op.getDilations(), low, {image[0], image[1]}, sizes,
                                        groups));
  }

  /// The images as filters of the cotangents would be: batches are what is summed over, and steps between
  /// windows and between places exchange their roles.
  Value ofFilter() {
    // [n, groups * c, size...] to [c, groups * n, size...].
    Value images = regroup(input, 1, {2, 1, 0}, {filter[1], groups * image[0]});
    Value cotangents = swapFirstTwo(cotangent);
    Value sums = convolve(images, cotangents, op.getDilations(), op.getStrides(), op.getLow(),
                          {filter[1], filter[0]}, filter.drop_front(2), groups);
    return b.as(op.getFilter(), swapFirstTwo(sums));
  }

private:
  int64_t dims() const { return static_cast<int64_t>(image.size()) - 2; }

  Value convolve(Value input, Value filters, ArrayRef<int64_t> strides, ArrayRef<int64_t> dilations,
                 ArrayRef<int64_t> low, ArrayRef<int64_t> leading, ArrayRef<int64_t> sizes,
                 int64_t inGroups) {
    SmallVector<int64_t> shape(leading);
    llvm::append_range(shape, sizes);
    return b.create<nn::ConvOp>(RankedTensorType::get(shape, getElementTypeOrSelf(input)), input, filters,
                                strides, dilations, low, inGroups);
  }

  Value swapFirstTwo(Value a) {
    SmallVector<int64_t> perm = dimensions(0, shapeOf(a).size());
    std::swap(perm[0], perm[1]);
    return b.transpose(a, perm);
  }

  /// Cuts dimension `grouped` (0 or 1) into groups and what is in one, permutes these three leading
  /// dimensions, and takes them as the two of `leading`.
  Value regroup(Value a, int64_t grouped, ArrayRef<int64_t> perm, ArrayRef<int64_t> leading) {
    ArrayRef<int64_t> shape = shapeOf(a);
    SmallVector<int64_t> cut{shape[0], shape[1]};
    cut[grouped] /= groups;
    cut.insert(cut.begin() + grouped, groups);
    llvm::append_range(cut, shape.drop_front(2));
    SmallVector<int64_t> order(perm), merged(leading);
    order.append(dimensions(3, cut.size()));
    llvm::append_range(merged, shape.drop_front(2));
    return b.reshape(b.transpose(b.reshape(a, cut), order), merged);
  }

  nn::ConvOp op;
  RuleBuilder b;
  Value input, filters, cotangent;
  int64_t groups;
  ArrayRef<int64_t> image, filter, result;
};

} // namespace

static void convolve(nn::ConvOp op, Cotangents &c) {
  ConvolutionRule rule(op, c);
  if (c.needs(op.getInput()))
    c.add(op.getInput(), rule.ofInput());
  if (c.needs(op.getFilter()))
    c.add(op.getFilter(), rule.ofFilter());
}

void derivatives::attachConvolutions(MLIRContext *context) { attach<nn::ConvOp, convolve>(context); }
