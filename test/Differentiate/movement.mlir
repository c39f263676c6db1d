// What rules of movement build.
// RUN: spillway-opt %s -split-input-file -nn-differentiate | FileCheck %s

// nn.reshape
zero.state @x "x" : tensor<2x3xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<2x3xf32>
  %r = nn.reshape %x : tensor<2x3xf32> -> tensor<6xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<6xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<2x3xf32>
// CHECK-NEXT: %[[V0:.*]] = nn.reshape %[[X]] : tensor<2x3xf32> -> tensor<6xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<6xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<6xf32>
// CHECK-NEXT: %[[V4:.*]] = nn.reshape %[[V3]] : tensor<6xf32> -> tensor<2x3xf32>
// CHECK-NEXT: return %[[V1]], %[[V4]] : tensor<f32>, tensor<2x3xf32>

// -----

// nn.broadcast
zero.state @x "x" : tensor<1x3xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<1x3xf32>
  %r = nn.broadcast %x dims [0, 2] : tensor<1x3xf32> -> tensor<2x4x3xf32>
  %loss = nn.reduce <sum> %r dims [0, 1, 2] : tensor<2x4x3xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<1x3xf32>
// CHECK-NEXT: %[[V0:.*]] = nn.broadcast %[[X]] dims [0, 2] : tensor<1x3xf32> -> tensor<2x4x3xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0, 1, 2] : tensor<2x4x3xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<2x4x3xf32>
// CHECK-NEXT: %[[V4:.*]] = nn.reduce <sum> %[[V3]] dims [0, 1] : tensor<2x4x3xf32> -> tensor<3xf32>
// CHECK-NEXT: %[[V5:.*]] = nn.reshape %[[V4]] : tensor<3xf32> -> tensor<1x3xf32>
// CHECK-NEXT: return %[[V1]], %[[V5]] : tensor<f32>, tensor<1x3xf32>

// -----

// nn.transpose
zero.state @x "x" : tensor<2x3x4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<2x3x4xf32>
  %r = nn.transpose %x perm [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
  %loss = nn.reduce <sum> %r dims [0, 1, 2] : tensor<4x2x3xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<2x3x4xf32>
// CHECK-NEXT: %[[V0:.*]] = nn.transpose %[[X]] perm [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0, 1, 2] : tensor<4x2x3xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4x2x3xf32>
// CHECK-NEXT: %[[V4:.*]] = nn.transpose %[[V3]] perm [1, 2, 0] : tensor<4x2x3xf32> -> tensor<2x3x4xf32>
// CHECK-NEXT: return %[[V1]], %[[V4]] : tensor<f32>, tensor<2x3x4xf32>

// -----

// nn.slice
zero.state @x "x" : tensor<4x3xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4x3xf32>
  %r = nn.slice %x offsets [1, 0] strides [1, 1] : tensor<4x3xf32> -> tensor<2x3xf32>
  %loss = nn.reduce <sum> %r dims [0, 1] : tensor<2x3xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4x3xf32>
// CHECK-NEXT: %[[V0:.*]] = nn.slice %[[X]] offsets [1, 0] strides [1, 1] : tensor<4x3xf32> -> tensor<2x3xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0, 1] : tensor<2x3xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<2x3xf32>
// CHECK-NEXT: %[[V4:.*]] = arith.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V5:.*]] = nn.pad <constant> %[[V3]] value %[[V4]] : tensor<f32> low [1, 0] : tensor<2x3xf32> -> tensor<4x3xf32>
// CHECK-NEXT: return %[[V1]], %[[V5]] : tensor<f32>, tensor<4x3xf32>

// -----

// nn.slice, backwards with a stride
zero.state @x "x" : tensor<7xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<7xf32>
  %r = nn.slice %x offsets [5] strides [-2] : tensor<7xf32> -> tensor<3xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<3xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<7xf32>
// CHECK-NEXT: %[[V0:.*]] = nn.slice %[[X]] offsets [5] strides [-2] : tensor<7xf32> -> tensor<3xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<3xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<3xf32>
// CHECK-NEXT: %[[V4:.*]] = nn.slice %[[V3]] offsets [2] strides [-1] : tensor<3xf32> -> tensor<3xf32>
// CHECK-NEXT: %[[V5:.*]] = nn.reshape %[[V4]] : tensor<3xf32> -> tensor<3x1xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V7:.*]] = nn.pad <constant> %[[V5]] value %[[V6]] : tensor<f32> low [0, 0] : tensor<3x1xf32> -> tensor<3x2xf32>
// CHECK-NEXT: %[[V8:.*]] = nn.reshape %[[V7]] : tensor<3x2xf32> -> tensor<6xf32>
// CHECK-NEXT: %[[V9:.*]] = arith.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V10:.*]] = nn.pad <constant> %[[V8]] value %[[V9]] : tensor<f32> low [1] : tensor<6xf32> -> tensor<7xf32>
// CHECK-NEXT: return %[[V1]], %[[V10]] : tensor<f32>, tensor<7xf32>

// -----

// nn.concat
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @y "y" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %y = zero.use @y : tensor<4xf32>
  %r = nn.concat %x, %y dim 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[Y:.*]] = zero.use @y : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = nn.concat %[[X]], %[[Y]] dim 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<8xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<8xf32>
// CHECK-NEXT: %[[V4:.*]] = nn.slice %[[V3]] offsets [0] strides [1] : tensor<8xf32> -> tensor<4xf32>
// CHECK-NEXT: %[[V5:.*]] = nn.slice %[[V3]] offsets [4] strides [1] : tensor<8xf32> -> tensor<4xf32>
// CHECK-NEXT: return %[[V1]], %[[V4]], %[[V5]] : tensor<f32>, tensor<4xf32>, tensor<4xf32>

