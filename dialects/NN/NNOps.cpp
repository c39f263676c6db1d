#include "dialects/NN/NN.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace spillway::nn;

#define GET_OP_CLASSES
#include "dialects/NN/NNOps.cpp.inc"

namespace {

RankedTensorType tensorType(Value value) { return cast<RankedTensorType>(value.getType()); }
ArrayRef<int64_t> shapeOf(Value value) { return tensorType(value).getShape(); }
Type elementOf(Value value) { return tensorType(value).getElementType(); }

/// Whether floats of 32 bits at most give f32: all are computed in f32, each operand in the type that it is stored in.
bool areComputedInF32(ValueRange operands, Type result) {
  return result.isF32() && llvm::all_of(operands, [](Value operand) {
           return isa<Float32Type, Float16Type, BFloat16Type>(elementOf(operand));
         });
}

bool isInsideRank(int64_t dim, Value value) { return dim >= 0 && dim < tensorType(value).getRank(); }

LogicalResult verifyDim(Operation *op, int64_t dim, Value value) {
  if (!isInsideRank(dim, value))
    return op->emitOpError("C1: dim ") << dim << " lies outside rank " << tensorType(value).getRank();
  return success();
}

/// Parameters of a norm: the operand's shape from `dim` on, its element type.
LogicalResult verifyNormParameter(Operation *op, StringRef name, Value parameter, Value operand,
                                  int64_t dim) {
  auto expected = RankedTensorType::get(shapeOf(operand).drop_front(dim), elementOf(operand));
  if (parameter.getType() != expected)
    return op->emitOpError("C2: ") << name << " must be " << expected << ", not "
                                   << parameter.getType();
  return success();
}

/// Whether types agree but along `dim`.
bool sharesRest(RankedTensorType a, RankedTensorType b, int64_t dim) {
  SmallVector<int64_t> shape(a.getShape());
  if (a.getRank() != b.getRank())
    return false;
  shape[dim] = b.getDimSize(dim);
  return ArrayRef<int64_t>(shape) == b.getShape();
}

bool isStrictlyAscendingInside(ArrayRef<int64_t> dims, int64_t rank) {
  for (auto [i, dim] : llvm::enumerate(dims))
    if (dim < 0 || dim >= rank || (i && dims[i - 1] >= dim))
      return false;
  return true;
}

} // namespace

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

LogicalResult ReshapeOp::verify() {
  auto from = tensorType(getOperand()), to = tensorType(getResult());
  if (from.getNumElements() != to.getNumElements() || from.getElementType() != to.getElementType())
    return emitOpError("C1: ") << from << " and " << to
                               << " differ in number of elements or element type";
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  if (auto producer = getOperand().getDefiningOp<ReshapeOp>()) {
    getOperandMutable().assign(producer.getOperand());
    return getResult();
  }
  return {};
}

LogicalResult BroadcastOp::verify() {
  auto from = tensorType(getOperand()), to = tensorType(getResult());
  ArrayRef<int64_t> dims = getDims();
  if (static_cast<int64_t>(dims.size()) != from.getRank() ||
      !isStrictlyAscendingInside(dims, to.getRank()))
    return emitOpError("C1: dims must be one strictly ascending result dimension per operand "
                       "dimension");
  for (auto [i, dim] : llvm::enumerate(dims))
    if (from.getDimSize(i) != 1 && from.getDimSize(i) != to.getDimSize(dim))
      return emitOpError("C2: operand dimension ")
             << i << " has size " << from.getDimSize(i) << ", neither 1 nor "
             << to.getDimSize(dim);
  if (from.getElementType() != to.getElementType())
    return emitOpError("C3: element types differ");
  return success();
}

OpFoldResult BroadcastOp::fold(FoldAdaptor) {
  return getOperand().getType() == getType() ? getOperand() : Value();
}

