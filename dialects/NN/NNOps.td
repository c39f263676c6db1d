#ifndef SPILLWAY_NN_OPS
#define SPILLWAY_NN_OPS

include "dialects/NN/NNAttrs.td"
include "dialects/NN/NNInterfaces.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def NN_Element : AnyTypeOf<[F64, F32, F16, BF16, I64, I32, I16, I8, I1]>;
def NN_Tensor : StaticShapeTensorOf<[NN_Element]>;
def NN_FloatTensor : StaticShapeTensorOf<[F64, F32, F16, BF16]>;
def NN_IndexTensor : StaticShapeTensorOf<[I64, I32]>;

class NN_Op<string mnemonic, list<Trait> traits = []> : Op<NN_Dialect, mnemonic, traits>;
class NN_PureOp<string mnemonic, list<Trait> traits = []>
    : NN_Op<mnemonic, [Pure, DeclareOpInterfaceMethods<NN_CostOpInterface>] # traits>;
class NN_AnchorOp<string mnemonic, string schedule, bit readsMemory, list<Trait> traits = []>
    : NN_PureOp<mnemonic, [DeclareOpInterfaceMethods<NN_AnchorOpInterface>] # traits> {
  let extraClassDefinition = [{
    ::spillway::nn::Schedule $cppClass::getSchedule() { return Schedule::}] # schedule # [{; }
    bool $cppClass::readsMemory() { return }] # !if(readsMemory, "true", "false") # [{; }
  }];
}

//===----------------------------------------------------------------------===//
// Movement: each result element is one element of an operand.
//===----------------------------------------------------------------------===//

def NN_ReshapeOp : NN_PureOp<"reshape"> {
  let summary = "The same elements in row-major order under another shape";
  let description = [{
    **Constraints**
    - C1: operand and result have the same number of elements and element type.
  }];
  let arguments = (ins NN_Tensor:$operand);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasCanonicalizer = 1;
  let hasVerifier = 1;
  let hasFolder = 1;
}

