// RUN: spillway-opt %s -pass-pipeline='builtin.module(nn-optimize{optimizer=sgd settings=momentum=0.9,weight_decay=0.1 clip=2.0 grad-norm=true},canonicalize,cse)' | FileCheck %s
// RUN: spillway-opt %s -nn-optimize | FileCheck %s --check-prefix=ADAMW
// RUN: spillway-opt %s -nn-optimize='optimizer=sgd precision=bf16' | FileCheck %s --check-prefix=TWIN
// RUN: not spillway-opt %s -nn-optimize=precision=int4 2>&1 | FileCheck %s --check-prefix=PRECISION
// RUN: not spillway-opt %s -nn-optimize=optimizer=adamm 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not spillway-opt %s -nn-optimize=settings=beta3=0.9 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not spillway-opt %s -nn-optimize='optimizer=sgd settings=momentum=much' 2>&1 | FileCheck %s --check-prefix=VALUE

// RUN: not spillway-opt %s -nn-optimize=settings=beta1=2 2>&1 | FileCheck %s --check-prefix=BETA
// RUN: not spillway-opt %s -nn-optimize=settings=epsilon=-1e-8 2>&1 | FileCheck %s --check-prefix=EPSILON
// RUN: not spillway-opt %s -nn-optimize='optimizer=sgd settings=nesterov=2' 2>&1 | FileCheck %s --check-prefix=NESTEROV
// RUN: not spillway-opt %s -nn-optimize=settings=weight_decay=nan 2>&1 | FileCheck %s --check-prefix=NAN

// BETA: error: the optimizer's option 'beta1=2': must be at least 0 and below 1
// EPSILON: error: the optimizer's option 'epsilon=-1e-8': must be at least 0
// NESTEROV: error: the optimizer's option 'nesterov=2': must be at least 0 and at most 1
// NAN: error: the optimizer's option 'weight_decay=nan'
// UNKNOWN: error: no optimizer 'adamm'; there are adam, adamw, lion, sgd, or the path of an .mlir file
// OPTION: error: the optimizer's option 'beta3=0.9': expected NAME=NUMBER, with one of beta1, beta2, epsilon, weight_decay
// VALUE: error: the optimizer's option 'momentum=much': expected NAME=NUMBER, with one of momentum, nesterov, weight_decay

// CHECK: zero.state @w "w"
// CHECK-NEXT: zero.state @w.momentum_buffer "w.momentum_buffer" : tensor<2x3xf32> role(<moment>) rewritten source(#zero.splat<0.000000e+00 : f32>)
// CHECK: zero.state @b.momentum_buffer
// CHECK: func.func @main(%[[X:.*]]: tensor<2x3xf32>, %[[LR:.*]]: tensor<f64> {spillway.name = "lr", spillway.type = "f64"})
// CHECK-SAME: -> (tensor<f32> {spillway.name = "loss"}, tensor<f32> {spillway.name = "grad_norm", spillway.type = "f32"})
// The norm is over all gradients, in their order; the factor is the same for all.
// CHECK: %[[W:.*]] = zero.use @w
// CHECK: zero.use @b
// CHECK: %[[SQUARES:.*]] = nn.reduce <sum_square> %[[X]] dims [0, 1]
// CHECK: %[[NORM:.*]] = math.sqrt
// CHECK: %[[FACTOR:.*]] = arith.minimumf
// CHECK: %[[BUFFER:.*]] = zero.use @w.momentum_buffer
// CHECK: %[[FACTORS:.*]] = nn.broadcast %[[FACTOR]] dims [] : tensor<f32> -> tensor<2x3xf32>
// CHECK: %[[CLIPPED:.*]] = arith.mulf %[[X]], %[[FACTORS]]
// What depends on scalars alone stays one.
// CHECK: arith.truncf %[[LR]] : tensor<f64> to tensor<f32>
// CHECK: %[[GRADIENT:.*]] = math.fma %{{.*}}, %[[W]], %[[CLIPPED]]
// CHECK: %[[NEXT:.*]] = math.fma %{{.*}}, %[[BUFFER]], %[[GRADIENT]]
// CHECK: %[[STEPPED:.*]] = arith.subf %[[W]]
// CHECK: zero.update [@w, @w.momentum_buffer](%[[STEPPED]], %[[NEXT]]) : tensor<2x3xf32>, tensor<2x3xf32>
// Weight decay is for two or more dimensions.
// CHECK: %[[ZEROS:.*]] = nn.broadcast %cst{{[_0-9]*}} dims [] : tensor<f32> -> tensor<3xf32>
// CHECK: math.fma %[[ZEROS]], %{{.*}}, %{{.*}} : tensor<3xf32>
// CHECK: zero.update [@b, @b.momentum_buffer]
// CHECK: return %{{.*}}, %[[NORM]]

// ADAMW: zero.state @w.exp_avg "w.exp_avg"
// ADAMW: zero.state @w.exp_avg_sq "w.exp_avg_sq"
// ADAMW: func.func @main(%{{.*}}: tensor<2x3xf32>, %{{.*}}: tensor<f64> {spillway.name = "lr", spillway.type = "f64"}, %{{.*}}: tensor<f64> {spillway.name = "step", spillway.type = "f64"}) -> (tensor<f32> {spillway.name = "loss"})
// ADAMW-COUNT-2: zero.update

// A weight of two dimensions has a twin in bf16, which the step reads in its place, and which is updated with it.
// PRECISION: error: no precision 'int4'; there are fp32, bf16 and fp16
// TWIN: module attributes {nn.stored_type = bf16}
// TWIN: zero.state @w "w" : tensor<2x3xf32> role(<parameter>) rewritten
// TWIN: zero.state @w.bf16 "w.bf16" : tensor<2x3xbf16> role(<twin>) rewritten source(#zero.rounded<#zero.splat<1.000000e+00 : f32>>)
// TWIN: zero.state @b "b"
// TWIN-NOT: b.bf16
// TWIN: %[[NARROW:.*]] = zero.use @w.bf16 : tensor<2x3xbf16>
// TWIN: %[[WIDE:.*]] = arith.extf %[[NARROW]]
// TWIN: arith.mulf %[[WIDE]], %{{.*}} : tensor<2x3xf32>
// TWIN: zero.use @w : tensor<2x3xf32>
// TWIN: %[[NEXT:.*]] = arith.subf
// TWIN: %[[ROUNDED:.*]] = arith.truncf %[[NEXT]] : tensor<2x3xf32> to tensor<2x3xbf16>
// TWIN: zero.update [@w, @w.momentum_buffer, @w.bf16](%[[NEXT]], %{{.*}}, %[[ROUNDED]])
// TWIN: zero.update [@b, @b.momentum_buffer](

zero.state @w "w" : tensor<2x3xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @b "b" : tensor<3xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%x: tensor<2x3xf32>) -> (tensor<f32> {spillway.name = "loss"},
                                         tensor<2x3xf32> {spillway.name = "grad.w"}, tensor<3xf32> {spillway.name = "grad.b"}) {
  %w = zero.use @w : tensor<2x3xf32>
  %0 = arith.mulf %w, %x : tensor<2x3xf32>
  %loss = nn.reduce <sum> %0 dims [0, 1] : tensor<2x3xf32> -> tensor<f32>
  %b = zero.use @b : tensor<3xf32>
  return %loss, %x, %b : tensor<f32>, tensor<2x3xf32>, tensor<3xf32>
}
