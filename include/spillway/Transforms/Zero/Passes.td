#ifndef SPILLWAY_TRANSFORMS_ZERO_PASSES
#define SPILLWAY_TRANSFORMS_ZERO_PASSES

include "mlir/Pass/PassBase.td"

def ZeroNarrowPass : Pass<"zero-narrow", "::mlir::ModuleOp"> {
  let summary = "Keeps only the rows of a state that are read";
  let description = [{
    A state of which slices, or gathers with constant indices, read a range of rows becomes a state of
    those rows: the others are neither stored nor moved, and no kernel takes them. Ranges
    that share rows become one. Rows are indices of the first dimension that is not one, since a range of them
    is consecutive bytes.

    ```mlir
    zero.state @p "p" : tensor<1024x768xf32> role(#zero.role<parameter>) source(#zero.file<"m.onnx", 64, 3145728>)
    %p = zero.use @p : tensor<1024x768xf32>
    %s = nn.slice %p offsets [0, 0] strides [1, 1] : tensor<1024x768xf32> -> tensor<128x768xf32>
    ```
    becomes
    ```mlir
    zero.state @p_0 "p[0:128]" : tensor<128x768xf32> role(#zero.role<parameter>) source(#zero.file<"m.onnx", 64, 393216>)
    %p = zero.use @p_0 : tensor<128x768xf32>
    %s = nn.slice %p offsets [0, 0] strides [1, 1] : tensor<128x768xf32> -> tensor<128x768xf32>
    ```
    (and the slice folds away).

    Needs: operations, states without layout. Leaves: the same. States whose source is not
    raw bytes of a file or a splat, and those that something reads whole, stay as they are.
  }];
  let statistics = [
    Statistic<"numStates", "states", "States made of ranges of rows">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::spillway::zero::ZeroDialect"];
}

def ZeroOutlineConstantsPass : Pass<"zero-outline-constants", "::mlir::ModuleOp"> {
  let summary = "Turns constants that kernels take as operands into states";
  let description = [{
    So that whatever a kernel reads lies in an arena, by one way.

    ```mlir
    %c = arith.constant dense<[1, 2]> : tensor<2xi64>
    %0 = nn.call @k(%c) : (tensor<2xi64>) -> tensor<2xi64>
    ```
    becomes
    ```mlir
    zero.state @constant "constant" : tensor<2xi64> role(<constant>) source(dense<[1, 2]> : tensor<2xi64>)
    ...
    %c = zero.use @constant : tensor<2xi64>
    ```

    Needs: kernel form. Leaves: no `arith.constant` in functions; equal constants are one state.
  }];
  let dependentDialects = ["::spillway::zero::ZeroDialect"];
}

def ZeroHoistUpdatesPass : Pass<"zero-hoist-updates", "::mlir::ModuleOp"> {
  let summary = "Updates states as soon as their old values have been read";
  let description = [{
    Moves each call that computes new values of states up to where its operands are there and every other
    call that takes the old values has run: into the backward half, so that what it needs of gradients and
    activations lives no longer, and its transfers go beside the calls that follow. Calls of scalars alone, as
    of learning rates, move up first.

    Needs: kernel form. Leaves: the same.
  }];
  let statistics = [
    Statistic<"numHoisted", "hoisted", "Updates that moved up">,
  ];
}

def ZeroLinkPass : Pass<"zero-link", "::mlir::ModuleOp"> {
  let summary = "Leaves states in the files that they come from";
  let description = [{
    Marks as `zero.linked` every state whose source is a file of raw elements: a bundle refers to the
    file, and panels are made when the state is read. Elements that are encoded otherwise are copied
    into the bundle all the same, with a warning; constants, which lie in no file, are copied too.

    Needs: states with their sources, before the plan, which reads linked states in other pieces.
  }];
  let statistics = [
    Statistic<"numLinked", "linked", "States left in their files">,
  ];
}

def ZeroPartitionPass : Pass<"zero-partition", "::mlir::ModuleOp"> {
  let summary = "Splits states between ranks";
  let description = [{
    A state with a use, and with a chunk (panels or rows that make up whole blocks of 4096 bytes)
    for each rank, gets `partition(ranks)`: where it does not stay whole, each rank reads its own part
    of every tile, and the parts are gathered before the call that takes the tile. Smaller
    states stay whole on all ranks, as no rank would read less; so do those whose rows are only looked up.

    ```mlir
    zero.state @w "w" : tensor<64x64xf32> role(<parameter>) layout(<1>) source(...)
    ```
    becomes, with `ranks=2`,
    ```mlir
    zero.state @w "w" : tensor<64x64xf32> role(<parameter>) layout(<1>) partition(2) source(...)
    ```

    Needs: laid out states, not tiled yet. Leaves: with one rank, everything as it was.
  }];
  let options = [
    Option<"ranks", "ranks", "int64_t", "1", "Ranks that share the states">,
  ];
  let statistics = [
    Statistic<"numPartitioned", "partitioned", "States split between ranks">,
  ];
}

def ZeroActivationsPass : Pass<"zero-activations", "::mlir::ModuleOp"> {
  let summary = "Decides what becomes of values that a training step takes much later";
  let description = [{
    They are kept, computed again (see zero-recompute), or wait on the drive (see zero-offload). Under the
    policy `auto`, each of a fixed set of choices, some of them mixed, is planned for the memory given, and the fastest
    step is taken; so more memory never makes a slower step. `offload` chooses among those that put all on the drive that
    waits, by how early it comes back. `keep` and `recompute` leave no choice.

    Needs: kernel form, updates hoisted. Leaves: the same, and `zero.activations` on the module (see
    dialects/Zero/Zero.h), which zero-recompute and zero-offload carry out; nothing where no state is updated.
  }];
  let options = [
    Option<"policy", "policy", "std::string", "\"auto\"", "auto, keep, recompute or offload">,
    Option<"memory", "memory", "uint64_t", "0", "Bytes of memory where kernels compute to choose for">,
    Option<"host", "host", "uint64_t", "0", "Bytes of host memory below it; 0 where there is no device, from which nothing goes to the drive">,
    Option<"threads", "threads", "int64_t", "1", "Threads that run a kernel">,
    ListOption<"states", "state", "std::string", "REGEX=UNITS: the tile of states by ONNX name">,
  ];
}

def ZeroRecomputePass : Pass<"zero-recompute", "::mlir::ModuleOp"> {
  let summary = "Computes values of the forward half again rather than keeping them";
  let description = [{
    The forward half of a step that trains falls into segments, between which few bytes cross (the residual
    stream of a transformer). Of the first `segments` of them, what the backward half takes is not kept:
    the calls that gave it run again right before it is first taken, from what crosses into the segment. The first segments
    are those whose values would wait longest. `joined` segments are computed again at once, and what crosses
    between them is not kept either.

    ```mlir
    %h = nn.call @gemm(%x, %w) : ...
    %y = nn.call @gelu(%h) : ...
    ... // the rest of the forward half
    %d = nn.call @gelu_backward(%g, %h) : ...
    ```
    becomes
    ```mlir
    %h = nn.call @gemm(%x, %w) : ...
    %y = nn.call @gelu(%h) : ...
    ...
    %h2 = nn.call @gemm(%x, %w) : ...
    %d = nn.call @gelu_backward(%g, %h2) : ...
    ```

    Needs: kernel form, updates hoisted. Leaves: the same, and `zero.recomputed` on the module (see
    dialects/Zero/Zero.h). A step that updates no state stays as it is.
  }];
  let options = [
    Option<"segments", "segments", "int64_t", "-1", "Segments to compute again, all but the last at most; -1: what `zero.activations` says, none without">,
    Option<"joined", "joined", "int64_t", "1", "Segments that are computed again at once">,
  ];
  let statistics = [
    Statistic<"numCalls", "calls", "Calls that run again">,
  ];
}

def ZeroOffloadPass : Pass<"zero-offload", "::mlir::ModuleOp"> {
  let summary = "Has values that wait long between two calls wait on the drive";
  let description = [{
    Most of what the forward half of a step that trains computes waits for the backward half. It is written to the drive as
    soon as it is computed, and read back before the next call that takes it, into bytes of its own. Both are planned
    by the times that computation alone takes on a machine, one transfer after the other: writes as early, reads as late as
    they end in time when each takes `lead` times as long as it does. With `lead=0` nothing else is computed meanwhile: that takes the least
    memory. The `share` that waits longest is taken; values that would be on the drive for less than 1/32 of the step's calls
    stay in memory.

    ```mlir
    %h = nn.call @gemm(%x, %w) : ...
    ... // the rest of the forward half
    %d = nn.call @gelu_backward(%g, %h) : ...
    ```
    becomes
    ```mlir
    %h = nn.call @gemm(%x, %w) : ...
    %s = zero.offload %h : tensor<8x64xf32> -> !zero.handle<tensor<8x64xf32>, nvme>
    ... // calls that run while it is written
    zero.settle %s : !zero.handle<tensor<8x64xf32>, nvme>
    ... // the rest of the forward half
    %h2 = zero.restore %s : !zero.handle<tensor<8x64xf32>, nvme> -> tensor<8x64xf32>
    zero.release %s : !zero.handle<tensor<8x64xf32>, nvme>
    ... // calls that run while it is read
    %d = nn.call @gelu_backward(%g, %h2) : ...
    ```

    Needs: kernel form, not tiled yet. Leaves: the same, and `zero.offloaded` on the module (see dialects/Zero/Zero.h). A step that
    updates no state stays as it is.
  }];
  let options = [
    Option<"share", "share", "int64_t", "-1", "Eighths of the bytes that wait; -1: what `zero.activations` says, none without">,
    Option<"lead", "lead", "int64_t", "1", "How many times as long as a transfer takes it may be under way">,
    Option<"threads", "threads", "int64_t", "1", "Threads that run a kernel">,
  ];
  let statistics = [
    Statistic<"numValues", "values", "Values that wait on the drive">,
  ];
  let dependentDialects = ["::spillway::zero::ZeroDialect"];
}

def ZeroPlanPass : Pass<"zero-plan", "::mlir::ModuleOp"> {
  let summary = "Decides where each state's tiles live and how they are cut";
  let description = [{
    Looks for the fastest step that fits the memory given, on the machine given (see
    spillway/Plan/Planner.h), and leaves a remark for each decision.

    Needs: kernel form, laid out states, `main`. Leaves: `tile` and `home` on states, `zero.arenas` and `zero.plan` (what was
    decided and why) on the module. A budget that is too small is an error that names the smallest
    that works.
  }];
  let options = [
    Option<"memory", "memory", "uint64_t", "0", "Bytes of host memory; 0 where device and host are given">,
    Option<"device", "device", "uint64_t", "0", "Bytes of device memory, for a plan of three tiers">,
    Option<"host", "host", "uint64_t", "0", "Bytes of host memory in a plan of three tiers">,
    Option<"threads", "threads", "int64_t", "1", "Threads that run a kernel">,
    ListOption<"states", "state", "std::string", "REGEX=UNITS: the tile of states by ONNX name">,
    Option<"machine", "machine", "std::string", "", "File with a machine description">,
  ];
}

def ZeroTilePass : Pass<"zero-tile", "::mlir::ModuleOp"> {
  let summary = "Splits uses of states into tiles, and the calls that take them";
  let description = [{
    A state with `tile(n)` whose every use is an argument that the kernel marks `nn.tiled` or `nn.depth_tiled` is
    used tile by tile; each tile's call computes its units into the same result, or goes on with all of them. The options
    set `tile` first: `state` for states whose ONNX name matches, `max-bytes` for
    others that are larger. A tile is a whole number of chunks (panels or rows that make up whole blocks of
    4096 bytes), as many for each rank of a partitioned state.

    ```mlir
    %w = zero.use @w : tensor<64x64xf32>
    %y = nn.call @gemm(%x, %w) : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
    ```
    becomes, with two tiles,
    ```mlir
    %e = tensor.empty() : tensor<8x64xf32>
    %w0 = zero.use @w tile 0 : tensor<64x32xf32>
    %y0 = nn.call @gemm(%x, %w0) units [0, 2] into (%e : tensor<8x64xf32>) : ...
    %w1 = zero.use @w tile 1 : tensor<64x32xf32>
    %y = nn.call @gemm(%x, %w1) units [2, 4] into (%y0 : tensor<8x64xf32>) : ...
    ```

    Needs: kernel form, laid out states. Leaves: uses of whole states only where they have one tile.
  }];
  let options = [
    ListOption<"states", "state", "std::string", "REGEX=UNITS for states by ONNX name">,
    Option<"maxBytes", "max-bytes", "uint64_t", "0", "Largest tile of states not named; 0 leaves them">,
  ];
  let statistics = [
    Statistic<"numStates", "states", "States split into tiles">,
    Statistic<"numTiles", "tiles", "Tiles that they are split into">,
  ];
  let dependentDialects = ["::mlir::tensor::TensorDialect", "::spillway::zero::ZeroDialect"];
}

def ZeroSchedulePass : Pass<"zero-schedule", "::mlir::ModuleOp"> {
  let summary = "Turns uses of states into handles that are fetched ahead and released";
  let description = [{
    Each call gets a handle for each state tile that it takes, released right after it. A tile that lies
    in the memory that kernels compute on is fetched there and then. Others pass through staging
    (`zero.arenas`): they are fetched as soon as what lay in their place before has
    been released, in the order of the calls; of what a call only computes into, nothing is read (`blank`). What is
    only read may also pass through bytes below the staging that no value needs meanwhile. Of a partitioned state that is not at home there each rank
    fetches its part, which is gathered as soon as it has arrived.

    ```mlir
    %w = zero.use @w tile 0 : tensor<64x32xf32>
    %y = nn.call @gemm(%x, %w) ...
    ```
    becomes
    ```mlir
    %h = zero.fetch @w tile 0 to #zero.tier<host> : !zero.handle<tensor<64x32xf32>, host>
    ... // calls that run meanwhile
    %w = zero.view %h : !zero.handle<tensor<64x32xf32>, host> -> tensor<64x32xf32>
    %y = nn.call @gemm(%x, %w) ...
    zero.release %h : !zero.handle<tensor<64x32xf32>, host>
    ```

    Needs: homes of states, `zero.arenas`. Leaves: the scheduled form, verified.
  }];
  let options = [
    Option<"threads", "threads", "int64_t", "1", "Threads that run a kernel, as convert-zero-to-rt is told too">,
  ];
  let statistics = [
    Statistic<"numStreamed", "streamed", "Handles that pass through staging">,
    Statistic<"numResident", "resident", "Handles to what stays where kernels compute">,
  ];
  let dependentDialects = ["::spillway::zero::ZeroDialect"];
}

#endif
