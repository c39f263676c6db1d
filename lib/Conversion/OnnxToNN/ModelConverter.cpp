#include "lib/Conversion/OnnxToNN/ModelConverter.h"

#include "spillway/Conversion/OnnxToNN/Passes.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace spillway;

namespace {

std::string describe(StringRef domain, StringRef name) {
  return domain.empty() ? name.str() : (domain + "." + name).str();
}

bool isInClass(DataType type, TypeClass types) {
  switch (types) {
  case TypeClass::any:
    return true;
  case TypeClass::numeric:
    return type != DataType::boolean;
  case TypeClass::floats:
    return isFloat(type);
  case TypeClass::integers:
    return isInteger(type);
  case TypeClass::boolean:
    return type == DataType::boolean;
  }
  llvm_unreachable("all classes are handled");
}

StringRef nameOf(TypeClass types) {
  switch (types) {
  case TypeClass::any:
    return "any type";
  case TypeClass::numeric:
    return "numbers";
  case TypeClass::floats:
    return "floating-point numbers";
  case TypeClass::integers:
    return "integers";
  case TypeClass::boolean:
    return "booleans";
  }
  llvm_unreachable("all classes are handled");
}

std::string nodeName(onnx::NodeOp op) {
  if (auto location = dyn_cast<NameLoc>(op.getLoc()))
    return location.getName().str();
  return "";
}

} // namespace

ModelConverter::ModelConverter(ModuleOp module, onnx::GraphOp graph, Options options)
    : module(module), graph(graph), options(std::move(options)), symbols(module), builder(module.getContext()),
      stateBuilder(module.getContext()), emit(builder, known),
      trainingInputs(emit, function), norms(trainingInputs, states, std::move(this->options.trainedNormsButFor)) {
  if (this->options.trainedDropoutsButFor)
    dropouts.emplace(trainingInputs, std::move(*this->options.trainedDropoutsButFor));
}

LogicalResult ModelConverter::run(ArrayRef<Shape> shapes) {
  if (failed(createFunction(shapes)))
    return failure();
  LogicalResult result = success();
  for (Operation &op : graph.getBody().front()) {
    if (auto node = dyn_cast<onnx::NodeOp>(op)) {
      if (failed(convertNode(node)))
        result = failure();
    } else if (auto end = dyn_cast<onnx::ReturnOp>(op); end && succeeded(result)) {
      result = createReturn(end);
    }
  }
  if (failed(result) || failed(norms.requireMatches(graph.getLoc())) ||
      (dropouts && failed(dropouts->requireMatches(graph.getLoc()))))
    return failure();
  eraseUnused();
  graph.erase();
  for (auto initializer : llvm::make_early_inc_range(module.getOps<onnx::InitializerOp>()))
    initializer.erase();
  module->removeAttr(onnx::irVersionAttrName);
  return success();
}

LogicalResult ModelConverter::checkOperators() {
  struct Kind {
    unsigned count = 0;
    onnx::NodeOp first;
  };
  llvm::MapVector<std::pair<StringRef, StringRef>, Kind> unsupported;
  const OperatorTable &table = OperatorTable::get();
  unsigned count = 0;
  for (auto op : graph.getBody().front().getOps<onnx::NodeOp>()) {
    if (table.find(op.getDomain(), op.getOpType(), op.getVersion()).row)
      continue;
    Kind &kind = unsupported[{op.getDomain(), op.getOpType()}];
    if (kind.count++ == 0)
      kind.first = op;
    ++count;
  }
  if (unsupported.empty())
    return success();
  auto counted = [](unsigned count) { return std::to_string(count) + (count == 1 ? " node" : " nodes"); };
  InFlightDiagnostic error = emitError(graph.getLoc())
                             << counted(count) << (count == 1 ? " has an operator" : " have operators")
                             << " that " << (count == 1 ? "is" : "are")
                             << " not supported (docs/operators.md lists those that are, docs/extending.md says how a "
                                "plugin adds one)";
  for (auto &[name, kind] : unsupported)
    error.attachNote(kind.first.getLoc())
        << describe(name.first, name.second) << " (opset " << kind.first.getVersion()
        << "): " << counted(kind.count) << ", the first is '" << nodeName(kind.first) << "'";
  return error;
}

