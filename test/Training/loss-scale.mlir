// REQUIRES: spillway-opt
// RUN: spillway-opt %s -pass-pipeline='builtin.module(nn-differentiate{scale-loss=true only-loss=true},nn-optimize{optimizer=sgd precision=fp16 clip=2.0},canonicalize,cse)' | FileCheck %s
// RUN: not spillway-opt %s -pass-pipeline='builtin.module(nn-differentiate{scale-loss=true},nn-differentiate{scale-loss=true loss=loss})' 2>&1 | FileCheck %s --check-prefix=NAME

// Gradients are of the scaled loss, and divided again; where their norm is not finite, states keep their values.
// CHECK: module attributes {nn.stored_type = f16}
// CHECK: zero.state @w.fp16 "w.fp16" : tensor<2x3xf16> role(<twin>) rewritten
// CHECK: func.func @main(%{{.*}}, %[[SCALE64:[a-z0-9]+]]: tensor<f64> {spillway.name = "loss_scale", spillway.type = "f64"}, %{{.*}}: tensor<f64> {spillway.name = "lr"
// CHECK-SAME: -> (tensor<f32> {spillway.name = "loss"}, tensor<f32> {spillway.name = "grad_norm", spillway.type = "f32"}, tensor<i1> {spillway.name = "overflow", spillway.type = "bool"})
// CHECK: %[[SCALE:.*]] = arith.truncf %[[SCALE64]] : tensor<f64> to tensor<f32>
// CHECK: %[[SQUARES:.*]] = nn.reduce <sum_square>
// CHECK: %[[NORM:.*]] = math.sqrt
// CHECK: %[[INVERSE:.*]] = arith.divf %{{.*}}, %[[SCALE]]
// CHECK: %[[TRUE:.*]] = arith.mulf %[[NORM]], %[[INVERSE]]
// CHECK: %[[OVERFLOW:.*]] = arith.cmpf uge, %[[TRUE]]
// CHECK: %[[SHARE:.*]] = arith.minimumf
// CHECK: %[[FACTOR:.*]] = arith.mulf %[[INVERSE]], %[[SHARE]]
// CHECK: %[[OLD:.*]] = zero.use @w : tensor<2x3xf32>
// CHECK: nn.broadcast %[[FACTOR]]
// CHECK: %[[SKIPS:.*]] = nn.broadcast %[[OVERFLOW]] dims [] : tensor<i1> -> tensor<2x3xi1>
// CHECK: %[[NEW:.*]] = arith.select %[[SKIPS]], %[[OLD]], %{{.*}}
// CHECK: %[[TWIN:.*]] = arith.truncf %[[NEW]] : tensor<2x3xf32> to tensor<2x3xf16>
// CHECK: zero.update [@w, @w.momentum_buffer, @w.fp16](%[[NEW]], %{{.*}}, %[[TWIN]])
// CHECK: return %{{.*}}, %[[TRUE]], %[[OVERFLOW]]
// NAME: error: the input 'loss_scale' is called as one that a training step adds; give it another name
zero.state @w "w" : tensor<2x3xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%x: tensor<2x3xf32>) -> (tensor<f32> {spillway.name = "loss"}) {
  %w = zero.use @w : tensor<2x3xf32>
  %y = arith.mulf %x, %w : tensor<2x3xf32>
  %l = nn.reduce <sum> %y dims [0, 1] : tensor<2x3xf32> -> tensor<f32>
  return %l : tensor<f32>
}
