#include "spillway/Import/Import.h"

#include "lib/Import/Bind.h"
#include "lib/Import/InitialValues.h"
#include "lib/Import/NodeOrder.h"
#include "runtime/export/UntiedName.h"
#include "spillway/Support/ElementCount.h"
#include "spillway/Support/NamePatterns.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::onnx;

namespace {

constexpr int64_t oldestIrVersion = 3;
constexpr int64_t oldestOpset = 1;
/// Before it, an initializer that is also an input is a constant; from it on, a default.
constexpr int64_t firstIrWithDefaults = 4;
/// Local functions in local functions, at most.
constexpr size_t maxCallDepth = 64;
/// Nodes with local functions inlined: a few functions that call each other twice would
/// otherwise make any number.
constexpr size_t maxNodes = 1 << 20;

/// Names of one graph, subgraph or function body; a subgraph sees those around it.
struct Scope {
  const Scope *outer = nullptr;
  llvm::StringMap<Value> values;

  Value lookup(StringRef name) const {
    for (const Scope *scope = this; scope; scope = scope->outer)
      if (auto found = scope->values.find(name); found != scope->values.end())
        return found->second;
    return {};
  }
};

/// What nodes are read under: the opsets of the model or of a function, and the
/// attributes that a call of the function gave.
struct Context {
  llvm::StringMap<int64_t> opsets;
  llvm::StringMap<AttributeMessage> arguments;
  /// Names of the calls around, for locations.
  std::string prefix;
};

std::string functionKey(StringRef domain, StringRef name, StringRef overload) {
  return (domain + "\n" + name + "\n" + overload).str();
}

/// The default domain has two spellings.
StringRef canonicalDomain(StringRef domain) { return domain == "ai.onnx" ? "" : domain; }

class Importer {
public:
  Importer(const SourceFile &file, MLIRContext *context, const ImportOptions &options)
      : file(file), builder(context),
        modelLocation(NameLoc::get(builder.getStringAttr(file.path.string()))), options(options) {}

  OwningOpRef<ModuleOp> import(const ModelMessage &model) {
    if (model.irVersion < oldestIrVersion) {
      emitError(modelLocation) << "IR version " << model.irVersion
                               << "; the oldest that is read is " << oldestIrVersion;
      return {};
    }
    irVersion = model.irVersion;
    FailureOr<NamePatterns> patterns = NamePatterns::parse(modelLocation, "untie", options.untie);
    if (failed(patterns))
      return {};
    untied = std::move(*patterns);
    if (!options.untie.empty() && irVersion < firstIrWithDefaults) {
      emitError(modelLocation) << "IR version " << irVersion << ": each initializer is an input too, so that none can "
                               << "be untied";
      return {};
    }
    if (!options.initFrom.empty()) {
      FailureOr<InitialValues> values = InitialValues::open(options.initFrom, builder.getContext());
      if (failed(values))
        return {};
      initialValues.emplace(std::move(*values));
    }
    module = ModuleOp::create(builder, modelLocation);
    (*module)->setAttr(irVersionAttrName, builder.getI64IntegerAttr(model.irVersion));
    FailureOr<llvm::StringMap<int64_t>> opsets = readOpsets(model.opsets);
    if (failed(opsets))
      return {};
    for (const FunctionMessage &function : model.functions)
      functions.try_emplace(
          functionKey(canonicalDomain(function.domain), function.name, function.overload),
          &function);
    symbols.emplace(*module);
    Context context{*opsets, {}, ""};
    if (failed(importMainGraph(*model.graph, context)) ||
        failed(untied.requireMatches(modelLocation, "initializer that nodes read")) || (initialValues && failed(initialValues->report())))
      return {};
    if (initialValues)
      (*module)->setAttr(initializedAttrName, builder.getStrArrayAttr(llvm::to_vector_of<StringRef>(initialValues->names())));
    return std::move(module);
  }

private:
  FailureOr<llvm::StringMap<int64_t>> readOpsets(ArrayRef<OpsetMessage> messages) {
    llvm::StringMap<int64_t> opsets;
    for (const OpsetMessage &opset : messages)
      opsets[canonicalDomain(opset.domain)] = opset.version;
    if (auto found = opsets.find(""); found != opsets.end() && found->second < oldestOpset)
      return emitError(modelLocation)
             << "opset " << found->second << "; the oldest that is read is " << oldestOpset;
    return opsets;
  }

