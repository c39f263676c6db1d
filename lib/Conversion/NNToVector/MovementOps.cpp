// The index arithmetic of each movement operation.

#include "lib/Conversion/NNToVector/AddRows.h"
#include "spillway/Conversion/NNToVector/ElementInterface.h"
#include "spillway/Conversion/NNToVector/NNToVector.h"
#include "spillway/Conversion/NNToVector/RandomBits.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::kernels;

namespace {

RankedTensorType typeOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()); }

template <typename Model, typename Op>
struct Movement : ElementOpInterface::ExternalModel<Model, Op> {
  Value pullElement(Operation *op, ElementEmitter &emitter, ArrayRef<LaneIndex> index) const {
    return Model::pull(cast<Op>(op), emitter, index);
  }
};

struct ConstantElements : Movement<ConstantElements, arith::ConstantOp> {
  static Value pull(arith::ConstantOp op, ElementEmitter &emitter, ArrayRef<LaneIndex> index) {
    auto values = cast<DenseElementsAttr>(op.getValue());
    if (values.isSplat())
      return emitter.constant(values.getSplatValue<TypedAttr>());
    IndexMath &math = emitter.indices();
    return emitter.load(emitter.kernel().constantMemref(values),
                        math.linearize(index, values.getType().getShape()),
                        values.getElementType());
  }
};

struct ReshapeElements : Movement<ReshapeElements, nn::ReshapeOp> {
  static Value pull(nn::ReshapeOp op, ElementEmitter &emitter, ArrayRef<LaneIndex> index) {
    return emitter.pull(op.getOperand(),
                        emitter.indices().reshape(index, typeOf(op.getResult()).getShape(),
                                                  typeOf(op.getOperand()).getShape()));
  }
};

struct BroadcastElements : Movement<BroadcastElements, nn::BroadcastOp> {
  static Value pull(nn::BroadcastOp op, ElementEmitter &emitter, ArrayRef<LaneIndex> index) {
    ElementIndex operand;
    for (auto [i, dim] : llvm::enumerate(op.getDims()))
      operand.push_back(typeOf(op.getOperand()).getDimSize(i) == 1 ? LaneIndex() : index[dim]);
    return emitter.pull(op.getOperand(), operand);
  }
};

struct TransposeElements : Movement<TransposeElements, nn::TransposeOp> {
  static Value pull(nn::TransposeOp op, ElementEmitter &emitter, ArrayRef<LaneIndex> index) {
    ElementIndex operand(index.size());
    for (auto [i, dim] : llvm::enumerate(op.getPerm()))
      operand[dim] = index[i];
    return emitter.pull(op.getOperand(), operand);
  }
};

struct SliceElements : Movement<SliceElements, nn::SliceOp> {
  static Value pull(nn::SliceOp op, ElementEmitter &emitter, ArrayRef<LaneIndex> index) {
    IndexMath &math = emitter.indices();
    ElementIndex operand;
    for (auto [d, position] : llvm::enumerate(index)) {
      bool whole = op.getOffsets()[d] == 0 && op.getStrides()[d] == 1;
      operand.push_back(
          whole ? position
                : math.add(math.multiply(position, op.getStrides()[d]), op.getOffsets()[d]));
    }
    return emitter.pull(op.getOperand(), operand);
  }
};

struct WindowsElements : Movement<WindowsElements, nn::WindowsOp> {
  static Value pull(nn::WindowsOp op, ElementEmitter &emitter, ArrayRef<LaneIndex> index) {
    IndexMath &math = emitter.indices();
    size_t sliding = op.getStrides().size(), leading = index.size() - 2 * sliding;
    ElementIndex operand(index.take_front(leading));
    for (size_t d = 0; d < sliding; ++d)
      operand.push_back(math.add(math.multiply(index[leading + d], op.getDilations()[d]),
                                 math.multiply(index[leading + sliding + d], op.getStrides()[d])));
    return emitter.pull(op.getOperand(), operand);
  }
};

/// Cases of lanes on one side of a border and on both are told apart in code that is nested up
/// to here; the code doubles each time. Deeper, all lanes take the way of both sides.
constexpr unsigned maxBranchDepth = 2;

