#ifndef SPILLWAY_ZERO_OPS
#define SPILLWAY_ZERO_OPS

include "dialects/Zero/ZeroTypes.td"
include "dialects/NN/NNAttrs.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Zero_Tensor : StaticShapeTensorOf<[AnyType]>;
def Zero_IndexTensor : StaticShapeTensorOf<[I64, I32]>;
/// Reading a state is an effect: it must not move across a write of it.
def Zero_StateStore : Resource<"::spillway::zero::StateStore">;
/// Handles are counted: taking and giving back must not be dropped or merged.
def Zero_HandleStore : Resource<"::spillway::zero::HandleStore">;

class Zero_Op<string mnemonic, list<Trait> traits = []> : Op<Zero_Dialect, mnemonic, traits>;
class Zero_StateUserOp<string mnemonic, list<Trait> traits = []>
    : Zero_Op<mnemonic, [DeclareOpInterfaceMethods<SymbolUserOpInterface>] # traits>;

def Zero_StateOp : Zero_Op<"state", [Symbol]> {
  let summary = "A logical tensor that outlives a step, and where its bytes are";
  let description = [{
    `name` is the ONNX name. `tile(n)` cuts the stored units (panels; of a row-major
    tensor rows, or runs of `rows` of them) into tiles of n, the last one shorter; without it there is one tile. `partition(r)` cuts
    each tile into one part for each of r ranks, in their order: equal whole chunks (panels or rows
    that make up whole blocks of 4096 bytes), so that the parts of the last ranks may end behind
    the state or have nothing of it. A `rewritten` one gets new values by each step. `home` has a tier per tile, or one for all. `at` is the place of the first byte in the bundle's state file, once laid out.

    **Constraints**
    - C1: the type is a ranked static tensor of integers or floats.
    - C2: a panel layout needs rank 2, or more where panels are cut along dimension 0.
    - C3: `tile` is at least 1; `home` has one entry or one per tile.
    - C4: a raw file source has the bytes of the tensor; a splat its element type. What is rounded has those of a tensor
      of f32, and the state's elements are f16 or bf16.
    - C5: `partition` is 1 to 65536; where there are several tiles, each but the last has as many
      whole chunks for every rank.
    - C6: `rows` is at least 1, and the tensor has rows and no panels.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$name, TypeAttr:$type, Zero_RoleAttr:$role,
                       UnitAttr:$rewritten,
                       OptionalAttr<NN_PanelsAttr>:$layout, OptionalAttr<I64Attr>:$rows, OptionalAttr<I64Attr>:$tile,
                       OptionalAttr<I64Attr>:$partition,
                       OptionalAttr<TypedArrayAttrBase<Zero_TierAttr, "tiers">>:$home,
                       OptionalAttr<I64Attr>:$at,
                       AnyAttrOf<[Zero_FileAttr, Zero_SplatAttr, Zero_RoundedAttr, ElementsAttr]>:$source);
  let assemblyFormat = [{
    $sym_name $name `:` $type `role` `(` $role `)` (`rewritten` $rewritten^)? (`layout` `(` $layout^ `)`)?
    (`rows` `(` $rows^ `)`)? (`tile` `(` $tile^ `)`)?
    (`partition` `(` $partition^ `)`)? (`home` `(` $home^ `)`)? (`at` `(` $at^ `)`)? `source` `(` $source `)` attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() {
      return ::llvm::cast<::mlir::RankedTensorType>(getType());
    }
    /// The dimension that units cut, and how many of its indices one has.
    int64_t getUnitDim() { return getLayout() ? getLayoutAttr().getDim() : 0; }
    int64_t getUnitWidth() {
      return getLayout() ? getLayoutAttr().getWidth() : static_cast<int64_t>(getRows().value_or(1));
    }
    /// Panels, rows or runs of rows (1 for rank 0).
    int64_t getUnitCount();
    /// Stored bytes of one unit. The last panel counts whole; the last run of rows may be shorter.
    int64_t getUnitBytes();
    int64_t getStoredBytes();
    int64_t getTileCount();
    /// Units of the smallest piece that can be read alone: whole blocks of 4096 bytes.
    int64_t getChunkUnits();
    /// What tiles of several are multiples of: a chunk for each rank.
    int64_t getTileGrain() { return getChunkUnits() * static_cast<int64_t>(getPartition().value_or(1)); }
    /// Units [first, second) of a tile.
    ::std::pair<int64_t, int64_t> getTileUnits(int64_t tile);
    /// What a tile holds, as a tensor.
    ::mlir::RankedTensorType getTileType(int64_t tile);
    Tier getTileHome(int64_t tile);
    /// Units of a rank's part of a tile, the same for all ranks. Only of partitioned states.
    int64_t getPartUnits(int64_t tile);
    ::mlir::RankedTensorType getPartType(int64_t tile);
  }];
}

//===----------------------------------------------------------------------===//
// Unscheduled form
//===----------------------------------------------------------------------===//

def Zero_UseOp : Zero_StateUserOp<"use", [MemoryEffects<[MemRead<Zero_StateStore>]>]> {
  let summary = "The value of a state, or of one of its tiles";
  let description = [{
    **Constraints**
    - C1: the state exists; the result has its type, or that of the tile.
    - C2: the tile exists.
  }];
  let arguments = (ins FlatSymbolRefAttr:$state, OptionalAttr<I64Attr>:$tile);
  let results = (outs Zero_Tensor:$result);
  let assemblyFormat = "$state (`tile` $tile^)? attr-dict `:` type($result)";
}

def Zero_LookupOp : Zero_StateUserOp<"lookup", [MemoryEffects<[MemRead<Zero_StateStore>]>]> {
  let summary = "Rows of a state picked by indices along its dimension 0";
  let description = [{
    Reads the rows alone, wherever they live; the state need not be fetched. A
    negative index counts from the end; one out of range ends the step with an error.

    **Constraints**
    - C1: the state exists and has rank 1 at least.
    - C2: the result has the indices' shape, then the state's from dimension 1 on.
  }];
  let arguments = (ins FlatSymbolRefAttr:$state, Zero_IndexTensor:$indices);
  let results = (outs Zero_Tensor:$result);
  let assemblyFormat = [{
    $state `[` $indices `]` attr-dict `:` type($indices) `->` type($result)
  }];
}

def Zero_UpdateOp : Zero_StateUserOp<"update", [MemoryEffects<[MemWrite<Zero_StateStore>]>]> {
  let summary = "Gives states, or a tile of each, their values for the next step";
  let description = [{
    Of states that an optimizer computes together, as one kernel then does. What reads them before
    it in the function sees the old values; nothing reads them after it.

    ```mlir
    zero.update [@w, @w.exp_avg] (%w1, %m1) : tensor<768x3072xf32>, tensor<768x3072xf32>
    ```

    **Constraints**
    - C1: the states exist; there is one value for each, of its type or that of its tile.
    - C2: the tile exists.
    - C3: the states are `rewritten`.
  }];
  let arguments = (ins FlatSymbolRefArrayAttr:$states, OptionalAttr<I64Attr>:$tile,
                       Variadic<Zero_Tensor>:$values);
  let assemblyFormat = "$states (`tile` $tile^)? `(` $values `)` attr-dict `:` type($values)";
}

//===----------------------------------------------------------------------===//
// Scheduled form
//===----------------------------------------------------------------------===//

def Zero_FetchOp : Zero_StateUserOp<"fetch", [MemoryEffects<[MemRead<Zero_StateStore>, MemAlloc<Zero_HandleStore>]>]> {
  let summary = "Starts to bring a tile of a state, or this rank's part of it, from its home into a tier";
  let description = [{
    A `blank` one brings nothing: its bytes have no values until a call has computed into them.

    **Constraints**
    - C1: the state and tile exist; the handle has the type of the tile or `part`, and the tier `to`.
    - C2: `to` is the home where the home is not NVMe and something is brought; else it is device or host.
    - C3: `part` needs a partitioned state, and a tile where it has several.
    - C4: what is `blank` is no part.
  }];
  let arguments = (ins FlatSymbolRefAttr:$state, OptionalAttr<I64Attr>:$tile, UnitAttr:$part, UnitAttr:$blank,
                       Zero_TierAttr:$to);
  let results = (outs Zero_HandleType:$handle);
  let assemblyFormat = [{
    $state (`tile` $tile^)? (`part` $part^)? (`blank` $blank^)? `to` $to attr-dict `:` type($handle)
  }];
}

def Zero_MoveOp : Zero_Op<"move", [MemoryEffects<[MemAlloc<Zero_HandleStore>]>]> {
  let summary = "Starts to copy what a handle holds into another tier; the source stays held";
  let description = [{
    **Constraints**
    - C1: the handles hold the same tensor, in different tiers, neither of them NVMe.
  }];
  let arguments = (ins Zero_HandleType:$source, Zero_TierAttr:$to);
  let results = (outs Zero_HandleType:$handle);
  let assemblyFormat = "$source `to` $to attr-dict `:` type($source) `->` type($handle)";
  let hasVerifier = 1;
}

def Zero_GatherOp : Zero_StateUserOp<"gather", [MemoryEffects<[MemAlloc<Zero_HandleStore>]>]> {
  let summary = "Starts to gather a tile from the parts that all ranks hold; the source stays held";
  let description = [{
    Every rank gathers the same tiles in the same order.

    **Constraints**
    - C1: the source holds a part that was fetched, and perhaps moved since.
    - C2: the handle holds the whole of that tile, in the source's tier.
  }];
  let arguments = (ins Zero_HandleType:$source);
  let results = (outs Zero_HandleType:$handle);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($handle)";
}

def Zero_ViewOp : Zero_Op<"view", [MemoryEffects<[MemRead<Zero_HandleStore>]>]> {
  let summary = "The tensor that a handle holds; valid until the handle's release";
  let description = [{
    **Constraints**
    - C1: the result is the handle's tensor.
  }];
  let arguments = (ins Zero_HandleType:$handle);
  let results = (outs Zero_Tensor:$result);
  let assemblyFormat = "$handle attr-dict `:` type($handle) `->` type($result)";
  let hasVerifier = 1;
}

def Zero_StoreOp : Zero_Op<"store", [MemoryEffects<[MemRead<Zero_HandleStore>, MemWrite<Zero_StateStore>]>]> {
  let summary = "Starts to bring the new value that a handle's bytes hold to its home";
  let description = [{
    `value` is the result of a call that computes `into` a view of the handle. From a device it goes down into
    the host, and from there to NVMe where its home is there.

    **Constraints**
    - C1: the value has the handle's type, and is the result of a call into a view of the handle.
    - C2: the handle holds whole tiles.
  }];
  let arguments = (ins Zero_HandleType:$handle, Zero_Tensor:$value);
  let assemblyFormat = "$value `in` $handle attr-dict `:` type($value) `,` type($handle)";
  let hasVerifier = 1;
}

def Zero_ReleaseOp : Zero_Op<"release", [MemoryEffects<[MemFree<Zero_HandleStore>]>]> {
  let summary = "Gives a handle's bytes back, after every use of every view of it";
  let arguments = (ins Zero_HandleType:$handle);
  let assemblyFormat = "$handle attr-dict `:` type($handle)";
}

//===----------------------------------------------------------------------===//
// Values on the drive, in both forms
//===----------------------------------------------------------------------===//

def Zero_OffloadOp : Zero_Op<"offload", [MemoryEffects<[MemAlloc<Zero_HandleStore>]>]> {
  let summary = "Starts to write a value that is taken again much later to the drive";
  let description = [{
    The value's bytes in memory stay until the handle is settled.

    **Constraints**
    - C1: the handle holds the value's type, in NVMe.
  }];
  let arguments = (ins Zero_Tensor:$value);
  let results = (outs Zero_HandleType:$handle);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($handle)";
  let hasVerifier = 1;
}

class Zero_OffloadedOp<string mnemonic, list<Trait> traits> : Zero_Op<mnemonic, traits> {
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    OffloadOp getOffload() { return getHandle().getDefiningOp<OffloadOp>(); }
  }];
}

def Zero_SettleOp : Zero_OffloadedOp<"settle", [MemoryEffects<[MemRead<Zero_HandleStore>, MemWrite<Zero_HandleStore>]>]> {
  let summary = "What was offloaded is on the drive before the next call starts: its bytes in memory are free";
  let description = [{
    **Constraints**
    - C1: the handle is what an offload gives.
  }];
  let arguments = (ins Zero_HandleType:$handle);
  let assemblyFormat = "$handle attr-dict `:` type($handle)";
}

def Zero_RestoreOp : Zero_OffloadedOp<"restore", [MemoryEffects<[MemRead<Zero_HandleStore>]>]> {
  let summary = "Starts to read an offloaded value back, into bytes of its own";
  let description = [{
    It stands as far before the first call that takes the value as it is to be under way.

    **Constraints**
    - C1: the handle is what an offload gives.
    - C2: the result is the handle's tensor.
  }];
  let arguments = (ins Zero_HandleType:$handle);
  let results = (outs Zero_Tensor:$result);
  let assemblyFormat = "$handle attr-dict `:` type($handle) `->` type($result)";
}

#endif