  Location nodeLocation(const NodeMessage &node, const Context &context) {
    std::string name = context.prefix;
    if (!node.name.empty())
      name += node.name;
    else
      name +=
          (node.opType + (node.outputs.empty() ? "" : " of '" + node.outputs.front() + "'")).str();
    return NameLoc::get(builder.getStringAttr(name));
  }

  //===--------------------------------------------------------------------===//
  // Initializers
  //===--------------------------------------------------------------------===//

  InitializerOp addInitializer(StringRef name, const ImportedTensor &tensor, Location location,
                               bool isConstant = false) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(mainGraph);
    auto initializer =
        InitializerOp::create(builder, location, symbolName(name), builder.getStringAttr(name),
                              tensor.type, tensor.value, isConstant);
    symbols->insert(initializer);
    return initializer;
  }

  /// Characters that a bare symbol may have.
  static std::string symbolName(StringRef name) {
    std::string symbol = "w_";
    for (char c : name)
      symbol += llvm::isAlnum(c) || c == '.' || c == '_' ? c : '_';
    return symbol;
  }

  Value use(InitializerOp initializer) {
    return UseOp::create(builder, initializer.getLoc(),
                         cast<RankedTensorType>(initializer.getType()), initializer.getSymName());
  }

  LogicalResult importInitializers(const GraphMessage &graph, Scope &scope) {
    auto isKept = [&](StringRef name) { return !scope.outer && kept.contains(name); };
    LogicalResult result = success();
    auto add = [&](StringRef name, FailureOr<ImportedTensor> tensor, Location location) {
      bool isNew = !scope.values.contains(name);
      if (succeeded(tensor) && isNew && initialValues && !scope.outer && failed(initialValues->replace(name, *tensor)))
        result = failure();
      if (!isNew)
        emitError(location) << "a second initializer of this name";
      if (failed(tensor) || !isNew)
        result = failure();
      if (isNew)
        scope.values[name] =
            failed(tensor) ? none(location) : use(addInitializer(name, *tensor, location));
    };
    for (const TensorMessage &tensor : graph.initializers) {
      if (isKept(tensor.name))
        continue;
      Location location = initializerLocation(tensor.name);
      add(tensor.name, importTensor(tensor, file, location), location);
    }
    for (const SparseTensorMessage &tensor : graph.sparseInitializers) {
      if (isKept(tensor.values.name))
        continue;
      Location location = initializerLocation(tensor.values.name);
      add(tensor.values.name, importSparseTensor(tensor, file, location), location);
    }
    return result;
  }

  Location initializerLocation(StringRef name) {
    return NameLoc::get(builder.getStringAttr("initializer '" + name + "'"));
  }

  //===--------------------------------------------------------------------===//
  // Graphs
  //===--------------------------------------------------------------------===//