/// `value` in the shape of `like`, an index or a vector of indices.
Value indexLike(ElementEmitter &emitter, Value like, int64_t value) {
  ImplicitLocOpBuilder &b = emitter.builder();
  TypedAttr attribute = b.getIndexAttr(value);
  if (auto vector = dyn_cast<VectorType>(like.getType()))
    attribute = DenseElementsAttr::get(vector, Attribute(attribute));
  return arith::ConstantOp::create(b, attribute);
}

Value compare(ElementEmitter &emitter, arith::CmpIPredicate predicate, Value lhs, int64_t rhs) {
  return arith::CmpIOp::create(emitter.builder(), predicate, lhs, indexLike(emitter, lhs, rhs));
}

/// Positions moved into [0, size).
Value clamp(ElementEmitter &emitter, Value positions, int64_t size) {
  ImplicitLocOpBuilder &b = emitter.builder();
  Value low = arith::MaxSIOp::create(b, positions, indexLike(emitter, positions, 0));
  return arith::MinSIOp::create(b, low, indexLike(emitter, positions, size - 1));
}

/// The opposite of a condition.
Value negate(ElementEmitter &emitter, Value condition) {
  ImplicitLocOpBuilder &b = emitter.builder();
  TypedAttr yes = b.getBoolAttr(true);
  if (auto vector = dyn_cast<VectorType>(condition.getType()))
    yes = DenseElementsAttr::get(vector, true);
  return arith::XOrIOp::create(b, condition, arith::ConstantOp::create(b, yes));
}

/// Whether the lanes of an index lie in a range.
struct Inside {
  /// Holds where every active lane does; null where that is always so.
  Value all;
  /// Whether lanes may lie on both sides.
  bool mixed = false;
};

/// The range [from, to) of a dimension of `size`, whose own bounds need no test.
Inside inside(ElementEmitter &emitter, const LaneIndex &unresolved, int64_t from, int64_t to,
              int64_t size) {
  ImplicitLocOpBuilder &b = emitter.builder();
  IndexMath &math = emitter.indices();
  LaneIndex index = math.resolve(unresolved);
  bool uniform = math.isUniform(index);
  Inside result;
  auto conjoin = [&](Value condition) {
    result.all = result.all ? arith::AndIOp::create(b, result.all, condition) : condition;
  };
  if (!uniform && (index.offsets || index.stride != 1)) {
    // Lanes anywhere: ask all of them.
    Value positions = math.positions(index);
    Value in =
        arith::AndIOp::create(b, compare(emitter, arith::CmpIPredicate::sge, positions, from),
                              compare(emitter, arith::CmpIPredicate::slt, positions, to));
    if (!emitter.allActive())
      in = arith::OrIOp::create(b, in, negate(emitter, emitter.mask()));
    result.all = vector::ReductionOp::create(b, vector::CombiningKind::AND, in);
    result.mixed = true;
    return result;
  }
  int64_t span = uniform ? 0 : emitter.indices().active() - 1;
  Value base = math.value(index.base);
  if (from > 0)
    conjoin(compare(emitter, arith::CmpIPredicate::sge, base, from));
  if (to < size)
    conjoin(compare(emitter, arith::CmpIPredicate::slt, base, to - span));
  int64_t divisor = math.facts(index.base).divisor;
  bool aligned = from % divisor == 0 && (to % divisor == 0 || to == size) && span < divisor;
  result.mixed = !uniform && !aligned;
  return result;
}

/// Which lanes lie in [from, to).
Value lanesInside(ElementEmitter &emitter, const LaneIndex &index, int64_t from, int64_t to) {
  Value positions = emitter.indices().positions(index);
  return arith::AndIOp::create(emitter.builder(),
                               compare(emitter, arith::CmpIPredicate::sge, positions, from),
                               compare(emitter, arith::CmpIPredicate::slt, positions, to));
}

Value select(ElementEmitter &emitter, Value lanes, Value yes, Value no) {
  return arith::SelectOp::create(emitter.builder(), lanes, emitter.spread(yes), emitter.spread(no));
}