def NN_BroadcastOp : NN_PureOp<"broadcast"> {
  let summary = "Repeats elements along new dimensions and dimensions of size one";
  let description = [{
    Dimension `i` of the operand becomes dimension `dims[i]` of the result.

    ```mlir
    %1 = nn.broadcast %0 dims [1] : tensor<768xf32> -> tensor<128x768xf32>
    ```

    **Constraints**
    - C1: `dims` has one entry per operand dimension, strictly ascending, inside the
      result's rank.
    - C2: an operand dimension has size one or the size of its result dimension.
    - C3: element types are equal.
  }];
  let arguments = (ins NN_Tensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$operand `dims` $dims attr-dict `:` type($operand) `->` type($result)";
  let hasCanonicalizer = 1;
  let hasVerifier = 1;
  let hasFolder = 1;
}

def NN_TransposeOp : NN_PureOp<"transpose"> {
  let summary = "Permutes dimensions: result dimension i is operand dimension perm[i]";
  let description = [{
    **Constraints**
    - C1: `perm` is a permutation of the operand's dimensions.
    - C2: the result has the permuted shape and the operand's element type.
  }];
  let arguments = (ins NN_Tensor:$operand, DenseI64ArrayAttr:$perm);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$operand `perm` $perm attr-dict `:` type($operand) `->` type($result)";
  let hasCanonicalizer = 1;
  let hasVerifier = 1;
  let hasFolder = 1;
}

def NN_SliceOp : NN_PureOp<"slice"> {
  let summary = "Every strides[d]-th element from offsets[d] on, along each dimension";
  let description = [{
    The sizes are the result's. Strides may be negative.

    **Constraints**
    - C1: one offset and one stride per dimension; ranks and element types are equal.
    - C2: no stride is zero.
    - C3: the first and last element of each dimension lie inside the operand (not
      asked of a result without elements).
  }];
  let arguments = (ins NN_Tensor:$operand, DenseI64ArrayAttr:$offsets, DenseI64ArrayAttr:$strides);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = [{
    $operand `offsets` $offsets `strides` $strides attr-dict `:` type($operand) `->` type($result)
  }];
  let extraClassDeclaration = [{
    /// The element of the operand that the result begins with, where the result is consecutive
    /// elements of the operand and not empty.
    std::optional<int64_t> getFirstOfRun();
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def NN_WindowsOp : NN_PureOp<"windows"> {
  let summary = "The windows that slide over the last dimensions, side by side";
  let description = [{
    With s entries in `strides`, the operand's last s dimensions become 2 s: the places
    inside of a window, then the windows. result[l..., k..., o...] = operand[l..., o * stride + k * dilation].

    ```mlir
    %1 = nn.windows %0 strides [2] dilations [1] : tensor<8x9xf32> -> tensor<8x3x4xf32>
    ```

    **Constraints**
    - C1: one stride and one dilation, each at least 1, for each of s dimensions, at most the operand's rank;
      the result has s dimensions more, the operand's leading ones and its element type.
    - C2: the last place of the last window lies inside the operand (not asked of a result
      without elements).
  }];
  let arguments = (ins NN_Tensor:$operand, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = [{
    $operand `strides` $strides `dilations` $dilations attr-dict `:` type($operand) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NN_ConcatOp : NN_PureOp<"concat"> {
  let summary = "Operands one after another along a dimension";
  let description = [{
    **Constraints**
    - C1: at least one operand; all have the result's rank and element type.
    - C2: sizes are equal but along `dim`, where they add up to the result's.
  }];
  let arguments = (ins Variadic<NN_Tensor>:$inputs, I64Attr:$dim);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$inputs `dim` $dim attr-dict `:` functional-type($inputs, $result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def NN_PadOp : NN_PureOp<"pad"> {
  let summary = "Adds elements around a tensor, or takes them away";
  let description = [{
    `low[d]` elements before and the rest after, along each dimension; a negative count
    removes. `value` (a tensor of rank 0) is what the mode `constant` fills in.

    **Constraints**
    - C1: one `low` per dimension; ranks and element types are equal.
    - C2: `value` is given exactly in the mode `constant`.
    - C3: reflect and wrap need elements to repeat along each padded dimension.
  }];
  let arguments = (ins NN_Tensor:$operand, Optional<NN_Tensor>:$value, DenseI64ArrayAttr:$low,
                       NN_PadModeAttr:$mode);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = [{
    $mode $operand (`value` $value^ `:` type($value))? `low` $low attr-dict
    `:` type($operand) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NN_IotaOp : NN_PureOp<"iota"> {
  let summary = "Each element holds its index along a dimension";
  let description = [{
    **Constraints**
    - C1: `dim` lies inside the result's rank.
    - C2: the element type is an integer wider than one bit, or a float.
  }];
  let arguments = (ins I64Attr:$dim);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "`dim` $dim attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def NN_RandomOp : NN_PureOp<"random"> {
  let summary = "Random bits that follow from a key and the place of each element";
  let description = [{
    The key's dimensions are the result's leading ones. Element i, in row-major order, of those that belong to
    a key is the low word of Threefry-2x32 (20 rounds, runtime/base/Threefry.h) of the counter i under that key.

    ```mlir
    %1 = nn.random %key : tensor<i64> -> tensor<4x256x768xi32>
    ```

    **Constraints**
    - C1: the result's leading sizes are those of the key.
    - C2: at most 2^32 elements belong to a key.
  }];
  let arguments = (ins StaticShapeTensorOf<[I64]>:$key);
  let results = (outs StaticShapeTensorOf<[I32]>:$result);
  let assemblyFormat = "$key attr-dict `:` type($key) `->` type($result)";
  let hasVerifier = 1;
}

def NN_GatherOp : NN_PureOp<"gather"> {
  let summary = "Slices of a tensor picked by indices along one dimension";
  let description = [{
    result[p..., i..., s...] = data[p..., indices[i...], s...], where `p` has `dim`
    dimensions. A negative index counts from the end. An index out of range is clamped
    and reported through the kernel's fault word.

    **Constraints**
    - C1: `dim` lies inside data's rank.
    - C2: the result has data's shape with dimension `dim` replaced by the indices' shape.
  }];
  let arguments = (ins NN_Tensor:$data, NN_IndexTensor:$indices, I64Attr:$dim);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = [{
    $data `[` $indices `]` `dim` $dim attr-dict `:` type($data) `,` type($indices) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NN_GatherElementsOp : NN_PureOp<"gather_elements"> {
  let summary = "Elements of a tensor picked by one index each along one dimension";
  let description = [{
    result[i...] = data[i... with the index of `dim` replaced by indices[i...]]. Indices as
    in `nn.gather`.

    **Constraints**
    - C1: `dim` lies inside the rank, which data and indices share.
    - C2: the result has the indices' shape and data's element type.
    - C3: but along `dim`, indices are no larger than data.
  }];
  let arguments = (ins NN_Tensor:$data, NN_IndexTensor:$indices, I64Attr:$dim);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = [{
    $data `[` $indices `]` `dim` $dim attr-dict `:` type($data) `,` type($indices) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NN_GatherNDOp : NN_PureOp<"gather_nd"> {
  let summary = "Slices of a tensor picked by index tuples";
  let description = [{
    The last dimension of `indices` (size t) holds a tuple that addresses t dimensions
    of `data` after the `batch_dims` leading ones, which both share. Indices as in
    `nn.gather`.

    **Constraints**
    - C1: batch_dims < rank of indices, batch_dims + t <= rank of data; leading sizes agree.
    - C2: result shape = indices' shape without its last dimension, then data's from
      batch_dims + t on.
  }];
  let arguments = (ins NN_Tensor:$data, NN_IndexTensor:$indices, I64Attr:$batch_dims);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = [{
    $data `[` $indices `]` `batch_dims` $batch_dims attr-dict
    `:` type($data) `,` type($indices) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NN_UnpackOp : NN_PureOp<"unpack"> {
  let summary = "The small integers that lie in bytes, several to each";
  let description = [{
    With p = 8 / `bits`, element i of the last dimension is number i mod p of byte i / p, where number 0
    has the lowest bits; `signed` says whether its highest bit is a sign. Weights of few bits stay so
    in files and memory, and are unpacked where kernels read them.

    ```mlir
    %1 = nn.unpack %0 bits 4 : tensor<768x384xi8> -> tensor<768x768xi8>
    ```

    **Constraints**
    - C1: `bits` is 1, 2 or 4.
    - C2: operand and result hold i8, and have one shape but that the result's last dimension is p times
      the operand's.
  }];
  let arguments = (ins NN_Tensor:$operand, I64Attr:$bits, UnitAttr:$is_signed);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = [{
    $operand `bits` $bits (`signed` $is_signed^)? attr-dict `:` type($operand) `->` type($result)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Contraction
//===----------------------------------------------------------------------===//

def NN_MatmulOp : NN_AnchorOp<"matmul", "gemm", /*readsMemory=*/1> {
  let summary = "Matrix product, batched, with either operand read transposed";
  let description = [{
    lhs [batch..., m, k] times rhs [batch..., k, n] (the last two swapped where a
    transpose flag says so). A rhs of rank 2 serves all batches. Each result element is one chain
    of fused multiply-adds in ascending k that starts from zero, in f32 (in f64 for
    f64, in the integer type for integers), rounded once to the result's element type. Where both operands
    are bf16 a kernel for AVX512-BF16 may go on by pairs of k, whose two products are each added to nearest with
    denormals taken for zero.

    **Constraints**
    - C1: ranks are at least 2; rhs has lhs' rank or 2.
    - C2: batch sizes agree.
    - C3: the contracted sizes agree, the result has the remaining ones.
    - C4: lhs and rhs have one element type, which the result has too, or f32; or they are of f32, f16 and bf16, each
      of its own, and the result is of f32.
  }];
  let arguments = (ins NN_Tensor:$lhs, NN_Tensor:$rhs, UnitAttr:$transpose_lhs,
                       UnitAttr:$transpose_rhs);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = [{
    $lhs (`transpose` $transpose_lhs^)? `,` $rhs (`transpose` $transpose_rhs^)? attr-dict
    `:` type($lhs) `,` type($rhs) `->` type($result)
  }];
  let hasCanonicalizer = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t getM();
    int64_t getN();
    int64_t getK();
    /// Product of the batch sizes.
    int64_t getBatch();
  }];
}

def NN_ConvOp : NN_AnchorOp<"conv", "conv", /*readsMemory=*/1> {
  let summary = "Products of a filter with the windows of an image";
  let description = [{
    input [n, groups * c, size...], filter [groups * m, c, k...], result [n, groups * m, o...].
    A result element at o in group g is the sum over (c, k...) of input[n, g * c + c, o * stride +
    k * dilation - low] * filter[g * m + m, c, k...], where the input is zero outside of its sizes: one chain
    of fused multiply-adds in ascending order of (c, k...) that starts from zero, in the types
    that `nn.matmul` uses. How many windows there are is the result's to say.

    ```mlir
    %1 = nn.conv %0, %w strides [2, 2] dilations [1, 1] low [3, 3] groups 1
        : tensor<1x3x224x224xf32>, tensor<64x3x7x7xf32> -> tensor<1x64x112x112xf32>
    ```

    **Constraints**
    - C1: ranks are equal and at least 3; one stride and one dilation, each at least 1, and one `low` per
      dimension from the third on.
    - C2: the filters are a multiple of `groups`, the input's channels are `groups` times the filter's, and
      the result has the input's first size and one channel per filter.
    - C3: all have one element type, not i1; or input and filter are of f32, f16 and bf16, each of its own, and the
      result is of f32.
  }];
  let arguments = (ins NN_Tensor:$input, NN_Tensor:$filter, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$low, I64Attr:$groups);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = [{
    $input `,` $filter `strides` $strides `dilations` $dilations `low` $low `groups` $groups attr-dict
    `:` type($input) `,` type($filter) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Length of the chain of a result element.
    int64_t getDepth();
  }];
}

def NN_AttentionOp : NN_AnchorOp<"attention", "attention", /*readsMemory=*/1> {
  let summary = "softmax(query x key^T * scale + mask) x value, without the score matrix";
  let description = [{
    query [b, h, m, d], key [b, hk, n, d], value [b, hk, n, e], result [b, h, m, e]; h is
    a multiple of hk, and head i of the query reads head i / (h / hk). `softcap` c, where not
    zero, replaces a score s by c * tanh(s / c) before the mask. The mask is added
    (floats) or keeps the scores where it is true (i1); each of its dimensions is one or
    the scores'. `causal_offset` o, where given, lets query i see key j only where
    j <= i + o. `masked_row` says what a query that sees none of the keys gives; where there are no keys it is zero.

    **Constraints**
    - C1: ranks are 4 and sizes agree as above.
    - C2: h is a multiple of hk.
    - C3: the mask broadcasts to [b, h, m, n]; its elements are i1, query's type or f32.
    - C4: query, key, value and result have one float element type; or the operands are of f32, f16 and bf16, each of
      its own, and the result is of f32.
  }];
  let arguments = (ins NN_FloatTensor:$query, NN_FloatTensor:$key, NN_FloatTensor:$value,
                       Optional<NN_Tensor>:$mask, F32Attr:$scale,
                       DefaultValuedAttr<F32Attr, "0.0f">:$softcap,
                       OptionalAttr<I64Attr>:$causal_offset, NN_MaskedRowAttr:$masked_row);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = [{
    $masked_row $query `,` $key `,` $value (`mask` $mask^ `:` type($mask))? `scale` $scale attr-dict
    `:` type($query) `,` type($key) `,` type($value) `->` type($result)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Reductions. Along the last dimension they use 16 virtual lanes (index mod 16),
// combined by one fixed tree; along others, ascending order. nn.reduce over all dimensions
// does so in each chunk of 4096 elements (in row-major order), then with the chunks' results.
//===----------------------------------------------------------------------===//

def NN_ReduceOp : NN_AnchorOp<"reduce", "row", /*readsMemory=*/0> {
  let summary = "Combines the elements along some dimensions, which vanish";
  let description = [{
    Floats are combined in f32 (f64 in f64) and rounded once. Over no elements: the kind's identity
    (max: the lowest value, min: the highest, mean: NaN).

    **Constraints**
    - C1: `dims` are strictly ascending and inside the operand's rank.
    - C2: the result has the remaining dimensions and the operand's element type.
    - C3: kinds beyond sum, prod, max and min need floats, but sum_square and l1, which takes integers
      as signed ones.
  }];
  let arguments = (ins NN_ReductionKindAttr:$kind, NN_Tensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$kind $operand `dims` $dims attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

class NN_RowOp<string mnemonic>
    : NN_AnchorOp<mnemonic, "row", /*readsMemory=*/0, [AllTypesMatch<["operand", "result"]>]> {
  let arguments = (ins NN_FloatTensor:$operand, I64Attr:$dim);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = "$operand `dim` $dim attr-dict `:` type($operand)";
  let hasVerifier = 1;
}

def NN_SoftmaxOp : NN_RowOp<"softmax"> {
  let summary = "exp(x - max) / sum(exp(x - max)) along a dimension";
  let description = [{
    **Constraints**
    - C1: `dim` lies inside the rank.
  }];
}

def NN_LogSoftmaxOp : NN_RowOp<"log_softmax"> {
  let summary = "x - max - log(sum(exp(x - max))) along a dimension";
  let description = [{
    **Constraints**
    - C1: `dim` lies inside the rank.
  }];
}

def NN_LayerNormOp
    : NN_AnchorOp<"layer_norm", "row", /*readsMemory=*/0, [AllTypesMatch<["operand", "result"]>]> {
  let summary = "(x - mean) / sqrt(variance + epsilon) * scale + bias over the dimensions from `dim` on";
  let description = [{
    Statistics in f32 (f64 in f64), in two passes: the mean, then the mean of squared differences.

    **Constraints**
    - C1: `dim` lies inside the rank.
    - C2: scale and bias have the operand's shape from `dim` on and its element type.
  }];
  let arguments = (ins NN_FloatTensor:$operand, NN_FloatTensor:$scale,
                       Optional<NN_FloatTensor>:$bias, I64Attr:$dim, F32Attr:$epsilon);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = [{
    $operand `scale` $scale `:` type($scale) (`bias` $bias^ `:` type($bias))? `dim` $dim
    `epsilon` $epsilon attr-dict `:` type($operand)
  }];
  let hasVerifier = 1;
}

def NN_RmsNormOp
    : NN_AnchorOp<"rms_norm", "row", /*readsMemory=*/0, [AllTypesMatch<["operand", "result"]>]> {
  let summary = "x / sqrt(mean(x^2) + epsilon) * scale over the dimensions from `dim` on";
  let description = [{
    Statistics in f32 (f64 in f64).

    **Constraints**
    - C1: `dim` lies inside the rank.
    - C2: scale has the operand's shape from `dim` on and its element type.
  }];
  let arguments = (ins NN_FloatTensor:$operand, NN_FloatTensor:$scale, I64Attr:$dim,
                       F32Attr:$epsilon);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = [{
    $operand `scale` $scale `:` type($scale) `dim` $dim `epsilon` $epsilon attr-dict
    `:` type($operand)
  }];
  let hasVerifier = 1;
}

def NN_CumsumOp
    : NN_AnchorOp<"cumsum", "scan", /*readsMemory=*/0, [AllTypesMatch<["operand", "result"]>]> {
  let summary = "Running sum along a dimension, in order";
  let description = [{
    `exclusive` leaves out the element itself; `reverse` runs from the last element.

    **Constraints**
    - C1: `dim` lies inside the rank.
    - C2: elements are not i1.
  }];
  let arguments = (ins NN_Tensor:$operand, I64Attr:$dim, UnitAttr:$exclusive, UnitAttr:$reverse);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = [{
    $operand `dim` $dim (`exclusive` $exclusive^)? (`reverse` $reverse^)? attr-dict
    `:` type($operand)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Orders and places that depend on data
//===----------------------------------------------------------------------===//

def NN_ArgsortOp : NN_AnchorOp<"argsort", "sort", /*readsMemory=*/0> {
  let summary = "Indices of the elements along a dimension, from the lowest element up";
  let description = [{
    The result holds the first indices, as many as it has room for. Equal elements stay in their
    order. `descending` begins with the highest element. A NaN is above all numbers; integers are signed.

    ```mlir
    %1 = nn.argsort %0 dim 1 descending : tensor<4x100xf32> -> tensor<4x5xi64>
    ```

    **Constraints**
    - C1: `dim` lies inside the rank.
    - C2: the result has the operand's sizes but along `dim`, where it has at most as many, and elements
      of i64.
    - C3: the operand's elements are not i1.
  }];
  let arguments = (ins NN_Tensor:$operand, I64Attr:$dim, UnitAttr:$descending);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = [{
    $operand `dim` $dim (`descending` $descending^)? attr-dict `:` type($operand) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NN_ScatterOp : NN_PureOp<"scatter", [
    AllTypesMatch<["data", "result"]>,
    DeclareOpInterfaceMethods<NN_AnchorOpInterface, ["takesEpilogue"]>]> {
  let summary = "A tensor with slices of it replaced, or combined with others, at index tuples";
  let description = [{
    The last dimension of `indices` (size t) holds a tuple that addresses the t leading dimensions of
    `data`; the slice there is replaced by, or combined with, that of `updates`. Updates happen in
    row-major order of their tuples, each rounded to the element type. Indices as in `nn.gather`.

    ```mlir
    %1 = nn.scatter <add> %data [%indices] %updates
      : tensor<8x4xf32>, tensor<3x1xi64>, tensor<3x4xf32>
    ```

    **Constraints**
    - C1: t is at least 1 and at most data's rank.
    - C2: updates have indices' shape without its last dimension, then data's from t on, and data's
      element type.
    - C3: elements of i1 can only be replaced.
  }];
  let arguments = (ins NN_ScatterKindAttr:$kind, NN_Tensor:$data, NN_IndexTensor:$indices,
                       NN_Tensor:$updates);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = [{
    $kind $data `[` $indices `]` $updates attr-dict
    `:` type($data) `,` type($indices) `,` type($updates)
  }];
  let hasVerifier = 1;
  let extraClassDefinition = [{
    ::spillway::nn::Schedule $cppClass::getSchedule() { return Schedule::scatter; }
    bool $cppClass::readsMemory() { return false; }
    bool $cppClass::takesEpilogue() { return false; }
  }];
}

def NN_AddRowsOp : NN_PureOp<"add_rows", [AllTypesMatch<["data", "result"]>, AllTypesMatch<["rows", "order"]>]> {
  let summary = "A tensor with slices added to those of its slices that sorted indices name";
  let description = [{
    `rows` (size t) names slices of `data` along dimension 0 in ascending order, and slice `order[j]` of `updates` is
    added to slice `rows[j]`, in ascending j, each sum rounded to the element type. Rows that `data` does not have take
    nothing; `order` holds indices as in `nn.gather`. Unlike `nn.scatter <add>` it gives each element without the others, so that it can be computed where it is
    read; it is what a scatter of one index to a tuple does whose indices are sorted in a stable way by `order`.

    ```mlir
    %1 = nn.add_rows %data [%rows, %order] %updates
      : tensor<8x4xf32>, tensor<3xi64>, tensor<3x4xf32>
    ```

    **Constraints**
    - C1: rows and order have one dimension of the same size, and elements of i64.
    - C2: data has at least one dimension, and updates are data with a size of t in the first one.
    - C3: the elements are not i1.
  }];
  let arguments = (ins NN_Tensor:$data, NN_IndexTensor:$rows, NN_IndexTensor:$order, NN_Tensor:$updates);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = [{
    $data `[` $rows `,` $order `]` $updates attr-dict `:` type($data) `,` type($rows) `,` type($updates)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

def NN_KernelOp : NN_Op<"kernel", [IsolatedFromAbove, FunctionOpInterface, Symbol,
                                   SingleBlock]> {
  let summary = "Operations that are computed in one go";
  let description = [{
    Its body, operations of `nn`, `arith` and `math` on tensors, ends in `nn.yield`; a kernel whose
    code is made already is declared without one, private and with its `cost`. The launch
    space has `units` units; any cut of them computes the same bits. `scratch` is what one call
    needs beside its operands, in bytes; a range of units may also be divided into up to `parts` parts, each of which
    computes some of their elements (one where it is not said). An argument with the attribute `nn.layout = #nn.panels<d>`
    is a weight in that layout; `nn.tiled` on an argument says that a range of units reads only the matching
    range of the weight's panels, so that a tile can stand for it. Of a weight in row-major order a unit reads the
    `nn.rows` rows that match it. On a result `nn.tiled` says that a range of units writes only part of it.
    `nn.depth_tiled` on an argument says that a range of its panels can stand for it in one of
    several calls in turn, which all compute into the same results: each goes on with what the one before has left
    there, in the order of the panels, and the last one ends them.
    `nn.over = i` on a result says that it may be computed over the bytes of argument i: of that the kernel reads, for each
    element of the result, the same element alone.

    ```mlir
    nn.kernel @gemm_0(%x: tensor<128x768xf32>, %w: tensor<768x3072xf32> {nn.layout = #nn.panels<1>, nn.tiled})
        -> tensor<128x3072xf32> attributes {schedule = #nn.schedule<gemm>, units = 192 : i64, scratch = 393216 : i64} {
      %0 = nn.matmul %x, %w : tensor<128x768xf32>, tensor<768x3072xf32> -> tensor<128x3072xf32>
      nn.yield %0 : tensor<128x3072xf32>
    }
    ```

    **Constraints**
    - C1: the yield's types are the results'.
    - C2: `units` is at least 1, `scratch` at least 0, `parts` at least 1, and 1 unless the schedule is gemm.
    - C3: the body holds only operations without side effects.
    - C4: a kernel without a body has a cost.
    - C5: a result is `over` an argument of as many bytes.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                       NN_ScheduleAttr:$schedule, I64Attr:$units, I64Attr:$scratch,
                       OptionalAttr<I64Attr>:$parts, OptionalAttr<NN_CostAttr>:$cost,
                       OptionalAttr<StrAttr>:$sym_visibility,
                       OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region AnyRegion:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 0;
  let extraClassDeclaration = [{
    /// Symbol
    bool isDeclaration() { return getBody().empty(); }
    /// FunctionOpInterface
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return isDeclaration() ? nullptr : &getBody(); }
  }];
}

def NN_YieldOp : NN_Op<"yield", [Pure, Terminator, HasParent<"KernelOp">]> {
  let summary = "The results of a kernel";
  let arguments = (ins Variadic<NN_Tensor>:$inputs);
  let assemblyFormat = "attr-dict ($inputs^ `:` type($inputs))?";
}

def NN_CallOp : NN_Op<"call", [Pure, AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Runs a kernel, or a range of its units";
  let description = [{
    The results are `into`, where it is given: destinations that are overwritten. One may be an operand
    too where the kernel reads of it, for each element of that result, the same element alone. With
    `units [a, b)` only these are computed, and of the destinations overwritten. A weight operand or
    destination may then be a tile: the panels or rows of units [a, b). An operand that is `nn.depth_tiled` may be one
    where there is `into`.

    ```mlir
    %1 = nn.call @gemm_0(%x, %w) : (tensor<128x768xf32>, tensor<768x3072xf32>) -> tensor<128x3072xf32>
    %2 = nn.call @gemm_0(%x, %t) units [0, 96] into (%y) : ...
    ```

    **Constraints**
    - C1: the callee is an `nn.kernel` with these operand and result types (a tile differs in the
      tiled dimension).
    - C2: a range lies inside the kernel's units, is not empty, and comes with `into`; there is one
      `into` per result, of its type.
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<NN_Tensor>:$inputs,
                       Variadic<NN_Tensor>:$into, OptionalAttr<DenseI64ArrayAttr>:$units);
  let results = (outs Variadic<NN_Tensor>:$outputs);
  let assemblyFormat = [{
    $callee `(` $inputs `)` (`units` $units^)? (`into` `(` $into^ `:` type($into) `)`)? attr-dict
    `:` functional-type($inputs, $outputs)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    KernelOp getKernel(::mlir::SymbolTableCollection &symbols);
  }];
}

#endif