  LogicalResult importMainGraph(const GraphMessage &graph, const Context &context) {
    llvm::StringMap<StringRef> binds;
    llvm::StringSet<> constants;
    bool fits = succeeded(readBinds(graph, binds));
    fits &= succeeded(findConstants(graph, constants));

    SmallVector<Attribute> inputs, dims, outputs;
    SmallVector<Type> types;
    SmallVector<std::pair<const ValueInfoMessage *, RankedTensorType>> bound;
    SmallVector<StringRef> broken;
    for (const ValueInfoMessage &input : graph.inputs) {
      bool isBound = binds.contains(input.name);
      if (constants.contains(input.name) && !isBound)
        continue;
      FailureOr<RankedTensorType> type = inputType(input);
      if (failed(type)) {
        fits = false;
        broken.push_back(input.name);
        continue;
      }
      if (isBound) {
        bound.emplace_back(&input, *type);
        continue;
      }
      SmallVector<Attribute> names;
      for (const DimMessage &dim : *input.shape)
        names.push_back(builder.getStringAttr(dim.size ? "" : dim.name));
      inputs.push_back(builder.getStringAttr(input.name));
      dims.push_back(builder.getArrayAttr(names));
      types.push_back(*type);
    }
    llvm::StringSet<> outputNames;
    for (const ValueInfoMessage &output : graph.outputs) {
      outputs.push_back(builder.getStringAttr(output.name));
      if (outputNames.insert(output.name).second)
        continue;
      emitError(modelLocation) << "output '" << output.name << "' is listed twice";
      fits = false;
    }

    builder.setInsertionPointToEnd(module->getBody());
    mainGraph = GraphOp::create(builder, modelLocation, builder.getStringAttr(graph.name),
                                builder.getArrayAttr(inputs), builder.getArrayAttr(dims),
                                builder.getArrayAttr(outputs));
    Block *body = builder.createBlock(&mainGraph.getBody(), {}, types,
                                      SmallVector<Location>(types.size(), modelLocation));
    Scope scope;
    mainScope = &scope;
    auto add = [&](StringRef name, Value value) {
      if (scope.values.try_emplace(name, value).second)
        return;
      fits = false;
      emitError(modelLocation) << "a second input named '" << name << "'";
    };
    for (auto [name, argument] : llvm::zip_equal(inputs, body->getArguments()))
      add(cast<StringAttr>(name).getValue(), argument);
    for (StringRef name : broken)
      add(name, none(modelLocation));
    for (auto [input, type] : bound) {
      Location location = inputLocation(*input);
      FailureOr<ImportedTensor> tensor = boundTensor(binds[input->name], type, location);
      fits &= succeeded(tensor);
      add(input->name, failed(tensor) ? none(location)
                                      : use(addInitializer(input->name, *tensor, location, /*isConstant=*/true)));
    }
    return LogicalResult::success(succeeded(importBody(graph, scope, context)) && fits);
  }

  /// Of the main graph's inputs; an initializer that is bound is not read.
  LogicalResult readBinds(const GraphMessage &graph, llvm::StringMap<StringRef> &binds) {
    LogicalResult result = success();
    for (StringRef bind : options.binds) {
      // A name may hold the sign, and so may a file.
      auto isPrefix = [&](const ValueInfoMessage &input) {
        return bind.starts_with((input.name + "=").str());
      };
      auto input = llvm::find_if(graph.inputs, isPrefix);
      if (input == graph.inputs.end()) {
        result = emitError(modelLocation) << "cannot bind '" << bind.split('=').first
                                          << "'; the inputs are " << inputNames(graph);
        continue;
      }
      if (!binds.try_emplace(input->name, bind.drop_front(input->name.size() + 1)).second)
        result = emitError(modelLocation) << "'" << input->name << "' is bound twice";
      kept.insert(input->name);
    }
    return result;
  }

  /// Initializers that are not kept as inputs.
  LogicalResult findConstants(const GraphMessage &graph, llvm::StringSet<> &constants) {
    for (const TensorMessage &tensor : graph.initializers)
      constants.insert(tensor.name);
    for (const SparseTensorMessage &tensor : graph.sparseInitializers)
      constants.insert(tensor.values.name);
    LogicalResult result = success();
    for (const std::string &name : options.keepInputs) {
      if (llvm::none_of(graph.inputs, [&](const auto &input) { return input.name == name; }))
        result = emitError(modelLocation)
                 << "cannot keep '" << name << "'; the inputs are " << inputNames(graph);
      constants.erase(name);
      kept.insert(name);
    }
    if (options.keepAllInputs && irVersion >= firstIrWithDefaults)
      for (const ValueInfoMessage &input : graph.inputs) {
        constants.erase(input.name);
        kept.insert(input.name);
      }
    size_t overridable = llvm::count_if(graph.inputs, [&](const ValueInfoMessage &input) {
      return constants.contains(input.name) && !kept.contains(input.name);
    });
    if (overridable && irVersion >= firstIrWithDefaults)
      emitRemark(modelLocation) << overridable
                                << " inputs have an initializer as default and become constants";
    return result;
  }

  static std::string inputNames(const GraphMessage &graph) {
    std::string names;
    for (const ValueInfoMessage &input : graph.inputs)
      names += (names.empty() ? "'" : ", '") + input.name.str() + "'";
    return names.empty() ? "none" : names;
  }

  Location inputLocation(const ValueInfoMessage &input) {
    return NameLoc::get(builder.getStringAttr("input '" + input.name + "'"));
  }

