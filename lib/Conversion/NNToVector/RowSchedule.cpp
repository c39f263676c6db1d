// One reduction, softmax or norm with what comes before and after it. The elements that
// combine are a line. Where lines end in the last dimension, lanes go along them: 16
// virtual lanes (index mod 16), combined by one fixed tree, on every instruction
// set; a reduction over a whole tensor does so by chunks first. Where they do not, lanes lie across neighbouring lines, and each line combines in
// ascending order.

#include "spillway/Conversion/NNToVector/Epilogue.h"
#include "spillway/Conversion/NNToVector/KernelSchedule.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::kernels;

namespace {

constexpr int64_t lanes = reductionLanes;
/// A line whose producer is worth keeping between passes is kept up to this length.
constexpr int64_t maxKeptElements = 1 << 15;

Operation *anchorOf(nn::KernelOp kernel) {
  auto anchors = kernel.getOps<nn::AnchorOpInterface>();
  return anchors.empty() ? nullptr : (*anchors.begin()).getOperation();
}

/// Dimensions of the anchor's operand that combine.
SmallVector<int64_t> combinedDims(Operation *anchor) {
  if (auto reduce = dyn_cast<nn::ReduceOp>(anchor))
    return SmallVector<int64_t>(reduce.getDims());
  int64_t rank = cast<RankedTensorType>(anchor->getOperand(0).getType()).getRank();
  if (auto softmax = dyn_cast<nn::SoftmaxOp>(anchor))
    return {static_cast<int64_t>(softmax.getDim())};
  if (auto softmax = dyn_cast<nn::LogSoftmaxOp>(anchor))
    return {static_cast<int64_t>(softmax.getDim())};
  auto norm = dyn_cast<nn::LayerNormOp>(anchor);
  int64_t first = norm ? norm.getDim() : cast<nn::RmsNormOp>(anchor).getDim();
  return llvm::to_vector(llvm::seq<int64_t>(first, rank));
}

/// How the lines of an anchor lie in its operand.
struct Lines {
  Value operand;
  ArrayRef<int64_t> shape;
  /// Dimensions that tell lines apart, and those along which one combines; each
  /// ascending.
  SmallVector<int64_t> keptDims, combinedDims;
  SmallVector<int64_t> keptSizes, combinedSizes;
  /// Lanes go along the line (its last dimensions are the operand's), or across lines.
  bool along = true;
  /// Elements of the part of a line that is contiguous; across lines: 1.
  int64_t inner = 1;
  int64_t lines = 1, length = 1;
  /// Parts of the only line that combine by themselves first; 0 where the line is not cut.
  int64_t chunks = 0;

  explicit Lines(Operation *anchor) : operand(anchor->getOperand(0)) {
    shape = cast<RankedTensorType>(operand.getType()).getShape();
    combinedDims = ::combinedDims(anchor);
    for (auto [dim, size] : llvm::enumerate(shape)) {
      bool combined = llvm::is_contained(combinedDims, static_cast<int64_t>(dim));
      if (!combined)
        keptDims.push_back(dim);
      (combined ? combinedSizes : keptSizes).push_back(size);
    }
    lines = ShapedType::getNumElements(keptSizes);
    length = ShapedType::getNumElements(combinedSizes);
    int64_t rank = shape.size();
    along = combinedDims.empty() ? false : combinedDims.back() == rank - 1;
    for (int64_t dim = rank - 1; along && dim >= 0 && llvm::is_contained(combinedDims, dim); --dim)
      inner *= shape[dim];
    if (isa<nn::ReduceOp>(anchor) && keptDims.empty() && length > reductionChunk)
      chunks = llvm::divideCeil(length, reductionChunk);
  }

  /// Lines that share a vector lie in the last kept dimension.
  int64_t across() const { return keptSizes.empty() ? 1 : keptSizes.back(); }
  int64_t units() const {
    if (along || keptSizes.empty())
      return lines;
    return across() == 0 ? 0 : lines / across() * llvm::divideCeil(across(), lanes);
  }
};

bool isFloat(Type element) { return isa<FloatType>(element); }

/// What elements of a type combine in.
Type accumulatorOf(Type element) {
  return isFloat(element) && element.getIntOrFloatBitWidth() < 32
             ? Type(Float32Type::get(element.getContext()))
             : element;
}

/// Arithmetic on scalars and vectors alike, floats and integers.
class Numbers {
public:
  explicit Numbers(ImplicitLocOpBuilder &builder) : b(builder) {}

