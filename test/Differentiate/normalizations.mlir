// What rules of normalizations build.
// RUN: spillway-opt %s -split-input-file -nn-differentiate | FileCheck %s

// nn.layer_norm
zero.state @x "x" : tensor<2x3xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @s "s" : tensor<3xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @b "b" : tensor<3xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<2x3xf32>
  %s = zero.use @s : tensor<3xf32>
  %b = zero.use @b : tensor<3xf32>
  %r = nn.layer_norm %x scale %s : tensor<3xf32> bias %b : tensor<3xf32> dim 1 epsilon 1.000000e-03 : tensor<2x3xf32>
  %loss = nn.reduce <sum> %r dims [0, 1] : tensor<2x3xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<2x3xf32>
// CHECK-NEXT: %[[S:.*]] = zero.use @s : tensor<3xf32>
// CHECK-NEXT: %[[B:.*]] = zero.use @b : tensor<3xf32>
// CHECK-NEXT: %[[V0:.*]] = nn.layer_norm %[[X]] scale %[[S]] : tensor<3xf32> bias %[[B]] : tensor<3xf32> dim 1 epsilon 1.000000e-03 : tensor<2x3xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0, 1] : tensor<2x3xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<2x3xf32>
// CHECK-NEXT: %[[V4:.*]] = nn.reduce <mean> %[[X]] dims [1] : tensor<2x3xf32> -> tensor<2xf32>
// CHECK-NEXT: %[[V5:.*]] = nn.broadcast %[[V4]] dims [0] : tensor<2xf32> -> tensor<2x3xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.subf %[[X]], %[[V5]] : tensor<2x3xf32>
// CHECK-NEXT: %[[V7:.*]] = arith.mulf %[[V6]], %[[V6]] : tensor<2x3xf32>
// CHECK-NEXT: %[[V8:.*]] = nn.reduce <mean> %[[V7]] dims [1] : tensor<2x3xf32> -> tensor<2xf32>
// CHECK-NEXT: %[[V9:.*]] = arith.constant dense<1.000000e-03> : tensor<2xf32>
// CHECK-NEXT: %[[V10:.*]] = arith.addf %[[V8]], %[[V9]] : tensor<2xf32>
// CHECK-NEXT: %[[V11:.*]] = math.sqrt %[[V10]] : tensor<2xf32>
// CHECK-NEXT: %[[V12:.*]] = arith.constant dense<1.000000e+00> : tensor<2xf32>
// CHECK-NEXT: %[[V13:.*]] = arith.divf %[[V12]], %[[V11]] : tensor<2xf32>
// CHECK-NEXT: %[[V14:.*]] = nn.broadcast %[[V13]] dims [0] : tensor<2xf32> -> tensor<2x3xf32>
// CHECK-NEXT: %[[V15:.*]] = arith.mulf %[[V6]], %[[V14]] : tensor<2x3xf32>
// CHECK-NEXT: %[[V16:.*]] = nn.broadcast %[[S]] dims [1] : tensor<3xf32> -> tensor<2x3xf32>
// CHECK-NEXT: %[[V17:.*]] = arith.mulf %[[V3]], %[[V16]] : tensor<2x3xf32>
// CHECK-NEXT: %[[V18:.*]] = arith.mulf %[[V17]], %[[V15]] : tensor<2x3xf32>
// CHECK-NEXT: %[[V19:.*]] = nn.reduce <mean> %[[V18]] dims [1] : tensor<2x3xf32> -> tensor<2xf32>
// CHECK-NEXT: %[[V20:.*]] = nn.broadcast %[[V19]] dims [0] : tensor<2xf32> -> tensor<2x3xf32>
// CHECK-NEXT: %[[V21:.*]] = arith.mulf %[[V15]], %[[V20]] : tensor<2x3xf32>
// CHECK-NEXT: %[[V22:.*]] = nn.reduce <mean> %[[V17]] dims [1] : tensor<2x3xf32> -> tensor<2xf32>
// CHECK-NEXT: %[[V23:.*]] = nn.broadcast %[[V22]] dims [0] : tensor<2xf32> -> tensor<2x3xf32>
// CHECK-NEXT: %[[V24:.*]] = arith.subf %[[V17]], %[[V23]] : tensor<2x3xf32>
// CHECK-NEXT: %[[V25:.*]] = arith.subf %[[V24]], %[[V21]] : tensor<2x3xf32>
// CHECK-NEXT: %[[V26:.*]] = arith.mulf %[[V14]], %[[V25]] : tensor<2x3xf32>
// CHECK-NEXT: %[[V27:.*]] = arith.mulf %[[V3]], %[[V15]] : tensor<2x3xf32>
// CHECK-NEXT: %[[V28:.*]] = nn.reduce <sum> %[[V27]] dims [0] : tensor<2x3xf32> -> tensor<3xf32>
// CHECK-NEXT: %[[V29:.*]] = nn.reduce <sum> %[[V3]] dims [0] : tensor<2x3xf32> -> tensor<3xf32>
// CHECK-NEXT: return %[[V1]], %[[V26]], %[[V28]], %[[V29]] : tensor<f32>, tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>