  FailureOr<RankedTensorType> inputType(const ValueInfoMessage &input) {
    Location location = inputLocation(input);
    if (!input.isTensor)
      return emitError(location) << "is no tensor; only tensors can be inputs";
    Type element = elementType(input.dataType, builder.getContext());
    if (!element)
      return emitError(location) << "tensors of " << dataTypeName(input.dataType)
                                 << " are not supported";
    if (!input.shape)
      return emitError(location) << "has no shape; its rank must be known";
    SmallVector<int64_t> shape, known;
    for (const DimMessage &dim : *input.shape) {
      if (dim.size && *dim.size < 0)
        return emitError(location) << "dimension of size " << *dim.size;
      known.push_back(dim.size.value_or(1));
      shape.push_back(dim.size.value_or(ShapedType::kDynamic));
    }
    if (!elementCount(known))
      return emitError(location) << "the shape has more than " << maxElementCount << " elements";
    return RankedTensorType::get(shape, element);
  }

  /// Initializers, nodes and the return of a graph whose inputs are in `scope`.
  LogicalResult importBody(const GraphMessage &graph, Scope &scope, const Context &context) {
    LogicalResult initializers = importInitializers(graph, scope);
    LogicalResult result = importNodes(graph.nodes, scope, context);
    if (failed(initializers) || isTooLarge())
      result = failure();
    SmallVector<Value> results;
    for (const ValueInfoMessage &output : graph.outputs) {
      Value value = scope.lookup(output.name);
      if (!value && !isTooLarge())
        result = emitError(modelLocation)
                 << "output '" << output.name << "' is computed by no node";
      results.push_back(value);
    }
    if (failed(result))
      return failure();
    ReturnOp::create(builder, modelLocation, results);
    return success();
  }

  LogicalResult importNodes(ArrayRef<NodeMessage> nodes, Scope &scope, const Context &context) {
    size_t nodeOnCycle = 0;
    FailureOr<std::vector<size_t>> order = orderNodes(nodes, nodeOnCycle);
    if (failed(order)) {
      defineBroken(nodes, scope);
      return emitError(nodeLocation(nodes[nodeOnCycle], context)) << "depends on its own output";
    }
    LogicalResult result = success();
    for (size_t i : *order) {
      if (isTooLarge())
        return failure();
      if (failed(importNode(nodes[i], scope, context))) {
        result = failure();
        defineBroken(nodes[i], scope);
      }
    }
    return result;
  }

  /// Stands for the outputs of nodes that failed, so that what reads them does not fail as well.
  void defineBroken(ArrayRef<NodeMessage> nodes, Scope &scope) {
    for (const NodeMessage &node : nodes)
      for (StringRef output : node.outputs)
        if (!scope.values.contains(output))
          scope.values[output] = none(modelLocation);
  }

  bool isTooLarge() const { return nodes > maxNodes; }

  LogicalResult importSubgraph(const GraphMessage &graph, Region &region, const Scope &outer,
                               const Context &context, Location location) {
    if (graphDepth == maxGraphDepth)
      return emitError(location) << "subgraphs are nested more than " << maxGraphDepth
                                      << " deep with local functions inlined";
    llvm::SaveAndRestore depth(graphDepth, graphDepth + 1);
    OpBuilder::InsertionGuard guard(builder);
    SmallVector<Type> types(graph.inputs.size(), ValueType::get(builder.getContext()));
    Block *body =
        builder.createBlock(&region, {}, types, SmallVector<Location>(types.size(), modelLocation));
    Scope scope{&outer, {}};
    for (auto [input, argument] : llvm::zip_equal(graph.inputs, body->getArguments()))
      if (!scope.values.try_emplace(input.name, argument).second)
        return emitError(location) << "a subgraph has two inputs named '" << input.name << "'";
    return importBody(graph, scope, context);
  }

  //===--------------------------------------------------------------------===//
  // Nodes
  //===--------------------------------------------------------------------===//

  LogicalResult define(StringRef name, Value value, Scope &scope, Location location) {
    if (name.empty())
      return success();
    if (!scope.values.try_emplace(name, value).second)
      return emitError(location) << "defines '" << name << "' a second time";
    return success();
  }

