// REQUIRES: spillway-opt
// RUN: spillway-opt %s -convert-onnx-to-nn -split-input-file | FileCheck %s

// Integers of four bits are a state of bytes, which are unpacked where they are read.
// CHECK: zero.state @w.w "w" : tensor<512x256xi8> role(<parameter>) source(#zero.file<"m.onnx", 64, 131072>)
// CHECK-LABEL: func.func @main
// CHECK: %[[BYTES:.*]] = zero.use @w.w : tensor<512x256xi8>
// CHECK: %[[Q:.*]] = nn.unpack %[[BYTES]] bits 4 signed : tensor<512x256xi8> -> tensor<512x512xi8>
// CHECK: %[[REAL:.*]] = arith.sitofp %[[Q]]
// CHECK: %[[SCALED:.*]] = arith.mulf %[[REAL]]
// CHECK: nn.matmul %{{.*}}, %[[SCALED]]
module {
  onnx.initializer @w "w" : tensor<512x512xi4> = #onnx.extent<"m.onnx", 64, 131072, raw>
  onnx.graph "main" inputs(["x", "s"]) dims([["", ""], [""]]) outputs(["y"]) {
  ^bb0(%x: tensor<2x512xf32>, %s: tensor<512xf32>):
    %w = onnx.use @w : tensor<512x512xi4>
    %d = onnx.node "DequantizeLinear" (%w, %s) version 21 {axis = 1 : i64} : tensor<512x512xi4>, tensor<512xf32>
    %y = onnx.node "MatMul" (%x, %d) version 13 {} : tensor<2x512xf32>, !onnx.value
    onnx.return %y : !onnx.value
  }
}

// -----

// Rows that end inside of a byte make one run of bytes; what is left of the last byte is cut off.
// CHECK-LABEL: func.func @main
// CHECK: nn.unpack %{{.*}} bits 4 : tensor<150000xi8> -> tensor<300000xi8>
// CHECK: nn.reshape %{{.*}} : tensor<300000xi8> -> tensor<100000x3xi8>
module {
  onnx.initializer @w "w" : tensor<100000x3xui4> = #onnx.extent<"m.onnx", 64, 150000, raw>
  onnx.graph "main" inputs([]) dims([]) outputs(["y"]) {
    %w = onnx.use @w : tensor<100000x3xui4>
    %y = onnx.node "Cast" (%w) version 21 {to = 1 : i64} : tensor<100000x3xui4>
    onnx.return %y : !onnx.value
  }
}

// -----

// Sums in i32, the zero points taken off before.
// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[X:.*]] = arith.subi {{.*}} : tensor<1x2x5x5xi32>
// CHECK-DAG: %[[W:.*]] = arith.extsi %arg1 : tensor<3x2x3x3xi8> to tensor<3x2x3x3xi32>
// CHECK: nn.conv %[[X]], %[[W]] strides [1, 1] dilations [1, 1] low [0, 0] groups 1
onnx.graph "main" inputs(["x", "w", "z"]) dims([["", "", "", ""], ["", "", "", ""], []]) outputs(["y"]) {
^bb0(%x: tensor<1x2x5x5xui8>, %w: tensor<3x2x3x3xsi8>, %z: tensor<ui8>):
  %y = onnx.node "ConvInteger" (%x, %w, %z) version 10 {} : tensor<1x2x5x5xui8>, tensor<3x2x3x3xsi8>, tensor<ui8>
  onnx.return %y : !onnx.value
}