LogicalResult TransposeOp::verify() {
  auto from = tensorType(getOperand()), to = tensorType(getResult());
  ArrayRef<int64_t> perm = getPerm();
  if (static_cast<int64_t>(perm.size()) != from.getRank() || !isPermutationVector(perm))
    return emitOpError("C1: perm is not a permutation of ") << from.getRank() << " dimensions";
  SmallVector<int64_t> shape;
  for (int64_t dim : perm)
    shape.push_back(from.getDimSize(dim));
  auto expected = RankedTensorType::get(shape, from.getElementType());
  if (to != expected)
    return emitOpError("C2: the result must be ") << expected;
  return success();
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  if (llvm::is_sorted(getPerm()))
    return getOperand();
  if (auto producer = getOperand().getDefiningOp<TransposeOp>()) {
    SmallVector<int64_t> perm;
    for (int64_t dim : getPerm())
      perm.push_back(producer.getPerm()[dim]);
    setPerm(perm);
    getOperandMutable().assign(producer.getOperand());
    return getResult();
  }
  return {};
}

std::optional<int64_t> SliceOp::getFirstOfRun() {
  ArrayRef<int64_t> from = shapeOf(getOperand()), to = shapeOf(getResult());
  if (getType().getNumElements() == 0)
    return std::nullopt;
  int64_t first = 0;
  bool isCut = false;
  for (auto [size, kept, offset, stride] : llvm::zip_equal(from, to, getOffsets(), getStrides())) {
    // Behind the dimension that is cut all others are whole; before it one index is taken.
    if (isCut && (kept != size || stride != 1))
      return std::nullopt;
    if (kept > 1 && stride != 1)
      return std::nullopt;
    first = first * size + offset;
    isCut |= kept > 1;
  }
  return first;
}

LogicalResult UnpackOp::verify() {
  int64_t bits = getBits();
  if (bits != 1 && bits != 2 && bits != 4)
    return emitOpError("C1: bits must be 1, 2 or 4, not ") << bits;
  auto from = tensorType(getOperand());
  SmallVector<int64_t> shape(from.getShape());
  if (!shape.empty())
    shape.back() *= 8 / bits;
  if (shape.empty() || !from.getElementType().isInteger(8) || getType() != from.clone(shape))
    return emitOpError("C2: ") << from << " of " << bits << " bits does not unpack to " << getType();
  return success();
}

LogicalResult SliceOp::verify() {
  auto from = tensorType(getOperand()), to = tensorType(getResult());
  ArrayRef<int64_t> offsets = getOffsets(), strides = getStrides();
  int64_t rank = from.getRank();
  if (static_cast<int64_t>(offsets.size()) != rank || static_cast<int64_t>(strides.size()) != rank ||
      to.getRank() != rank || from.getElementType() != to.getElementType())
    return emitOpError("C1: ranks, offsets, strides or element types do not agree");
  for (int64_t d = 0; d < rank; ++d) {
    if (strides[d] == 0)
      return emitOpError("C2: stride 0 along dimension ") << d;
    if (to.getNumElements() == 0)
      continue;
    int64_t last = offsets[d] + (to.getDimSize(d) - 1) * strides[d];
    if (offsets[d] < 0 || offsets[d] >= from.getDimSize(d) || last < 0 ||
        last >= from.getDimSize(d))
      return emitOpError("C3: elements ")
             << offsets[d] << " to " << last << " of dimension " << d << " do not lie inside its size "
             << from.getDimSize(d);
  }
  return success();
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  bool whole = getOperand().getType() == getType() &&
               llvm::all_of(getOffsets(), [](int64_t offset) { return offset == 0; }) &&
               llvm::all_of(getStrides(), [](int64_t stride) { return stride == 1; });
  return whole ? getOperand() : Value();
}

