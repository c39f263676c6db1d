#include "spillway/Training/Stacking.h"

#include "dialects/Zero/Zero.h"

using namespace mlir;
using namespace spillway;
using derivatives::dimensions;
using derivatives::shapeOf;

#include "spillway/Training/Interfaces.cpp.inc"

//===----------------------------------------------------------------------===//
// What rules are written with
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> behind(int64_t first, ArrayRef<int64_t> rest) {
  SmallVector<int64_t> all{first};
  llvm::append_range(all, rest);
  return all;
}

/// `dims` counted behind one dimension more.
static SmallVector<int64_t> shifted(ArrayRef<int64_t> dims) {
  return llvm::map_to_vector(dims, [](int64_t dim) { return dim + 1; });
}

SmallVector<int64_t> StackBuilder::shape(Value value) const { return behind(count, shapeOf(value)); }

RankedTensorType StackBuilder::type(Value value) const {
  return RankedTensorType::get(shape(value), getElementTypeOrSelf(value));
}

Value StackBuilder::stacked(Stacked value) {
  if (!value.isShared)
    return value.value;
  return broadcast(value.value, dimensions(1, shapeOf(value.value).size() + 1), shape(value.value));
}

SmallVector<Value> StackBuilder::stacked(ArrayRef<Stacked> values) {
  return llvm::map_to_vector(values, [&](Stacked value) { return stacked(value); });
}

Value StackBuilder::slice(Stacked value, int64_t index) {
  if (value.isShared)
    return value.value;
  SmallVector<int64_t> sizes(shapeOf(value.value)), offsets(sizes.size(), 0), ones(sizes.size(), 1);
  sizes[0] = 1;
  offsets[0] = index;
  return reshape(RuleBuilder::slice(value.value, offsets, sizes, ones), ArrayRef(sizes).drop_front());
}

Value StackBuilder::join(ArrayRef<Value> values) {
  auto parts = llvm::map_to_vector(values, [&](Value value) { return reshape(value, behind(1, shapeOf(value))); });
  return create<nn::ConcatOp>(type(values.front()), parts, 0);
}

Operation *StackBuilder::cloneOperation(Operation *op, ValueRange operands) {
  Operation *made = builder.clone(*op);
  made->setOperands(operands);
  for (Value result : made->getResults())
    result.setType(type(result));
  return made;
}

Value StackBuilder::mergeInBatch(Value stacked) {
  ArrayRef<int64_t> shape = shapeOf(stacked);
  return reshape(stacked, behind(shape[0] * shape[1], shape.drop_front(2)));
}

