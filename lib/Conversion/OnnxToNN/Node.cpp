#include "spillway/Conversion/OnnxToNN/Node.h"

#include "lib/Conversion/OnnxToNN/MustBeKnown.h"
#include "spillway/Conversion/OnnxToNN/Passes.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace mlir;
using namespace spillway;

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

namespace {

/// Before it, elementwise operators had attributes `broadcast` and `axis`.
constexpr int64_t firstOpsetWithBroadcasts = 7;

/// How far a value is followed to the inputs that it depends on.
constexpr size_t maxFollowed = 1 << 12;

} // namespace

SmallVector<StringRef> spillway::markMustBeKnown(Value value) {
  llvm::SetVector<Value> found;
  SmallVector<StringRef> names;
  found.insert(value);
  for (size_t i = 0; i < std::min(found.size(), maxFollowed); ++i) {
    if (Operation *op = found[i].getDefiningOp()) {
      found.insert_range(op->getOperands());
      continue;
    }
    auto argument = cast<BlockArgument>(found[i]);
    auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    if (!function)
      continue;
    unsigned number = argument.getArgNumber();
    function.setArgAttr(number, mustBeKnownAttrName, UnitAttr::get(function.getContext()));
    names.push_back(function.getArgAttrOfType<StringAttr>(number, valueNameAttrName).getValue());
  }
  return names;
}

StringRef Node::name() const {
  auto location = dyn_cast<NameLoc>(op.getLoc());
  return location ? location.getName().getValue() : StringRef();
}

/// The node that reads a value, perhaps through copies, otherwise than as input `i` of `opType`.
static onnx::NodeOp otherReaderOf(Value value, unsigned i, StringRef opType) {
  SmallVector<Value> copies{value};
  while (!copies.empty())
    for (OpOperand &use : copies.pop_back_val().getUses()) {
      auto node = dyn_cast<onnx::NodeOp>(use.getOwner());
      if (!node || (node.getOpType() == opType && use.getOperandNumber() == i))
        continue;
      if (node.getOpType() != "Identity")
        return node;
      llvm::append_range(copies, node->getResults());
    }
  return {};
}

onnx::NodeOp Node::otherReader(unsigned i) const {
  Value value = op.getInputs()[i];
  for (auto copy = value.getDefiningOp<onnx::NodeOp>(); copy && copy.getOpType() == "Identity";
       copy = value.getDefiningOp<onnx::NodeOp>())
    value = copy.getInputs()[0];
  return value.getDefiningOp<onnx::UseOp>() ? otherReaderOf(value, i, op.getOpType()) : onnx::NodeOp();
}

bool Node::isKnown(unsigned i) { return readValue(in(i)).has_value(); }

FailureOr<TensorValue> Node::known(unsigned i, StringRef what) {
  if (!has(i) || !std::holds_alternative<Tensor>(inputs[i]))
    return error() << what << " (input " << i << ") must be given as a tensor";
  std::optional<TensorValue> known = readValue(in(i));
  if (known)
    return *known;
  InFlightDiagnostic diagnostic = error()
                                  << what << " (input " << i << ") must be known at compile time";
  if (SmallVector<StringRef> names = markMustBeKnown(in(i).value); !names.empty())
    diagnostic << "; it depends on the inputs '" << llvm::join(names, "', '")
               << "' (see --bind)";
  return diagnostic;
}

FailureOr<SmallVector<int64_t>> Node::ints(unsigned i, StringRef what) {
  auto value = known(i, what);
  if (failed(value))
    return failure();
  if (!isInteger(in(i).type) || in(i).rank() > 1)
    return error() << what << " (input " << i << ") must be a list of integers, not "
                   << in(i).tensorType();
  return asIntegers(*value, isUnsigned(in(i).type));
}

FailureOr<int64_t> Node::intScalar(unsigned i, StringRef what) {
  auto value = known(i, what);
  if (failed(value))
    return failure();
  if (in(i).count() != 1)
    return error() << what << " (input " << i << ") must have one element, not "
                   << in(i).count();
  if (!isFloat(in(i).type))
    return asIntegers(*value, isUnsigned(in(i).type)).front();
  double number = asDouble(*value, false);
  if (!(std::abs(number) < 0x1p63))
    return error() << what << " (input " << i << ") must be an integer of 64 bits, not " << number;
  return static_cast<int64_t>(number);
}

