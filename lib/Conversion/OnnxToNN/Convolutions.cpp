// Conv and ConvTranspose.

#include "lib/Conversion/OnnxToNN/Convolutions.h"
#include "lib/Conversion/OnnxToNN/Windows.h"

#include <numeric>

using namespace mlir;
using namespace spillway;

namespace {

/// What both have in common: an image, a filter, groups and perhaps a bias.
struct Operands {
  Tensor image, filter;
  int64_t groups;
};

LogicalResult checkTypes(Node &node) {
  if (node.has(2) && failed(node.sameTypes({0, 2})))
    return failure();
  return node.sameTypes({0, 1});
}

FailureOr<Operands> readOperands(Node &node, Tensor image, Tensor filter) {
  Operands operands{image, filter, node.attr("group", int64_t{1})};
  if (operands.image.rank() < 3 || operands.filter.rank() != operands.image.rank())
    return node.error() << "input " << operands.image.tensorType() << " and filter "
                        << operands.filter.tensorType()
                        << " must have one rank, of batch, channels and one dimension or more";
  auto given = node.intsAttr("kernel_shape");
  ArrayRef<int64_t> kernel = operands.filter.shape().drop_front(2);
  if (given && ArrayRef<int64_t>(*given) != kernel)
    return node.error() << "kernel_shape differs from the sizes of the filter, "
                        << operands.filter.tensorType();
  if (operands.groups < 1)
    return node.error() << "group must be at least 1, not " << operands.groups;
  return operands;
}

/// Whether each image has one window, which is all of it.
bool seesWholeImages(Tensor image, Tensor filter, ArrayRef<int64_t> dilations,
                     ArrayRef<int64_t> low, ArrayRef<int64_t> windows) {
  for (auto [d, window] : llvm::enumerate(windows)) {
    int64_t size = filter.size(static_cast<int64_t>(d) + 2);
    if (window != 1 || low[d] != 0 || size != image.size(static_cast<int64_t>(d) + 2) ||
        (size > 1 && dilations[d] != 1))
      return false;
  }
  return true;
}

Tensor convolve(Emitter &emit, Tensor image, Tensor filter, ArrayRef<int64_t> strides,
                ArrayRef<int64_t> dilations, ArrayRef<int64_t> low, ArrayRef<int64_t> windows,
                int64_t groups) {
  Shape shape{image.size(0), filter.size(0)};
  llvm::append_range(shape, windows);
  if (groups == 1 && seesWholeImages(image, filter, dilations, low, windows)) {
    int64_t depth = 1;
    for (int64_t size : filter.shape().drop_front())
      depth *= size;
    Tensor rows = emit.reshape(image, {image.size(0), depth});
    Tensor columns = emit.reshape(filter, {filter.size(0), depth});
    Tensor product{emit.create<nn::MatmulOp>(emit.typeOf(image.type, {shape[0], shape[1]}),
                                             rows.value, columns.value, false, true),
                   image.type};
    return emit.reshape(product, shape);
  }
  return {emit.create<nn::ConvOp>(emit.typeOf(image.type, shape), image.value, filter.value,
                                  strides, dilations, low, groups),
          image.type};
}

} // namespace

FailureOr<Tensor> spillway::withBias(Node &node, Tensor y, unsigned input) {
  auto bias = node.optional(input);
  if (!bias)
    return y;
  if (bias->type != y.type || bias->shape() != ArrayRef<int64_t>({y.size(1)}))
    return node.error() << "the bias must have " << y.size(1) << " elements of " << name(y.type)
                        << ", not " << bias->tensorType();
  return node.emit.add(y, perChannel(node.emit, *bias, y.shape()));
}

FailureOr<Tensor> spillway::convolution(Node &node, Tensor image, Tensor filter) {
  auto operands = readOperands(node, image, filter);
  if (failed(operands))
    return failure();
  int64_t groups = operands->groups;
  if (filter.size(0) % groups != 0 || filter.size(1) > maxElementCount / groups ||
      image.size(1) != filter.size(1) * groups)
    return node.error() << "filter " << filter.tensorType() << " in " << groups
                        << " groups does not fit the channels of " << image.tensorType();
  auto sliding = readWindows(node, image, filter.shape().drop_front(2), /*roundUp=*/false);
  if (failed(sliding))
    return failure();
  return convolve(node.emit, image, filter, sliding->strides, sliding->dilations, sliding->low,
                  sliding->windows, groups);
}