LogicalResult WindowsOp::verify() {
  auto from = tensorType(getOperand()), to = tensorType(getResult());
  ArrayRef<int64_t> strides = getStrides(), dilations = getDilations();
  auto sliding = static_cast<int64_t>(strides.size());
  int64_t leading = from.getRank() - sliding;
  auto isPositive = [](int64_t step) { return step >= 1; };
  if (static_cast<int64_t>(dilations.size()) != sliding || leading < 0 ||
      !llvm::all_of(strides, isPositive) || !llvm::all_of(dilations, isPositive) ||
      to.getRank() != from.getRank() + sliding || from.getElementType() != to.getElementType() ||
      from.getShape().take_front(leading) != to.getShape().take_front(leading))
    return emitOpError("C1: ranks, strides, dilations or element types do not agree");
  if (to.getNumElements() == 0)
    return success();
  for (int64_t d = 0; d < sliding; ++d) {
    int64_t place = to.getDimSize(leading + d), window = to.getDimSize(leading + sliding + d);
    int64_t last = (window - 1) * strides[d] + (place - 1) * dilations[d];
    if (last >= from.getDimSize(leading + d))
      return emitOpError("C2: windows reach element ")
             << last << " of dimension " << leading + d << ", whose size is "
             << from.getDimSize(leading + d);
  }
  return success();
}

LogicalResult ConcatOp::verify() {
  auto to = tensorType(getResult());
  if (getInputs().empty())
    return emitOpError("C1: needs an operand");
  if (!isInsideRank(getDim(), getResult()))
    return emitOpError("C1: dim ") << getDim() << " lies outside rank " << to.getRank();
  int64_t dim = getDim(), size = 0;
  for (Value operand : getInputs()) {
    auto from = tensorType(operand);
    if (from.getRank() != to.getRank() || from.getElementType() != to.getElementType())
      return emitOpError("C1: operand ") << from << " differs in rank or element type from " << to;
    for (int64_t d = 0; d < to.getRank(); ++d)
      if (d != dim && from.getDimSize(d) != to.getDimSize(d))
        return emitOpError("C2: operand ") << from << " does not fit " << to << " along dimension "
                                           << d;
    size += from.getDimSize(dim);
  }
  if (size != to.getDimSize(dim))
    return emitOpError("C2: sizes along dimension ")
           << dim << " add up to " << size << ", not " << to.getDimSize(dim);
  return success();
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  return getInputs().size() == 1 ? getInputs().front() : Value();
}

LogicalResult PadOp::verify() {
  auto from = tensorType(getOperand()), to = tensorType(getResult());
  if (static_cast<int64_t>(getLow().size()) != from.getRank() || from.getRank() != to.getRank() ||
      from.getElementType() != to.getElementType())
    return emitOpError("C1: ranks, low or element types do not agree");
  bool constant = getMode() == PadMode::constant;
  if (constant != static_cast<bool>(getValue()))
    return emitOpError("C2: a value is given exactly in the mode constant");
  if (constant && getValue().getType() != RankedTensorType::get({}, from.getElementType()))
    return emitOpError("C2: the value must be a tensor of rank 0 of the operand's element type");
  if (!constant)
    for (int64_t d = 0; d < from.getRank(); ++d) {
      bool pads = getLow()[d] > 0 || to.getDimSize(d) - getLow()[d] > from.getDimSize(d);
      if (pads && from.getDimSize(d) == 0)
        return emitOpError("C3: nothing to repeat along dimension ") << d;
    }
  return success();
}

LogicalResult IotaOp::verify() {
  if (failed(verifyDim(*this, getDim(), getResult())))
    return failure();
  if (elementOf(getResult()).isInteger(1))
    return emitOpError("C2: an i1 cannot hold an index");
  return success();
}

LogicalResult RandomOp::verify() {
  ArrayRef<int64_t> keys = shapeOf(getKey()), shape = shapeOf(getResult());
  if (shape.size() < keys.size() || shape.take_front(keys.size()) != keys)
    return emitOpError("C1: the result must begin with the dimensions of the key");
  if (ShapedType::getNumElements(shape.drop_front(keys.size())) > int64_t(1) << 32)
    return emitOpError("C2: more than 2^32 elements belong to a key");
  return success();
}

LogicalResult GatherOp::verify() {
  if (failed(verifyDim(*this, getDim(), getData())))
    return failure();
  SmallVector<int64_t> shape(shapeOf(getData()));
  shape.erase(shape.begin() + getDim());
  shape.insert(shape.begin() + getDim(), shapeOf(getIndices()).begin(), shapeOf(getIndices()).end());
  auto expected = RankedTensorType::get(shape, elementOf(getData()));
  if (getType() != expected)
    return emitOpError("C2: the result must be ") << expected;
  return success();
}