// -----

// nn.pad
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @v "v" : tensor<f32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %v = zero.use @v : tensor<f32>
  %r = nn.pad <constant> %x value %v : tensor<f32> low [2] : tensor<4xf32> -> tensor<7xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<7xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[V:.*]] = zero.use @v : tensor<f32>
// CHECK-NEXT: %[[V0:.*]] = nn.pad <constant> %[[X]] value %[[V]] : tensor<f32> low [2] : tensor<4xf32> -> tensor<7xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<7xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<7xf32>
// CHECK-NEXT: %[[V4:.*]] = arith.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V5:.*]] = nn.pad <constant> %[[V3]] value %[[V4]] : tensor<f32> low [-2] : tensor<7xf32> -> tensor<4xf32>
// CHECK-NEXT: %[[V6:.*]] = nn.reduce <sum> %[[V3]] dims [0] : tensor<7xf32> -> tensor<f32>
// CHECK-NEXT: %[[V7:.*]] = nn.reduce <sum> %[[V5]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V8:.*]] = arith.subf %[[V6]], %[[V7]] : tensor<f32>
// CHECK-NEXT: return %[[V1]], %[[V5]], %[[V8]] : tensor<f32>, tensor<4xf32>, tensor<f32>

// -----

// nn.pad, reflected
zero.state @x "x" : tensor<3xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<3xf32>
  %r = nn.pad <reflect> %x low [1] : tensor<3xf32> -> tensor<5xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<5xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<3xf32>
// CHECK-NEXT: %[[V0:.*]] = nn.pad <reflect> %[[X]] low [1] : tensor<3xf32> -> tensor<5xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<5xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<5xf32>
// CHECK-NEXT: %[[V4:.*]] = nn.slice %[[V3]] offsets [0] strides [1] : tensor<5xf32> -> tensor<2xf32>
// CHECK-NEXT: %[[V5:.*]] = nn.slice %[[V4]] offsets [1] strides [-1] : tensor<2xf32> -> tensor<2xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V7:.*]] = nn.pad <constant> %[[V5]] value %[[V6]] : tensor<f32> low [0] : tensor<2xf32> -> tensor<3xf32>
// CHECK-NEXT: %[[V8:.*]] = nn.slice %[[V3]] offsets [2] strides [1] : tensor<5xf32> -> tensor<2xf32>
// CHECK-NEXT: %[[V9:.*]] = arith.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V10:.*]] = nn.pad <constant> %[[V8]] value %[[V9]] : tensor<f32> low [1] : tensor<2xf32> -> tensor<3xf32>
// CHECK-NEXT: %[[V11:.*]] = arith.addf %[[V7]], %[[V10]] : tensor<3xf32>
// CHECK-NEXT: %[[V12:.*]] = nn.slice %[[V3]] offsets [4] strides [1] : tensor<5xf32> -> tensor<1xf32>
// CHECK-NEXT: %[[V13:.*]] = arith.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V14:.*]] = nn.pad <constant> %[[V12]] value %[[V13]] : tensor<f32> low [1] : tensor<1xf32> -> tensor<3xf32>
// CHECK-NEXT: %[[V15:.*]] = arith.addf %[[V11]], %[[V14]] : tensor<3xf32>
// CHECK-NEXT: return %[[V1]], %[[V15]] : tensor<f32>, tensor<3xf32>

// -----

// nn.pad, edges
zero.state @x "x" : tensor<3xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<3xf32>
  %r = nn.pad <edge> %x low [2] : tensor<3xf32> -> tensor<6xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<6xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<3xf32>
// CHECK-NEXT: %[[V0:.*]] = nn.pad <edge> %[[X]] low [2] : tensor<3xf32> -> tensor<6xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<6xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<6xf32>
// CHECK-NEXT: %[[V4:.*]] = nn.slice %[[V3]] offsets [0] strides [1] : tensor<6xf32> -> tensor<3xf32>
// CHECK-NEXT: %[[V5:.*]] = nn.reduce <sum> %[[V4]] dims [0] : tensor<3xf32> -> tensor<f32>
// CHECK-NEXT: %[[V6:.*]] = nn.reshape %[[V5]] : tensor<f32> -> tensor<1xf32>
// CHECK-NEXT: %[[V7:.*]] = arith.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V8:.*]] = nn.pad <constant> %[[V6]] value %[[V7]] : tensor<f32> low [0] : tensor<1xf32> -> tensor<3xf32>
// CHECK-NEXT: %[[V9:.*]] = nn.slice %[[V3]] offsets [3] strides [1] : tensor<6xf32> -> tensor<2xf32>
// CHECK-NEXT: %[[V10:.*]] = arith.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V11:.*]] = nn.pad <constant> %[[V9]] value %[[V10]] : tensor<f32> low [1] : tensor<2xf32> -> tensor<3xf32>
// CHECK-NEXT: %[[V12:.*]] = arith.addf %[[V8]], %[[V11]] : tensor<3xf32>
// CHECK-NEXT: %[[V13:.*]] = nn.slice %[[V3]] offsets [5] strides [1] : tensor<6xf32> -> tensor<1xf32>
// CHECK-NEXT: %[[V14:.*]] = arith.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V15:.*]] = nn.pad <constant> %[[V13]] value %[[V14]] : tensor<f32> low [2] : tensor<1xf32> -> tensor<3xf32>
// CHECK-NEXT: %[[V16:.*]] = arith.addf %[[V12]], %[[V15]] : tensor<3xf32>
// CHECK-NEXT: return %[[V1]], %[[V16]] : tensor<f32>, tensor<3xf32>
