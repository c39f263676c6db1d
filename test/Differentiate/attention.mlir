// What the rule of attention builds: the probabilities again, and no score matrix in the forward half.
// RUN: spillway-opt %s -split-input-file -nn-differentiate | FileCheck %s

// Causal, two heads for one key
zero.state @q "q" : tensor<1x2x3x4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @k "k" : tensor<1x1x5x4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @v "v" : tensor<1x1x5x4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %q = zero.use @q : tensor<1x2x3x4xf32>
  %k = zero.use @k : tensor<1x1x5x4xf32>
  %v = zero.use @v : tensor<1x1x5x4xf32>
  %r = nn.attention <zero> %q, %k, %v scale 5.000000e-01 {causal_offset = 2 : i64} : tensor<1x2x3x4xf32>, tensor<1x1x5x4xf32>, tensor<1x1x5x4xf32> -> tensor<1x2x3x4xf32>
  %loss = nn.reduce <sum> %r dims [0, 1, 2, 3] : tensor<1x2x3x4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[Q:.*]] = zero.use @q : tensor<1x2x3x4xf32>
// CHECK-NEXT: %[[K:.*]] = zero.use @k : tensor<1x1x5x4xf32>
// CHECK-NEXT: %[[V:.*]] = zero.use @v : tensor<1x1x5x4xf32>
// CHECK-NEXT: %[[V0:.*]] = nn.attention <zero> %[[Q]], %[[K]], %[[V]] scale 5.000000e-01 {causal_offset = 2 : i64} : tensor<1x2x3x4xf32>, tensor<1x1x5x4xf32>, tensor<1x1x5x4xf32> -> tensor<1x2x3x4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0, 1, 2, 3] : tensor<1x2x3x4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<1x2x3x4xf32>
// CHECK-NEXT: %[[V4:.*]] = nn.reshape %[[Q]] : tensor<1x2x3x4xf32> -> tensor<1x1x6x4xf32>
// CHECK-NEXT: %[[V5:.*]] = nn.matmul %[[V4]], %[[K]] transpose : tensor<1x1x6x4xf32>, tensor<1x1x5x4xf32> -> tensor<1x1x6x5xf32>
// CHECK-NEXT: %[[V6:.*]] = nn.reshape %[[V5]] : tensor<1x1x6x5xf32> -> tensor<1x2x3x5xf32>
// CHECK-NEXT: %[[V7:.*]] = arith.constant dense<5.000000e-01> : tensor<1x2x3x5xf32>
// CHECK-NEXT: %[[V8:.*]] = arith.mulf %[[V6]], %[[V7]] : tensor<1x2x3x5xf32>
// CHECK-NEXT: %[[V9:.*]] = arith.constant dense<0xFF800000> : tensor<1x2x3x5xf32>
// CHECK-NEXT: %[[V10:.*]] = nn.iota dim 2 : tensor<1x2x3x5xi64>
// CHECK-NEXT: %[[V11:.*]] = nn.iota dim 3 : tensor<1x2x3x5xi64>
// CHECK-NEXT: %[[V12:.*]] = arith.constant dense<2> : tensor<1x2x3x5xi64>
// CHECK-NEXT: %[[V13:.*]] = arith.addi %[[V10]], %[[V12]] : tensor<1x2x3x5xi64>
// CHECK-NEXT: %[[V14:.*]] = arith.cmpi sle, %[[V11]], %[[V13]] : tensor<1x2x3x5xi64>
// CHECK-NEXT: %[[V15:.*]] = arith.select %[[V14]], %[[V8]], %[[V9]] : tensor<1x2x3x5xi1>, tensor<1x2x3x5xf32>
// CHECK-NEXT: %[[V16:.*]] = nn.softmax %[[V15]] dim 3 : tensor<1x2x3x5xf32>
// CHECK-NEXT: %[[V17:.*]] = nn.reduce <max> %[[V15]] dims [3] : tensor<1x2x3x5xf32> -> tensor<1x2x3xf32>
// CHECK-NEXT: %[[V18:.*]] = nn.broadcast %[[V17]] dims [0, 1, 2] : tensor<1x2x3xf32> -> tensor<1x2x3x5xf32>
// CHECK-NEXT: %[[V19:.*]] = arith.constant dense<0xFF800000> : tensor<1x2x3x5xf32>
// CHECK-NEXT: %[[V20:.*]] = arith.cmpf une, %[[V18]], %[[V19]] : tensor<1x2x3x5xf32>
// CHECK-NEXT: %[[V21:.*]] = arith.constant dense<0.000000e+00> : tensor<1x2x3x5xf32>
// CHECK-NEXT: %[[V22:.*]] = arith.select %[[V20]], %[[V16]], %[[V21]] : tensor<1x2x3x5xi1>, tensor<1x2x3x5xf32>
// CHECK-NEXT: %[[V23:.*]] = nn.reshape %[[V3]] : tensor<1x2x3x4xf32> -> tensor<1x1x6x4xf32>
// CHECK-NEXT: %[[V24:.*]] = nn.matmul %[[V23]], %[[V]] transpose : tensor<1x1x6x4xf32>, tensor<1x1x5x4xf32> -> tensor<1x1x6x5xf32>
// CHECK-NEXT: %[[V25:.*]] = nn.reshape %[[V24]] : tensor<1x1x6x5xf32> -> tensor<1x2x3x5xf32>
// CHECK-NEXT: %[[V26:.*]] = arith.mulf %[[V22]], %[[V25]] : tensor<1x2x3x5xf32>
// CHECK-NEXT: %[[V27:.*]] = nn.reduce <sum> %[[V26]] dims [3] : tensor<1x2x3x5xf32> -> tensor<1x2x3xf32>
// CHECK-NEXT: %[[V28:.*]] = nn.broadcast %[[V27]] dims [0, 1, 2] : tensor<1x2x3xf32> -> tensor<1x2x3x5xf32>
// CHECK-NEXT: %[[V29:.*]] = arith.subf %[[V25]], %[[V28]] : tensor<1x2x3x5xf32>
// CHECK-NEXT: %[[V30:.*]] = arith.mulf %[[V22]], %[[V29]] : tensor<1x2x3x5xf32>
// CHECK-NEXT: %[[V31:.*]] = nn.reshape %[[V22]] : tensor<1x2x3x5xf32> -> tensor<1x1x6x5xf32>
// CHECK-NEXT: %[[V32:.*]] = nn.reshape %[[V3]] : tensor<1x2x3x4xf32> -> tensor<1x1x6x4xf32>
// CHECK-NEXT: %[[V33:.*]] = nn.matmul %[[V31]] transpose, %[[V32]] : tensor<1x1x6x5xf32>, tensor<1x1x6x4xf32> -> tensor<1x1x5x4xf32>
// CHECK-NEXT: %[[V34:.*]] = arith.constant dense<5.000000e-01> : tensor<1x2x3x5xf32>
// CHECK-NEXT: %[[V35:.*]] = arith.mulf %[[V30]], %[[V34]] : tensor<1x2x3x5xf32>
// CHECK-NEXT: %[[V36:.*]] = nn.reshape %[[V35]] : tensor<1x2x3x5xf32> -> tensor<1x1x6x5xf32>
// CHECK-NEXT: %[[V37:.*]] = nn.matmul %[[V36]], %[[K]] : tensor<1x1x6x5xf32>, tensor<1x1x5x4xf32> -> tensor<1x1x6x4xf32>
// CHECK-NEXT: %[[V38:.*]] = nn.reshape %[[V37]] : tensor<1x1x6x4xf32> -> tensor<1x2x3x4xf32>
// CHECK-NEXT: %[[V39:.*]] = nn.reshape %[[Q]] : tensor<1x2x3x4xf32> -> tensor<1x1x6x4xf32>
// CHECK-NEXT: %[[V40:.*]] = nn.matmul %[[V36]] transpose, %[[V39]] : tensor<1x1x6x5xf32>, tensor<1x1x6x4xf32> -> tensor<1x1x5x4xf32>
// CHECK-NEXT: return %[[V1]], %[[V38]], %[[V40]], %[[V33]] : tensor<f32>, tensor<1x2x3x4xf32>, tensor<1x1x5x4xf32>, tensor<1x1x5x4xf32>
