// REQUIRES: spillway-opt
// RUN: spillway-opt %s -convert-onnx-to-nn -split-input-file | FileCheck %s

// Grouped-query, causal, with a cache: query i stands behind the cache's keys.
// CHECK-LABEL: func.func @main
// CHECK: %[[K:.*]] = nn.concat %{{.*}}, %{{.*}} dim 2 : (tensor<1x2x5x8xf32>, tensor<1x2x3x8xf32>) -> tensor<1x2x8x8xf32>
// CHECK: %[[V:.*]] = nn.concat
// CHECK: %[[Y:.*]] = nn.attention <zero> %{{.*}}, %[[K]], %[[V]] scale 0.353553385 {causal_offset = 5 : i64} : tensor<1x4x3x8xf32>
// CHECK: return %[[Y]], %[[K]], %[[V]]
onnx.graph "main" inputs(["q", "k", "v", "pk", "pv"])
    dims([["", "", "", ""], ["", "", "", ""], ["", "", "", ""], ["", "", "", ""], ["", "", "", ""]])
    outputs(["y", "present_k", "present_v"]) {
^bb0(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x3x8xf32>, %v: tensor<1x2x3x8xf32>, %pk: tensor<1x2x5x8xf32>, %pv: tensor<1x2x5x8xf32>):
  %none = onnx.none
  %y:3 = onnx.node "Attention" (%q, %k, %v, %none, %pk, %pv) version 23 outputs 3 {is_causal = 1 : i64}
    : tensor<1x4x3x8xf32>, tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>, !onnx.none, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>
  onnx.return %y#0, %y#1, %y#2 : !onnx.value, !onnx.value, !onnx.value
}

// -----

// Three dimensions are split into heads; a short mask hides the keys beyond it.
// CHECK-LABEL: func.func @main
// CHECK-DAG: nn.reshape %{{.*}} : tensor<2x3x8xf32> -> tensor<2x3x2x4xf32>
// CHECK-DAG: %[[M:.*]] = nn.pad <constant> %{{.*}} value %{{.*}} : tensor<i1> low [0, 0, 0, 0] : tensor<1x1x3x2xi1> -> tensor<1x1x3x5xi1>
// CHECK: nn.attention <zero> {{.*}} mask %[[M]] : tensor<1x1x3x5xi1> scale 5.000000e-01
// CHECK: nn.reshape %{{.*}} : tensor<2x3x2x4xf32> -> tensor<2x3x8xf32>
onnx.graph "main" inputs(["q", "k", "v", "m"])
    dims([["", "", ""], ["", "", ""], ["", "", ""], ["", ""]]) outputs(["y"]) {
^bb0(%q: tensor<2x3x8xf32>, %k: tensor<2x5x8xf32>, %v: tensor<2x5x8xf32>, %m: tensor<3x2xi1>):
  %y = onnx.node "Attention" (%q, %k, %v, %m) version 23 {q_num_heads = 2 : i64, kv_num_heads = 2 : i64}
    : tensor<2x3x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<3x2xi1>
  onnx.return %y : !onnx.value
}

// -----

// Tables of batch 1 serve all batches.
// CHECK-LABEL: func.func @main
// CHECK: nn.broadcast %{{.*}} dims [0, 2, 3] : tensor<1x3x2xf32> -> tensor<2x2x3x2xf32>
// CHECK: nn.concat %{{.*}}, %{{.*}} dim 3
onnx.graph "main" inputs(["x", "c", "s"]) dims([["", "", "", ""], ["", "", ""], ["", "", ""]]) outputs(["y"]) {
^bb0(%x: tensor<2x2x3x4xf32>, %c: tensor<1x3x2xf32>, %s: tensor<1x3x2xf32>):
  %y = onnx.node "RotaryEmbedding" (%x, %c, %s) version 23 {} : tensor<2x2x3x4xf32>, tensor<1x3x2xf32>, tensor<1x3x2xf32>
  onnx.return %y : !onnx.value
}

// -----

// One product with the state a step; query heads that share one are its rows.
// CHECK-LABEL: func.func @main
// CHECK: nn.matmul %{{.*}}, %[[S:.*]] : tensor<1x2x3x4xf32>, tensor<1x2x4x5xf32>
// CHECK: %[[NEXT:.*]] = arith.addf %[[S]], %{{.*}} : tensor<1x2x4x5xf32>
// CHECK: nn.matmul %{{.*}}, %[[NEXT]] : tensor<1x2x3x4xf32>, tensor<1x2x4x5xf32>
onnx.graph "main" inputs(["q", "k", "v"]) dims([["", "", ""], ["", "", ""], ["", "", ""]]) outputs(["y"]) {
^bb0(%q: tensor<1x2x24xf32>, %k: tensor<1x2x8xf32>, %v: tensor<1x2x10xf32>):
  %y = onnx.node "LinearAttention" (%q, %k, %v) version 27 {q_num_heads = 6 : i64, kv_num_heads = 2 : i64, update_rule = "linear"}
    : tensor<1x2x24xf32>, tensor<1x2x8xf32>, tensor<1x2x10xf32>
  onnx.return %y : !onnx.value
}

// -----

// Scores that no graph changes need not be held.
// CHECK-LABEL: func.func @main
// CHECK: nn.attention
onnx.graph "main" inputs(["q", "k", "v"])
    dims([["", "", "", ""], ["", "", "", ""], ["", "", "", ""]]) outputs(["y"]) {
^bb0(%q: tensor<2x6x5x8xf32>, %k: tensor<2x3x7x8xf32>, %v: tensor<2x3x7x4xf32>):
  %y = onnx.node "FlexAttention" domain "ai.onnx.preview" (%q, %k, %v) version 1 {}
    : tensor<2x6x5x8xf32>, tensor<2x3x7x8xf32>, tensor<2x3x7x4xf32>
  onnx.return %y : !onnx.value
}

// -----

// A scale that is no f32 goes into the query of f64.
// CHECK-LABEL: func.func @main
// CHECK: %[[SCALE:.*]] = arith.constant dense<0.353553390593273{{[0-9]+}}> : tensor<1x4x3x8xf64>
// CHECK: %[[Q:.*]] = arith.mulf %{{.*}}, %[[SCALE]] : tensor<1x4x3x8xf64>
// CHECK: nn.attention <zero> %[[Q]], %{{.*}}, %{{.*}} scale 1.000000e+00 : tensor<1x4x3x8xf64>
onnx.graph "main" inputs(["q", "k", "v"])
    dims([["", "", "", ""], ["", "", "", ""], ["", "", "", ""]]) outputs(["y"]) {
^bb0(%q: tensor<1x4x3x8xf64>, %k: tensor<1x4x3x8xf64>, %v: tensor<1x4x3x8xf64>):
  %y = onnx.node "Attention" (%q, %k, %v) version 23 {}
    : tensor<1x4x3x8xf64>, tensor<1x4x3x8xf64>, tensor<1x4x3x8xf64>
  onnx.return %y : !onnx.value
}
