// What rules of matrix products build.
// RUN: spillway-opt %s -split-input-file -nn-differentiate | FileCheck %s

// Plain
zero.state @x "x" : tensor<2x3xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @y "y" : tensor<3x4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<2x3xf32>
  %y = zero.use @y : tensor<3x4xf32>
  %r = nn.matmul %x, %y : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x4xf32>
  %loss = nn.reduce <sum> %r dims [0, 1] : tensor<2x4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<2x3xf32>
// CHECK-NEXT: %[[Y:.*]] = zero.use @y : tensor<3x4xf32>
// CHECK-NEXT: %[[V0:.*]] = nn.matmul %[[X]], %[[Y]] : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0, 1] : tensor<2x4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<2x4xf32>
// CHECK-NEXT: %[[V4:.*]] = nn.matmul %[[V3]], %[[Y]] transpose : tensor<2x4xf32>, tensor<3x4xf32> -> tensor<2x3xf32>
// CHECK-NEXT: %[[V5:.*]] = nn.matmul %[[X]] transpose, %[[V3]] : tensor<2x3xf32>, tensor<2x4xf32> -> tensor<3x4xf32>
// CHECK-NEXT: return %[[V1]], %[[V4]], %[[V5]] : tensor<f32>, tensor<2x3xf32>, tensor<3x4xf32>

// -----

// Both transposed
zero.state @x "x" : tensor<3x2xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @y "y" : tensor<4x3xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<3x2xf32>
  %y = zero.use @y : tensor<4x3xf32>
  %r = nn.matmul %x transpose, %y transpose : tensor<3x2xf32>, tensor<4x3xf32> -> tensor<2x4xf32>
  %loss = nn.reduce <sum> %r dims [0, 1] : tensor<2x4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<3x2xf32>
// CHECK-NEXT: %[[Y:.*]] = zero.use @y : tensor<4x3xf32>
// CHECK-NEXT: %[[V0:.*]] = nn.matmul %[[X]] transpose, %[[Y]] transpose : tensor<3x2xf32>, tensor<4x3xf32> -> tensor<2x4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0, 1] : tensor<2x4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<2x4xf32>
// CHECK-NEXT: %[[V4:.*]] = nn.matmul %[[V3]], %[[Y]] : tensor<2x4xf32>, tensor<4x3xf32> -> tensor<2x3xf32>
// CHECK-NEXT: %[[V5:.*]] = nn.transpose %[[V4]] perm [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
// CHECK-NEXT: %[[V6:.*]] = nn.matmul %[[V3]] transpose, %[[X]] transpose : tensor<2x4xf32>, tensor<3x2xf32> -> tensor<4x3xf32>
// CHECK-NEXT: return %[[V1]], %[[V5]], %[[V6]] : tensor<f32>, tensor<3x2xf32>, tensor<4x3xf32>

// -----

// A matrix for all batches
zero.state @x "x" : tensor<5x2x3xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @y "y" : tensor<3x4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<5x2x3xf32>
  %y = zero.use @y : tensor<3x4xf32>
  %r = nn.matmul %x, %y : tensor<5x2x3xf32>, tensor<3x4xf32> -> tensor<5x2x4xf32>
  %loss = nn.reduce <sum> %r dims [0, 1, 2] : tensor<5x2x4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<5x2x3xf32>
