#ifndef SPILLWAY_ONNX_DIALECT
#define SPILLWAY_ONNX_DIALECT

include "mlir/IR/OpBase.td"

def Onnx_Dialect : Dialect {
  let name = "onnx";
  let cppNamespace = "::spillway::onnx";
  let summary = "An ONNX file as it is";
  let description = [{
    What the file says, not what it means: operators are one generic `onnx.node`, values have no
    type before shapes are known, and the bytes of initializers stay where they are in the
    files. Three things are settled at import: nodes are in topological order,
    calls of local functions are inlined, and every `Constant` is an initializer.

    The builtin module around it carries `onnx.ir_version`. Unsigned elements are `ui8` etc.; a bool is `i1`.

    ```mlir
    module attributes {onnx.ir_version = 8 : i64} {
      onnx.initializer @w "wte" : tensor<100x8xf32> = #onnx.extent<"m.onnx", 128, 3200, raw>
      onnx.graph "main" inputs(["ids"]) dims([["batch", "seq"]]) outputs(["y"]) {
      ^bb0(%ids: tensor<?x?xi64>):
        %w = onnx.use @w : tensor<100x8xf32>
        %y = onnx.node "Gather" (%w, %ids) version 13 {axis = 0 : i64}
        onnx.return %y
      }
    }
    ```
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

#endif
