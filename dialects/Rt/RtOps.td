#ifndef SPILLWAY_RT_OPS
#define SPILLWAY_RT_OPS

include "dialects/Rt/RtInterfaces.td"
include "dialects/Rt/RtTypes.td"
include "dialects/Zero/ZeroAttrs.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Rt_Op<string mnemonic, list<Trait> traits = []> : Op<Rt_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// The program and its places
//===----------------------------------------------------------------------===//

def Rt_ProgramOp : Rt_Op<"program", [Symbol, NoTerminator, SingleBlock]> {
  let summary = "A step, ready to run: arenas, buffers, bindings and commands";
  let description = [{
    **Constraints**
    - C1: the body holds arenas, buffers, inputs, outputs, one prologue, one step and perhaps a checkpoint.
    - C2: `ranks` and `threads` are at least 1.
    - C3: a tier has one arena.
    - C4: every buffer lies inside its arena, on every rank.
    - C5: commands that touch the same bytes, one of them writing, are ordered by streams and events. So are those that a
      step carries and those of the next one, also where these read what is written of a state.
    - C6: nothing is read before it was written: by an input, the prologue, or the same step. What the
      checkpoint takes of what it has not written stays from step to step, and each step leaves it written.
    - C7: every buffer that is taken is an `rt.buffer`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$ranks, I64Attr:$threads);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `ranks` `(` $ranks `)` `threads` `(` $threads `)` attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    PrologueOp getPrologue();
    StepOp getStep();
    /// Null where no rewritten state stays where kernels compute.
    CheckpointOp getCheckpoint();
  }];
}

def Rt_ArenaOp : Rt_Op<"arena", [HasParent<"ProgramOp">]> {
  let summary = "All memory of a tier that the program uses, in bytes; of NVMe a scratch file, not the states";
  let arguments = (ins Zero_TierAttr:$tier, I64Attr:$bytes);
  let assemblyFormat = "custom<TierName>($tier) $bytes attr-dict";
}

def Rt_BufferOp : Rt_Op<"buffer", [HasParent<"ProgramOp">, Pure]> {
  let summary = "`bytes` bytes of a tier's arena from `offset` on, and what they hold";
  let description = [{
    On rank r they start at `offset + r * rank_stride`.

    **Constraints**
    - C1: `offset`, `bytes` and `rank_stride` are not negative.
  }];
  let arguments = (ins StrAttr:$label, Zero_TierAttr:$tier, I64Attr:$offset, I64Attr:$bytes,
                       DefaultValuedAttr<I64Attr, "0">:$rank_stride);
  let results = (outs Rt_Buffer:$buffer);
  let assemblyFormat = [{
    $label custom<TierName>($tier) `[` $offset `,` $bytes `]` (`rank_stride` $rank_stride^)? attr-dict
  }];
  let hasVerifier = 1;
}

class Rt_BindingOp<string mnemonic> : Rt_Op<mnemonic, [HasParent<"ProgramOp">]> {
  let description = [{
    `type` is a data type of runtime/base/DataType.h by name.

    **Constraints**
    - C1: the type exists, and the buffer has the bytes of the tensor.
  }];
  let arguments = (ins StrAttr:$name, Rt_Buffer:$buffer, StrAttr:$type, DenseI64ArrayAttr:$shape);
  let assemblyFormat = "$name $buffer $type $shape attr-dict";
  let hasVerifier = 1;
}
def Rt_InputOp : Rt_BindingOp<"input"> {
  let summary = "Where an input of the model lies when a step starts";
}
def Rt_OutputOp : Rt_BindingOp<"output"> {
  let summary = "Where an output of the model lies when a step has ended";
}

