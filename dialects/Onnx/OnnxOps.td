#ifndef SPILLWAY_ONNX_OPS
#define SPILLWAY_ONNX_OPS

include "dialects/Onnx/OnnxDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Attributes and types
//===----------------------------------------------------------------------===//

def Onnx_Encoding : I32EnumAttr<"Encoding", "How the elements of an extent are written", [
  // As in memory, little-endian, one byte for a bool; two int4 to a byte, low first.
  I32EnumAttrCase<"raw", 0>,
  // Protobuf varints: packed int32_data, int64_data or uint64_data.
  I32EnumAttrCase<"varint", 1>,
  // A TensorProto, whose string_data are the elements.
  I32EnumAttrCase<"message", 2>,
]> {
  let cppNamespace = "::spillway::onnx";
  let genSpecializedAttr = 0;
}

def Onnx_ExtentAttr : AttrDef<Onnx_Dialect, "Extent"> {
  let mnemonic = "extent";
  let summary = "Consecutive bytes of a file that hold the elements of a tensor";
  let description = [{
    **Constraints**: none that the file itself would have to be read for; the importer has
    checked that the extent lies inside the file and, where it is raw, that it has the tensor's bytes.
  }];
  let parameters = (ins "::mlir::StringAttr":$path, "uint64_t":$offset, "uint64_t":$bytes,
                        EnumParameter<Onnx_Encoding>:$encoding);
  let assemblyFormat = "`<` $path `,` $offset `,` $bytes `,` $encoding `>`";
}

def Onnx_ValueType : TypeDef<Onnx_Dialect, "Value"> {
  let mnemonic = "value";
  let summary = "A value whose type the file need not say: a tensor, sequence or optional";
}

def Onnx_StringType : TypeDef<Onnx_Dialect, "String"> {
  let mnemonic = "string";
  let summary = "A string, the element of tensors that no operator of ours takes";
}

def Onnx_NoneType : TypeDef<Onnx_Dialect, "None"> {
  let mnemonic = "none";
  let summary = "An operand that was left out (an empty name in the file)";
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

class Onnx_Op<string mnemonic, list<Trait> traits = []> : Op<Onnx_Dialect, mnemonic, traits>;

def Onnx_InitializerOp : Onnx_Op<"initializer", [Symbol]> {
  let summary = "A tensor of the file, by its place";
  let description = [{
    `name` is the ONNX name, of any characters; a tensor that was a node's attribute is named after the node.
    A `constant` is no parameter of the model: the value of a Constant node, or of a bound input.

    **Constraints**
    - C1: the type is a ranked static tensor.
    - C2: the value is an extent, or elements of this type.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$name, TypeAttr:$type, AnyAttr:$value,
                       UnitAttr:$constant);
  let assemblyFormat = "$sym_name $name (`constant` $constant^)? `:` $type `=` $value attr-dict";
  let hasVerifier = 1;
}

def Onnx_GraphOp : Onnx_Op<"graph", [SingleBlock]> {
  let summary = "The main graph";
  let description = [{
    `dims` names the dimensions of each input: "" where the size is fixed or the file has no
    name for it. The block's arguments are the inputs that are not initializers.

    **Constraints**
    - C1: one name, and one list of dimension names of its rank, per input.
    - C2: the body ends in `onnx.return` with one value per output name.
  }];
  let arguments = (ins StrAttr:$name, StrArrayAttr:$inputs, ArrayAttr:$dims, StrArrayAttr:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $name `inputs` `(` $inputs `)` `dims` `(` $dims `)` `outputs` `(` $outputs `)` attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
}

def Onnx_UseOp : Onnx_Op<"use", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "The value of an initializer";
  let description = [{
    **Constraints**
    - C1: the initializer exists and has the result's type.
  }];
  let arguments = (ins FlatSymbolRefAttr:$initializer);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$initializer attr-dict `:` type($result)";
}

def Onnx_NoneOp : Onnx_Op<"none", [Pure]> {
  let summary = "Stands for an operand that was left out";
  let results = (outs Onnx_NoneType:$result);
  let assemblyFormat = "attr-dict";
}

def Onnx_NodeOp : Onnx_Op<"node"> {
  let summary = "A node: an operator of a domain, in the version that the file asks for";
  let description = [{
    `version` is the file's opset for the domain. Attributes are in the dictionary `fields`: i64, f32, strings,
    `array<i64>`, `array<f32>`, arrays of strings, elements for small tensors and extents with
    their type (`[type, extent]`) for others. Subgraphs are the regions, named by `graphs` in their order; they use values of the graphs around
    them directly. A result that the file leaves out has no uses.

    **Constraints**
    - C1: the operator has a name, and one entry of `graphs` per region.
  }];
  let arguments = (ins StrAttr:$op_type, Variadic<AnyType>:$inputs, DefaultValuedStrAttr<StrAttr, "">:$domain,
                       I64Attr:$version, DictionaryAttr:$fields,
                       DefaultValuedAttr<StrArrayAttr, "{}">:$graphs);
  let results = (outs Variadic<Onnx_ValueType>:$outputs);
  let regions = (region VariadicRegion<SizedRegion<1>>:$bodies);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Onnx_ReturnOp : Onnx_Op<"return", [Pure, Terminator]> {
  let summary = "The outputs of a graph or subgraph";
  let arguments = (ins Variadic<AnyType>:$inputs);
  let assemblyFormat = "attr-dict ($inputs^ `:` type($inputs))?";
}

#endif