struct ConcatElements : Movement<ConcatElements, nn::ConcatOp> {
  static Value pull(nn::ConcatOp op, ElementEmitter &emitter, ArrayRef<LaneIndex> index) {
    // Operands without elements hold none of the lanes.
    SmallVector<Value> inputs;
    for (Value input : op.getInputs())
      if (typeOf(input).getDimSize(op.getDim()) > 0)
        inputs.push_back(input);
    return pullFrom(op, inputs, 0, emitter, index);
  }

  /// An element of `inputs`, the first of which begins at `offset`.
  static Value pullFrom(nn::ConcatOp op, ArrayRef<Value> inputs, int64_t offset,
                        ElementEmitter &emitter, ArrayRef<LaneIndex> index) {
    IndexMath &math = emitter.indices();
    int64_t dim = op.getDim(), size = typeOf(inputs.front()).getDimSize(dim);
    const LaneIndex &position = index[dim];
    auto first = [&](ElementEmitter &inner) {
      ElementIndex operand(index);
      operand[dim] = inner.indices().add(position, -offset);
      return inner.pull(inputs.front(), operand);
    };
    if (inputs.size() == 1)
      return first(emitter);
    auto rest = [&](ElementEmitter &inner) {
      return pullFrom(op, inputs.drop_front(), offset + size, inner, index);
    };
    Type element = typeOf(op.getResult()).getElementType();
    int64_t total = typeOf(op.getResult()).getDimSize(dim);
    // Earlier operands are excluded: only the end of this one is to be tested.
    Inside here = inside(emitter, position, 0, offset + size, total);
    bool uniform = math.isUniform(index);
    if (!here.mixed)
      return emitter.branch(here.all, element, uniform, first, rest);

    auto mixed = [&](ElementEmitter &inner) { return lanewise(op, inputs, offset, inner, index); };
    if (emitter.depth() >= maxBranchDepth)
      return mixed(emitter);
    return emitter.branch(here.all, element, uniform, first, [&](ElementEmitter &inner) {
      Inside later = inside(inner, position, offset + size, total, total);
      return inner.branch(later.all, element, uniform, rest, mixed);
    });
  }

  /// Lanes may lie in different operands: reads all operands and picks.
  static Value lanewise(nn::ConcatOp op, ArrayRef<Value> inputs, int64_t offset,
                        ElementEmitter &emitter, ArrayRef<LaneIndex> index) {
    int64_t dim = op.getDim();
    Value result;
    for (Value input : inputs) {
      int64_t size = typeOf(input).getDimSize(dim);
      ElementIndex operand(index);
      IndexMath &math = emitter.indices();
      operand[dim] = LaneIndex();
      operand[dim].offsets = clamp(emitter, math.positions(math.add(index[dim], -offset)), size);
      Value element = emitter.emit(input, operand);
      result = result ? select(emitter, lanesInside(emitter, index[dim], offset, offset + size),
                               element, result)
                      : element;
      offset += size;
    }
    return result;
  }
};

struct PadElements : Movement<PadElements, nn::PadOp> {
  static Value pull(nn::PadOp op, ElementEmitter &emitter, ArrayRef<LaneIndex> index) {
    return pullDim(op, 0, emitter, ElementIndex(index), {});
  }

