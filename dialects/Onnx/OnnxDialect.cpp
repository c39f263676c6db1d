#include "dialects/Onnx/Onnx.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace spillway::onnx;

#include "dialects/Onnx/OnnxDialect.cpp.inc"
#include "dialects/Onnx/OnnxEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Onnx/OnnxAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Onnx/OnnxTypes.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/Onnx/OnnxOps.cpp.inc"

void OnnxDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Onnx/OnnxAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Onnx/OnnxTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Onnx/OnnxOps.cpp.inc"
      >();
}

LogicalResult InitializerOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!type || !type.hasStaticShape())
    return emitOpError("C1: the type must be a static tensor");
  auto elements = dyn_cast<ElementsAttr>(getValue());
  if (!isa<ExtentAttr>(getValue()) && !(elements && elements.getType() == type))
    return emitOpError("C2: the value must be an extent, or elements of type ") << type;
  return success();
}

LogicalResult GraphOp::verify() {
  Block &body = getBody().front();
  if (getInputs().size() != body.getNumArguments() || getDims().size() != body.getNumArguments())
    return emitOpError("C1: names and dims must be one per input (")
           << body.getNumArguments() << ")";
  for (auto [argument, names] : llvm::zip_equal(body.getArguments(), getDims())) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    auto list = dyn_cast<ArrayAttr>(names);
    if (!type || !list || static_cast<int64_t>(list.size()) != type.getRank() ||
        !llvm::all_of(list, llvm::IsaPred<StringAttr>))
      return emitOpError("C1: input ")
             << argument.getArgNumber() << " must be a ranked tensor with one name per dimension";
  }
  auto end = dyn_cast<ReturnOp>(body.getTerminator());
  if (!end || end.getInputs().size() != getOutputs().size())
    return emitOpError("C2: the body must return one value per output (")
           << getOutputs().size() << ")";
  return success();
}

LogicalResult UseOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto initializer = symbols.lookupNearestSymbolFrom<InitializerOp>(*this, getInitializerAttr());
  if (!initializer || initializer.getType() != getType())
    return emitOpError("C1: no initializer ") << getInitializerAttr() << " of type " << getType();
  return success();
}

//===----------------------------------------------------------------------===//
// Node
//===----------------------------------------------------------------------===//

LogicalResult NodeOp::verify() {
  if (getOpType().empty() || getGraphs().size() != getBodies().size())
    return emitOpError("C1: needs an operator name, and a name per subgraph");
  return success();
}

// [%r, ... =] onnx.node "Op" [domain "name"] (%a, %b) version N [outputs N] {attributes}
//   [graph "name" { ... }]... : operand types
void NodeOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printAttribute(getOpTypeAttr());
  if (!getDomain().empty()) {
    printer << " domain ";
    printer.printAttribute(getDomainAttr());
  }
  printer << " (";
  printer.printOperands(getInputs());
  printer << ") version " << getVersion();
  if (getNumResults() != 1)
    printer << " outputs " << getNumResults();
  printer << ' ';
  printer.printAttribute(getFields());
  for (auto [name, body] : llvm::zip_equal(getGraphs(), getBodies())) {
    printer << " graph ";
    printer.printAttribute(name);
    printer << ' ';
    printer.printRegion(body);
  }
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {getOpTypeAttrName(), getDomainAttrName(), getVersionAttrName(),
                                 getFieldsAttrName(), getGraphsAttrName()});
  if (!getInputs().empty()) {
    printer << " : ";
    llvm::interleaveComma(getInputs().getTypes(), printer);
  }
}

ParseResult NodeOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  StringAttr name, domain = builder.getStringAttr("");
  if (parser.parseAttribute(name))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("domain")) && parser.parseAttribute(domain))
    return failure();
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  int64_t version, outputs = 1;
  if (parser.parseOperandList(operands, OpAsmParser::Delimiter::Paren) ||
      parser.parseKeyword("version") || parser.parseInteger(version))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("outputs")) && parser.parseInteger(outputs))
    return failure();
  if (outputs < 0)
    return parser.emitError(parser.getNameLoc(), "a node has no negative number of outputs");
  DictionaryAttr fields;
  if (parser.parseAttribute(fields))
    return failure();
  SmallVector<Attribute> graphs;
  while (succeeded(parser.parseOptionalKeyword("graph"))) {
    StringAttr graph;
    if (parser.parseAttribute(graph) || parser.parseRegion(*result.addRegion()))
      return failure();
    graphs.push_back(graph);
  }
  SmallVector<Type> types;
  if (parser.parseOptionalAttrDict(result.attributes) ||
      (!operands.empty() && parser.parseColonTypeList(types)) ||
      parser.resolveOperands(operands, types, parser.getNameLoc(), result.operands))
    return failure();
  result.addAttribute(getOpTypeAttrName(result.name), name);
  result.addAttribute(getDomainAttrName(result.name), domain);
  result.addAttribute(getVersionAttrName(result.name), builder.getI64IntegerAttr(version));
  result.addAttribute(getFieldsAttrName(result.name), fields);
  result.addAttribute(getGraphsAttrName(result.name), builder.getArrayAttr(graphs));
  result.addTypes(SmallVector<Type>(outputs, ValueType::get(builder.getContext())));
  return success();
}
