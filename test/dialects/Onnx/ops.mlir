// RUN: spillway-opt %s | spillway-opt | FileCheck %s
// RUN: spillway-opt %s --mlir-print-op-generic | spillway-opt | FileCheck %s

// CHECK: module attributes {onnx.ir_version = 8 : i64}
module attributes {onnx.ir_version = 8 : i64} {
  // CHECK: onnx.initializer @wte "wte.weight" : tensor<100x8xf32> = #onnx.extent<"m.onnx", 128, 3200, raw>
  onnx.initializer @wte "wte.weight" : tensor<100x8xf32> = #onnx.extent<"m.onnx", 128, 3200, raw>
  // CHECK: onnx.initializer @ids "ids" : tensor<1000xi64> = #onnx.extent<"m.onnx", 4000, 1001, varint>
  onnx.initializer @ids "ids" : tensor<1000xi64> = #onnx.extent<"m.onnx", 4000, 1001, varint>
  // CHECK: onnx.initializer @empty "a \22quoted\22 name" : tensor<0x4xui8> = dense<> : tensor<0x4xui8>
  onnx.initializer @empty "a \"quoted\" name" : tensor<0x4xui8> = dense<> : tensor<0x4xui8>
  // CHECK: onnx.initializer @flag "flag" : tensor<i1> = dense<true> : tensor<i1>
  onnx.initializer @flag "flag" : tensor<i1> = dense<true> : tensor<i1>

  // CHECK: onnx.graph "main" inputs(["ids"]) dims({{\[\[}}"batch", ""]]) outputs(["y", "z"])
  onnx.graph "main" inputs(["ids"]) dims([["batch", ""]]) outputs(["y", "z"]) {
  // CHECK: ^bb0(%[[IDS:.*]]: tensor<?x7xi64>):
  ^bb0(%ids: tensor<?x7xi64>):
    // CHECK: %[[W:.*]] = onnx.use @wte : tensor<100x8xf32>
    %w = onnx.use @wte : tensor<100x8xf32>
    %flag = onnx.use @flag : tensor<i1>
    // CHECK: %[[NONE:.*]] = onnx.none
    %none = onnx.none
    // CHECK: onnx.node "Gather" (%[[W]], %[[IDS]]) version 13 {axis = 0 : i64} : tensor<100x8xf32>, tensor<?x7xi64>
    %x = onnx.node "Gather" (%w, %ids) version 13 {axis = 0 : i64} : tensor<100x8xf32>, tensor<?x7xi64>
    // CHECK: onnx.node "Clip" (%{{.*}}, %[[NONE]], %{{.*}}) version 13 {} : !onnx.value, !onnx.none, !onnx.value
    %c = onnx.node "Clip" (%x, %none, %x) version 13 {} : !onnx.value, !onnx.none, !onnx.value
    // CHECK: onnx.node "Two" domain "ai.example" () version 1 outputs 2 {a = array<i64: 1, 2>, s = "text"}
    %t:2 = onnx.node "Two" domain "ai.example" () version 1 outputs 2 {a = array<i64: 1, 2>, s = "text"}
    // CHECK: onnx.node "Sink" (%{{.*}}) version 1 outputs 0 {} : !onnx.value
    onnx.node "Sink" (%c) version 1 outputs 0 {} : !onnx.value
    // CHECK: onnx.node "If" (%{{.*}}) version 13 {} graph "then_branch" {
    // CHECK-NEXT: onnx.return %{{.*}} : !onnx.value
    // CHECK: } graph "else_branch" {
    %i = onnx.node "If" (%flag) version 13 {} graph "then_branch" {
      onnx.return %c : !onnx.value
    } graph "else_branch" {
      %n = onnx.node "Neg" (%c) version 13 {} : !onnx.value
      onnx.return %n : !onnx.value
    } : tensor<i1>
    // CHECK: onnx.return %{{.*}}, %{{.*}} : !onnx.value, !onnx.value
    onnx.return %i, %t#1 : !onnx.value, !onnx.value
  }
}