  /// Dimensions before `dim` of `index` are the operand's already. `outside` says which
  /// lanes lie in the padding of those (none where null).
  static Value pullDim(nn::PadOp op, int64_t dim, ElementEmitter &emitter, ElementIndex index,
                       Value outside) {
    RankedTensorType from = typeOf(op.getOperand()), to = typeOf(op.getResult());
    if (dim == to.getRank()) {
      Value element = emitter.pull(op.getOperand(), index);
      return outside ? select(emitter, outside, fill(op, emitter), element) : element;
    }
    int64_t low = op.getLow()[dim], size = from.getDimSize(dim), padded = to.getDimSize(dim);
    if (low == 0 && size == padded)
      return pullDim(op, dim + 1, emitter, std::move(index), outside);

    bool constant = op.getMode() == nn::PadMode::constant;
    LaneIndex position = index[dim];
    auto interior = [&](ElementEmitter &inner) {
      ElementIndex moved(index);
      moved[dim] = inner.indices().add(position, -low);
      return pullDim(op, dim + 1, inner, moved, outside);
    };
    if (low <= 0 && low + size >= padded)
      return interior(emitter);
    if (constant && size == 0)
      return fill(op, emitter);

    Type element = to.getElementType();
    bool uniform = emitter.indices().isUniform(index) && !outside;
    Inside here = inside(emitter, position, low, low + size, padded);
    auto border = [&](ElementEmitter &inner) -> Value {
      if (constant && !here.mixed)
        return fill(op, inner);
      ElementIndex moved(index);
      moved[dim] = source(op.getMode(), inner, position, low, size);
      if (!constant)
        return pullDim(op, dim + 1, inner, moved, outside);
      Value in = lanesInside(inner, position, low, low + size);
      Value out = negate(inner, in);
      return pullDim(op, dim + 1, inner, moved,
                     outside ? arith::OrIOp::create(inner.builder(), outside, out) : out);
    };
    if (here.mixed && emitter.depth() >= maxBranchDepth)
      return border(emitter);
    return emitter.branch(here.all, element, uniform, interior, border);
  }

  static Value fill(nn::PadOp op, ElementEmitter &emitter) {
    return emitter.pull(op.getValue(), {});
  }

  /// Where the operand's element of a padded position lies.
  static LaneIndex source(nn::PadMode mode, ElementEmitter &emitter, const LaneIndex &position,
                          int64_t low, int64_t size) {
    ImplicitLocOpBuilder &b = emitter.builder();
    Value x = emitter.indices().positions(position);
    auto constant = [&](int64_t value) { return indexLike(emitter, x, value); };
    auto modulo = [&](Value value, int64_t by) -> Value {
      Value rest = arith::RemSIOp::create(b, value, constant(by));
      Value negative = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, rest, constant(0));
      return arith::SelectOp::create(b, negative, arith::AddIOp::create(b, rest, constant(by)),
                                     rest);
    };
    Value relative = arith::SubIOp::create(b, x, constant(low));
    Value at;
    switch (mode) {
    case nn::PadMode::constant:
    case nn::PadMode::edge:
      at = clamp(emitter, relative, size);
      break;
    case nn::PadMode::wrap:
      at = modulo(relative, size);
      break;
    case nn::PadMode::reflect: {
      // Period 2 * (size - 1), mirrored in its second half.
      int64_t period = std::max<int64_t>(1, 2 * (size - 1));
      Value phase = modulo(relative, period);
      at = arith::MinSIOp::create(b, phase, arith::SubIOp::create(b, constant(period), phase));
      if (size == 1)
        at = constant(0);
      break;
    }
    }
    LaneIndex result;
    if (isa<VectorType>(at.getType())) {
      result.offsets = at;
    } else {
      result.base.value = at;
      emitter.kernel().setFacts(at, {1, size});
    }
    return result;
  }
};