  Value none(Location location) {
    return NoneOp::create(builder, location, onnx::NoneType::get(builder.getContext()));
  }

  /// A name that nothing defines is reported once.
  FailureOr<SmallVector<Value>> operands(const NodeMessage &node, Scope &scope,
                                         Location location) {
    SmallVector<Value> values;
    LogicalResult result = success();
    for (StringRef input : node.inputs) {
      Value value = input.empty() ? none(location) : scope.lookup(input);
      if (!value) {
        result = emitError(location)
                 << "reads '" << input << "', which no node, input or initializer defines";
        scope.values[input] = none(location);
      }
      if (value && &scope == mainScope && !(value = untie(value, node)))
        result = failure();
      values.push_back(value);
    }
    return failed(result) ? FailureOr<SmallVector<Value>>() : std::move(values);
  }

  /// What a node of the main graph reads of an initializer that is untied; null where that cannot be read.
  Value untie(Value value, const NodeMessage &node) {
    auto read = value.getDefiningOp<UseOp>();
    auto initializer = read ? symbols->lookup<InitializerOp>(read.getInitializer()) : InitializerOp();
    if (!initializer || initializer.getConstant() || !untied.match(initializer.getName()) ||
        !isa<FloatType>(cast<RankedTensorType>(initializer.getType()).getElementType()) ||
        node.opType == "Shape" || node.opType == "Size")
      return value;
    const NodeMessage *&first = firstReaders[initializer];
    if (!first)
      first = &node;
    auto output = llvm::find_if(node.outputs, [](StringRef name) { return !name.empty(); });
    if (first == &node || output == node.outputs.end())
      return value;
    Value &copy = copies[{initializer, &node}];
    if (copy)
      return copy;
    std::string name = untiedName(initializer.getName(), *output);
    ImportedTensor tensor{cast<RankedTensorType>(initializer.getType()), initializer.getValue()};
    if (initialValues && initialValues->has(name) && failed(initialValues->replace(name, tensor)))
      return {};
    copy = use(addInitializer(name, tensor, initializer.getLoc()));
    return copy;
  }

  /// The attribute itself, or what the call of the function around gave for it; null
  /// where it gave nothing.
  static const AttributeMessage *resolve(const AttributeMessage &attribute,
                                         const Context &context) {
    if (attribute.referredName.empty())
      return &attribute;
    auto found = context.arguments.find(attribute.referredName);
    return found == context.arguments.end() ? nullptr : &found->second;
  }

  LogicalResult importNode(const NodeMessage &node, Scope &scope, const Context &context) {
    Location location = nodeLocation(node, context);
    ++nodes;
    if (isTooLarge())
      return emitError(location) << "the model has more than " << maxNodes
                                 << " nodes with its local functions inlined";
    llvm::StringSet<> attributeNames;
    for (const AttributeMessage &attribute : node.attributes)
      if (!attributeNames.insert(attribute.name).second)
        return emitError(location) << "has two attributes named '" << attribute.name << "'";
    StringRef domain = canonicalDomain(node.domain);
    if (auto function = functions.find(functionKey(domain, node.opType, node.overload));
        function != functions.end())
      return inlineFunction(*function->second, node, scope, context, location);
    if (domain.empty() && node.opType == "Constant")
      return importConstant(node, scope, context, location);

    auto opset = context.opsets.find(domain);
    if (opset == context.opsets.end())
      return emitError(location) << "uses operator " << node.opType << " of domain '" << domain
                                 << "', for which the model states no opset";
    FailureOr<SmallVector<Value>> inputs = operands(node, scope, location);
    if (failed(inputs))
      return failure();

    SmallVector<NamedAttribute> fields;
    SmallVector<Attribute> graphNames;
    SmallVector<const GraphMessage *> graphs;
    for (const AttributeMessage &formal : node.attributes) {
      const AttributeMessage *attribute = resolve(formal, context);
      if (!attribute)
        continue;
      for (const std::shared_ptr<GraphMessage> &graph : attribute->graphs) {
        graphNames.push_back(builder.getStringAttr(formal.name));
        graphs.push_back(graph.get());
      }
      if (!attribute->graphs.empty())
        continue;
      FailureOr<Attribute> value = importAttribute(*attribute, location);
      if (failed(value))
        return failure();
      fields.push_back(builder.getNamedAttr(formal.name, *value));
    }

    SmallVector<Type> types(node.outputs.size(), ValueType::get(builder.getContext()));
    auto op = NodeOp::create(
        builder, location, types, builder.getStringAttr(node.opType), *inputs,
        builder.getStringAttr(domain), builder.getI64IntegerAttr(opset->second),
        builder.getDictionaryAttr(fields), builder.getArrayAttr(graphNames), graphs.size());
    LogicalResult outcome = success();
    for (auto [graph, region] : llvm::zip_equal(graphs, op.getBodies()))
      if (failed(importSubgraph(*graph, region, scope, context, location)))
        outcome = failure();
    for (auto [name, result] : llvm::zip_equal(node.outputs, op.getOutputs()))
      if (failed(define(name, result, scope, location)))
        outcome = failure();
    return outcome;
  }

