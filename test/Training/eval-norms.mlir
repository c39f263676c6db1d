// REQUIRES: spillway-opt
// RUN: spillway-opt %s -convert-onnx-to-nn='keep-parameters=true train=true eval-norms=frozen.*' | FileCheck %s
// RUN: spillway-opt %s -convert-onnx-to-nn='keep-parameters=true' | FileCheck %s --check-prefix=AS-IT-IS
// RUN: not spillway-opt %s -convert-onnx-to-nn='keep-parameters=true train=true eval-norms=rozen' 2>&1 | FileCheck %s --check-prefix=UNMATCHED
// UNMATCHED: error: eval-norm 'rozen' matches the whole name of no batch normalization or an initializer of one

// One that a name chooses normalizes with its running statistics and leaves them, also where the file says that it trains.
// CHECK: zero.state @w.m "frozen.mean" : tensor<4xf32> role(<statistic>) source
// CHECK: func.func @main(%{{[^,]*}}: tensor<2x4x3xf32> {{{[^}]*}}})
// CHECK-NOT: nn.reduce
// CHECK-NOT: zero.update
// CHECK: return
// AS-IT-IS: func.func @main
// AS-IT-IS: nn.reduce <mean>
// AS-IT-IS-NOT: zero.update
// AS-IT-IS: return
module {
  onnx.initializer @s "scale" : tensor<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  onnx.initializer @b "bias" : tensor<4xf32> = dense<[1.0, 2.0, 3.0, 5.0]> : tensor<4xf32>
  onnx.initializer @m "frozen.mean" : tensor<4xf32> = dense<0.0> : tensor<4xf32>
  onnx.initializer @v "variance" : tensor<4xf32> = dense<1.0> : tensor<4xf32>
  onnx.graph "main" inputs(["x"]) dims([["", "", ""]]) outputs(["y"]) {
  ^bb0(%x: tensor<2x4x3xf32>):
    %s = onnx.use @s : tensor<4xf32>
    %b = onnx.use @b : tensor<4xf32>
    %m = onnx.use @m : tensor<4xf32>
    %v = onnx.use @v : tensor<4xf32>
    %y:3 = onnx.node "BatchNormalization" (%x, %s, %b, %m, %v) version 15 outputs 3 {training_mode = 1 : i64} : tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
    onnx.return %y#0 : !onnx.value
  }
}