namespace {

/// The node's result: `y` and its bias.
LogicalResult finish(Node &node, FailureOr<Tensor> y) {
  auto result = failed(y) ? y : withBias(node, *y, 2);
  return failed(result) ? failure() : node.result(*result);
}

LogicalResult convertConv(Node &node) {
  if (failed(checkTypes(node)))
    return failure();
  return finish(node, convolution(node, node.in(0), node.in(1)));
}

/// A convolution of single channels along time that continues where the state ends.
LogicalResult convertCausalConvWithState(Node &node) {
  Emitter &emit = node.emit;
  Tensor x = node.in(0), filter = node.in(1);
  StringRef activation = node.attr("activation", StringRef("none"));
  if (failed(checkTypes(node)) || (node.has(3) && failed(node.sameTypes({0, 3}))))
    return failure();
  if (activation != "none" && activation != "silu" && activation != "swish")
    return node.error() << "unknown activation '" << activation << "'";
  if (x.rank() != 3 || filter.rank() != 3 || filter.size(0) != x.size(1) || filter.size(1) != 1 ||
      filter.size(2) < 1 || x.size(1) < 1)
    return node.error() << "the filter " << filter.tensorType()
                        << " must be [channels, 1, taps] for " << x.tensorType();
  int64_t before = filter.size(2) - 1, length = x.size(2);
  Tensor whole = padDim(emit, x, 2, before, before + length);
  if (auto past = node.optional(3)) {
    if (past->shape() != ArrayRef<int64_t>({x.size(0), x.size(1), before}))
      return node.error() << "the state " << past->tensorType() << " must be " << before
                          << " elements for each channel of " << x.tensorType();
    whole = emit.concat({*past, x}, 2);
  }
  node.set(1, emit.sliceDim(whole, 2, length, before));
  auto y = withBias(node, convolve(emit, whole, filter, {1}, {1}, {0}, {length}, x.size(1)), 2);
  if (failed(y) || activation == "none")
    return failed(y) ? failure() : node.result(*y);
  return node.result(
      emit.inComputeType(*y, [&](Tensor z) { return emit.mul(z, emit.sigmoid(z)); }));
}

//===----------------------------------------------------------------------===//
// ConvTranspose
//===----------------------------------------------------------------------===//

/// Results of one remainder by the stride along one dimension: those at q * stride + remainder are
/// a plain convolution of the image with some of the filter's places, from the last to the first
/// one.
struct Phase {
  /// Places last, last - step, ..., `count` of them.
  int64_t last = 0, step = 1, count = 0;
  int64_t dilation = 1, low = 0;