class Rt_ListOp<string mnemonic> : Rt_Op<mnemonic, [HasParent<"ProgramOp">, NoTerminator, SingleBlock]> {
  let description = [{
    **Constraints**
    - C1: the body holds only commands.
    - C2: commands wait only for commands of the same list.
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}
def Rt_PrologueOp : Rt_ListOp<"prologue"> {
  let summary = "What runs once before the first step: it brings in what stays resident";
}
def Rt_StepOp : Rt_ListOp<"step"> {
  let summary = "What runs once a step";
  let description = [{
    Block arguments are the events of what the step before has carried: see `rt.carry`.

    **Constraints**
    - C1: the body holds only commands, and an `rt.carry` behind them where it has arguments.
    - C2: commands wait only for commands of the step and, but those of the write stream, for its arguments: writes begin
      when all that is carried has ended.
    - C3: the `rt.carry` has an operand for each argument, each the event of another write.
  }];
  let extraClassDeclaration = [{
    /// Null where nothing is carried.
    CarryOp getCarry();
  }];
}
def Rt_CarryOp : Rt_Op<"carry", [HasParent<"StepOp">]> {
  let summary = "Writes that may go on when the step has ended, for the next one to wait for";
  let description = [{
    Argument i of the step is the event of operand i in the step before; of the first step, one that has ended.
  }];
  let arguments = (ins Variadic<Rt_Event>:$events);
  let assemblyFormat = "$events attr-dict";
}
def Rt_CheckpointOp : Rt_ListOp<"checkpoint"> {
  let summary = "What runs before a commit: it writes rewritten states that stay in memory, from a device through the host";
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

class Rt_CommandOp<string mnemonic, list<Trait> traits = []>
    : Rt_Op<mnemonic, [DeclareOpInterfaceMethods<Rt_CommandOpInterface, ["getCommandStream", "visitAccesses"]>,
                       ParentOneOf<["PrologueOp", "StepOp", "CheckpointOp"]>] # traits> {
  let results = (outs Rt_Event:$done);
}

/// A command that names something of the module, which must be there.
class Rt_SymbolCommandOp<string mnemonic, list<Trait> traits = []>
    : Rt_CommandOp<mnemonic, [DeclareOpInterfaceMethods<SymbolUserOpInterface>] # traits>;

def Rt_ReadOp : Rt_SymbolCommandOp<"read"> {
  let summary = "Reads bytes of a state from NVMe, on the read stream";
  let description = [{
    As many as the buffer has, from `offset` on, counted from the state's first byte. Rank r
    reads from `offset + r * rank_stride` on.

    **Constraints**
    - C1: `state` is a `zero.state`.
  }];
  let arguments = (ins FlatSymbolRefAttr:$state, I64Attr:$offset, Rt_Buffer:$target,
                       DefaultValuedAttr<I64Attr, "0">:$rank_stride,
                       Variadic<Rt_Event>:$after, OptionalAttr<StrAttr>:$label);
  let assemblyFormat = [{
    $state `[` $offset `]` (`rank_stride` $rank_stride^)? `into` $target (`after` `(` $after^ `)`)?
    (`label` $label^)? attr-dict
  }];
}

def Rt_WriteOp : Rt_SymbolCommandOp<"write"> {
  let summary = "Writes the next version of bytes of a state to NVMe, on the write stream";
  let description = [{
    As many as the buffer has, from `offset` on, counted from the state's first byte. Rank r
    writes from `offset + r * rank_stride` on.

    **Constraints**
    - C1: `state` is a `zero.state`.
  }];
  let arguments = (ins FlatSymbolRefAttr:$state, I64Attr:$offset, Rt_Buffer:$source,
                       DefaultValuedAttr<I64Attr, "0">:$rank_stride,
                       Variadic<Rt_Event>:$after, OptionalAttr<StrAttr>:$label);
  let assemblyFormat = [{
    $source `into` $state `[` $offset `]` (`rank_stride` $rank_stride^)? (`after` `(` $after^ `)`)?
    (`label` $label^)? attr-dict
  }];
}

def Rt_CopyOp : Rt_CommandOp<"copy"> {
  let summary = "Copies a buffer to another, on the compute or a copy stream; to NVMe on the write stream, from there on the read stream";
  let description = [{
    **Constraints**
    - C1: the buffers have the same number of bytes.
    - C2: the stream is write where the target lies in NVMe, read where the source does, else compute or a copy stream;
      they do not both lie there.
    - C3: a buffer in NVMe, and the one that is copied to or from it, starts at a multiple of 4096.
  }];
  let arguments = (ins Rt_Buffer:$source, Rt_Buffer:$target, Rt_StreamAttr:$stream,
                       Variadic<Rt_Event>:$after, OptionalAttr<StrAttr>:$label);
  let assemblyFormat = [{
    $source `into` $target `on` $stream (`after` `(` $after^ `)`)? (`label` $label^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Rt_LaunchOp : Rt_SymbolCommandOp<"launch", [AttrSizedOperandSegments]> {
  let summary = "Runs units of a kernel by the thread team, on the compute stream";
  let description = [{
    `origins` has the first unit that each input and result holds, where not all are 0 (see
    runtime/device/KernelAbi.h), and `held` how many of them, 0 for all. `scratch` has `scratch_per_thread` bytes for each thread.

    **Constraints**
    - C1: units are [begin, end) with 0 <= begin < end.
    - C2: `origins` and `held` are empty or have one entry per input and result.
    - C3: there is a scratch exactly where `scratch_per_thread` is not 0.
    - C4: `kernel` is an `nn.kernel` with as many inputs and results.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Rt_Buffer>:$inputs,
                       Variadic<Rt_Buffer>:$results, DenseI64ArrayAttr:$units,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$origins,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$held,
                       Optional<Rt_Buffer>:$scratch,
                       DefaultValuedAttr<I64Attr, "0">:$scratch_per_thread,
                       Variadic<Rt_Event>:$after, OptionalAttr<StrAttr>:$label);
  let assemblyFormat = [{
    $kernel `(` $inputs `)` `into` `(` $results `)` `units` $units (`origins` $origins^)? (`held` $held^)?
    (`scratch` $scratch^ `per_thread` $scratch_per_thread)? (`after` `(` $after^ `)`)?
    (`label` $label^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Rt_LookupOp : Rt_SymbolCommandOp<"lookup", [AttrSizedOperandSegments]> {
  let summary = "Rows of a state picked by indices";
  let description = [{
    From `resident`, the whole state as stored, on the compute stream; else from NVMe
    through `staging`, on the read stream.

    **Constraints**
    - C1: exactly one of `resident` and `staging` is given.
    - C2: the index type is i32 or i64.
    - C3: `state` is a `zero.state`.
  }];
  let arguments = (ins FlatSymbolRefAttr:$state, Rt_Buffer:$indices, StrAttr:$index_type,
                       Rt_Buffer:$target, Optional<Rt_Buffer>:$resident,
                       Optional<Rt_Buffer>:$staging, Variadic<Rt_Event>:$after,
                       OptionalAttr<StrAttr>:$label);
  let assemblyFormat = [{
    $state `[` $indices $index_type `]` `into` $target (`resident` $resident^)? (`staging` $staging^)?
    (`after` `(` $after^ `)`)? (`label` $label^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Rt_AllGatherOp : Rt_CommandOp<"all_gather"> {
  let summary = "Each rank's source to its place in every rank's target, on the communicate stream";
  let description = [{
    The source may be this rank's own place in the target.

    **Constraints**
    - C1: the target has the bytes of the sources of all ranks.
  }];
  let arguments = (ins Rt_Buffer:$source, Rt_Buffer:$target, Variadic<Rt_Event>:$after,
                       OptionalAttr<StrAttr>:$label);
  let assemblyFormat = [{
    $source `into` $target (`after` `(` $after^ `)`)? (`label` $label^)? attr-dict
  }];
  let hasVerifier = 1;
}

#endif