struct UnpackElements : Movement<UnpackElements, nn::UnpackOp> {
  static Value pull(nn::UnpackOp op, ElementEmitter &emitter, ArrayRef<LaneIndex> index) {
    int64_t bits = op.getBits(), perByte = 8 / bits;
    ImplicitLocOpBuilder &b = emitter.builder();
    IndexMath &math = emitter.indices();
    LaneIndex last = math.resolve(index.back());
    Value bytes, shifts;
    if (isInMemory(op.getOperand()) && isRunOfBytes(emitter, index.drop_back(), last, perByte)) {
      bytes = pullRun(op, emitter, index, last, perByte);
      SmallVector<int8_t> each;
      for (int64_t lane = 0; lane < emitter.lanes(); ++lane)
        each.push_back(static_cast<int8_t>(lane % perByte * bits));
      shifts = arith::ConstantOp::create(
          b, DenseElementsAttr::get(VectorType::get({emitter.lanes()}, b.getI8Type()),
                                    ArrayRef<int8_t>(each)));
    } else {
      ElementIndex operand(index.drop_back());
      operand.push_back(math.divide(last, perByte));
      bytes = emitter.pull(op.getOperand(), operand);
      Value number = math.positions(math.remainder(last, perByte));
      Value scaled = arith::MulIOp::create(b, number, indexLike(emitter, number, bits));
      auto vector = dyn_cast<VectorType>(scaled.getType());
      Type byte = vector ? Type(vector.clone(b.getI8Type())) : b.getI8Type();
      shifts = arith::IndexCastOp::create(b, byte, scaled);
      if (isa<VectorType>(bytes.getType()) || vector) {
        bytes = emitter.spread(bytes);
        shifts = emitter.spread(shifts);
      }
    }
    Value number = arith::ShRUIOp::create(b, bytes, shifts);
    if (!op.getIsSigned())
      return arith::AndIOp::create(b, number, byteLike(emitter, number, (1 << bits) - 1));
    Value unused = byteLike(emitter, number, 8 - bits);
    return arith::ShRSIOp::create(b, arith::ShLIOp::create(b, number, unused), unused);
  }

private:
  static Value byteLike(ElementEmitter &emitter, Value like, int64_t value) {
    ImplicitLocOpBuilder &b = emitter.builder();
    TypedAttr attribute = b.getI8IntegerAttr(static_cast<int8_t>(value));
    if (auto vector = dyn_cast<VectorType>(like.getType()))
      attribute = DenseElementsAttr::get(vector, Attribute(attribute));
    return arith::ConstantOp::create(b, attribute);
  }

  /// Whether bytes are an argument of the kernel, perhaps under another shape.
  static bool isInMemory(Value bytes) {
    while (auto reshape = bytes.getDefiningOp<nn::ReshapeOp>())
      bytes = reshape.getOperand();
    return isa<BlockArgument>(bytes);
  }

  /// Whether the lanes are the numbers of whole bytes, one after the other.
  static bool isRunOfBytes(ElementEmitter &emitter, ArrayRef<LaneIndex> leading,
                           const LaneIndex &last, int64_t perByte) {
    IndexMath &math = emitter.indices();
    int64_t divisor = last.base.value ? math.facts(last.base).divisor : last.base.constant;
    return emitter.lanes() > perByte && emitter.lanes() % perByte == 0 && !last.offsets &&
           last.stride == 1 && divisor % perByte == 0 && math.isUniform(leading);
  }

  /// Loads each byte once, and repeats it for its numbers.
  static Value pullRun(nn::UnpackOp op, ElementEmitter &emitter, ArrayRef<LaneIndex> index,
                       const LaneIndex &last, int64_t perByte) {
    int64_t lanes = emitter.lanes();
    ElementEmitter narrow(emitter.kernel(), lanes / perByte,
                          llvm::divideCeil(emitter.indices().active(), perByte));
    LaneIndex first = last;
    first.stride = 0;
    ElementIndex operand(index.drop_back());
    operand.push_back(emitter.indices().divide(first, perByte));
    operand.back().stride = 1;
    Value bytes = narrow.spread(narrow.pull(op.getOperand(), operand));
    SmallVector<int64_t> repeated;
    for (int64_t lane = 0; lane < lanes; ++lane)
      repeated.push_back(lane / perByte);
    return vector::ShuffleOp::create(emitter.builder(), bytes, bytes, repeated);
  }
};

struct IotaElements : Movement<IotaElements, nn::IotaOp> {
  static Value pull(nn::IotaOp op, ElementEmitter &emitter, ArrayRef<LaneIndex> index) {
    ImplicitLocOpBuilder &b = emitter.builder();
    Value position = emitter.indices().positions(index[op.getDim()]);
    auto like = [&](Type element) -> Type {
      auto vector = dyn_cast<VectorType>(position.getType());
      return vector ? VectorType::get(vector.getShape(), element) : element;
    };
    Type element = typeOf(op.getResult()).getElementType();
    if (isa<IntegerType>(element))
      return arith::IndexCastOp::create(b, like(element), position);
    Value integer = arith::IndexCastOp::create(b, like(b.getI64Type()), position);
    return arith::SIToFPOp::create(b, like(element), integer);
  }
};