LogicalResult GatherElementsOp::verify() {
  if (failed(verifyDim(*this, getDim(), getData())))
    return failure();
  if (shapeOf(getData()).size() != shapeOf(getIndices()).size())
    return emitOpError("C1: data and indices differ in rank");
  auto expected = RankedTensorType::get(shapeOf(getIndices()), elementOf(getData()));
  if (getType() != expected)
    return emitOpError("C2: the result must be ") << expected;
  for (auto [d, size] : llvm::enumerate(shapeOf(getIndices())))
    if (static_cast<int64_t>(d) != static_cast<int64_t>(getDim()) && size > shapeOf(getData())[d])
      return emitOpError("C3: indices are larger than data along dimension ") << d;
  return success();
}

LogicalResult GatherNDOp::verify() {
  ArrayRef<int64_t> data = shapeOf(getData()), indices = shapeOf(getIndices());
  int64_t batch = getBatchDims();
  if (indices.empty() || batch < 0 || batch >= static_cast<int64_t>(indices.size()) ||
      batch + indices.back() > static_cast<int64_t>(data.size()) ||
      data.take_front(batch) != indices.take_front(batch))
    return emitOpError("C1: batch_dims and the index tuples do not fit the operands");
  SmallVector<int64_t> shape(indices.drop_back());
  llvm::append_range(shape, data.drop_front(batch + indices.back()));
  auto expected = RankedTensorType::get(shape, elementOf(getData()));
  if (getType() != expected)
    return emitOpError("C2: the result must be ") << expected;
  return success();
}

//===----------------------------------------------------------------------===//
// Contraction
//===----------------------------------------------------------------------===//

int64_t MatmulOp::getM() { return shapeOf(getLhs()).take_back(2)[getTransposeLhs() ? 1 : 0]; }
int64_t MatmulOp::getK() { return shapeOf(getLhs()).take_back(2)[getTransposeLhs() ? 0 : 1]; }
int64_t MatmulOp::getN() { return shapeOf(getRhs()).take_back(2)[getTransposeRhs() ? 0 : 1]; }
int64_t MatmulOp::getBatch() {
  int64_t batch = 1;
  for (int64_t size : shapeOf(getLhs()).drop_back(2))
    batch *= size;
  return batch;
}

LogicalResult MatmulOp::verify() {
  ArrayRef<int64_t> lhs = shapeOf(getLhs()), rhs = shapeOf(getRhs());
  if (lhs.size() < 2 || (rhs.size() != 2 && rhs.size() != lhs.size()))
    return emitOpError("C1: ranks must be at least 2, and rhs' that of lhs or 2");
  if (rhs.size() > 2 && lhs.drop_back(2) != rhs.drop_back(2))
    return emitOpError("C2: batch sizes differ");
  int64_t rhsK = rhs.take_back(2)[getTransposeRhs() ? 1 : 0];
  SmallVector<int64_t> shape(lhs.drop_back(2));
  shape.push_back(getM());
  shape.push_back(getN());
  if (getK() != rhsK || shapeOf(getResult()) != ArrayRef<int64_t>(shape))
    return emitOpError("C3: sizes do not agree: k is ")
           << getK() << " and " << rhsK << ", the result " << tensorType(getResult());
  Type element = elementOf(getResult());
  if (!areComputedInF32({getLhs(), getRhs()}, element) &&
      (elementOf(getLhs()) != elementOf(getRhs()) || (element != elementOf(getLhs()) && !element.isF32())))
    return emitOpError("C4: element types do not agree");
  return success();
}

int64_t ConvOp::getDepth() {
  int64_t depth = 1;
  for (int64_t size : shapeOf(getFilter()).drop_front())
    depth *= size;
  return depth;
}

