// REQUIRES: spillway-opt
// RUN: spillway-opt %s -convert-onnx-to-nn='keep-parameters=true train=true eval-dropouts=quiet.*' | FileCheck %s
// RUN: not spillway-opt %s -convert-onnx-to-nn='keep-parameters=true train=true eval-dropouts=loud' 2>&1 | FileCheck %s --check-prefix=UNMATCHED
// UNMATCHED: error: eval-dropout 'loud' matches the whole name of no dropout

// The ratio of old opsets is an attribute. One that a name chooses passes on what it gets, as does one that drops nothing.
// CHECK: func.func @main(%[[X:[a-z0-9]+]]: tensor<2x3xf32> {{{[^}]*}}})
// CHECK-NOT: nn.random
// CHECK: return %[[X]]
module {
  onnx.graph "main" inputs(["x"]) dims([["", ""]]) outputs(["z"]) {
  ^bb0(%x: tensor<2x3xf32>):
    %y = onnx.node "Dropout" (%x) version 7 {ratio = 0.0 : f32} : tensor<2x3xf32> loc("first")
    %z = onnx.node "Dropout" (%y) version 7 {ratio = 0.5 : f32} : !onnx.value loc("quiet one")
    onnx.return %z : !onnx.value
  }
}