  Value constant(Type type, double value) {
    Type element = getElementTypeOrSelf(type);
    // The highest i64 is rounded up on its way here.
    constexpr int64_t highest = std::numeric_limits<int64_t>::max();
    int64_t integer = value >= 0x1p63 ? highest : static_cast<int64_t>(value);
    TypedAttr attribute = isFloat(element) ? TypedAttr(b.getFloatAttr(element, value))
                                           : TypedAttr(b.getIntegerAttr(element, integer));
    return splat(type, attribute);
  }
  Value splat(Type type, TypedAttr value) {
    if (auto vector = dyn_cast<VectorType>(type))
      return arith::ConstantOp::create(b, DenseElementsAttr::get(vector, Attribute(value)));
    return arith::ConstantOp::create(b, value);
  }
  /// A scalar in every lane of `type`.
  Value spread(Type type, Value scalar) {
    return isa<VectorType>(type) ? Value(vector::BroadcastOp::create(b, type, scalar)) : scalar;
  }

  Value add(Value l, Value r) { return both<arith::AddFOp, arith::AddIOp>(l, r); }
  Value subtract(Value l, Value r) { return both<arith::SubFOp, arith::SubIOp>(l, r); }
  Value multiply(Value l, Value r) { return both<arith::MulFOp, arith::MulIOp>(l, r); }
  Value divide(Value l, Value r) { return arith::DivFOp::create(b, l, r); }
  Value maximum(Value l, Value r) {
    if (getElementTypeOrSelf(l).isInteger(1))
      return arith::OrIOp::create(b, l, r);
    return both<arith::MaximumFOp, arith::MaxSIOp>(l, r);
  }
  Value minimum(Value l, Value r) {
    if (getElementTypeOrSelf(l).isInteger(1))
      return arith::AndIOp::create(b, l, r);
    return both<arith::MinimumFOp, arith::MinSIOp>(l, r);
  }
  /// sum + x * x, rounded once for floats.
  Value addSquare(Value sum, Value x) {
    if (isFloat(getElementTypeOrSelf(x)))
      return math::FmaOp::create(b, x, x, sum);
    return add(sum, multiply(x, x));
  }
  Value absolute(Value x) {
    if (isFloat(getElementTypeOrSelf(x)))
      return math::AbsFOp::create(b, x);
    return math::AbsIOp::create(b, x);
  }
  Value exp(Value x) { return math::ExpOp::create(b, x); }
  Value log(Value x) { return math::LogOp::create(b, x); }
  Value sqrt(Value x) { return math::SqrtOp::create(b, x); }

  /// To and from the accumulator's type.
  Value widen(Value x, Type element) {
    Type type = getElementTypeOrSelf(x);
    return type == element ? x : arith::ExtFOp::create(b, like(x, element), x).getResult();
  }
  Value narrow(Value x, Type element) {
    Type type = getElementTypeOrSelf(x);
    return type == element ? x : arith::TruncFOp::create(b, like(x, element), x).getResult();
  }

  static Type like(Value x, Type element) {
    auto vector = dyn_cast<VectorType>(x.getType());
    return vector ? Type(vector.clone(element)) : element;
  }

private:
  template <typename Float, typename Integer> Value both(Value l, Value r) {
    if (isFloat(getElementTypeOrSelf(l)))
      return Float::create(b, l, r);
    return Integer::create(b, l, r);
  }

