#ifndef SPILLWAY_ZERO_DIALECT
#define SPILLWAY_ZERO_DIALECT

include "mlir/IR/OpBase.td"

def Zero_Dialect : Dialect {
  let name = "zero";
  let cppNamespace = "::spillway::zero";
  let summary = "Where states live and how they move";
  let description = [{
    A state is a logical tensor that outlives a step (a weight) plus where its bytes
    are. Programs over states have two verified forms:

    - **unscheduled**, values only: `zero.use` and `zero.lookup` say what is needed, by tile, and
      `zero.update` what comes back.
    - **scheduled**: every use is a handle that is fetched up the tiers, viewed, and released exactly once;
      `zero.store` takes what was computed over its bytes home before that.

    ```mlir
    zero.state @w "h.0.weight" : tensor<768x3072xf32> role(parameter) layout(<1>) tile(96) home([nvme])
      source(#zero.file<"model.onnx", 1234, 9437184>)

    // unscheduled
    %t = zero.use @w tile 0 : tensor<768x1536xf32>
    // scheduled
    %a = zero.fetch @w tile 0 to host : !zero.handle<tensor<768x1536xf32>, host>
    %b = zero.move %a to device : !zero.handle<tensor<768x1536xf32>, device>
    %t = zero.view %b : !zero.handle<tensor<768x1536xf32>, device>
    ...
    zero.release %b
    zero.release %a
    ```

    Where ranks share the states, `partition(r)` splits each tile between them: a rank fetches its own
    part, and the parts are gathered where kernels compute.

    ```mlir
    zero.state @w "h.0.weight" : tensor<768x3072xf32> role(parameter) layout(<1>) tile(96) partition(2) ...

    %a = zero.fetch @w tile 0 part to host : !zero.handle<tensor<768x768xf32>, host>
    %b = zero.gather %a : !zero.handle<tensor<768x768xf32>, host> -> !zero.handle<tensor<768x1536xf32>, host>
    zero.release %a
    ```

    A value that waits long between two of its readers may wait on the drive:

    ```mlir
    %s = zero.offload %h : tensor<8x64xf32> -> !zero.handle<tensor<8x64xf32>, nvme>
    ... // calls that run while it is written
    zero.settle %s
    ...
    %r = zero.restore %s : !zero.handle<tensor<8x64xf32>, nvme> -> tensor<8x64xf32>
    zero.release %s
    ... // calls that run while it is read
    %d = nn.call @gelu_backward(%g, %r) ...
    ```

    The order of operations is the order of issue: a fetch that stands before a
    kernel is under way while the kernel runs.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = ["::spillway::nn::NNDialect"];
}

#endif
