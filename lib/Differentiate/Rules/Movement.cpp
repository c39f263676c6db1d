// Movement: what an element is copied to gives its cotangent back.

#include "lib/Differentiate/Rules/Rule.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::derivatives;

static void reshape(nn::ReshapeOp op, Cotangents &c) {
  c.add(op.getOperand(), RuleBuilder(c, op).reshape(c.of(op), shapeOf(op.getOperand())));
}

static void broadcast(nn::BroadcastOp op, Cotangents &c) {
  RuleBuilder b(c, op);
  ArrayRef<int64_t> operand = shapeOf(op.getOperand()), result = shapeOf(op);
  SmallVector<int64_t> repeated;
  for (int64_t dim = 0; dim < op.getType().getRank(); ++dim) {
    const auto *source = llvm::find(op.getDims(), dim);
    bool kept = source != op.getDims().end() && operand[source - op.getDims().begin()] == result[dim];
    if (!kept)
      repeated.push_back(dim);
  }
  c.add(op.getOperand(), b.reshape(b.sum(c.of(op), repeated), operand));
}

static void transpose(nn::TransposeOp op, Cotangents &c) {
  c.add(op.getOperand(),
        RuleBuilder(c, op).transpose(c.of(op), invertPermutationVector(op.getPerm())));
}

static void slice(nn::SliceOp op, Cotangents &c) {
  RuleBuilder b(c, op);
  Value cotangent = c.of(op);
  for (auto [dim, size] : llvm::enumerate(shapeOf(op.getOperand())))
    cotangent = b.spread(cotangent, dim, op.getOffsets()[dim], op.getStrides()[dim], size);
  c.add(op.getOperand(), cotangent);
}

static void concat(nn::ConcatOp op, Cotangents &c) {
  RuleBuilder b(c, op);
  SmallVector<int64_t> offsets(op.getType().getRank(), 0), ones(op.getType().getRank(), 1);
  for (Value input : op.getInputs()) {
    if (c.needs(input))
      c.add(input, b.slice(c.of(op), offsets, shapeOf(input), ones));
    offsets[op.getDim()] += shapeOf(input)[op.getDim()];
  }
}

/// The element of a dimension of `size` that element `at` behind its first one holds; nothing where
/// that is the filling.
static std::optional<int64_t> paddedSource(nn::PadMode mode, int64_t at, int64_t size) {
  switch (mode) {
  case nn::PadMode::constant:
    return at >= 0 && at < size ? std::optional(at) : std::nullopt;
  case nn::PadMode::edge:
    return std::clamp<int64_t>(at, 0, size - 1);
  case nn::PadMode::wrap:
    return (at % size + size) % size;
  case nn::PadMode::reflect: {
    int64_t period = std::max<int64_t>(1, 2 * (size - 1));
    int64_t phase = (at % period + period) % period;
    return std::min(phase, period - phase) % size;
  }
  }
  llvm_unreachable("all modes are handled");
}

/// Undoes the padding of one dimension: runs of its elements whose sources rise, fall or stand still are
/// added where they came from.
static Value unpad(RuleBuilder &b, Value a, int64_t dim, int64_t low, int64_t size, nn::PadMode mode) {
  SmallVector<int64_t> shape(shapeOf(a)), zeros(shape.size(), 0), ones(shape.size(), 1);
  int64_t padded = shape[dim];
  auto source = [&](int64_t at) { return paddedSource(mode, at - low, size); };
  Value sum;
  for (int64_t from = 0, to; from < padded; from = to) {
    to = from + 1;
    if (!source(from))
      continue;
    int64_t step = 1;
    if (to < padded && source(to))
      step = *source(to) - *source(from);
    if (std::abs(step) > 1)
      step = 1;
    while (to < padded && source(to) && *source(to) - *source(to - 1) == step)
      ++to;
    SmallVector<int64_t> offsets = zeros, sizes = shape;
    offsets[dim] = from;
    sizes[dim] = to - from;
    Value run = b.slice(a, offsets, sizes, ones);
    if (step == 0) {
      sizes[dim] = 1;
      run = b.reshape(b.sum(run, dim), sizes);
    }
    run = b.spread(run, dim, *source(from), step == 0 ? 1 : step, size);
    sum = sum ? b.add(sum, run) : run;
  }
  shape[dim] = size;
  return sum ? sum : b.splat(RankedTensorType::get(shape, getElementTypeOrSelf(a)), 0);
}

static void pad(nn::PadOp op, Cotangents &c) {
  RuleBuilder b(c, op);
  Value inside = c.of(op);
  if (op.getMode() == nn::PadMode::constant) {
    auto cut = llvm::map_to_vector(op.getLow(), [](int64_t count) { return -count; });
    inside = b.pad(inside, cut, shapeOf(op.getOperand()));
  } else {
    for (auto [dim, size] : llvm::enumerate(shapeOf(op.getOperand())))
      if (size != shapeOf(op)[dim] || op.getLow()[dim] != 0)
        inside = unpad(b, inside, dim, op.getLow()[dim], size, op.getMode());
  }
  c.add(op.getOperand(), inside);
  if (op.getValue() && c.needs(op.getValue())) {
    SmallVector<int64_t> all = dimensions(0, op.getType().getRank());
    c.add(op.getValue(), b.sub(b.sum(c.of(op), all), b.sum(inside, all)));
  }
}

// One dimension after the other: the elements at each place of the windows go back to where they came from.
static void windows(nn::WindowsOp op, Cotangents &c) {
  RuleBuilder b(c, op);
  Value cotangent = c.of(op);
  int64_t sliding = op.getStrides().size(), leading = op.getType().getRank() - 2 * sliding;
  for (int64_t d = sliding; d-- > 0;) {
    // Behind the leading dimensions lie the places of dimensions up to d, then the windows of all up to d and
    // what is done already.
    int64_t place = leading + d, window = leading + 2 * d + 1;
    int64_t size = shapeOf(op.getOperand())[leading + d];
    SmallVector<int64_t> shape(shapeOf(cotangent)), offsets(shape.size(), 0), ones(shape.size(), 1);
    int64_t count = std::exchange(shape[place], 1);
    SmallVector<int64_t> without = shape;
    without.erase(without.begin() + place);
    Value sum;
    for (int64_t k = 0; k < count; ++k) {
      offsets[place] = k;
      Value part = b.reshape(b.slice(cotangent, offsets, shape, ones), without);
      part = b.spread(part, window - 1, k * op.getDilations()[d], op.getStrides()[d], size);
      sum = sum ? b.add(sum, part) : part;
    }
    if (!sum) {
      without[window - 1] = size;
      sum = b.splat(RankedTensorType::get(without, op.getType().getElementType()), 0);
    }
    cotangent = sum;
  }
  c.add(op.getOperand(), cotangent);
}

void derivatives::attachMovement(MLIRContext *context) {
  attach<nn::ReshapeOp, reshape>(context);
  attach<nn::BroadcastOp, broadcast>(context);
  attach<nn::TransposeOp, transpose>(context);
  attach<nn::SliceOp, slice>(context);
  attach<nn::ConcatOp, concat>(context);
  attach<nn::PadOp, pad>(context);
  attach<nn::WindowsOp, windows>(context);
}