FailureOr<double> Node::floatScalar(unsigned i, StringRef what) {
  auto value = known(i, what);
  if (failed(value))
    return failure();
  if (in(i).count() != 1)
    return error() << what << " (input " << i << ") must have one element, not "
                   << in(i).count();
  return asDouble(*value, isUnsigned(in(i).type));
}

std::optional<bool> Node::knownFlag(Tensor flag) const {
  if (flag.type != DataType::boolean || flag.count() != 1)
    return std::nullopt;
  auto value = readValue(flag);
  return value ? std::optional(asIntegers(*value, true).front() != 0) : std::nullopt;
}

SmallVector<Tensor> Node::tensorsFrom(unsigned i) const {
  SmallVector<Tensor> tensors;
  for (; i < inputs.size(); ++i)
    tensors.push_back(in(i));
  return tensors;
}

/// The element type as diagnostics name it.
static std::string elementName(Tensor tensor) {
  if (tensor.bits == 0)
    return std::string(name(tensor.type));
  return (isUnsigned(tensor.type) ? "u" : "i") + std::to_string(tensor.bits);
}

LogicalResult Node::sameTypes(ArrayRef<unsigned> which) {
  Tensor first = in(which.front());
  for (unsigned i : which.drop_front())
    if (in(i).type != first.type || in(i).bits != first.bits)
      return error() << "inputs " << which.front() << " and " << i << " must have one type, not "
                     << elementName(first) << " and " << elementName(in(i));
  return success();
}

LogicalResult Node::sameTypesOfAll() {
  return sameTypes(llvm::to_vector(llvm::seq<unsigned>(0, numInputs())));
}

FailureOr<SmallVector<Tensor>> Node::broadcastAll(ArrayRef<Tensor> tensors) {
  Shape shape;
  for (Tensor tensor : tensors) {
    auto joint = broadcastShapes(shape, tensor.shape());
    if (!joint || !elementCount(*joint)) {
      InFlightDiagnostic diagnostic = error() << "shapes do not broadcast:";
      for (Tensor each : tensors)
        diagnostic << ' ' << each.tensorType();
      return diagnostic;
    }
    shape = *joint;
  }
  return llvm::map_to_vector(tensors, [&](Tensor tensor) { return emit.broadcast(tensor, shape); });
}

FailureOr<SmallVector<Tensor>> Node::broadcastInputs() {
  if (failed(sameTypesOfAll()))
    return failure();
  return numInputs() == 2 ? broadcastPair() : broadcastAll(tensorsFrom(0));
}

FailureOr<SmallVector<Tensor>> Node::broadcastPair() {
  SmallVector<Tensor> tensors{in(0), in(1)};
  if (version() >= firstOpsetWithBroadcasts)
    return broadcastAll(tensors);
  // The dimensions of the second operand are those of the first from the axis on, or the last ones.
  bool broadcasts = attr("broadcast", int64_t{0}) != 0;
  if (!broadcasts || !hasAttr("axis"))
    return broadcastAll(tensors);
  int64_t rank = tensors[0].rank(), taken = tensors[1].rank();
  auto first = axis(attr("axis", int64_t{0}), std::max<int64_t>(rank, 1));
  if (failed(first))
    return failure();
  if (*first + taken > rank)
    return error() << "axis " << *first << " leaves no room for " << tensors[1].tensorType() << " in "
                   << tensors[0].tensorType();
  Shape shape(tensors[1].shape());
  shape.append(rank - *first - taken, 1);
  tensors[1] = emit.reshape(tensors[1], shape);
  return broadcastAll(tensors);
}

FailureOr<int64_t> Node::axis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    return error() << "axis " << axis << " lies outside rank " << rank;
  return axis < 0 ? axis + rank : axis;
}

FailureOr<SmallVector<int64_t>> Node::orderedAxes(ArrayRef<int64_t> given, int64_t rank) {
  SmallVector<int64_t> axes;
  llvm::SmallDenseSet<int64_t> seen;
  for (int64_t each : given) {
    auto counted = axis(each, rank);
    if (failed(counted))
      return failure();
    if (!seen.insert(*counted).second)
      return error() << "axis " << *counted << " is given twice";
    axes.push_back(*counted);
  }
  return axes;
}

FailureOr<SmallVector<int64_t>> Node::axes(ArrayRef<int64_t> given, int64_t rank) {
  auto axes = orderedAxes(given, rank);
  if (succeeded(axes))
    llvm::sort(*axes);
  return axes;
}