struct RandomElements : Movement<RandomElements, nn::RandomOp> {
  static Value pull(nn::RandomOp op, ElementEmitter &emitter, ArrayRef<LaneIndex> index) {
    ImplicitLocOpBuilder &b = emitter.builder();
    IndexMath &math = emitter.indices();
    int64_t keyDims = typeOf(op.getKey()).getRank();
    Value key = emitter.pull(op.getKey(), index.take_front(keyDims));
    LaneIndex place = math.resolve(
        math.linearize(index.drop_front(keyDims), typeOf(op.getResult()).getShape().drop_front(keyDims)));
    bool isUniform = emitter.lanes() == 1 || (!place.offsets && place.stride == 0);
    Type words = isUniform && !isa<VectorType>(key.getType()) ? b.getI32Type() : laneType(b.getI32Type(), emitter.lanes());
    Value counter = arith::IndexCastOp::create(b, b.getI32Type(), math.value(place.base));
    if (!isUniform)
      counter = arith::AddIOp::create(b, emitter.spread(counter),
                                      arith::IndexCastOp::create(b, words, math.offsets(place)));
    return randomBits(b, key, counter, words);
  }
};

struct GatherElements : Movement<GatherElements, nn::GatherOp> {
  static Value pull(nn::GatherOp op, ElementEmitter &emitter, ArrayRef<LaneIndex> index) {
    int64_t dim = op.getDim(), picks = typeOf(op.getIndices()).getRank();
    ElementIndex data(index.take_front(dim));
    data.push_back(emitter.checkedIndex(emitter.pull(op.getIndices(), index.slice(dim, picks)),
                                        typeOf(op.getData()).getDimSize(dim)));
    llvm::append_range(data, index.drop_front(dim + picks));
    return emitter.pull(op.getData(), data);
  }
};

struct GatherElementsElements : Movement<GatherElementsElements, nn::GatherElementsOp> {
  static Value pull(nn::GatherElementsOp op, ElementEmitter &emitter, ArrayRef<LaneIndex> index) {
    ElementIndex data(index);
    data[op.getDim()] = emitter.checkedIndex(emitter.pull(op.getIndices(), index),
                                             typeOf(op.getData()).getDimSize(op.getDim()));
    return emitter.pull(op.getData(), data);
  }
};

struct GatherNDElements : Movement<GatherNDElements, nn::GatherNDOp> {
  static Value pull(nn::GatherNDOp op, ElementEmitter &emitter, ArrayRef<LaneIndex> index) {
    RankedTensorType indices = typeOf(op.getIndices()), data = typeOf(op.getData());
    int64_t leading = indices.getRank() - 1, batch = op.getBatchDims();
    ElementIndex tuple(index.take_front(leading)), source(index.take_front(batch));
    tuple.emplace_back();
    for (int64_t t = 0; t < indices.getShape().back(); ++t) {
      tuple.back() = LaneIndex(t);
      source.push_back(
          emitter.checkedIndex(emitter.pull(op.getIndices(), tuple), data.getDimSize(batch + t)));
    }
    llvm::append_range(source, index.drop_front(leading));
    return emitter.pull(op.getData(), source);
  }
};

} // namespace

void kernels::registerElementModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    arith::ConstantOp::attachInterface<ConstantElements>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, nn::NNDialect *) {
    nn::ReshapeOp::attachInterface<ReshapeElements>(*context);
    nn::BroadcastOp::attachInterface<BroadcastElements>(*context);
    nn::TransposeOp::attachInterface<TransposeElements>(*context);
    nn::SliceOp::attachInterface<SliceElements>(*context);
    nn::WindowsOp::attachInterface<WindowsElements>(*context);
    nn::ConcatOp::attachInterface<ConcatElements>(*context);
    nn::PadOp::attachInterface<PadElements>(*context);
    nn::UnpackOp::attachInterface<UnpackElements>(*context);
    nn::IotaOp::attachInterface<IotaElements>(*context);
    nn::RandomOp::attachInterface<RandomElements>(*context);
    nn::GatherOp::attachInterface<GatherElements>(*context);
    nn::GatherElementsOp::attachInterface<GatherElementsElements>(*context);
    nn::GatherNDOp::attachInterface<GatherNDElements>(*context);
    attachAddRows(context);
  });
}