LogicalResult ModelConverter::createFunction(ArrayRef<Shape> shapes) {
  MLIRContext *context = module.getContext();
  if (dropouts && failed(TrainingInputs::requireFreeNames(graph.getLoc(), graph.getInputs())))
    return failure();
  SmallVector<Type> types;
  SmallVector<DataType> elements;
  LogicalResult result = success();
  for (auto [argument, shape] : llvm::zip_equal(graph.getBody().getArguments(), shapes)) {
    auto onnxType = cast<RankedTensorType>(argument.getType());
    auto element = dataTypeOf(onnxType.getElementType());
    StringRef name = cast<StringAttr>(graph.getInputs()[argument.getArgNumber()]).getValue();
    if (!element)
      result = emitError(graph.getLoc(), "input '")
               << name << "' has the element type " << onnxType.getElementType()
               << ", which is not supported";
    if (!elementCount(shape))
      result = emitError(graph.getLoc(), "input '") << name << "' is too large";
    if (failed(result))
      continue;
    elements.push_back(*element);
    types.push_back(RankedTensorType::get(shape, elementType(context, *element)));
  }
  if (failed(result))
    return failure();
  stateBuilder.setInsertionPoint(graph);
  function = func::FuncOp::create(stateBuilder, graph.getLoc(), "main",
                                  FunctionType::get(context, types, {}));
  stateBuilder.setInsertionPoint(function);
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToEnd(body);
  for (auto [i, argument] : llvm::enumerate(body->getArguments())) {
    function.setArgAttr(i, valueNameAttrName, cast<StringAttr>(graph.getInputs()[i]));
    function.setArgAttr(i, valueTypeAttrName, builder.getStringAttr(name(elements[i])));
    converted[graph.getBody().getArgument(i)] = Tensor{argument, elements[i]};
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

FailureOr<NodeValue> ModelConverter::valueOf(Value value) {
  if (isa<onnx::NoneType>(value.getType()))
    return NodeValue();
  if (auto found = converted.find(value); found != converted.end())
    return found->second;
  auto use = value.getDefiningOp<onnx::UseOp>();
  if (!use)
    return failure();
  auto tensor = initializerValue(use);
  if (failed(tensor))
    return failure();
  // All nodes share it: as many uses as readers would take a CSE of quadratic time.
  converted[value] = *tensor;
  return NodeValue(*tensor);
}

/// Integers of two or four bits, which files hold several to a byte.
static IntegerType packedElement(Type element) {
  auto integer = dyn_cast<IntegerType>(element);
  return integer && (integer.getWidth() == 2 || integer.getWidth() == 4) ? integer : IntegerType();
}

/// The bytes of such a tensor: rows of them where no row ends inside of a byte, else all in one.
static Shape packedShape(RankedTensorType type) {
  int64_t perByte = 8 / type.getElementTypeBitWidth();
  Shape shape(type.getShape());
  if (shape.empty() || shape.back() % perByte != 0)
    return {(type.getNumElements() + perByte - 1) / perByte};
  shape.back() /= perByte;
  return shape;
}

FailureOr<Tensor> ModelConverter::initializerValue(onnx::UseOp use) {
  auto initializer = symbols.lookup<onnx::InitializerOp>(use.getInitializer());
  auto onnxType = cast<RankedTensorType>(initializer.getType());
  if (!elementCount(onnxType.getShape()))
    return emitError(initializer.getLoc(), "tensor '") << initializer.getName() << "' is too large";
  if (IntegerType packed = packedElement(onnxType.getElementType())) {
    auto bytes = RankedTensorType::get(packedShape(onnxType), packed);
    auto tensor = stateValue(use, initializer, bytes, DataType::u8);
    if (failed(tensor))
      return failure();
    return emit.unpack(*tensor, packed.getWidth(), !packed.isUnsigned(), onnxType.getShape());
  }
  auto type = dataTypeOf(onnxType.getElementType());
  if (!type)
    return emitError(initializer.getLoc(), "tensor '")
           << initializer.getName() << "' has the element type " << onnxType.getElementType()
           << ", which is not supported";
  return stateValue(use, initializer, onnxType, *type);
}

FailureOr<Tensor> ModelConverter::stateValue(onnx::UseOp use, onnx::InitializerOp initializer,
                                             RankedTensorType stored, DataType type) {
  int64_t count = stored.getNumElements();
  // Integers are mostly arithmetic on shapes, a few floats mostly parameters of a formula or scales of sizes.
  constexpr int64_t fewElements = 16;
  bool reads = count <= fewElements || (!isFloat(type) && count <= KnownValues::maxElements);
  if (options.keepParameters && !initializer.getConstant() && isFloat(type) && stored.getRank() > 0)
    reads = false;
  auto state = stateOf(initializer, stored.getShape(), type);
  if (failed(state))
    return failure();
  auto nnType = (*state).getTensorType();
  FailureOr<std::optional<TensorValue>> value = std::optional<TensorValue>();
  if (reads)
    value = readState(*state);
  if (failed(value))
    return failure();
  if (*value && nn::tensorBytes(nnType) <= KnownValues::maxAttributeBytes)
    return emit.constant(type, (*value)->toAttr());
  Value result = zero::UseOp::create(builder, use.getLoc(), nnType, (*state).getSymName(),
                                     IntegerAttr());
  if (*value)
    known.record(result, **value);
  return Tensor{result, type};
}

/// The elements of a constant as a state holds them.
static DenseElementsAttr storedElements(DenseElementsAttr elements) {
  if (!packedElement(elements.getElementType()))
    return signlessElements(elements);
  unsigned bits = elements.getElementType().getIntOrFloatBitWidth(), perByte = 8 / bits;
  auto bytes = RankedTensorType::get(packedShape(cast<RankedTensorType>(elements.getType())),
                                     IntegerType::get(elements.getContext(), 8));
  SmallVector<APInt> values(bytes.getNumElements(), APInt(8, 0));
  for (auto [i, value] : llvm::enumerate(elements.getValues<APInt>()))
    values[i / perByte].insertBits(value, i % perByte * bits);
  return DenseElementsAttr::get(bytes, values);
}

FailureOr<zero::StateOp> ModelConverter::stateOf(onnx::InitializerOp initializer,
                                                 ArrayRef<int64_t> shape, DataType type) {
  std::string symbol = ("w." + initializer.getSymName()).str();
  zero::StateOp &state = states[symbol];
  if (state)
    return state;
  auto nnType = emit.typeOf(type, shape);
  Attribute source;
  if (auto extent = dyn_cast<onnx::ExtentAttr>(initializer.getValue())) {
    source = zero::FileAttr::get(module.getContext(), extent.getPath(), extent.getOffset(),
                                 extent.getBytes(),
                                 extent.getEncoding() == onnx::Encoding::varint);
  } else if (auto elements = dyn_cast<DenseElementsAttr>(initializer.getValue())) {
    elements = storedElements(elements);
    if (elements.isSplat())
      source = zero::SplatAttr::get(module.getContext(),
                                    cast<TypedAttr>(elements.getSplatValue<Attribute>()));
    else
      source = elements;
  } else {
    return emitError(initializer.getLoc(), "tensor '") << initializer.getName() << "' has no dense value";
  }
  state = zero::StateOp::create(
      stateBuilder, initializer.getLoc(), symbol, initializer.getName(), nnType,
      initializer.getConstant() ? zero::Role::constant : zero::Role::parameter, /*rewritten=*/false,
      nn::PanelsAttr(), /*rows=*/IntegerAttr(), /*tile=*/IntegerAttr(), /*partition=*/IntegerAttr(), ArrayAttr(),
      IntegerAttr(), source);
  return state;
}

FailureOr<std::optional<TensorValue>> ModelConverter::readState(zero::StateOp state) {
  if (auto found = readStates.find(state.getSymName()); found != readStates.end())
    return std::optional(found->second);
  int64_t bytes = nn::tensorBytes(state.getTensorType());
  if (bytes > KnownValues::maxAttributeBytes && !known.reserve(bytes))
    return std::optional<TensorValue>();
  FailureOr<TensorValue> value = spillway::readState(state, options.directory);
  if (failed(value))
    return failure();
  readStates[state.getSymName()] = *value;
  return std::optional(*value);
}

std::optional<TensorValue> ModelConverter::readValue(Tensor tensor) {
  if (tensor.count() == 0) // there is nothing to know
    return TensorValue(tensor.tensorType());
  if (auto value = known.lookup(tensor.value))
    return value;
  auto use = tensor.value.getDefiningOp<zero::UseOp>();
  if (!use || tensor.count() > KnownValues::maxElements)
    return std::nullopt;
  auto value = readState(states.lookup(use.getState()));
  return failed(value) ? std::nullopt : *value;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

LogicalResult ModelConverter::checkInputs(onnx::NodeOp op, const Operator &row,
                                          ArrayRef<NodeValue> inputs) {
  if (inputs.size() > row.maxInputs)
    return emitError(op.getLoc()) << row.name << ": " << inputs.size() << " inputs, at most "
                          << row.maxInputs << " in opset " << op.getVersion();
  bool isVariadic = row.maxInputs == anyNumber;
  for (unsigned i = 0, end = std::max<unsigned>(row.minInputs, inputs.size()); i < end; ++i) {
    bool isGiven = i < inputs.size() && !std::holds_alternative<std::monostate>(inputs[i]);
    if (!isGiven && (i < row.minInputs || isVariadic))
      return emitError(op.getLoc()) << row.name << ": input " << i << " is required in opset "
                            << op.getVersion();
    if (isGiven && !row.takesSequences && !std::holds_alternative<Tensor>(inputs[i]))
      return emitError(op.getLoc()) << row.name << ": input " << i << " must be a tensor, not a sequence";
  }
  if (inputs.empty() || !std::holds_alternative<Tensor>(inputs[0]))
    return success();
  DataType type = std::get<Tensor>(inputs[0]).type;
  if (!isInClass(type, row.types))
    return emitError(op.getLoc()) << row.name << ": input 0 must hold " << nameOf(row.types) << ", not "
                          << name(type);
  return success();
}

LogicalResult ModelConverter::convertNode(onnx::NodeOp op) {
  if (op->getNumResults() == 0)
    return success();
  SmallVector<NodeValue> inputs;
  emit.setLocation(op.getLoc());
  for (Value operand : op.getInputs()) {
    auto value = valueOf(operand);
    if (failed(value)) // already reported
      return failure();
    inputs.push_back(std::move(*value));
  }
  auto [row, isNewer] =
      OperatorTable::get().find(op.getDomain(), op.getOpType(), op.getVersion());
  if (!row) // in a subgraph, whose nodes are seen only where it is run
    return emitError(op.getLoc()) << describe(op.getDomain(), op.getOpType()) << " (opset "
                                  << op.getVersion() << ") is not supported";
  if (isNewer && remarked.insert(describe(row->domain, row->name)).second)
    emitRemark(op.getLoc()) << row->name << " is of opset " << row->since << " and taken as such, although "
                    << "the model declares opset " << op.getVersion();
  if (failed(checkInputs(op, *row, inputs)))
    return failure();
  if (row->maxOutputs != anyNumber)
    for (unsigned i = row->maxOutputs; i < op.getNumResults(); ++i)
      if (!op.getResult(i).use_empty())
        return emitError(op.getLoc()) << row->name << ": output " << i << " is not supported in opset "
                              << op.getVersion();
  int64_t version = std::max<int64_t>(op.getVersion(), row->since);
  auto read = [this](Tensor tensor) { return readValue(tensor); };
  auto runBody = [this, where = op.getLoc()](Region &body, ArrayRef<NodeValue> arguments) {
    auto outputs = convertBody(body, arguments);
    emit.setLocation(where);
    return outputs;
  };
  Node node(op, *row, version, inputs, emit, read, runBody, options.keepParameters ? &norms : nullptr,
            dropouts ? &*dropouts : nullptr);
  LogicalResult converts = row->convert(node);
  bool oversized = emit.takeOversized();
  auto unfit = emit.takeUnfit();
  if (failed(converts) || node.hasAttributeErrors())
    return failure();
  if (oversized)
    return emitError(op.getLoc()) << row->name << ": makes a tensor of more than "
                                  << maxElementCount << " elements";
  if (unfit)
    return emitError(op.getLoc()) << row->name << ": " << name(unfit->type) << " has no number " << unfit->value;
  node.warnOfUnknownAttributes();
  for (auto [result, value] : llvm::zip_equal(op.getResults(), node.results())) {
    if (std::holds_alternative<std::monostate>(value) && !result.use_empty())
      return emitError(op.getLoc()) << row->name << ": output " << result.getResultNumber()
                            << " is not supported";
    converted[result] = value;
  }
  return success();
}

LogicalResult ModelConverter::checkUnrolled(Location location) {
  if (++unrolledNodes > maxUnrolledNodes)
    return emitError(location) << "the loops have more than " << maxUnrolledNodes
                               << " nodes in all their iterations";
  if (emit.numMade() > maxUnrolledOperations)
    return emitError(location) << "the model takes more than " << maxUnrolledOperations
                               << " operations with its loops unrolled";
  return success();
}

FailureOr<SmallVector<NodeValue>> ModelConverter::convertBody(Region &body,
                                                              ArrayRef<NodeValue> arguments) {
  Block &block = body.front();
  for (auto [argument, value] : llvm::zip_equal(block.getArguments(), arguments))
    converted[argument] = value;
  if (failed(checkUnrolled(body.getLoc())))
    return failure();
  for (auto op : block.getOps<onnx::NodeOp>())
    if (failed(convertNode(op)) || failed(checkUnrolled(op.getLoc())))
      return failure();
  SmallVector<NodeValue> outputs;
  for (Value operand : block.getTerminator()->getOperands()) {
    auto value = valueOf(operand);
    if (failed(value))
      return failure();
    outputs.push_back(*value);
  }
  return outputs;
}

LogicalResult ModelConverter::createReturn(onnx::ReturnOp end) {
  SmallVector<Value> values;
  SmallVector<Attribute> attributes;
  for (auto [operand, outputName] : llvm::zip_equal(end.getInputs(), graph.getOutputs())) {
    auto value = valueOf(operand);
    if (failed(value))
      return failure();
    const Tensor *tensor = std::get_if<Tensor>(&*value);
    if (!tensor)
      return emitError(graph.getLoc(), "output ") << outputName << " is no tensor; only tensors are supported";
    if (tensor->bits)
      return emitError(graph.getLoc(), "output ")
             << outputName << " has elements of " << int{tensor->bits} << " bits, which are not supported";
    values.push_back(tensor->value);
    attributes.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr(valueNameAttrName, outputName),
         builder.getNamedAttr(valueTypeAttrName, builder.getStringAttr(name(tensor->type)))}));
  }
  norms.emitUpdates(builder);
  func::ReturnOp::create(builder, end.getLoc(), values);
  function.setFunctionType(FunctionType::get(module.getContext(), function.getArgumentTypes(),
                                             TypeRange(ValueRange(values))));
  function.setAllResultAttrs(attributes);
  return success();
}

void ModelConverter::eraseUnused() {
  Block &body = function.getBody().front();
  llvm::SmallDenseSet<StringAttr> used;
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body))) {
    if (isOpTriviallyDead(&op))
      op.erase();
    else if (auto use = dyn_cast<zero::UseOp>(op))
      used.insert(use.getStateAttr().getAttr());
    else if (auto lookup = dyn_cast<zero::LookupOp>(op))
      used.insert(lookup.getStateAttr().getAttr());
  }
  for (const auto &entry : states)
    if (zero::StateOp state = entry.second; !used.contains(state.getSymNameAttr()))
      state.erase();
}
