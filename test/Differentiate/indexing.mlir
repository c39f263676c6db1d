// What rules of gathers and scatters build.
// RUN: spillway-opt %s -split-input-file -nn-differentiate | FileCheck %s

// nn.gather
zero.state @x "x" : tensor<3x4x2xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<3x4x2xf32>
  %r = nn.gather %x[%i] dim 1 : tensor<3x4x2xf32>, tensor<2xi64> -> tensor<3x2x2xf32>
  %loss = nn.reduce <sum> %r dims [0, 1, 2] : tensor<3x2x2xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<3x4x2xf32>
// CHECK-NEXT: %[[V0:.*]] = nn.gather %[[X]][%{{.*}}] dim 1 : tensor<3x4x2xf32>, tensor<2xi64> -> tensor<3x2x2xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0, 1, 2] : tensor<3x2x2xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<3x2x2xf32>
// CHECK-NEXT: %[[V4:.*]] = nn.transpose %[[V3]] perm [1, 0, 2] : tensor<3x2x2xf32> -> tensor<2x3x2xf32>
// CHECK-NEXT: %[[V5:.*]] = nn.reshape %{{.*}} : tensor<2xi64> -> tensor<2x1xi64>
// CHECK-NEXT: %[[V6:.*]] = arith.constant dense<0.000000e+00> : tensor<4x3x2xf32>
// CHECK-NEXT: %[[V7:.*]] = nn.scatter <add> %[[V6]][%[[V5]]] %[[V4]] : tensor<4x3x2xf32>, tensor<2x1xi64>, tensor<2x3x2xf32>
// CHECK-NEXT: %[[V8:.*]] = nn.transpose %[[V7]] perm [1, 0, 2] : tensor<4x3x2xf32> -> tensor<3x4x2xf32>
// CHECK-NEXT: return %[[V1]], %[[V8]] : tensor<f32>, tensor<3x4x2xf32>

// -----

// nn.gather_elements
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %r = nn.gather_elements %x[%i] dim 0 : tensor<4xf32>, tensor<2xi64> -> tensor<2xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<2xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = nn.gather_elements %[[X]][%{{.*}}] dim 0 : tensor<4xf32>, tensor<2xi64> -> tensor<2xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<2xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<2xf32>
// CHECK-NEXT: %[[V4:.*]] = nn.reshape %{{.*}} : tensor<2xi64> -> tensor<2x1xi64>
// CHECK-NEXT: %[[V6:.*]] = arith.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[V7:.*]] = nn.scatter <add> %[[V6]][%[[V4]]] %[[V3]] : tensor<4xf32>, tensor<2x1xi64>, tensor<2xf32>
// CHECK-NEXT: return %[[V1]], %[[V7]] : tensor<f32>, tensor<4xf32>

// -----

// nn.gather_nd
zero.state @x "x" : tensor<3x4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<3x4xf32>
  %r = nn.gather_nd %x[%i] batch_dims 0 : tensor<3x4xf32>, tensor<2xi64> -> tensor<f32>
  %loss = nn.reduce <sum> %r dims [] : tensor<f32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<3x4xf32>
// CHECK-NEXT: %[[V0:.*]] = nn.gather_nd %[[X]][%{{.*}}] batch_dims 0 : tensor<3x4xf32>, tensor<2xi64> -> tensor<f32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [] : tensor<f32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<f32>
// CHECK-NEXT: %[[V4:.*]] = arith.constant dense<0.000000e+00> : tensor<3x4xf32>
// CHECK-NEXT: %[[V5:.*]] = nn.scatter <add> %[[V4]][%{{.*}}] %[[V3]] : tensor<3x4xf32>, tensor<2xi64>, tensor<f32>
// CHECK-NEXT: return %[[V1]], %[[V5]] : tensor<f32>, tensor<3x4xf32>

// -----

// nn.scatter
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @u "u" : tensor<2xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %u = zero.use @u : tensor<2xf32>
  %j = nn.reshape %i : tensor<2xi64> -> tensor<2x1xi64>
  %r = nn.scatter <add> %x[%j] %u : tensor<4xf32>, tensor<2x1xi64>, tensor<2xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[U:.*]] = zero.use @u : tensor<2xf32>
