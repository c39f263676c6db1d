// REQUIRES: spillway-opt
// RUN: spillway-opt %s -convert-onnx-to-nn -split-input-file | FileCheck %s

// A weight is a state, read by use; a transpose of it is a flag of the product. What nothing
// uses leaves no state.
// CHECK-NOT: unused
// CHECK: zero.state @w.w "h.0.weight" : tensor<8x4xf32> role(<parameter>) source(#zero.file<"m.onnx", 64, 128>)
// CHECK-NOT: unused
// CHECK: func.func @main(%[[X:.*]]: tensor<2x3x4xf32>
// CHECK: %[[W:.*]] = zero.use @w.w : tensor<8x4xf32>
// CHECK: %[[Y:.*]] = nn.matmul %[[X]], %[[W]] transpose : tensor<2x3x4xf32>, tensor<8x4xf32> -> tensor<2x3x8xf32>
// CHECK: return %[[Y]]
module {
  onnx.initializer @w "h.0.weight" : tensor<8x4xf32> = #onnx.extent<"m.onnx", 64, 128, raw>
  onnx.initializer @unused "unused" : tensor<8x4xf32> = #onnx.extent<"m.onnx", 192, 128, raw>
  onnx.graph "main" inputs(["x"]) dims([["", "", ""]]) outputs(["y"]) {
  ^bb0(%x: tensor<2x3x4xf32>):
    %w = onnx.use @w : tensor<8x4xf32>
    %t = onnx.node "Transpose" (%w) version 13 {perm = array<i64: 1, 0>} : tensor<8x4xf32>
    %y = onnx.node "MatMul" (%x, %t) version 13 {} : tensor<2x3x4xf32>, !onnx.value
    onnx.return %y : !onnx.value
  }
}

// -----

// Rows of a weight are looked up; a tied weight is one state, and readers share its use.
// CHECK: zero.state @w.e "wte" : tensor<100x8xf32>
// CHECK-NOT: zero.state
// CHECK: func.func @main(%[[IDS:.*]]: tensor<1x5xi64>
// CHECK: %[[W:.*]] = zero.use @w.e
// CHECK-NOT: zero.use
// CHECK: %[[X:.*]] = zero.lookup @w.e[%[[IDS]]] : tensor<1x5xi64> -> tensor<1x5x8xf32>
// CHECK-NOT: zero.use
// CHECK: nn.matmul %[[X]], %[[W]] transpose
module {
  onnx.initializer @e "wte" : tensor<100x8xf32> = #onnx.extent<"m.onnx", 64, 3200, raw>
  onnx.graph "main" inputs(["ids"]) dims([["", ""]]) outputs(["y"]) {
  ^bb0(%ids: tensor<1x5xi64>):
    %w = onnx.use @e : tensor<100x8xf32>
    %x = onnx.node "Gather" (%w, %ids) version 13 {} : tensor<100x8xf32>, tensor<1x5xi64>
    %t = onnx.node "Transpose" (%w) version 13 {} : tensor<100x8xf32>
    %y = onnx.node "MatMul" (%x, %t) version 13 {} : !onnx.value, !onnx.value
    onnx.return %y : !onnx.value
  }
}

// -----

// Known rows are a slice.
// CHECK: %[[W:.*]] = zero.use @w.p : tensor<16x8xf32>
// CHECK: %[[S:.*]] = nn.slice %[[W]] offsets [0, 0] strides [1, 1] : tensor<16x8xf32> -> tensor<5x8xf32>
// CHECK: nn.reshape %[[S]] : tensor<5x8xf32> -> tensor<1x5x8xf32>
module {
  onnx.initializer @p "wpe" : tensor<16x8xf32> = #onnx.extent<"m.onnx", 64, 512, raw>
  onnx.initializer @zero "zero" : tensor<i64> = dense<0> : tensor<i64>
  onnx.initializer @five "five" : tensor<i64> = dense<5> : tensor<i64>
  onnx.initializer @one "one" : tensor<i64> = dense<1> : tensor<i64>
  onnx.initializer @axis "axis" : tensor<1xi64> = dense<0> : tensor<1xi64>
  onnx.graph "main" inputs([]) dims([]) outputs(["y"]) {
    %w = onnx.use @p : tensor<16x8xf32>
    %zero = onnx.use @zero : tensor<i64>
    %five = onnx.use @five : tensor<i64>
    %one = onnx.use @one : tensor<i64>
    %axis = onnx.use @axis : tensor<1xi64>
    %r = onnx.node "Range" (%zero, %five, %one) version 11 {} : tensor<i64>, tensor<i64>, tensor<i64>
    %i = onnx.node "Unsqueeze" (%r, %axis) version 13 {} : !onnx.value, tensor<1xi64>
    %y = onnx.node "Gather" (%w, %i) version 13 {} : tensor<16x8xf32>, !onnx.value
    onnx.return %y : !onnx.value
  }
}
