// REQUIRES: spillway-opt
// RUN: spillway-opt %s -convert-onnx-to-nn='keep-parameters=true train=true' -split-input-file | FileCheck %s
// RUN: spillway-opt %s -convert-onnx-to-nn='keep-parameters=true' -split-input-file | FileCheck %s --check-prefix=AS-IT-IS

// A norm of the inference form trains: statistics of the batch, running ones that the step updates.
// CHECK: zero.state @w.s "scale" : tensor<4xf32> role(<parameter>) source
// CHECK: zero.state @w.m "mean" : tensor<4xf32> role(<statistic>) rewritten source
// CHECK: zero.state @w.v "variance" : tensor<4xf32> role(<statistic>) rewritten source
// CHECK: func.func @main(%[[X:.*]]: tensor<2x4x3xf32> {{.*}}, %[[TRAINS:.*]]: tensor<i1> {spillway.name = "training", spillway.type = "bool"})
// CHECK: %[[MEAN:.*]] = zero.use @w.m
// CHECK: %[[VARIANCE:.*]] = zero.use @w.v
// CHECK: %[[OF_BATCH:.*]] = nn.reduce <mean> %[[X]] dims [0, 2]
// CHECK: %[[OLD:.*]] = arith.mulf %[[MEAN]]
// CHECK: %[[NEW:.*]] = arith.mulf
// CHECK: %[[NEXT:.*]] = arith.addf %[[OLD]], %[[NEW]]
// CHECK: %[[EACH:.*]] = nn.broadcast %[[TRAINS]] dims [] : tensor<i1> -> tensor<4xi1>
// CHECK: arith.select %[[EACH]], %{{.*}}, %[[MEAN]]
// CHECK: arith.select %{{.*}}, %{{.*}}, %[[VARIANCE]]
// CHECK: zero.update [@w.m](%[[NEXT]])
// CHECK: zero.update [@w.v]
// CHECK-NEXT: return
// AS-IT-IS: zero.state @w.m "mean" : tensor<4xf32> role(<statistic>) source
// AS-IT-IS: func.func @main(%{{[^,]*}}: tensor<2x4x3xf32> {{{[^}]*}}})
// AS-IT-IS-NOT: nn.reduce
// AS-IT-IS-NOT: zero.update
// AS-IT-IS: return
module {
  onnx.initializer @s "scale" : tensor<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  onnx.initializer @b "bias" : tensor<4xf32> = dense<[1.0, 2.0, 3.0, 5.0]> : tensor<4xf32>
  onnx.initializer @m "mean" : tensor<4xf32> = dense<0.0> : tensor<4xf32>
  onnx.initializer @v "variance" : tensor<4xf32> = dense<1.0> : tensor<4xf32>
  onnx.graph "main" inputs(["x"]) dims([["", "", ""]]) outputs(["y"]) {
  ^bb0(%x: tensor<2x4x3xf32>):
    %s = onnx.use @s : tensor<4xf32>
    %b = onnx.use @b : tensor<4xf32>
    %m = onnx.use @m : tensor<4xf32>
    %v = onnx.use @v : tensor<4xf32>
    %y = onnx.node "BatchNormalization" (%x, %s, %b, %m, %v) version 15 {} : tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
    onnx.return %y : !onnx.value
  }
}

// -----

// Two norms of the same statistics: the second one goes on with what the first one has left.
// CHECK: func.func @main
// CHECK: %[[MEAN:.*]] = zero.use @w.m
// CHECK: %[[FIRST:.*]] = arith.mulf %[[MEAN]]
// CHECK: %[[LEFT:.*]] = arith.addf %[[FIRST]]
// CHECK: %[[SECOND:.*]] = arith.mulf %[[LEFT]]
// CHECK: %[[NEXT:.*]] = arith.addf %[[SECOND]]
// CHECK: zero.update [@w.m](%[[NEXT]])
// CHECK-NOT: zero.update [@w.m]
// CHECK: return
module {
  onnx.initializer @s "scale" : tensor<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  onnx.initializer @m "mean" : tensor<4xf32> = dense<0.0> : tensor<4xf32>
  onnx.initializer @v "variance" : tensor<4xf32> = dense<1.0> : tensor<4xf32>
  onnx.graph "main" inputs(["x"]) dims([["", "", ""]]) outputs(["y"]) {
  ^bb0(%x: tensor<2x4x3xf32>):
    %s = onnx.use @s : tensor<4xf32>
    %m = onnx.use @m : tensor<4xf32>
    %v = onnx.use @v : tensor<4xf32>
    %y = onnx.node "BatchNormalization" (%x, %s, %s, %m, %v) version 15 {} : tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
    %z = onnx.node "BatchNormalization" (%y, %s, %s, %m, %v) version 15 {} : !onnx.value, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
    onnx.return %z : !onnx.value
  }
}