LogicalResult spillway::convertAsMatrix(Node &node,
                                        function_ref<Tensor(Emitter &, Tensor)> convert) {
  Tensor x = node.in(0);
  int64_t axis = node.attr("axis", int64_t{1});
  if (axis < -x.rank() || axis > x.rank())
    return node.error() << "axis " << axis << " lies outside rank " << x.rank();
  if (axis < 0)
    axis += x.rank();
  Shape matrix{*elementCount(x.shape().take_front(axis)), *elementCount(x.shape().drop_front(axis))};
  Tensor rows = axis == x.rank() - 1 ? x : node.emit.reshape(x, matrix);
  return node.result(node.emit.reshape(convert(node.emit, rows), x.shape()));
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

bool Node::hasAttr(StringRef name) const { return bool(op.getFields().get(name)); }

Attribute Node::rawAttr(StringRef name) {
  consulted.insert(name);
  return op.getFields().get(name);
}

template <typename Attr> Attr Node::typedAttr(StringRef name, StringRef kind) {
  Attribute attr = rawAttr(name);
  auto typed = dyn_cast_if_present<Attr>(attr);
  if (attr && !typed) {
    error() << "attribute " << name << " must be " << kind << ", not " << attr;
    attributeErrors = true;
  }
  return typed;
}

int64_t Node::attr(StringRef name, int64_t otherwise) {
  auto typed = typedAttr<IntegerAttr>(name, "an integer");
  return typed ? typed.getInt() : otherwise;
}

double Node::attr(StringRef name, double otherwise) {
  auto typed = typedAttr<FloatAttr>(name, "a number");
  return typed ? typed.getValueAsDouble() : otherwise;
}

StringRef Node::attr(StringRef name, StringRef otherwise) {
  auto typed = typedAttr<StringAttr>(name, "a string");
  return typed ? typed.getValue() : otherwise;
}

std::optional<SmallVector<int64_t>> Node::intsAttr(StringRef name) {
  auto typed = typedAttr<DenseI64ArrayAttr>(name, "a list of integers");
  return typed ? std::optional(SmallVector<int64_t>(typed.asArrayRef())) : std::nullopt;
}

FailureOr<DataType> Node::typeAttr(StringRef name) {
  auto typed = typedAttr<IntegerAttr>(name, "an element type");
  if (!typed)
    return error() << "the attribute " << name << " is required";
  auto type = static_cast<DataType>(typed.getInt());
  if (typed.getInt() < 0 || typed.getInt() > 255 || !isDataType(type))
    return error() << "attribute " << name << ": element type " << typed.getInt()
                   << " is not supported";
  return type;
}

FailureOr<Tensor> Node::tensorAttr(StringRef name) {
  auto elements = dyn_cast_if_present<DenseElementsAttr>(rawAttr(name));
  auto type = elements ? dataTypeOf(elements.getElementType()) : std::nullopt;
  if (!type)
    return error() << "the attribute " << name << " must be a small tensor of numbers";
  return emit.constant(*type, signlessElements(elements));
}

bool Node::hasBody(StringRef name) const {
  return llvm::any_of(op.getGraphs().getAsValueRange<StringAttr>(),
                      [&](StringRef graph) { return graph == name; });
}

FailureOr<Region *> Node::body(StringRef name, unsigned numInputs, unsigned numOutputs) {
  for (auto [graph, region] : llvm::zip_equal(op.getGraphs(), op.getBodies())) {
    if (cast<StringAttr>(graph).getValue() != name)
      continue;
    Block &block = region.front();
    unsigned results = block.getTerminator()->getNumOperands();
    if (block.getNumArguments() != numInputs || results != numOutputs)
      return error() << "the graph " << name << " has " << block.getNumArguments() << " inputs and "
                     << results << " outputs, where " << numInputs << " and " << numOutputs
                     << " are expected";
    return &region;
  }
  return error() << "the graph " << name << " is missing";
}

void Node::warnOfUnknownAttributes() {
  for (NamedAttribute attribute : op.getFields())
    if (!consulted.contains(attribute.getName()))
      emitWarning(op.getLoc()) << row.name << ": attribute " << attribute.getName()
                        << " has no meaning in opset " << opsetVersion << " and is ignored";
}

bool Node::wants(unsigned i) const { return i < op->getNumResults() && !op->getResult(i).use_empty(); }
