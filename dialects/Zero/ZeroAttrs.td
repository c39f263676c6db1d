#ifndef SPILLWAY_ZERO_ATTRS
#define SPILLWAY_ZERO_ATTRS

include "dialects/Zero/ZeroDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"

class Zero_I32Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::spillway::zero";
  let genSpecializedAttr = 0;
}
class Zero_EnumAttr<EnumInfo info, string mnemonic> : EnumAttr<Zero_Dialect, info, mnemonic> {
  let assemblyFormat = "`<` $value `>`";
}

def Zero_Tier : Zero_I32Enum<"Tier", "A kind of memory", [
  I32EnumAttrCase<"device", 0>,
  I32EnumAttrCase<"host", 1>,
  I32EnumAttrCase<"nvme", 2>,
]>;
def Zero_TierAttr : Zero_EnumAttr<Zero_Tier, "tier">;

def Zero_Role : Zero_I32Enum<"Role", "What a state is for", [
  I32EnumAttrCase<"parameter", 0>,
  // What an optimizer keeps for each element of a parameter.
  I32EnumAttrCase<"moment", 1>,
  // A tensor of the model's that never trains.
  I32EnumAttrCase<"constant", 2>,
  // A parameter that trains, rounded to fewer bits: what products read.
  I32EnumAttrCase<"twin", 3>,
  // What a norm has seen so far: no optimizer trains it.
  I32EnumAttrCase<"statistic", 4>,
]>;
def Zero_RoleAttr : Zero_EnumAttr<Zero_Role, "role">;

def Zero_FileAttr : AttrDef<Zero_Dialect, "File"> {
  let mnemonic = "file";
  let summary = "Bytes in a file: the elements in row-major order, little-endian";
  let description = [{
    `encoding` says how they are written: `raw` (as in memory; a bool or an 8-bit integer in one
    byte), or `varint` (protobuf's packed int32_data or int64_data, also of
    the smaller integer types, fp16 and bf16, that protobuf keeps there).
  }];
  let parameters = (ins "::mlir::StringAttr":$path, "uint64_t":$offset, "uint64_t":$bytes,
                        DefaultValuedParameter<"bool", "false">:$varint);
  let assemblyFormat = "`<` $path `,` $offset `,` $bytes (`,` `varint` `=` $varint^)? `>`";
}

def Zero_SplatAttr : AttrDef<Zero_Dialect, "Splat"> {
  let mnemonic = "splat";
  let summary = "One value for all elements";
  let parameters = (ins "::mlir::TypedAttr":$value);
  let assemblyFormat = "`<` $value `>`";
}

def Zero_RoundedAttr : AttrDef<Zero_Dialect, "Rounded"> {
  let mnemonic = "rounded";
  let summary = "The elements of another source, of f32, each rounded to nearest even";
  let parameters = (ins "::mlir::Attribute":$source);
  let assemblyFormat = "`<` $source `>`";
}

def Zero_ArenaAttr : AttrDef<Zero_Dialect, "Arena"> {
  let mnemonic = "arena";
  let summary = "All memory of a tier that a program may use, and the part that tiles pass through";
  let description = [{
    A module in which states have homes carries an array of these, one a tier, as `zero.arenas`. The
    first is the tier whose memory kernels compute on. What a device gives new values passes through another part of
    the host's memory, `outgoing`, on its way down.
  }];
  let parameters = (ins EnumParameter<Zero_Tier>:$tier, "int64_t":$bytes,
                        DefaultValuedParameter<"int64_t", "0">:$staging,
                        DefaultValuedParameter<"int64_t", "0">:$outgoing);
  let assemblyFormat = [{
    `<` $tier `,` $bytes (`,` `staging` `=` $staging^)? (`,` `outgoing` `=` $outgoing^)? `>`
  }];
}

#endif