Value StackBuilder::splitBatch(Value merged) {
  ArrayRef<int64_t> shape = shapeOf(merged);
  return reshape(merged, behind(count, behind(shape[0] / count, shape.drop_front())));
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

template <typename Op> static Value asItIs(Op op, ArrayRef<Stacked> operands, StackBuilder &b) {
  return b.clone(op, b.stacked(operands));
}

template <typename Op> static Value alongDim(Op op, ArrayRef<Stacked> operands, StackBuilder &b) {
  Op made = b.clone(op, b.stacked(operands));
  made.setDim(op.getDim() + 1);
  return made;
}

static Value reshape(nn::ReshapeOp op, ArrayRef<Stacked> operands, StackBuilder &b) {
  return b.reshape(operands[0].value, b.shape(op));
}

static Value broadcast(nn::BroadcastOp op, ArrayRef<Stacked> operands, StackBuilder &b) {
  return b.broadcast(operands[0].value, behind(0, shifted(op.getDims())), b.shape(op));
}

static Value transpose(nn::TransposeOp op, ArrayRef<Stacked> operands, StackBuilder &b) {
  return b.transpose(operands[0].value, behind(0, shifted(op.getPerm())));
}

static Value slice(nn::SliceOp op, ArrayRef<Stacked> operands, StackBuilder &b) {
  return b.RuleBuilder::slice(operands[0].value, behind(0, op.getOffsets()), b.shape(op),
                              behind(1, op.getStrides()));
}

static Value pad(nn::PadOp op, ArrayRef<Stacked> operands, StackBuilder &b) {
  if (operands[0].isShared || (op.getValue() && !operands[1].isShared))
    return {};
  SmallVector<Value> values = llvm::map_to_vector(operands, [](Stacked operand) { return operand.value; });
  nn::PadOp made = b.clone(op, values);
  made.setLow(behind(0, op.getLow()));
  return made;
}

static Value gather(nn::GatherOp op, ArrayRef<Stacked> operands, StackBuilder &b) {
  auto [data, indices] = std::tuple(operands[0], operands[1]);
  int64_t dim = op.getDim();
  if (indices.isShared) {
    nn::GatherOp made = b.clone(op, {data.value, indices.value});
    made.setDim(dim + 1);
    return made;
  }
  if (data.isShared) {
    // [before..., micro-batches, indices..., behind...], whose micro-batches come to the front.
    SmallVector<int64_t> gathered(shapeOf(op)), perm = dimensions(0, gathered.size() + 1);
    gathered.insert(gathered.begin() + dim, shapeOf(indices.value)[0]);
    perm.erase(perm.begin() + dim);
    perm.insert(perm.begin(), dim);
    Value made = b.create<nn::GatherOp>(RankedTensorType::get(gathered, op.getType().getElementType()), data.value,
                                        indices.value, dim);
    return dim == 0 ? made : b.transpose(made, perm);
  }
  if (dim != 0)
    return {};
  SmallVector<int64_t> tuples(shapeOf(indices.value));
  tuples.push_back(1);
  return b.create<nn::GatherNDOp>(b.type(op), data.value, b.reshape(indices.value, tuples), 1);
}

static Value gatherND(nn::GatherNDOp op, ArrayRef<Stacked> operands, StackBuilder &b) {
  nn::GatherNDOp made = b.clone(op, b.stacked(operands));
  made.setBatchDims(op.getBatchDims() + 1);
  return made;
}

static Value scatter(nn::ScatterOp op, ArrayRef<Stacked> operands, StackBuilder &b) {
  SmallVector<Value> values = b.stacked(operands);
  Value &indices = values[1];
  SmallVector<int64_t> column(shapeOf(indices)), tuples = column;
  column.back() = 1;
  ++tuples.back();
  Type element = getElementTypeOrSelf(indices);
  Value microBatch = b.create<nn::IotaOp>(RankedTensorType::get(column, element), 0);
  indices = b.create<nn::ConcatOp>(RankedTensorType::get(tuples, element), ValueRange{microBatch, indices},
                                   static_cast<int64_t>(tuples.size()) - 1);
  return b.clone(op, values);
}

static Value multiply(nn::MatmulOp op, ArrayRef<Stacked> operands, StackBuilder &b) {
  auto [lhs, rhs] = std::tuple(operands[0], operands[1]);
  auto rank = static_cast<int64_t>(shapeOf(op.getLhs()).size());
  bool isMatrix = shapeOf(op.getRhs()).size() == 2;
  Value factor = rhs.value;
  if (!isMatrix || rank == 2) {
    factor = isMatrix && rhs.isShared ? factor : b.stacked(rhs);
  } else if (!rhs.isShared) {
    // One matrix for all batches of a micro-batch.
    SmallVector<int64_t> shape = b.shape(op.getLhs());
    std::copy_n(shapeOf(op.getRhs()).begin(), 2, shape.end() - 2);
    factor = b.broadcast(factor, {0, rank - 1, rank}, shape);
  }
  return b.clone(op, {b.stacked(lhs), factor});
}

static Value convolve(nn::ConvOp op, ArrayRef<Stacked> operands, StackBuilder &b) {
  if (!operands[1].isShared)
    return {};
  Value images = b.mergeInBatch(operands[0].value);
  SmallVector<int64_t> shape(shapeOf(op));
  shape[0] = shapeOf(images)[0];
  return b.splitBatch(b.create<nn::ConvOp>(RankedTensorType::get(shape, op.getType().getElementType()), images,
                                           op.getFilter(), op.getStrides(), op.getDilations(), op.getLow(),
                                           op.getGroups()));
}

static Value attend(nn::AttentionOp op, ArrayRef<Stacked> operands, StackBuilder &b) {
  SmallVector<Value> values;
  for (auto [i, operand] : llvm::enumerate(operands)) {
    bool isMask = i == 3;
    if (isMask && operand.isShared && shapeOf(operand.value)[0] == 1) {
      values.push_back(operand.value);
      continue;
    }
    Value stacked = b.stacked(operand);
    if (isMask) {
      SmallVector<int64_t> shape(shapeOf(stacked));
      shape[1] = shapeOf(op)[0];
      stacked = b.broadcast(stacked, dimensions(0, shape.size()), shape);
    }
    values.push_back(b.mergeInBatch(stacked));
  }
  nn::AttentionOp made = b.clone(op, values);
  Value result = made.getResult();
  SmallVector<int64_t> stackedShape(shapeOf(result));
  result.setType(cast<RankedTensorType>(op.getType()).clone(behind(stackedShape[0] * stackedShape[1],
                                                                   ArrayRef(stackedShape).drop_front(2))));
  return b.splitBatch(result);
}

static Value reduce(nn::ReduceOp op, ArrayRef<Stacked> operands, StackBuilder &b) {
  nn::ReduceOp made = b.clone(op, operands[0].value);
  made.setDims(shifted(op.getDims()));
  return made;
}

template <typename Norm> static Value normalize(Norm op, ArrayRef<Stacked> operands, StackBuilder &b) {
  if (llvm::any_of(operands.drop_front(), [](Stacked operand) { return !operand.isShared; }))
    return {};
  SmallVector<Value> values{operands[0].value};
  for (Stacked parameter : operands.drop_front())
    values.push_back(parameter.value);
  Norm made = b.clone(op, values);
  made.setDim(op.getDim() + 1);
  return made;
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

namespace {
template <typename Op, auto rule>
struct StackRule : public StackableOpInterface::ExternalModel<StackRule<Op, rule>, Op> {
  Value stack(Operation *op, ArrayRef<Stacked> operands, StackBuilder &builder) const {
    return rule(cast<Op>(op), operands, builder);
  }
};
} // namespace

template <typename Op, auto rule> static void attach(MLIRContext *context) {
  Op::template attachInterface<StackRule<Op, rule>>(*context);
}

void spillway::registerStackRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, zero::ZeroDialect *) {
    attach<zero::LookupOp, asItIs<zero::LookupOp>>(context);
  });
  registry.addExtension(+[](MLIRContext *context, nn::NNDialect *) {
    attach<nn::ReshapeOp, reshape>(context);
    attach<nn::BroadcastOp, broadcast>(context);
    attach<nn::TransposeOp, transpose>(context);
    attach<nn::SliceOp, slice>(context);
    attach<nn::WindowsOp, asItIs<nn::WindowsOp>>(context);
    attach<nn::ConcatOp, alongDim<nn::ConcatOp>>(context);
    attach<nn::PadOp, pad>(context);
    attach<nn::RandomOp, asItIs<nn::RandomOp>>(context);
    attach<nn::GatherOp, gather>(context);
    attach<nn::GatherElementsOp, alongDim<nn::GatherElementsOp>>(context);
    attach<nn::GatherNDOp, gatherND>(context);
    attach<nn::UnpackOp, asItIs<nn::UnpackOp>>(context);
    attach<nn::MatmulOp, multiply>(context);
    attach<nn::ConvOp, convolve>(context);
    attach<nn::AttentionOp, attend>(context);
    attach<nn::ReduceOp, reduce>(context);
    attach<nn::SoftmaxOp, alongDim<nn::SoftmaxOp>>(context);
    attach<nn::LogSoftmaxOp, alongDim<nn::LogSoftmaxOp>>(context);
    attach<nn::LayerNormOp, normalize<nn::LayerNormOp>>(context);
    attach<nn::RmsNormOp, normalize<nn::RmsNormOp>>(context);
    attach<nn::CumsumOp, alongDim<nn::CumsumOp>>(context);
    attach<nn::ArgsortOp, alongDim<nn::ArgsortOp>>(context);
    attach<nn::ScatterOp, scatter>(context);
  });
}