LogicalResult ConvOp::verify() {
  ArrayRef<int64_t> input = shapeOf(getInput()), filter = shapeOf(getFilter());
  ArrayRef<int64_t> result = shapeOf(getResult());
  size_t windowed = input.size() - 2;
  auto isPositive = [](int64_t step) { return step >= 1; };
  if (input.size() < 3 || filter.size() != input.size() || result.size() != input.size() ||
      getStrides().size() != windowed || getDilations().size() != windowed ||
      getLow().size() != windowed || !llvm::all_of(getStrides(), isPositive) ||
      !llvm::all_of(getDilations(), isPositive))
    return emitOpError("C1: ranks, strides, dilations or low do not agree");
  auto groups = static_cast<int64_t>(getGroups());
  if (groups < 1 || filter[0] % groups != 0 || input[1] != groups * filter[1] ||
      result[0] != input[0] || result[1] != filter[0])
    return emitOpError("C2: channels do not agree: ")
           << getInput().getType() << ", " << getFilter().getType() << " and " << getType()
           << " in " << groups << " groups";
  Type element = elementOf(getResult());
  if (!areComputedInF32({getInput(), getFilter()}, element) &&
      (elementOf(getInput()) != element || elementOf(getFilter()) != element || element.isInteger(1)))
    return emitOpError("C3: element types do not agree, or are i1");
  return success();
}

