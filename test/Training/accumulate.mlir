// REQUIRES: spillway-opt
// RUN: spillway-opt %s -pass-pipeline='builtin.module(nn-accumulate{count=4},canonicalize,cse)' -split-input-file -verify-diagnostics | FileCheck %s

// A weight is used once, by one product for all; the loss is the mean of those of the micro-batches. States that the
// function itself updates go from one to the next.
// CHECK: func.func @main(%[[X:.*]]: tensor<8x3xf32>
// CHECK: %[[ALL:.*]] = nn.reshape %[[X]] : tensor<8x3xf32> -> tensor<4x2x3xf32>
// CHECK: %[[W:.*]] = zero.use @w
// CHECK-NOT: zero.use @w
// CHECK: %[[Y:.*]] = nn.matmul %[[ALL]], %[[W]] : tensor<4x2x3xf32>, tensor<3x5xf32> -> tensor<4x2x5xf32>
// CHECK: %[[B:.*]] = nn.broadcast %{{.*}} dims [2] : tensor<5xf32> -> tensor<4x2x5xf32>
// CHECK: %[[Z:.*]] = arith.addf %[[Y]], %[[B]]
// CHECK: %[[EACH:.*]] = nn.reduce <sum_square> %[[Z]] dims [1, 2] : tensor<4x2x5xf32> -> tensor<4xf32>
// CHECK: %[[SEEN:.*]] = nn.reduce <mean> %[[Z]] dims [1] : tensor<4x2x5xf32> -> tensor<4x5xf32>
// CHECK: %[[FIRST:.*]] = nn.slice %[[SEEN]] offsets [0, 0]
// CHECK: %[[ONE:.*]] = nn.reshape %[[FIRST]]
// CHECK: %[[AFTER1:.*]] = arith.maximumf %{{.*}}, %[[ONE]]
// CHECK: %[[AFTER2:.*]] = arith.maximumf %[[AFTER1]], %{{.*}}
// CHECK: %[[AFTER3:.*]] = arith.maximumf %[[AFTER2]], %{{.*}}
// CHECK: %[[AFTER4:.*]] = arith.maximumf %[[AFTER3]], %{{.*}}
// CHECK: zero.update [@s](%[[AFTER4]])
// CHECK: %[[LOSS:.*]] = nn.reduce <mean> %[[EACH]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK: return %[[LOSS]]
zero.state @w "w" : tensor<3x5xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @b "b" : tensor<5xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @s "s" : tensor<5xf32> role(<statistic>) rewritten source(#zero.splat<1.0 : f32>)
func.func @main(%x: tensor<2x3xf32> {spillway.name = "x"}) -> (tensor<f32> {spillway.name = "loss"}) {
  %w = zero.use @w : tensor<3x5xf32>
  %b = zero.use @b : tensor<5xf32>
  %s = zero.use @s : tensor<5xf32>
  %y = nn.matmul %x, %w : tensor<2x3xf32>, tensor<3x5xf32> -> tensor<2x5xf32>
  %c = nn.broadcast %b dims [1] : tensor<5xf32> -> tensor<2x5xf32>
  %z = arith.addf %y, %c : tensor<2x5xf32>
  %loss = nn.reduce <sum_square> %z dims [0, 1] : tensor<2x5xf32> -> tensor<f32>
  %seen = nn.reduce <mean> %z dims [0] : tensor<2x5xf32> -> tensor<5xf32>
  %next = arith.maximumf %s, %seen : tensor<5xf32>
  zero.update [@s](%next) : tensor<5xf32>
  return %loss : tensor<f32>
}

// -----

// Each place that takes random numbers has a key for each micro-batch, side by side.
// CHECK: func.func @main(%[[X:.*]]: tensor<8xf32> {{.*}}, %[[KEYS:.*]]: tensor<8xi64> {spillway.name = "random"})
// CHECK: %[[KEY:.*]] = nn.slice %[[KEYS]] offsets [4] strides [1] : tensor<8xi64> -> tensor<4xi64>
// CHECK: nn.random %[[KEY]] : tensor<4xi64> -> tensor<4x2xi32>
func.func @main(%x: tensor<2xf32> {spillway.name = "x"}, %k: tensor<2xi64> {spillway.name = "random"}) -> tensor<2xf32> {
  %s = nn.slice %k offsets [1] strides [1] : tensor<2xi64> -> tensor<1xi64>
  %key = nn.reshape %s : tensor<1xi64> -> tensor<i64>
  %bits = nn.random %key : tensor<i64> -> tensor<2xi32>
  %f = arith.uitofp %bits : tensor<2xi32> to tensor<2xf32>
  %y = arith.mulf %x, %f : tensor<2xf32>
  return %y : tensor<2xf32>
}

// -----

// expected-error @+1 {{input "x" is one number: it has no dimension of samples}}
func.func @main(%x: tensor<f32> {spillway.name = "x"}) -> tensor<f32> {
  return %x : tensor<f32>
}

// -----

zero.state @s "s" : tensor<5xf32> role(<statistic>) rewritten source(#zero.splat<1.0 : f32>)
func.func @main(%x: tensor<2x5xf32> {spillway.name = "x"}) -> tensor<5xf32> {
  %s = zero.use @s : tensor<5xf32>
  %seen = nn.reduce <mean> %x dims [0] : tensor<2x5xf32> -> tensor<5xf32>
  %next = arith.maximumf %s, %seen : tensor<5xf32>
  // expected-error @+1 {{takes what the step makes of a state}}
  %more = arith.addf %next, %seen : tensor<5xf32>
  zero.update [@s](%next) : tensor<5xf32>
  return %more : tensor<5xf32>
}
