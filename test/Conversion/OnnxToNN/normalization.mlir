// REQUIRES: spillway-opt
// RUN: spillway-opt %s -convert-onnx-to-nn -split-input-file | FileCheck %s

// Softmax below opset 13 takes the dimensions from the axis on as one.
// CHECK-LABEL: func.func @main
// CHECK: %[[F:.*]] = nn.reshape %{{.*}} : tensor<2x3x4xf32> -> tensor<2x12xf32>
// CHECK: %[[S:.*]] = nn.softmax %[[F]] dim 1 : tensor<2x12xf32>
// CHECK: nn.reshape %[[S]] : tensor<2x12xf32> -> tensor<2x3x4xf32>
onnx.graph "main" inputs(["x"]) dims([["", "", ""]]) outputs(["y"]) {
^bb0(%x: tensor<2x3x4xf32>):
  %y = onnx.node "Softmax" (%x) version 11 {} : tensor<2x3x4xf32>
  onnx.return %y : !onnx.value
}

// -----

// From 13 on along one axis, by default the last.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: nn.softmax %{{.*}} dim 2 : tensor<2x3x4xf32>
// CHECK-NEXT: nn.softmax %{{.*}} dim 1 : tensor<2x3x4xf32>
onnx.graph "main" inputs(["x"]) dims([["", "", ""]]) outputs(["y"]) {
^bb0(%x: tensor<2x3x4xf32>):
  %0 = onnx.node "Softmax" (%x) version 13 {} : tensor<2x3x4xf32>
  %y = onnx.node "Softmax" (%0) version 13 {axis = -2 : i64} : !onnx.value
  onnx.return %y : !onnx.value
}

// -----

// Statistics are made only where they are asked for.
// CHECK-LABEL: func.func @main
// CHECK: nn.layer_norm %{{.*}} scale %{{.*}} : tensor<4xf32> dim 1 epsilon 9.99999974E-6 : tensor<2x4xf32>
// CHECK: %[[MEAN:.*]] = nn.reduce <mean> %{{.*}} dims [1] : tensor<2x4xf32> -> tensor<2xf32>
// CHECK: math.sqrt
onnx.graph "main" inputs(["x", "s"]) dims([["", ""], [""]]) outputs(["y", "m", "i"]) {
^bb0(%x: tensor<2x4xf32>, %s: tensor<4xf32>):
  %y:3 = onnx.node "LayerNormalization" (%x, %s) version 17 outputs 3 {} : tensor<2x4xf32>, tensor<4xf32>
  onnx.return %y#0, %y#1, %y#2 : !onnx.value, !onnx.value, !onnx.value
}

// -----

// A scale of another type than the input: statistics in f32, the product in the scale's type.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.rms_norm
// CHECK: arith.extf %{{.*}} : tensor<2x4xf16> to tensor<2x4xf32>
// CHECK: return %{{.*}} : tensor<2x4xf32>
onnx.graph "main" inputs(["x", "s"]) dims([["", ""], [""]]) outputs(["y"]) {
^bb0(%x: tensor<2x4xf16>, %s: tensor<4xf32>):
  %y = onnx.node "RMSNormalization" (%x, %s) version 23 {} : tensor<2x4xf16>, tensor<4xf32>
  onnx.return %y : !onnx.value
}

// -----

// Statistics of f64 are computed in f64, and given in the type that stash_type says, f32.
// CHECK-LABEL: func.func @main
// CHECK: %[[MEAN:.*]] = nn.reduce <mean> %{{.*}} : tensor<2x4xf64>
// CHECK: arith.truncf %{{.*}} : tensor<2x1xf64> to tensor<2x1xf32>
// CHECK: arith.truncf %{{.*}} : tensor<2x1xf64> to tensor<2x1xf32>
// CHECK: return %{{.*}} : tensor<2x4xf64>, tensor<2x1xf32>, tensor<2x1xf32>
onnx.graph "main" inputs(["x", "s"]) dims([["", ""], [""]]) outputs(["y", "mean", "inverse"]) {
^bb0(%x: tensor<2x4xf64>, %s: tensor<4xf64>):
  %y:3 = onnx.node "LayerNormalization" (%x, %s) version 17 outputs 3 {} : tensor<2x4xf64>, tensor<4xf64>
  onnx.return %y#0, %y#1, %y#2 : !onnx.value, !onnx.value, !onnx.value
}