  ImplicitLocOpBuilder &b;
};

/// One pass over a line: where it starts, and what each element does to it.
struct Pass {
  double initial = 0;
  std::function<Value(Numbers &, Value accumulator, Value element)> step;
  /// Of two partial results; the same as `step` where elements are partial results.
  std::function<Value(Numbers &, Value, Value)> combine;
};

Value addStep(Numbers &n, Value accumulator, Value element) { return n.add(accumulator, element); }

Pass sumPass() { return {0, addStep, addStep}; }

Pass maximumPass(Type element) {
  auto maximum = [](Numbers &n, Value l, Value r) { return n.maximum(l, r); };
  double lowest = isFloat(element)
                      ? -std::numeric_limits<double>::infinity()
                      : static_cast<double>(APInt::getSignedMinValue(element.getIntOrFloatBitWidth())
                                                .getSExtValue());
  return {element.isInteger(1) ? 0 : lowest, maximum, maximum};
}

/// The code of one unit: one line, or neighbouring lines side by side.
class UnitCode {
public:
  UnitCode(KernelBuilder &kernel, Operation *anchor, const Epilogue &epilogue, const Lines &lines,
           bool keeps)
      : kernel(kernel), n(kernel.builder()), anchor(anchor), epilogue(epilogue), lines(lines),
        keeps(keeps) {
    element = cast<RankedTensorType>(lines.operand.getType()).getElementType();
    accumulator = accumulatorOf(element);
  }

  void emit(Value unit) {
    if (lines.along) {
      line = unit;
      emitLine();
      return;
    }
    if (lines.keptSizes.empty()) {
      line = kernel.constantIndex(0);
      width = active = 1;
      emitLine();
      return;
    }
    // Units are blocks of lanes in the last kept dimension.
    ImplicitLocOpBuilder &b = kernel.builder();
    int64_t blocks = llvm::divideCeil(lines.across(), lanes), rest = lines.across() % lanes;
    Value row = arith::DivUIOp::create(b, unit, kernel.constantIndex(blocks));
    Value block = arith::RemUIOp::create(b, unit, kernel.constantIndex(blocks));
    kernel.setFacts(row, {1, std::max<int64_t>(1, lines.lines / lines.across())});
    line = row;
    column = arith::MulIOp::create(b, block, kernel.constantIndex(lanes));
    kernel.setFacts(column, {lanes, lines.across()});
    auto emitBlock = [&](int64_t lanesActive) {
      width = lanes;
      active = lanesActive;
      emitLine();
    };
    if (rest == 0)
      return emitBlock(lanes);
    Value last = kernel.constantIndex(blocks - 1);
    Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, block, last);
    Value isWhole = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, block, last);
    kernel.when(isLast, [&] { emitBlock(rest); });
    if (blocks > 1)
      kernel.when(isWhole, [&] { emitBlock(lanes); });
  }