// CHECK-NEXT: %[[Y:.*]] = zero.use @y : tensor<3x4xf32>
// CHECK-NEXT: %[[V0:.*]] = nn.matmul %[[X]], %[[Y]] : tensor<5x2x3xf32>, tensor<3x4xf32> -> tensor<5x2x4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0, 1, 2] : tensor<5x2x4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<5x2x4xf32>
// CHECK-NEXT: %[[V4:.*]] = nn.matmul %[[V3]], %[[Y]] transpose : tensor<5x2x4xf32>, tensor<3x4xf32> -> tensor<5x2x3xf32>
// CHECK-NEXT: %[[V5:.*]] = nn.reshape %[[X]] : tensor<5x2x3xf32> -> tensor<10x3xf32>
// CHECK-NEXT: %[[V6:.*]] = nn.reshape %[[V3]] : tensor<5x2x4xf32> -> tensor<10x4xf32>
// CHECK-NEXT: %[[V7:.*]] = nn.matmul %[[V5]] transpose, %[[V6]] : tensor<10x3xf32>, tensor<10x4xf32> -> tensor<3x4xf32>
// CHECK-NEXT: return %[[V1]], %[[V4]], %[[V7]] : tensor<f32>, tensor<5x2x3xf32>, tensor<3x4xf32>

// -----

// Batches
zero.state @x "x" : tensor<5x3x2xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @y "y" : tensor<5x3x4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<5x3x2xf32>
  %y = zero.use @y : tensor<5x3x4xf32>
  %r = nn.matmul %x transpose, %y : tensor<5x3x2xf32>, tensor<5x3x4xf32> -> tensor<5x2x4xf32>
  %loss = nn.reduce <sum> %r dims [0, 1, 2] : tensor<5x2x4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<5x3x2xf32>
// CHECK-NEXT: %[[Y:.*]] = zero.use @y : tensor<5x3x4xf32>
// CHECK-NEXT: %[[V0:.*]] = nn.matmul %[[X]] transpose, %[[Y]] : tensor<5x3x2xf32>, tensor<5x3x4xf32> -> tensor<5x2x4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0, 1, 2] : tensor<5x2x4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<5x2x4xf32>
// CHECK-NEXT: %[[V4:.*]] = nn.matmul %[[V3]], %[[Y]] transpose : tensor<5x2x4xf32>, tensor<5x3x4xf32> -> tensor<5x2x3xf32>
// CHECK-NEXT: %[[V5:.*]] = nn.transpose %[[V4]] perm [0, 2, 1] : tensor<5x2x3xf32> -> tensor<5x3x2xf32>
// CHECK-NEXT: %[[V6:.*]] = nn.matmul %[[X]], %[[V3]] : tensor<5x3x2xf32>, tensor<5x2x4xf32> -> tensor<5x3x4xf32>
// CHECK-NEXT: return %[[V1]], %[[V5]], %[[V6]] : tensor<f32>, tensor<5x3x2xf32>, tensor<5x3x4xf32>

// -----

// Operands that are stored in different types
zero.state @x "x" : tensor<2x3xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @y "y" : tensor<3x4xbf16> role(<parameter>) source(#zero.splat<1.0 : bf16>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<2x3xf32>
  %y = zero.use @y : tensor<3x4xbf16>
  %r = nn.matmul %x, %y : tensor<2x3xf32>, tensor<3x4xbf16> -> tensor<2x4xf32>
  %loss = nn.reduce <sum> %r dims [0, 1] : tensor<2x4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<2x3xf32>
// CHECK-NEXT: %[[Y:.*]] = zero.use @y : tensor<3x4xbf16>
// CHECK: %[[G:.*]] = nn.broadcast %{{.*}} dims [] : tensor<f32> -> tensor<2x4xf32>
// CHECK-NEXT: %[[WIDE:.*]] = arith.extf %[[Y]] : tensor<3x4xbf16> to tensor<3x4xf32>
// CHECK-NEXT: %[[DX:.*]] = nn.matmul %[[G]], %[[WIDE]] transpose : tensor<2x4xf32>, tensor<3x4xf32> -> tensor<2x3xf32>
// CHECK: %[[DY:.*]] = nn.matmul %[[X]] transpose, %[[G]] : tensor<2x3xf32>, tensor<2x4xf32> -> tensor<3x4xf32>
// CHECK-NEXT: %[[NARROW:.*]] = arith.truncf %[[DY]] : tensor<3x4xf32> to tensor<3x4xbf16>
// CHECK-NEXT: return %{{.*}}, %[[DX]], %[[NARROW]]