// CHECK-NEXT: %[[V0:.*]] = nn.reshape %{{.*}} : tensor<2xi64> -> tensor<2x1xi64>
// CHECK-NEXT: %[[V1:.*]] = nn.scatter <add> %[[X]][%[[V0]]] %[[U]] : tensor<4xf32>, tensor<2x1xi64>, tensor<2xf32>
// CHECK-NEXT: %[[V2:.*]] = nn.reduce <sum> %[[V1]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V4:.*]] = nn.broadcast %[[V3]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V5:.*]] = nn.gather_nd %[[V4]][%[[V0]]] batch_dims 0 : tensor<4xf32>, tensor<2x1xi64> -> tensor<2xf32>
// CHECK-NEXT: return %[[V2]], %[[V4]], %[[V5]] : tensor<f32>, tensor<4xf32>, tensor<2xf32>

// -----

// nn.scatter that replaces
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @u "u" : tensor<2xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %u = zero.use @u : tensor<2xf32>
  %j = nn.reshape %i : tensor<2xi64> -> tensor<2x1xi64>
  %r = nn.scatter <replace> %x[%j] %u : tensor<4xf32>, tensor<2x1xi64>, tensor<2xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[U:.*]] = zero.use @u : tensor<2xf32>
// CHECK-NEXT: %[[V0:.*]] = nn.reshape %{{.*}} : tensor<2xi64> -> tensor<2x1xi64>
// CHECK-NEXT: %[[V1:.*]] = nn.scatter <replace> %[[X]][%[[V0]]] %[[U]] : tensor<4xf32>, tensor<2x1xi64>, tensor<2xf32>
// CHECK-NEXT: %[[V2:.*]] = nn.reduce <sum> %[[V1]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V4:.*]] = nn.broadcast %[[V3]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V5:.*]] = nn.gather_nd %[[V4]][%[[V0]]] batch_dims 0 : tensor<4xf32>, tensor<2x1xi64> -> tensor<2xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.constant dense<0.000000e+00> : tensor<2xf32>
// CHECK-NEXT: %[[V7:.*]] = nn.scatter <replace> %[[V4]][%[[V0]]] %[[V6]] : tensor<4xf32>, tensor<2x1xi64>, tensor<2xf32>
// CHECK-NEXT: return %[[V2]], %[[V7]], %[[V5]] : tensor<f32>, tensor<4xf32>, tensor<2xf32>

// -----

// A state that is read whole and by rows
zero.state @x "x" : tensor<3x4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<3x4xf32>
  %a = zero.lookup @x[%i] : tensor<2xi64> -> tensor<2x4xf32>
  %r = nn.matmul %a, %x transpose : tensor<2x4xf32>, tensor<3x4xf32> -> tensor<2x3xf32>
  %loss = nn.reduce <sum> %r dims [0, 1] : tensor<2x3xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<3x4xf32>
// CHECK-NEXT: %[[V0:.*]] = zero.lookup @x[%{{.*}}] : tensor<2xi64> -> tensor<2x4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.matmul %[[V0]], %[[X]] transpose : tensor<2x4xf32>, tensor<3x4xf32> -> tensor<2x3xf32>
// CHECK-NEXT: %[[V2:.*]] = nn.reduce <sum> %[[V1]] dims [0, 1] : tensor<2x3xf32> -> tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V4:.*]] = nn.broadcast %[[V3]] dims [] : tensor<f32> -> tensor<2x3xf32>
// CHECK-NEXT: %[[V5:.*]] = nn.matmul %[[V4]], %[[X]] : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x4xf32>
// CHECK-NEXT: %[[V6:.*]] = nn.matmul %[[V4]] transpose, %[[V0]] : tensor<2x3xf32>, tensor<2x4xf32> -> tensor<3x4xf32>
// CHECK-NEXT: %[[V7:.*]] = nn.reshape %{{.*}} : tensor<2xi64> -> tensor<2x1xi64>
// CHECK-NEXT: %[[V8:.*]] = arith.constant dense<0.000000e+00> : tensor<3x4xf32>
// CHECK-NEXT: %[[V9:.*]] = nn.scatter <add> %[[V8]][%[[V7]]] %[[V5]] : tensor<3x4xf32>, tensor<2x1xi64>, tensor<2x4xf32>
// CHECK-NEXT: %[[V10:.*]] = nn.scatter <add> %[[V6]][%[[V7]]] %[[V5]] : tensor<3x4xf32>, tensor<2x1xi64>, tensor<2x4xf32>
// CHECK-NEXT: return %[[V2]], %[[V10]] : tensor<f32>, tensor<3x4xf32>