// -----

// nn.rms_norm
zero.state @x "x" : tensor<2x3xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @s "s" : tensor<3xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<2x3xf32>
  %s = zero.use @s : tensor<3xf32>
  %r = nn.rms_norm %x scale %s : tensor<3xf32> dim 1 epsilon 1.000000e-03 : tensor<2x3xf32>
  %loss = nn.reduce <sum> %r dims [0, 1] : tensor<2x3xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<2x3xf32>
// CHECK-NEXT: %[[S:.*]] = zero.use @s : tensor<3xf32>
// CHECK-NEXT: %[[V0:.*]] = nn.rms_norm %[[X]] scale %[[S]] : tensor<3xf32> dim 1 epsilon 1.000000e-03 : tensor<2x3xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0, 1] : tensor<2x3xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<2x3xf32>
// CHECK-NEXT: %[[V4:.*]] = arith.mulf %[[X]], %[[X]] : tensor<2x3xf32>
// CHECK-NEXT: %[[V5:.*]] = nn.reduce <mean> %[[V4]] dims [1] : tensor<2x3xf32> -> tensor<2xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.constant dense<1.000000e-03> : tensor<2xf32>
// CHECK-NEXT: %[[V7:.*]] = arith.addf %[[V5]], %[[V6]] : tensor<2xf32>
// CHECK-NEXT: %[[V8:.*]] = math.sqrt %[[V7]] : tensor<2xf32>
// CHECK-NEXT: %[[V9:.*]] = arith.constant dense<1.000000e+00> : tensor<2xf32>
// CHECK-NEXT: %[[V10:.*]] = arith.divf %[[V9]], %[[V8]] : tensor<2xf32>
// CHECK-NEXT: %[[V11:.*]] = nn.broadcast %[[V10]] dims [0] : tensor<2xf32> -> tensor<2x3xf32>
// CHECK-NEXT: %[[V12:.*]] = arith.mulf %[[X]], %[[V11]] : tensor<2x3xf32>
// CHECK-NEXT: %[[V13:.*]] = nn.broadcast %[[S]] dims [1] : tensor<3xf32> -> tensor<2x3xf32>
// CHECK-NEXT: %[[V14:.*]] = arith.mulf %[[V3]], %[[V13]] : tensor<2x3xf32>
// CHECK-NEXT: %[[V15:.*]] = arith.mulf %[[V14]], %[[V12]] : tensor<2x3xf32>
// CHECK-NEXT: %[[V16:.*]] = nn.reduce <mean> %[[V15]] dims [1] : tensor<2x3xf32> -> tensor<2xf32>
// CHECK-NEXT: %[[V17:.*]] = nn.broadcast %[[V16]] dims [0] : tensor<2xf32> -> tensor<2x3xf32>
// CHECK-NEXT: %[[V18:.*]] = arith.mulf %[[V12]], %[[V17]] : tensor<2x3xf32>
// CHECK-NEXT: %[[V19:.*]] = arith.subf %[[V14]], %[[V18]] : tensor<2x3xf32>
// CHECK-NEXT: %[[V20:.*]] = arith.mulf %[[V11]], %[[V19]] : tensor<2x3xf32>
// CHECK-NEXT: %[[V21:.*]] = arith.mulf %[[V3]], %[[V12]] : tensor<2x3xf32>
// CHECK-NEXT: %[[V22:.*]] = nn.reduce <sum> %[[V21]] dims [0] : tensor<2x3xf32> -> tensor<3xf32>
// CHECK-NEXT: return %[[V1]], %[[V20]], %[[V22]] : tensor<f32>, tensor<2x3xf32>, tensor<3xf32>