private:
  void emitLine() {
    if (auto reduce = dyn_cast<nn::ReduceOp>(anchor))
      return emitReduce(reduce);
    if (auto softmax = dyn_cast<nn::SoftmaxOp>(anchor))
      return emitSoftmax(/*logarithm=*/false);
    if (isa<nn::LogSoftmaxOp>(anchor))
      return emitSoftmax(/*logarithm=*/true);
    if (auto norm = dyn_cast<nn::LayerNormOp>(anchor))
      return emitLayerNorm(norm);
    emitRmsNorm(cast<nn::RmsNormOp>(anchor));
  }

  //===--------------------------------------------------------------------===//
  // Anchors
  //===--------------------------------------------------------------------===//

  void emitReduce(nn::ReduceOp reduce) {
    Value result = reduceLine(reduce.getKind());
    ElementEmitter emitter(kernel, width, active);
    epilogue.store(emitter, n.narrow(result, element), keptIndex(emitter));
  }

  Value reduceLine(nn::ReductionKind kind) {
    auto count = [&] { return n.constant(accumulatorType(), static_cast<double>(lines.length)); };
    switch (kind) {
    case nn::ReductionKind::sum:
      return run(sumPass());
    case nn::ReductionKind::mean:
      return n.divide(run(sumPass()), count());
    case nn::ReductionKind::prod: {
      auto multiply = [](Numbers &n, Value l, Value r) { return n.multiply(l, r); };
      return run({1, multiply, multiply});
    }
    case nn::ReductionKind::max:
      return run(maximumPass(accumulator));
    case nn::ReductionKind::min: {
      auto minimum = [](Numbers &n, Value l, Value r) { return n.minimum(l, r); };
      double highest =
          isFloat(accumulator)
              ? std::numeric_limits<double>::infinity()
              : static_cast<double>(
                    APInt::getSignedMaxValue(accumulator.getIntOrFloatBitWidth()).getSExtValue());
      return run({accumulator.isInteger(1) ? 1 : highest, minimum, minimum});
    }
    case nn::ReductionKind::sum_square:
      return run(sumOfSquares());
    case nn::ReductionKind::l1:
      return run({0, [](Numbers &n, Value sum, Value x) { return n.add(sum, n.absolute(x)); },
                  addStep});
    case nn::ReductionKind::l2:
      return n.sqrt(run(sumOfSquares()));
    case nn::ReductionKind::log_sum:
      return n.log(run(sumPass()));
    case nn::ReductionKind::log_sum_exp: {
      Value maximum = finite(run(maximumPass(accumulator)));
      return n.add(maximum, n.log(run(sumOfExponentials(maximum))));
    }
    }
    llvm_unreachable("a kind of reduction");
  }

  void emitSoftmax(bool logarithm) {
    Value maximum = run(maximumPass(accumulator));
    Value sum = run(sumOfExponentials(maximum));
    Value shift = logarithm ? n.log(sum) : Value();
    forEach([&, this](Value x, Type type) {
      Value difference = n.subtract(x, n.spread(type, maximum));
      if (logarithm)
        return n.subtract(difference, n.spread(type, shift));
      return n.divide(n.exp(difference), n.spread(type, sum));
    });
  }

  void emitLayerNorm(nn::LayerNormOp norm) {
    Value count = n.constant(accumulatorType(), static_cast<double>(lines.length));
    Value mean = n.divide(run(sumPass()), count);
    Value squares = run({0,
                         [mean](Numbers &n, Value sum, Value x) {
                           return n.addSquare(sum, n.subtract(x, n.spread(x.getType(), mean)));
                         },
                         addStep});
    Value inverse = inverseRoot(n.divide(squares, count), norm.getEpsilon().convertToFloat());
    forEach(
        [&, this](Value x, Type type) {
          Value centred = n.subtract(x, n.spread(type, mean));
          return n.multiply(centred, n.spread(type, inverse));
        },
        norm.getScale(), norm.getBias());
  }

  void emitRmsNorm(nn::RmsNormOp norm) {
    Value count = n.constant(accumulatorType(), static_cast<double>(lines.length));
    Value squares = n.divide(run(sumOfSquares()), count);
    Value inverse = inverseRoot(squares, norm.getEpsilon().convertToFloat());
    forEach([&, this](Value x, Type type) { return n.multiply(x, n.spread(type, inverse)); },
            norm.getScale(), {});
  }

  static Pass sumOfSquares() {
    return {0, [](Numbers &n, Value sum, Value x) { return n.addSquare(sum, x); }, addStep};
  }

  /// Across lines `maximum` is a vector already.
  Pass sumOfExponentials(Value maximum) {
    return {0,
            [maximum](Numbers &n, Value sum, Value x) {
              bool spread = x.getType() != maximum.getType();
              Value shift = spread ? n.spread(x.getType(), maximum) : maximum;
              return n.add(sum, n.exp(n.subtract(x, shift)));
            },
            addStep};
  }

  /// An infinity as zero: nothing is to be subtracted then.
  Value finite(Value x) {
    ImplicitLocOpBuilder &b = kernel.builder();
    Value infinity = n.constant(x.getType(), std::numeric_limits<double>::infinity());
    Value isInfinite = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, n.absolute(x), infinity);
    return arith::SelectOp::create(b, isInfinite, n.constant(x.getType(), 0), x);
  }

  Value inverseRoot(Value variance, float epsilon) {
    Value shifted = n.add(variance, n.constant(variance.getType(), epsilon));
    return n.divide(n.constant(variance.getType(), 1), n.sqrt(shifted));
  }

  //===--------------------------------------------------------------------===//
  // Passes
  //===--------------------------------------------------------------------===//

  /// Of a finished reduction: a scalar along lines, one value per lane across them.
  Type accumulatorType() const {
    return laneType(accumulator, lines.along ? 1 : width);
  }

  /// The line's elements, combined.
  Value run(const Pass &pass) {
    if (!lines.along)
      return runAcross(pass);
    if (lines.chunks > 0)
      return runChunks(pass);
    int64_t outer = lines.inner == 0 ? 0 : lines.length / lines.inner;
    SmallVector<Value> result =
        kernel.reduce(0, outer, 1, initial(pass),
                      [&](Value outerIndex, ValueRange carried) -> SmallVector<Value> {
                        return {runPart(pass, carried.front(), kernel.constantIndex(0),
                                        lines.inner, lineElements(outerIndex))};
                      });
    passed = true;
    return tree(result.front(), pass);
  }

  /// The chunks' results lie in scratch, in order, before they combine.
  Value runChunks(const Pass &pass) {
    ImplicitLocOpBuilder &b = kernel.builder();
    Value parts = kernel.scratch(0, MemRefType::get({lines.chunks}, accumulator));
    int64_t whole = lines.length / reductionChunk, rest = lines.length % reductionChunk;
    auto runChunk = [&](Value chunk, int64_t size) {
      Value first = arith::MulIOp::create(b, chunk, kernel.constantIndex(reductionChunk));
      kernel.setFacts(first, {reductionChunk, lines.length});
      Value vector =
          runPart(pass, initial(pass), first, size, lineElements(kernel.constantIndex(0)));
      memref::StoreOp::create(b, tree(vector, pass), parts, chunk);
    };
    kernel.loop(0, whole, 1, [&](Value chunk) { runChunk(chunk, reductionChunk); });
    if (rest > 0)
      runChunk(kernel.constantIndex(whole), rest);
    Pass merge{pass.initial, pass.combine, pass.combine};
    Value vector = runPart(merge, initial(pass), kernel.constantIndex(0), lines.chunks,
                           [&](ElementEmitter &emitter, LaneIndex at) {
                             return emitter.spread(emitter.load(parts, at, accumulator));
                           });
    return tree(vector, pass);
  }

  Value initial(const Pass &pass) { return n.constant(laneType(accumulator, lanes), pass.initial); }

  /// Elements of the line or of its partial results, one per lane.
  using Elements = std::function<Value(ElementEmitter &emitter, LaneIndex at)>;
  Elements lineElements(Value outerIndex) {
    return [this, outerIndex](ElementEmitter &emitter, LaneIndex column) {
      return element_(emitter, outerIndex, column);
    };
  }

  /// Lanes go on from `carried` over `count` elements from `first`, a multiple of the lanes, on.
  Value runPart(const Pass &pass, Value carried, Value first, int64_t count,
                const Elements &elements) {
    int64_t whole = count / lanes * lanes, rest = count - whole;
    auto at = [&](ElementEmitter &emitter, Value offset) {
      return emitter.indices().add(LaneIndex(first), LaneIndex(offset, 1));
    };
    if (whole > 0)
      carried = kernel
                    .reduce(0, whole, lanes, carried,
                            [&](Value offset, ValueRange carried) -> SmallVector<Value> {
                              ElementEmitter emitter(kernel, lanes);
                              Value x = elements(emitter, at(emitter, offset));
                              return {pass.step(n, carried.front(), x)};
                            })
                    .front();
    if (rest == 0)
      return carried;
    ElementEmitter emitter(kernel, lanes, rest);
    Value x = elements(emitter, at(emitter, kernel.constantIndex(whole)));
    Value next = pass.step(n, carried, x);
    return arith::SelectOp::create(kernel.builder(), emitter.mask(), next, carried);
  }

  Value runAcross(const Pass &pass) {
    Type type = laneType(accumulator, width);
    SmallVector<Value> result =
        kernel.reduce(0, lines.length, 1, n.constant(type, pass.initial),
                      [&](Value position, ValueRange carried) -> SmallVector<Value> {
                        ElementEmitter emitter(kernel, width, active);
                        Value x = emitter.emit(lines.operand, acrossIndex(emitter, position));
                        return {pass.step(n, carried.front(), n.widen(x, accumulator))};
                      });
    return result.front();
  }

  /// Lanes i and i + 8, then i and i + 4, ... combine.
  Value tree(Value vector, const Pass &pass) {
    ImplicitLocOpBuilder &b = kernel.builder();
    for (int64_t half = lanes / 2; half >= 1; half /= 2) {
      auto part = [&](int64_t offset) -> Value {
        return vector::ExtractStridedSliceOp::create(b, vector, ArrayRef<int64_t>{offset},
                                                     ArrayRef<int64_t>{half}, ArrayRef<int64_t>{1});
      };
      vector = pass.combine(n, part(0), part(half));
    }
    return vector::ExtractOp::create(b, vector, ArrayRef<int64_t>{0});
  }

  /// Stores the root for each element of the line, whose anchor is `value` of it, times
  /// scale plus bias.
  void forEach(llvm::function_ref<Value(Value x, Type type)> value, Value scale = {},
               Value bias = {}) {
    auto finish = [&](ElementEmitter &emitter, Value x, ArrayRef<LaneIndex> parameterIndex,
                      ArrayRef<LaneIndex> index) {
      Value y = value(x, x.getType());
      if (scale)
        y = n.multiply(y, n.widen(emitter.emit(scale, parameterIndex), accumulator));
      if (bias)
        y = n.add(y, n.widen(emitter.emit(bias, parameterIndex), accumulator));
      epilogue.store(emitter, n.narrow(y, element), index);
    };
    if (!lines.along) {
      kernel.loop(0, lines.length, 1, [&](Value position) {
        ElementEmitter emitter(kernel, width, active);
        ElementIndex index = acrossIndex(emitter, position);
        Value x = n.widen(emitter.emit(lines.operand, index), accumulator);
        finish(emitter, x, {}, index);
      });
      return;
    }
    int64_t whole = lines.inner / lanes * lanes, rest = lines.inner - whole;
    int64_t outer = lines.inner == 0 ? 0 : lines.length / lines.inner;
    kernel.loop(0, outer, 1, [&](Value outerIndex) {
      auto emitPart = [&](int64_t lanesActive, LaneIndex column) {
        ElementEmitter emitter(kernel, lanes, lanesActive);
        Value x = element_(emitter, outerIndex, column);
        ElementIndex parameters = emitter.indices().delinearize(column, lines.combinedSizes);
        finish(emitter, x, parameters, alongIndex(emitter, outerIndex, column));
      };
      if (whole > 0)
        kernel.loop(0, whole, lanes, [&](Value column) { emitPart(lanes, LaneIndex(column, 1)); });
      if (rest > 0)
        emitPart(rest, LaneIndex(whole, 1));
    });
  }

  /// Elements of the line as accumulators: pulled in the first pass, kept in scratch
  /// for the next ones where that is worth it.
  Value element_(ElementEmitter &emitter, Value outerIndex, LaneIndex column) {
    ImplicitLocOpBuilder &b = kernel.builder();
    if (!keeps)
      return n.widen(emitter.emit(lines.operand, alongIndex(emitter, outerIndex, column)),
                     accumulator);
    Value kept = kernel.scratch(0, MemRefType::get({keptElements()}, accumulator));
    LaneIndex place = emitter.indices().add(
        emitter.indices().multiply(LaneIndex(outerIndex), llvm::alignTo(lines.inner, lanes)), column);
    Value position = emitter.indices().value(place.base);
    auto type = cast<VectorType>(laneType(accumulator, lanes));
    if (passed)
      return vector::LoadOp::create(b, type, kept, position);
    Value x = n.widen(emitter.emit(lines.operand, alongIndex(emitter, outerIndex, column)),
                      accumulator);
    vector::StoreOp::create(b, x, kept, position);
    return x;
  }

  int64_t keptElements() const {
    return lines.length / std::max<int64_t>(1, lines.inner) * llvm::alignTo(lines.inner, lanes);
  }

  //===--------------------------------------------------------------------===//
  // Indices
  //===--------------------------------------------------------------------===//

  ElementIndex merge(ArrayRef<LaneIndex> kept, ArrayRef<LaneIndex> combined) const {
    ElementIndex index(lines.shape.size());
    for (auto [dim, value] : llvm::zip_equal(lines.keptDims, kept))
      index[dim] = value;
    for (auto [dim, value] : llvm::zip_equal(lines.combinedDims, combined))
      index[dim] = value;
    return index;
  }

  /// Of the operand, where lanes go along the line.
  ElementIndex alongIndex(ElementEmitter &emitter, Value outerIndex, LaneIndex column) {
    IndexMath &math = emitter.indices();
    int64_t innerDims = 0, size = 1;
    for (int64_t i = lines.combinedSizes.size() - 1; i >= 0 && size < lines.inner; --i, ++innerDims)
      size *= lines.combinedSizes[i];
    // Dimensions of size one do not change the product; take those at the end too.
    ArrayRef<int64_t> sizes = lines.combinedSizes;
    if (innerDims == 0)
      innerDims = 1;
    ElementIndex combined = math.delinearize(LaneIndex(outerIndex), sizes.drop_back(innerDims));
    llvm::append_range(combined, math.delinearize(column, sizes.take_back(innerDims)));
    return merge(math.delinearize(LaneIndex(line), lines.keptSizes), combined);
  }

  /// Of the operand, where lanes lie across lines.
  ElementIndex acrossIndex(ElementEmitter &emitter, Value position) {
    return merge(keptIndex(emitter),
                 emitter.indices().delinearize(LaneIndex(position), lines.combinedSizes));
  }

  /// Of the line among lines.
  ElementIndex keptIndex(ElementEmitter &emitter) {
    IndexMath &math = emitter.indices();
    if (lines.along || lines.keptSizes.empty())
      return math.delinearize(LaneIndex(line), lines.keptSizes);
    ArrayRef<int64_t> sizes = lines.keptSizes;
    ElementIndex index = math.delinearize(LaneIndex(line), sizes.drop_back());
    index.push_back(LaneIndex(column, width == 1 ? 0 : 1));
    return index;
  }

  KernelBuilder &kernel;
  Numbers n;
  Operation *anchor;
  const Epilogue &epilogue;
  const Lines &lines;
  /// Whether elements stay in scratch after the first pass, and whether that is over.
  bool keeps, passed = false;
  Type element, accumulator;
  Value line, column;
  int64_t width = 1, active = 1;
};

