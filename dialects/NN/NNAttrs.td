#ifndef SPILLWAY_NN_ATTRS
#define SPILLWAY_NN_ATTRS

include "dialects/NN/NNDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class NN_I32Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::spillway::nn";
  let genSpecializedAttr = 0;
}
class NN_EnumAttr<EnumInfo info, string mnemonic> : EnumAttr<NN_Dialect, info, mnemonic> {
  let assemblyFormat = "`<` $value `>`";
}

def NN_ReductionKind : NN_I32Enum<"ReductionKind", "How elements of a reduction combine", [
  I32EnumAttrCase<"sum", 0>,
  I32EnumAttrCase<"mean", 1>,
  I32EnumAttrCase<"prod", 2>,
  I32EnumAttrCase<"max", 3>,
  I32EnumAttrCase<"min", 4>,
  I32EnumAttrCase<"sum_square", 5>,
  I32EnumAttrCase<"l1", 6>,
  I32EnumAttrCase<"l2", 7>,
  I32EnumAttrCase<"log_sum", 8>,
  I32EnumAttrCase<"log_sum_exp", 9>,
]>;
def NN_ReductionKindAttr : NN_EnumAttr<NN_ReductionKind, "reduction">;

def NN_ScatterKind : NN_I32Enum<"ScatterKind", "What an update does to the element in its place", [
  I32EnumAttrCase<"replace", 0>,
  I32EnumAttrCase<"add", 1>,
  I32EnumAttrCase<"mul", 2>,
  I32EnumAttrCase<"max", 3>,
  I32EnumAttrCase<"min", 4>,
]>;
def NN_ScatterKindAttr : NN_EnumAttr<NN_ScatterKind, "scatter_kind">;

def NN_PadMode : NN_I32Enum<"PadMode", "What an element outside the operand holds", [
  I32EnumAttrCase<"constant", 0>,
  I32EnumAttrCase<"reflect", 1>,
  I32EnumAttrCase<"edge", 2>,
  I32EnumAttrCase<"wrap", 3>,
]>;
def NN_PadModeAttr : NN_EnumAttr<NN_PadMode, "pad_mode">;

def NN_MaskedRow : NN_I32Enum<"MaskedRow",
    "What attention gives for a query that may see no key", [
  // exp(-inf - -inf): the plain softmax.
  I32EnumAttrCase<"nan", 0>,
  // Attention-23, and exports that guard the softmax with IsNaN.
  I32EnumAttrCase<"zero", 1>,
]>;
def NN_MaskedRowAttr : NN_EnumAttr<NN_MaskedRow, "masked_row">;

def NN_Schedule : NN_I32Enum<"Schedule", "How the body of a kernel is computed", [
  // Each result element by itself; units are blocks of result elements.
  I32EnumAttrCase<"map", 0>,
  // One reduction over the trailing dimension; units are rows.
  I32EnumAttrCase<"row", 1>,
  // One matmul with its epilogue; units are panels of result columns.
  I32EnumAttrCase<"gemm", 2>,
  // One attention with its epilogue; units are blocks of query rows.
  I32EnumAttrCase<"attention", 3>,
  // One scan along a dimension; units are independent lines.
  I32EnumAttrCase<"scan", 4>,
  // One sort along a dimension; units are independent lines.
  I32EnumAttrCase<"sort", 5>,
  // One scatter; units are blocks of the elements that an index tuple addresses.
  I32EnumAttrCase<"scatter", 6>,
  // One convolution with its epilogue; units are panels of filters, or blocks of windows.
  I32EnumAttrCase<"conv", 7>,
]>;
def NN_ScheduleAttr : NN_EnumAttr<NN_Schedule, "schedule">;

def NN_PanelsAttr : AttrDef<NN_Dialect, "Panels"> {
  let mnemonic = "panels";
  let summary = "A tensor stored in panels";
  let description = [{
    The tensor is cut along dimension `dim` into panels of `width` indices (16, `spillway::panelWidth`,
    where none is given). Panels follow each other; inside one, for each
    index of the other dimension, `width` elements. The last panel is padded with
    zeros. A tensor of more than two dimensions is cut along the first one, and the others are taken
    as one, in row-major order. A tensor without this attribute is stored in row-major order.

    **Constraints**: `dim` is 0 or 1, `width` at least 1.
  }];
  let parameters = (ins "int64_t":$dim, DefaultValuedParameter<"int64_t", "16">:$width);
  let assemblyFormat = "`<` $dim (`,` `width` `=` $width^)? `>`";
  let genVerifyDecl = 1;
}

def NN_CostAttr : AttrDef<NN_Dialect, "Cost"> {
  let mnemonic = "cost";
  let summary = "What one execution of a kernel costs";
  let description = [{
    `flops` as in CostOpInterface; `bytes` of all operands and results, each once;
    `shared` bytes of what every launch reads whole, whatever its range of units: the left operand
    of a matmul, which each launch packs, once for each piece that its range of units is cut into.
    `type` is bf16 where a product has two operands of bf16, for which processors have instructions of their own. Whether a
    kernel uses them is up to its schedule: a product of few rows, bound by what it reads, does not.
  }];
  let parameters = (ins "int64_t":$flops, "int64_t":$bytes,
                        DefaultValuedParameter<"int64_t", "0">:$shared,
                        OptionalParameter<"::mlir::Type">:$type);
  let assemblyFormat = "`<` $flops `,` $bytes (`,` `shared` `=` $shared^)? (`in` $type^)? `>`";
}

#endif