  Phase(int64_t remainder, int64_t kernel, int64_t stride, int64_t dilations, int64_t pad) {
    step = stride / std::gcd(stride, dilations);
    for (int64_t first = 0; first < std::min(step, kernel); ++first)
      if ((remainder + pad - first * dilations) % stride == 0) {
        count = (kernel - 1 - first) / step + 1;
        last = first + (count - 1) * step;
      }
    dilation = step * dilations / stride;
    low = (last * dilations - remainder - pad) / stride;
  }
};

/// More phases than these cost more to bring together than zeros cost to be multiplied.
constexpr int64_t maxPhases = 16;

/// [c, m / groups, k...] to [m, c / groups, k'...]: the chosen places, from last to first.
Tensor turnFilter(Emitter &emit, Tensor filter, int64_t groups, ArrayRef<Phase> phases) {
  int64_t channels = filter.size(0) / groups, filters = filter.size(1);
  Shape offsets{0, 0}, strides{1, 1}, sizes(filter.shape().take_front(2)), places;
  for (const Phase &phase : phases) {
    offsets.push_back(phase.last);
    strides.push_back(-phase.step);
    places.push_back(phase.count);
  }
  llvm::append_range(sizes, places);
  Tensor part = emit.slice(filter, offsets, sizes, strides);
  Shape grouped{groups, channels, filters}, perm{0, 2, 1}, shape{groups * filters, channels};
  for (auto [d, count] : llvm::enumerate(places)) {
    grouped.push_back(count);
    shape.push_back(count);
    perm.push_back(static_cast<int64_t>(d) + 3);
  }
  return emit.reshape(emit.transpose(emit.reshape(part, grouped), perm), shape);
}

/// Results of all remainders, in row-major order of these, to where they lie: [n, m, q *
/// stride...].
Tensor interleavePhases(Emitter &emit, ArrayRef<Tensor> parts, ArrayRef<int64_t> strides) {
  Shape each(parts.front().shape());
  each.insert(each.begin(), 1);
  SmallVector<Tensor> rows;
  for (Tensor part : parts)
    rows.push_back(emit.reshape(part, each));
  auto dims = static_cast<int64_t>(strides.size());
  Shape apart(strides), perm{dims, dims + 1}, merged(parts.front().shape());
  llvm::append_range(apart, parts.front().shape());
  for (int64_t d = 0; d < dims; ++d) {
    perm.append({dims + 2 + d, d});
    merged[d + 2] *= strides[d];
  }
  return emit.reshape(emit.transpose(emit.reshape(emit.concat(rows, 0), apart), perm), merged);
}

/// Sizes of the result, and the padding that they leave before it.
FailureOr<SlidingWindows> readTransposed(Node &node, Tensor image, ArrayRef<int64_t> kernel) {
  auto sliding = readSteps(node, image, kernel);
  if (failed(sliding))
    return failure();
  size_t dims = sliding->dims();
  auto more = node.intsAttr("output_padding"), sizes = node.intsAttr("output_shape");
  if (more && more->size() != dims)
    return node.error() << "output_padding must have " << dims << " entries, not " << more->size();
  if (sizes && sizes->size() == dims + 2)
    sizes->erase(sizes->begin(), sizes->begin() + 2);
  if (sizes && sizes->size() != dims)
    return node.error() << "output_shape must have " << dims << " entries, not " << sizes->size();
  StringRef autoPad = node.attr("auto_pad", StringRef("NOTSET"));
  bool same = autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER", valid = autoPad == "VALID";
  if (!same && !valid && autoPad != "NOTSET" && !autoPad.empty())
    return node.error() << "unknown auto_pad '" << autoPad << "'";
  for (size_t d = 0; d < dims; ++d) {
    int64_t size = image.size(static_cast<int64_t>(d) + 2), stride = sliding->strides[d];
    int64_t extra = more ? (*more)[d] : 0;
    if (extra < 0 || extra > stride * sliding->dilations[d])
      return node.error() << "output_padding holds " << extra << " beside a stride of " << stride;
    int64_t whole = size == 0 ? 0 : (size - 1) * stride + sliding->extent(d) + extra;
    int64_t &low = sliding->low[d], &high = sliding->high[d];
    if (valid)
      low = high = 0;
    if (sizes || same) {
      int64_t wanted = sizes ? (*sizes)[d] : size * stride;
      if (wanted < 0 || wanted > maxElementCount)
        return node.error() << "output_shape holds " << wanted;
      int64_t total = std::max<int64_t>(0, whole - wanted);
      low = autoPad == "SAME_UPPER" ? total / 2 : total - total / 2;
      sliding->windows.push_back(wanted);
      continue;
    }
    if (whole < low + high && size > 0)
      return node.error() << "pads take more than the " << whole << " elements of dimension "
                          << d + 2;
    sliding->windows.push_back(std::max<int64_t>(0, whole - low - high));
  }
  return sliding;
}

Tensor convolveTransposed(Emitter &emit, Tensor image, Tensor filter, int64_t groups,
                          const SlidingWindows &sliding) {
  size_t dims = sliding.dims();
  int64_t phaseCount = 1;
  for (int64_t stride : sliding.strides)
    phaseCount = std::min(phaseCount * stride, maxPhases + 1);
  SmallVector<int64_t> ones(dims, 1), strides(sliding.strides);
  if (phaseCount > maxPhases) {
    for (size_t d = 0; d < dims; ++d)
      image = spreadOut(emit, image, static_cast<int64_t>(d) + 2, strides[d]);
    strides = ones;
    phaseCount = 1;
  }
  // As many results for each remainder; those beyond the end are cut off.
  Shape counts, shape{image.size(0), filter.size(1) * groups};
  for (size_t d = 0; d < dims; ++d)
    counts.push_back((sliding.windows[d] + strides[d] - 1) / strides[d]);
  llvm::append_range(shape, counts);
  SmallVector<Tensor> parts;
  for (int64_t linear = 0; linear < phaseCount; ++linear) {
    SmallVector<Phase> phases;
    int64_t rest = linear;
    for (size_t d = dims; d-- > 0; rest /= strides[d])
      phases.insert(phases.begin(), Phase(rest % strides[d], sliding.kernel[d], strides[d],
                                          sliding.dilations[d], sliding.low[d]));
    if (llvm::any_of(phases, [](const Phase &phase) { return phase.count == 0; })) {
      parts.push_back(emit.splat(image.type, shape, 0));
      continue;
    }
    SmallVector<int64_t> dilations, low;
    for (const Phase &phase : phases) {
      dilations.push_back(phase.dilation);
      low.push_back(phase.low);
    }
    parts.push_back(convolve(emit, image, turnFilter(emit, filter, groups, phases), ones, dilations,
                             low, counts, groups));
  }
  Tensor y = phaseCount == 1 ? parts.front() : interleavePhases(emit, parts, strides);
  Shape sizes(shape);
  llvm::copy(sliding.windows, sizes.begin() + 2);
  return emit.slice(y, Shape(y.rank(), 0), sizes, Shape(y.rank(), 1));
}

LogicalResult convertConvTranspose(Node &node) {
  if (failed(checkTypes(node)))
    return failure();
  auto operands = readOperands(node, node.in(0), node.in(1));
  if (failed(operands))
    return failure();
  auto [image, filter, groups] = *operands;
  if (filter.size(0) % groups != 0 || image.size(1) != filter.size(0) ||
      filter.size(1) > maxElementCount / groups)
    return node.error() << "filter " << filter.tensorType() << " in " << groups
                        << " groups does not fit the channels of " << image.tensorType();
  auto sliding = readTransposed(node, image, filter.shape().drop_front(2));
  if (failed(sliding))
    return failure();
  return finish(node, convolveTransposed(node.emit, image, filter, groups, *sliding));
}

} // namespace

void spillway::addConvolutions(OperatorTable &table) {
  constexpr auto floats = TypeClass::floats;
  table.add({
      {"CausalConvWithState", 27, convertCausalConvWithState, 2, 4, 2, floats},
      {"Conv", 1, convertConv, 2, 3, 1, floats},
      {"ConvTranspose", 1, convertConvTranspose, 2, 3, 1, floats},
  });
}