class RowSchedule final : public KernelSchedule {
public:
  FailureOr<KernelSpace> space(nn::KernelOp kernel) const override {
    Operation *anchor = anchorOf(kernel);
    if (!anchor)
      return kernel.emitOpError("has the schedule row, but no reduction");
    if (failed(verifyElements(kernel, anchor)) || failed(Epilogue::ofKernel(kernel, anchor)))
      return failure();
    Lines lines(anchor);
    int64_t kept = lines.chunks;
    if (keepsLine(anchor, lines))
      kept = lines.length / lines.inner * llvm::alignTo(lines.inner, ::lanes);
    int64_t scratch = kept * nn::elementBytes(accumulatorOf(elementOf(lines)));
    return KernelSpace{std::max<int64_t>(1, lines.units()), scratch};
  }

  LogicalResult emit(KernelBuilder &kernel) const override {
    Operation *anchor = anchorOf(kernel.kernel());
    FailureOr<Epilogue> epilogue = Epilogue::ofKernel(kernel.kernel(), anchor);
    Lines lines(anchor);
    if (lines.units() == 0)
      return success();
    kernel.loop(kernel.begin(), kernel.end(), 1, [&](Value unit) {
      kernel.setFacts(unit, {1, lines.units()});
      UnitCode(kernel, anchor, *epilogue, lines, keepsLine(anchor, lines)).emit(unit);
    });
    return success();
  }

private:
  static Type elementOf(const Lines &lines) {
    return cast<RankedTensorType>(lines.operand.getType()).getElementType();
  }

  /// A line that is computed, read more than once, and short enough.
  static bool keepsLine(Operation *anchor, const Lines &lines) {
    bool computed = lines.operand.getDefiningOp() != nullptr;
    bool rereads = !isa<nn::ReduceOp>(anchor);
    return lines.along && computed && rereads && lines.length > 0 &&
           lines.length <= maxKeptElements;
  }
};

} // namespace

const KernelSchedule &kernels::rowSchedule() {
  static const RowSchedule schedule;
  return schedule;
}
