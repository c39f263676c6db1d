// REQUIRES: spillway-opt
// RUN: spillway-opt %s -convert-onnx-to-nn -split-input-file | FileCheck %s

// Shape arithmetic disappears: [batch * seq, -1] of a [2, 3, 4].
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[Y:.*]] = nn.reshape %{{.*}} : tensor<2x3x4xf32> -> tensor<6x4xf32>
// CHECK-NEXT: return %[[Y]]
module {
  onnx.initializer @i0 "i0" : tensor<i64> = dense<0> : tensor<i64>
  onnx.initializer @i1 "i1" : tensor<i64> = dense<1> : tensor<i64>
  onnx.initializer @axis "axis" : tensor<1xi64> = dense<0> : tensor<1xi64>
  onnx.initializer @rest "rest" : tensor<1xi64> = dense<-1> : tensor<1xi64>
  onnx.graph "main" inputs(["x"]) dims([["", "", ""]]) outputs(["y"]) {
  ^bb0(%x: tensor<2x3x4xf32>):
    %i0 = onnx.use @i0 : tensor<i64>
    %i1 = onnx.use @i1 : tensor<i64>
    %axis = onnx.use @axis : tensor<1xi64>
    %rest = onnx.use @rest : tensor<1xi64>
    %shape = onnx.node "Shape" (%x) version 15 {} : tensor<2x3x4xf32>
    %b = onnx.node "Gather" (%shape, %i0) version 13 {} : !onnx.value, tensor<i64>
    %s = onnx.node "Gather" (%shape, %i1) version 13 {} : !onnx.value, tensor<i64>
    %n = onnx.node "Mul" (%b, %s) version 14 {} : !onnx.value, !onnx.value
    %v = onnx.node "Unsqueeze" (%n, %axis) version 13 {} : !onnx.value, tensor<1xi64>
    %c = onnx.node "Concat" (%v, %rest) version 13 {axis = 0 : i64} : !onnx.value, tensor<1xi64>
    %y = onnx.node "Reshape" (%x, %c) version 14 {} : tensor<2x3x4xf32>, !onnx.value
    onnx.return %y : !onnx.value
  }
}

// -----

// A result of more than 1 KiB keeps its operations, unless its elements are equal.
// CHECK-LABEL: func.func @main
// CHECK: %[[R:.*]] = nn.iota dim 0 : tensor<1000xi64>
// CHECK: %[[Z:.*]] = arith.constant dense<7> : tensor<100000xi64>
// CHECK: return {{.*}}, %[[Z]]
module {
  onnx.initializer @i0 "i0" : tensor<i64> = dense<0> : tensor<i64>
  onnx.initializer @i1 "i1" : tensor<i64> = dense<1> : tensor<i64>
  onnx.initializer @n "n" : tensor<i64> = dense<1000> : tensor<i64>
  onnx.initializer @big "big" : tensor<1xi64> = dense<100000> : tensor<1xi64>
  onnx.graph "main" inputs([]) dims([]) outputs(["y", "z"]) {
    %i0 = onnx.use @i0 : tensor<i64>
    %i1 = onnx.use @i1 : tensor<i64>
    %n = onnx.use @n : tensor<i64>
    %big = onnx.use @big : tensor<1xi64>
    %r = onnx.node "Range" (%i0, %n, %i1) version 11 {} : tensor<i64>, tensor<i64>, tensor<i64>
    %z = onnx.node "ConstantOfShape" (%big) version 9 {value = dense<7> : tensor<1xi64>} : tensor<1xi64>
    onnx.return %r, %z : !onnx.value, !onnx.value
  }
}

// -----

// Sequences leave no operation.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[S:.*]] = nn.slice %{{.*}} offsets [0, 2] strides [1, 1] : tensor<2x5xf32> -> tensor<2x2xf32>
// CHECK-NEXT: return %[[S]]
module {
  onnx.initializer @two "two" : tensor<i64> = dense<2> : tensor<i64>
  onnx.initializer @at "at" : tensor<i64> = dense<-2> : tensor<i64>
  onnx.graph "main" inputs(["x"]) dims([["", ""]]) outputs(["y"]) {
  ^bb0(%x: tensor<2x5xf32>):
    %two = onnx.use @two : tensor<i64>
    %at = onnx.use @at : tensor<i64>
    %s = onnx.node "SplitToSequence" (%x, %two) version 11 {axis = 1 : i64} : tensor<2x5xf32>, tensor<i64>
    %y = onnx.node "SequenceAt" (%s, %at) version 11 {} : !onnx.value, tensor<i64>
    onnx.return %y : !onnx.value
  }
}