  /// Constants of every form are initializers.
  LogicalResult importConstant(const NodeMessage &node, Scope &scope, const Context &context,
                               Location location) {
    if (node.outputs.size() != 1 || node.attributes.size() != 1)
      return emitError(location) << "a Constant needs one output and one value";
    const AttributeMessage *attribute = resolve(node.attributes.front(), context);
    if (!attribute)
      return emitError(location) << "refers to an attribute that its call does not give";
    FailureOr<ImportedTensor> tensor = constantTensor(*attribute, location);
    if (failed(tensor))
      return failure();
    StringRef name = node.outputs.front();
    return define(name, use(addInitializer(context.prefix + name.str(), *tensor, location, /*isConstant=*/true)), scope,
                  location);
  }

  /// onnx.AttributeProto.AttributeType.
  enum AttributeKind : int32_t {
    floatType = 1,
    intType,
    stringType,
    tensorType,
    graphType,
    floatsType,
    intsType,
    stringsType
  };

  FailureOr<ImportedTensor> constantTensor(const AttributeMessage &attribute, Location location) {
    if (attribute.tensors.size() == 1)
      return importTensor(attribute.tensors.front(), file, location);
    if (attribute.sparseTensors.size() == 1)
      return importSparseTensor(attribute.sparseTensors.front(), file, location);
    auto scalar = [&](Type element) { return RankedTensorType::get({}, element); };
    auto vector = [&](size_t size, Type element) {
      return RankedTensorType::get(static_cast<int64_t>(size), element);
    };
    switch (attribute.type) {
    case floatType: {
      RankedTensorType type = scalar(builder.getF32Type());
      return ImportedTensor{type, DenseElementsAttr::get(type, attribute.f)};
    }
    case intType: {
      RankedTensorType type = scalar(builder.getI64Type());
      return ImportedTensor{type, DenseElementsAttr::get(type, attribute.i)};
    }
    case floatsType: {
      RankedTensorType type = vector(attribute.floats.size(), builder.getF32Type());
      return ImportedTensor{type, DenseElementsAttr::get(type, ArrayRef<float>(attribute.floats))};
    }
    case intsType: {
      RankedTensorType type = vector(attribute.ints.size(), builder.getI64Type());
      return ImportedTensor{type, DenseElementsAttr::get(type, ArrayRef<int64_t>(attribute.ints))};
    }
    case stringType:
      return stringTensor({}, attribute.s, builder.getContext());
    case stringsType:
      return stringTensor(static_cast<int64_t>(attribute.strings.size()), attribute.strings,
                          builder.getContext());
    default:
      return emitError(location) << "constant '" << attribute.name
                                 << "' has a value that is not supported";
    }
  }