LogicalResult AttentionOp::verify() {
  ArrayRef<int64_t> q = shapeOf(getQuery()), k = shapeOf(getKey()), v = shapeOf(getValue());
  ArrayRef<int64_t> result = shapeOf(getResult());
  if (q.size() != 4 || k.size() != 4 || v.size() != 4 || result.size() != 4)
    return emitOpError("C1: ranks must be 4");
  if (k[0] != q[0] || v[0] != q[0] || v[1] != k[1] || k[3] != q[3] || v[2] != k[2] ||
      result != ArrayRef<int64_t>({q[0], q[1], q[2], v[3]}))
    return emitOpError("C1: sizes do not agree");
  if (k[1] == 0 || q[1] % k[1] != 0)
    return emitOpError("C2: ") << q[1] << " query heads are no multiple of " << k[1] << " key heads";
  if (Value mask = getMask()) {
    int64_t scores[] = {q[0], q[1], q[2], k[2]};
    ArrayRef<int64_t> shape = shapeOf(mask);
    bool fits = shape.size() == 4;
    for (int64_t d = 0; fits && d < 4; ++d)
      fits = shape[d] == 1 || shape[d] == scores[d];
    Type element = elementOf(mask);
    if (!fits || (!element.isInteger(1) && !element.isF32() && element != elementOf(getQuery())))
      return emitOpError("C3: mask ") << mask.getType() << " does not fit the scores";
  }
  Type element = elementOf(getResult());
  if (!areComputedInF32({getQuery(), getKey(), getValue()}, element) &&
      (elementOf(getQuery()) != element || elementOf(getKey()) != element || elementOf(getValue()) != element))
    return emitOpError("C4: element types do not agree");
  return success();
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

LogicalResult ReduceOp::verify() {
  auto from = tensorType(getOperand());
  if (!isStrictlyAscendingInside(getDims(), from.getRank()))
    return emitOpError("C1: dims must be strictly ascending and inside rank ") << from.getRank();
  SmallVector<int64_t> shape;
  for (int64_t d = 0; d < from.getRank(); ++d)
    if (!llvm::is_contained(getDims(), d))
      shape.push_back(from.getDimSize(d));
  auto expected = RankedTensorType::get(shape, from.getElementType());
  if (getType() != expected)
    return emitOpError("C2: the result must be ") << expected;
  bool floatsOnly = getKind() == ReductionKind::mean || getKind() == ReductionKind::l2 ||
                    getKind() == ReductionKind::log_sum || getKind() == ReductionKind::log_sum_exp;
  if (floatsOnly && !isa<FloatType>(from.getElementType()))
    return emitOpError("C3: ") << stringifyReductionKind(getKind()) << " needs floats";
  return success();
}

LogicalResult SoftmaxOp::verify() { return verifyDim(*this, getDim(), getOperand()); }
LogicalResult LogSoftmaxOp::verify() { return verifyDim(*this, getDim(), getOperand()); }

LogicalResult LayerNormOp::verify() {
  if (failed(verifyDim(*this, getDim(), getOperand())) ||
      failed(verifyNormParameter(*this, "scale", getScale(), getOperand(), getDim())))
    return failure();
  return getBias() ? verifyNormParameter(*this, "bias", getBias(), getOperand(), getDim())
                   : success();
}

LogicalResult RmsNormOp::verify() {
  if (failed(verifyDim(*this, getDim(), getOperand())))
    return failure();
  return verifyNormParameter(*this, "scale", getScale(), getOperand(), getDim());
}

LogicalResult CumsumOp::verify() {
  if (failed(verifyDim(*this, getDim(), getOperand())))
    return failure();
  if (elementOf(getOperand()).isInteger(1))
    return emitOpError("C2: elements must not be i1");
  return success();
}

//===----------------------------------------------------------------------===//
// Orders and places that depend on data
//===----------------------------------------------------------------------===//

LogicalResult ArgsortOp::verify() {
  if (failed(verifyDim(*this, getDim(), getOperand())))
    return failure();
  auto from = tensorType(getOperand()), to = tensorType(getResult());
  SmallVector<int64_t> shape(from.getShape());
  int64_t dim = getDim();
  if (to.getRank() == from.getRank() && to.getDimSize(dim) <= shape[dim])
    shape[dim] = to.getDimSize(dim);
  if (to.getShape() != ArrayRef<int64_t>(shape) || !to.getElementType().isInteger(64))
    return emitOpError("C2: the result ") << to << " does not fit " << from;
  if (from.getElementType().isInteger(1))
    return emitOpError("C3: elements must not be i1");
  return success();
}

LogicalResult ScatterOp::verify() {
  auto data = tensorType(getData()), indices = tensorType(getIndices());
  if (indices.getRank() < 1 || indices.getShape().back() < 1 ||
      indices.getShape().back() > data.getRank())
    return emitOpError("C1: index tuples of ") << indices << " do not address " << data;
  SmallVector<int64_t> shape(indices.getShape().drop_back());
  llvm::append_range(shape, data.getShape().drop_front(indices.getShape().back()));
  if (getUpdates().getType() != data.clone(shape))
    return emitOpError("C2: updates must be ") << data.clone(shape);
  if (data.getElementType().isInteger(1) && getKind() != ScatterKind::replace)
    return emitOpError("C3: elements of i1 can only be replaced");
  return success();
}

LogicalResult AddRowsOp::verify() {
  auto data = tensorType(getData()), rows = tensorType(getRows());
  if (rows.getRank() != 1 || !rows.getElementType().isInteger(64))
    return emitOpError("C1: rows must be a vector of i64, not ") << rows;
  if (data.getRank() == 0)
    return emitOpError("C2: data has no dimension");
  SmallVector<int64_t> shape(data.getShape());
  shape.front() = rows.getDimSize(0);
  if (getUpdates().getType() != data.clone(shape))
    return emitOpError("C2: updates must be ") << data.clone(shape);
  if (data.getElementType().isInteger(1))
    return emitOpError("C3: elements of i1 cannot be added");
  return success();
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildFunctionType = [](Builder &builder, ArrayRef<Type> arguments, ArrayRef<Type> results,
                              function_interface_impl::VariadicFlag, std::string &) {
    return builder.getFunctionType(arguments, results);
  };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false, getFunctionTypeAttrName(result.name),
      buildFunctionType, getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void KernelOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(printer, *this, /*isVariadic=*/false,
                                           getFunctionTypeAttrName(), getArgAttrsAttrName(),
                                           getResAttrsAttrName());
}

LogicalResult KernelOp::verify() {
  auto parts = static_cast<int64_t>(getParts().value_or(1));
  if (static_cast<int64_t>(getUnits()) < 1 || static_cast<int64_t>(getScratch()) < 0 || parts < 1)
    return emitOpError("C2: units and parts must be at least 1 and scratch at least 0");
  if (parts > 1 && getSchedule() != Schedule::gemm)
    return emitOpError("C2: only a product is divided into parts");
  for (auto [i, type] : llvm::enumerate(getResultTypes()))
    if (auto over = getResultAttrOfType<IntegerAttr>(i, overAttrName)) {
      auto argument = static_cast<uint64_t>(over.getInt());
      if (argument >= getNumArguments() || tensorBytes(cast<RankedTensorType>(getArgumentTypes()[argument])) != tensorBytes(cast<RankedTensorType>(type)))
        return emitOpError("C5: result ") << i << " is over an argument that is missing or of other bytes";
    }
  if (isDeclaration()) {
    if (!getCost())
      return emitOpError("C4: a kernel without a body needs a cost");
    return success();
  }
  auto yield = dyn_cast<YieldOp>(getBody().front().getTerminator());
  if (!yield || yield.getOperandTypes() != getFunctionType().getResults())
    return emitOpError("C1: the body must end in a yield of the results' types");
  for (Operation &op : getBody().front())
    if (!isMemoryEffectFree(&op))
      return emitOpError("C3: the body holds an operation with side effects: ") << op.getName();
  return success();
}

KernelOp CallOp::getKernel(SymbolTableCollection &symbols) {
  return symbols.lookupNearestSymbolFrom<KernelOp>(*this, getCalleeAttr());
}

LogicalResult CallOp::verify() {
  if (!getInto().empty() && TypeRange(getInto()) != TypeRange(getOutputs()))
    return emitOpError("C2: there must be one into per result, of its type");
  if (!getUnits())
    return success();
  ArrayRef<int64_t> units = *getUnits();
  if (units.size() != 2 || units[0] < 0 || units[0] >= units[1])
    return emitOpError("C2: units must be [begin, end) with begin < end");
  if (getInto().size() != getNumResults())
    return emitOpError("C2: a range of units needs one into per result, of its type");
  return success();
}

namespace {

/// Whether `given` may stand for an operand or result `whole` of a kernel, which has that layout or runs of rows.
bool fits(Type given, Type whole, bool takesTiles, Attribute layout, Attribute rows) {
  if (given == whole)
    return true;
  auto panels = dyn_cast_or_null<PanelsAttr>(layout);
  auto part = cast<RankedTensorType>(given), all = cast<RankedTensorType>(whole);
  return takesTiles && (panels || rows) && part.getElementType() == all.getElementType() &&
         sharesRest(part, all, panels ? panels.getDim() : 0);
}

} // namespace

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  KernelOp kernel = getKernel(symbols);
  if (!kernel)
    return emitOpError("C1: no kernel ") << getCalleeAttr();
  if (getInputs().size() != kernel.getNumArguments() || getNumResults() != kernel.getNumResults())
    return emitOpError("C1: operands or results do not fit ") << getCalleeAttr();
  for (auto [i, type] : llvm::enumerate(getInputs().getTypes())) {
    Type whole = kernel.getArgumentTypes()[i];
    bool takesTiles = (getUnits() && kernel.getArgAttr(i, tiledAttrName)) ||
                      (!getInto().empty() && kernel.getArgAttr(i, depthTiledAttrName));
    if (!fits(type, whole, takesTiles, kernel.getArgAttr(i, layoutAttrName), kernel.getArgAttr(i, rowsAttrName)))
      return emitOpError("C1: operand ") << i << " is " << type << ", " << getCalleeAttr() << " takes " << whole;
  }
  for (auto [i, type] : llvm::enumerate(getResultTypes())) {
    Type whole = kernel.getResultTypes()[i];
    bool takesTiles = getUnits() && kernel.getResultAttr(i, tiledAttrName);
    if (!fits(type, whole, takesTiles, kernel.getResultAttr(i, layoutAttrName), /*rows=*/Attribute()))
      return emitOpError("C1: result ") << i << " is " << type << ", " << getCalleeAttr() << " gives " << whole;
  }
  if (getUnits() && (*getUnits())[1] > static_cast<int64_t>(kernel.getUnits()))
    return emitOpError("C2: units end at ")
           << (*getUnits())[1] << ", the kernel has " << kernel.getUnits();
  return success();
}
