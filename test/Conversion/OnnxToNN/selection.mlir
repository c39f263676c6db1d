// REQUIRES: spillway-opt
// RUN: spillway-opt %s -convert-onnx-to-nn -split-input-file | FileCheck %s

// Indices in order, and the elements there.
// CHECK-LABEL: func.func @main
// CHECK: %[[I:.*]] = nn.argsort %arg0 dim 1 descending : tensor<4x100xf32> -> tensor<4x5xi64>
// CHECK: %[[V:.*]] = nn.gather_elements %arg0[%[[I]]] dim 1
// CHECK: return %[[V]], %[[I]]
module {
  onnx.initializer @k "k" : tensor<1xi64> = dense<5> : tensor<1xi64>
  onnx.graph "main" inputs(["x"]) dims([["", ""]]) outputs(["v", "i"]) {
  ^bb0(%x: tensor<4x100xf32>):
    %k = onnx.use @k : tensor<1xi64>
    %y:2 = onnx.node "TopK" (%x, %k) version 11 outputs 2 {} : tensor<4x100xf32>, tensor<1xi64>
    onnx.return %y#0, %y#1 : !onnx.value, !onnx.value
  }
}

// -----

// The tuple of an update is its own position, but along the axis.
// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[ROW:.*]] = nn.reshape %arg1 : tensor<2x3xi64> -> tensor<2x3x1xi64>
// CHECK-DAG: %[[COLUMN:.*]] = arith.constant dense<{{\[\[\[}}0], [1], [2]], {{\[\[}}0], [1], [2]]]> : tensor<2x3x1xi64>
// CHECK: %[[TUPLES:.*]] = nn.concat %[[ROW]], %[[COLUMN]] dim 2
// CHECK: nn.scatter <add> %arg0[%[[TUPLES]]] %arg2 : tensor<5x3xf32>, tensor<2x3x2xi64>, tensor<2x3xf32>
onnx.graph "main" inputs(["x", "i", "u"]) dims([["", ""], ["", ""], ["", ""]]) outputs(["y"]) {
^bb0(%x: tensor<5x3xf32>, %i: tensor<2x3xi64>, %u: tensor<2x3xf32>):
  %y = onnx.node "ScatterElements" (%x, %i, %u) version 16 {reduction = "add"} : tensor<5x3xf32>, tensor<2x3xi64>, tensor<2x3xf32>
  onnx.return %y : !onnx.value
}

// -----

// An axis that is not known: the sums along all of them, of which one is taken.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: nn.cumsum
// CHECK: arith.select
// CHECK-NOT: nn.cumsum
onnx.graph "main" inputs(["x", "a"]) dims([["", ""], []]) outputs(["y"]) {
^bb0(%x: tensor<5x3xf32>, %a: tensor<i32>):
  %y = onnx.node "CumSum" (%x, %a) version 14 {} : tensor<5x3xf32>, tensor<i32>
  onnx.return %y : !onnx.value
}

// -----

// Before opset 7 an operand stretches along the dimensions from an axis on.
// CHECK-LABEL: func.func @main
// CHECK: %[[C:.*]] = nn.reshape %arg1 : tensor<3xf32> -> tensor<3x1xf32>
// CHECK: %[[B:.*]] = nn.broadcast %[[C]] dims [1, 2] : tensor<3x1xf32> -> tensor<2x3x4xf32>
// CHECK: arith.addf %arg0, %[[B]]
onnx.graph "main" inputs(["x", "c"]) dims([["", "", ""], [""]]) outputs(["y"]) {
^bb0(%x: tensor<2x3x4xf32>, %c: tensor<3xf32>):
  %y = onnx.node "Add" (%x, %c) version 6 {broadcast = 1 : i64, axis = 1 : i64} : tensor<2x3x4xf32>, tensor<3xf32>
  onnx.return %y : !onnx.value
}

// -----

// A product of matrices, whose batch is what both operands and the result have.
// CHECK-LABEL: func.func @main
// CHECK: nn.matmul %{{.*}}, %{{.*}} : tensor<2x3x4xf32>, tensor<2x4x5xf32> -> tensor<2x3x5xf32>
onnx.graph "main" inputs(["x", "c"]) dims([["", "", ""], ["", "", ""]]) outputs(["y"]) {
^bb0(%x: tensor<2x3x4xf32>, %c: tensor<5x4x2xf32>):
  %y = onnx.node "Einsum" (%x, %c) version 12 {equation = "bij,kjb->bik"} : tensor<2x3x4xf32>, tensor<5x4x2xf32>
  onnx.return %y : !onnx.value
}

// -----

// Positions beyond 2^31 need indices of 64 bits.
// CHECK-LABEL: func.func @main
// CHECK: %[[I:.*]] = arith.extsi %arg1 : tensor<1x3000000000xi32> to tensor<1x3000000000xi64>
// CHECK: %[[ROW:.*]] = nn.reshape %[[I]]
// CHECK: %[[COLUMN:.*]] = nn.iota dim 1 : tensor<1x3000000000x1xi64>
// CHECK: nn.concat %[[ROW]], %[[COLUMN]] dim 2
onnx.graph "main" inputs(["x", "i", "u"]) dims([["", ""], ["", ""], ["", ""]]) outputs(["y"]) {
^bb0(%x: tensor<2x3000000000xui8>, %i: tensor<1x3000000000xi32>, %u: tensor<1x3000000000xui8>):
  %y = onnx.node "ScatterElements" (%x, %i, %u) version 18 {} : tensor<2x3000000000xui8>, tensor<1x3000000000xi32>, tensor<1x3000000000xui8>
  onnx.return %y : !onnx.value
}
