// REQUIRES: spillway-opt
// RUN: spillway-opt %s -convert-onnx-to-nn='keep-parameters=true train=true' | FileCheck %s

// Both forms drop elements where the step trains, each with a key of its own; the ratio is that of the file.
// CHECK: func.func @main(%[[X:[a-z0-9]+]]: tensor<2x3xf32> {{{[^}]*}}}, %[[TRAINS:[a-z0-9]+]]: tensor<i1> {spillway.name = "training", spillway.type = "bool"},
// CHECK-SAME: %[[KEYS:[a-z0-9]+]]: tensor<2xi64> {spillway.name = "random", spillway.type = "i64"})
// CHECK: %[[FIRST:.*]] = nn.slice %[[KEYS]] offsets [0]
// CHECK: %[[KEY:.*]] = nn.reshape %[[FIRST]]
// CHECK: %[[BITS:.*]] = nn.random %[[KEY]] : tensor<i64> -> tensor<2x3xi32>
// CHECK: %[[LIMIT:.*]] = arith.constant dense<1073741824> : tensor<2x3xi32>
// CHECK: %[[BELOW:.*]] = arith.cmpi ult, %[[BITS]], %[[LIMIT]]
// CHECK: %[[ALL:.*]] = nn.broadcast %[[TRAINS]] dims [] : tensor<i1> -> tensor<2x3xi1>
// CHECK: %[[DROPS:.*]] = arith.andi %[[BELOW]], %[[ALL]]
// CHECK: %[[SCALE:.*]] = arith.select %[[TRAINS]]
// CHECK: %[[SCALES:.*]] = nn.broadcast %[[SCALE]]
// CHECK: %[[SCALED:.*]] = arith.mulf %[[X]], %[[SCALES]]
// CHECK: %[[Y:.*]] = arith.select %[[DROPS]], %{{.*}}, %[[SCALED]]
// CHECK: nn.slice %[[KEYS]] offsets [1]
// CHECK: arith.constant dense<-2147483648> : tensor<2x3xi32>
// CHECK: %[[DROPS2:.*]] = arith.andi
// CHECK: %[[Z:.*]] = arith.select %[[DROPS2]]
// CHECK: %[[MASK:.*]] = arith.xori %[[DROPS2]]
// CHECK: return %[[Z]], %[[MASK]]
module {
  onnx.initializer @r "ratio" : tensor<f32> = dense<0.25> : tensor<f32>
  onnx.initializer @t "training_mode" : tensor<i1> = dense<true> : tensor<i1>
  onnx.graph "main" inputs(["x"]) dims([["", ""]]) outputs(["z", "mask"]) {
  ^bb0(%x: tensor<2x3xf32>):
    %r = onnx.use @r : tensor<f32>
    %t = onnx.use @t : tensor<i1>
    %y = onnx.node "Dropout" (%x, %r) version 13 {} : tensor<2x3xf32>, tensor<f32>
    %none = onnx.none
    %z:2 = onnx.node "Dropout" (%y, %none, %t) version 13 outputs 2 {} : !onnx.value, !onnx.none, tensor<i1>
    onnx.return %z#0, %z#1 : !onnx.value, !onnx.value
  }
}