  FailureOr<Attribute> importAttribute(const AttributeMessage &attribute, Location location) {
    switch (attribute.type) {
    case floatType:
      return Attribute(builder.getF32FloatAttr(attribute.f));
    case intType:
      return Attribute(builder.getI64IntegerAttr(attribute.i));
    case stringType:
      return Attribute(builder.getStringAttr(attribute.s));
    case floatsType:
      return Attribute(builder.getDenseF32ArrayAttr(attribute.floats));
    case intsType:
      return Attribute(builder.getDenseI64ArrayAttr(attribute.ints));
    case stringsType:
      return Attribute(builder.getStrArrayAttr(attribute.strings));
    case tensorType: {
      if (attribute.tensors.size() != 1)
        break;
      FailureOr<ImportedTensor> tensor = importTensor(attribute.tensors.front(), file, location);
      if (failed(tensor))
        return failure();
      if (isa<ElementsAttr>(tensor->value))
        return tensor->value;
      return Attribute(builder.getArrayAttr({TypeAttr::get(tensor->type), tensor->value}));
    }
    default:
      break;
    }
    return emitError(location) << "attribute '" << attribute.name << "' has type " << attribute.type
                               << ", which is not supported";
  }

  //===--------------------------------------------------------------------===//
  // Local functions
  //===--------------------------------------------------------------------===//

  LogicalResult inlineFunction(const FunctionMessage &function, const NodeMessage &call,
                               Scope &scope, const Context &outer, Location location) {
    if (llvm::is_contained(callStack, &function))
      return emitError(location) << "calls local function '" << function.name
                                 << "', which calls itself";
    if (callStack.size() >= maxCallDepth)
      return emitError(location) << "local functions call each other more than " << maxCallDepth
                                 << " deep";
    if (call.inputs.size() > function.inputs.size() ||
        call.outputs.size() > function.outputs.size())
      return emitError(location) << "gives local function '" << function.name
                                 << "' more inputs or outputs than it has";
    FailureOr<SmallVector<Value>> inputs = operands(call, scope, location);
    FailureOr<llvm::StringMap<int64_t>> opsets = readOpsets(function.opsets);
    if (failed(inputs) || failed(opsets))
      return failure();

    Context context{*opsets, {}, outer.prefix};
    context.prefix += (call.name.empty() ? function.name : call.name).str() + "/";
    for (const AttributeMessage &attribute : function.attributeDefaults)
      context.arguments[attribute.name] = attribute;
    for (const AttributeMessage &attribute : call.attributes)
      if (const AttributeMessage *value = resolve(attribute, outer))
        context.arguments[attribute.name] = *value;

    Scope body;
    for (auto [i, name] : llvm::enumerate(function.inputs))
      if (!body.values.try_emplace(name, i < inputs->size() ? (*inputs)[i] : none(location)).second)
        return emitError(location) << "local function '" << function.name << "' has two inputs named '" << name
                                   << "'";
    callStack.push_back(&function);
    LogicalResult nodes = importNodes(function.nodes, body, context);
    callStack.pop_back();
    if (failed(nodes))
      return failure();
    for (auto [formal, actual] : llvm::zip(function.outputs, call.outputs)) {
      Value value = body.lookup(formal);
      if (!value)
        return emitError(location) << "local function '" << function.name
                                   << "' does not compute its output '" << formal << "'";
      if (failed(define(actual, value, scope, location)))
        return failure();
    }
    return success();
  }

  const SourceFile &file;
  OpBuilder builder;
  Location modelLocation;
  const ImportOptions &options;
  OwningOpRef<ModuleOp> module;
  std::optional<SymbolTable> symbols;
  GraphOp mainGraph;
  llvm::StringMap<const FunctionMessage *> functions;
  SmallVector<const FunctionMessage *> callStack;
  /// Of subgraphs, those around the calls of local functions included.
  int graphDepth = 0;
  const Scope *mainScope = nullptr;
  NamePatterns untied;
  std::optional<InitialValues> initialValues;
  /// Of initializers that are untied, and the copies that other nodes read.
  llvm::DenseMap<Operation *, const NodeMessage *> firstReaders;
  llvm::DenseMap<std::pair<Operation *, const NodeMessage *>, Value> copies;
  /// Initializers of the main graph that stay inputs.
  llvm::StringSet<> kept;
  int64_t irVersion = 0;
  size_t nodes = 0;
};

} // namespace

OwningOpRef<ModuleOp> spillway::importOnnx(StringRef path, MLIRContext &context,
                                           const ImportOptions &options) {
  context.loadDialect<OnnxDialect>();
  FailureOr<OpenModel> model = OpenModel::open(path, NameLoc::get(StringAttr::get(&context, path)));
  if (failed(model))
    return {};
  return Importer(model->file, &context, options).import(model->message);
}
