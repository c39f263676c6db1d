// What rules of reductions and scans build.
// RUN: spillway-opt %s -split-input-file -nn-differentiate | FileCheck %s

// nn.reduce <sum>
zero.state @x "x" : tensor<2x3xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<2x3xf32>
  %r = nn.reduce <sum> %x dims [1] : tensor<2x3xf32> -> tensor<2xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<2xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<2x3xf32>
// CHECK-NEXT: %[[V0:.*]] = nn.reduce <sum> %[[X]] dims [1] : tensor<2x3xf32> -> tensor<2xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<2xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<2xf32>
// CHECK-NEXT: %[[V4:.*]] = nn.broadcast %[[V3]] dims [0] : tensor<2xf32> -> tensor<2x3xf32>
// CHECK-NEXT: return %[[V1]], %[[V4]] : tensor<f32>, tensor<2x3xf32>

// -----

// nn.reduce <mean>
zero.state @x "x" : tensor<2x3xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<2x3xf32>
  %r = nn.reduce <mean> %x dims [1] : tensor<2x3xf32> -> tensor<2xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<2xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<2x3xf32>
// CHECK-NEXT: %[[V0:.*]] = nn.reduce <mean> %[[X]] dims [1] : tensor<2x3xf32> -> tensor<2xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<2xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<2xf32>
// CHECK-NEXT: %[[V4:.*]] = nn.broadcast %[[V3]] dims [0] : tensor<2xf32> -> tensor<2x3xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.constant dense<0.333333343> : tensor<2x3xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.mulf %[[V4]], %[[V5]] : tensor<2x3xf32>
// CHECK-NEXT: return %[[V1]], %[[V6]] : tensor<f32>, tensor<2x3xf32>

// -----

// nn.reduce <prod>
zero.state @x "x" : tensor<2x3xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<2x3xf32>
  %r = nn.reduce <prod> %x dims [1] : tensor<2x3xf32> -> tensor<2xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<2xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<2x3xf32>
// CHECK-NEXT: %[[V0:.*]] = nn.reduce <prod> %[[X]] dims [1] : tensor<2x3xf32> -> tensor<2xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<2xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<2xf32>
// CHECK-NEXT: %[[V4:.*]] = arith.constant dense<0.000000e+00> : tensor<2x3xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.cmpf oeq, %[[X]], %[[V4]] : tensor<2x3xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.constant dense<1.000000e+00> : tensor<2x3xf32>
// CHECK-NEXT: %[[V7:.*]] = arith.constant dense<0.000000e+00> : tensor<2x3xf32>
// CHECK-NEXT: %[[V8:.*]] = arith.select %[[V5]], %[[V6]], %[[V7]] : tensor<2x3xi1>, tensor<2x3xf32>
// CHECK-NEXT: %[[V9:.*]] = nn.reduce <sum> %[[V8]] dims [1] : tensor<2x3xf32> -> tensor<2xf32>
// CHECK-NEXT: %[[V10:.*]] = nn.broadcast %[[V9]] dims [0] : tensor<2xf32> -> tensor<2x3xf32>
// CHECK-NEXT: %[[V11:.*]] = arith.select %[[V5]], %[[V6]], %[[X]] : tensor<2x3xi1>, tensor<2x3xf32>
// CHECK-NEXT: %[[V12:.*]] = nn.reduce <prod> %[[V11]] dims [1] : tensor<2x3xf32> -> tensor<2xf32>
// CHECK-NEXT: %[[V13:.*]] = nn.broadcast %[[V12]] dims [0] : tensor<2xf32> -> tensor<2x3xf32>
// CHECK-NEXT: %[[V14:.*]] = arith.divf %[[V13]], %[[V11]] : tensor<2x3xf32>
// CHECK-NEXT: %[[V15:.*]] = arith.constant dense<0.000000e+00> : tensor<2x3xf32>
// CHECK-NEXT: %[[V16:.*]] = arith.select %[[V5]], %[[V6]], %[[V15]] : tensor<2x3xi1>, tensor<2x3xf32>
// CHECK-NEXT: %[[V17:.*]] = nn.broadcast %[[V3]] dims [0] : tensor<2xf32> -> tensor<2x3xf32>
// CHECK-NEXT: %[[V18:.*]] = arith.cmpf oeq, %[[V10]], %[[V16]] : tensor<2x3xf32>
// CHECK-NEXT: %[[V19:.*]] = arith.constant dense<0.000000e+00> : tensor<2x3xf32>
// CHECK-NEXT: %[[V20:.*]] = arith.select %[[V18]], %[[V14]], %[[V19]] : tensor<2x3xi1>, tensor<2x3xf32>
// CHECK-NEXT: %[[V21:.*]] = arith.mulf %[[V17]], %[[V20]] : tensor<2x3xf32>
// CHECK-NEXT: return %[[V1]], %[[V21]] : tensor<f32>, tensor<2x3xf32>

// -----

// nn.reduce <max>
zero.state @x "x" : tensor<2x3xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<2x3xf32>
  %r = nn.reduce <max> %x dims [1] : tensor<2x3xf32> -> tensor<2xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<2xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<2x3xf32>
// CHECK-NEXT: %[[V0:.*]] = nn.reduce <max> %[[X]] dims [1] : tensor<2x3xf32> -> tensor<2xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<2xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<2xf32>
// CHECK-NEXT: %[[V4:.*]] = nn.broadcast %[[V0]] dims [0] : tensor<2xf32> -> tensor<2x3xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.cmpf oeq, %[[X]], %[[V4]] : tensor<2x3xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.constant dense<1.000000e+00> : tensor<2x3xf32>
// CHECK-NEXT: %[[V7:.*]] = arith.constant dense<0.000000e+00> : tensor<2x3xf32>
// CHECK-NEXT: %[[V8:.*]] = arith.select %[[V5]], %[[V6]], %[[V7]] : tensor<2x3xi1>, tensor<2x3xf32>
// CHECK-NEXT: %[[V9:.*]] = nn.reduce <sum> %[[V8]] dims [1] : tensor<2x3xf32> -> tensor<2xf32>
// CHECK-NEXT: %[[V10:.*]] = arith.divf %[[V3]], %[[V9]] : tensor<2xf32>
// CHECK-NEXT: %[[V11:.*]] = nn.broadcast %[[V10]] dims [0] : tensor<2xf32> -> tensor<2x3xf32>
// CHECK-NEXT: %[[V12:.*]] = arith.constant dense<0.000000e+00> : tensor<2x3xf32>
// CHECK-NEXT: %[[V13:.*]] = arith.select %[[V5]], %[[V11]], %[[V12]] : tensor<2x3xi1>, tensor<2x3xf32>
// CHECK-NEXT: return %[[V1]], %[[V13]] : tensor<f32>, tensor<2x3xf32>

// -----

// nn.reduce <min>
zero.state @x "x" : tensor<2x3xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<2x3xf32>
  %r = nn.reduce <min> %x dims [1] : tensor<2x3xf32> -> tensor<2xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<2xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<2x3xf32>
// CHECK-NEXT: %[[V0:.*]] = nn.reduce <min> %[[X]] dims [1] : tensor<2x3xf32> -> tensor<2xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<2xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<2xf32>
// CHECK-NEXT: %[[V4:.*]] = nn.broadcast %[[V0]] dims [0] : tensor<2xf32> -> tensor<2x3xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.cmpf oeq, %[[X]], %[[V4]] : tensor<2x3xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.constant dense<1.000000e+00> : tensor<2x3xf32>
// CHECK-NEXT: %[[V7:.*]] = arith.constant dense<0.000000e+00> : tensor<2x3xf32>
// CHECK-NEXT: %[[V8:.*]] = arith.select %[[V5]], %[[V6]], %[[V7]] : tensor<2x3xi1>, tensor<2x3xf32>
// CHECK-NEXT: %[[V9:.*]] = nn.reduce <sum> %[[V8]] dims [1] : tensor<2x3xf32> -> tensor<2xf32>
// CHECK-NEXT: %[[V10:.*]] = arith.divf %[[V3]], %[[V9]] : tensor<2xf32>
// CHECK-NEXT: %[[V11:.*]] = nn.broadcast %[[V10]] dims [0] : tensor<2xf32> -> tensor<2x3xf32>
// CHECK-NEXT: %[[V12:.*]] = arith.constant dense<0.000000e+00> : tensor<2x3xf32>
// CHECK-NEXT: %[[V13:.*]] = arith.select %[[V5]], %[[V11]], %[[V12]] : tensor<2x3xi1>, tensor<2x3xf32>
// CHECK-NEXT: return %[[V1]], %[[V13]] : tensor<f32>, tensor<2x3xf32>

// -----

// nn.reduce <sum_square>
zero.state @x "x" : tensor<2x3xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<2x3xf32>
  %r = nn.reduce <sum_square> %x dims [1] : tensor<2x3xf32> -> tensor<2xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<2xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<2x3xf32>
// CHECK-NEXT: %[[V0:.*]] = nn.reduce <sum_square> %[[X]] dims [1] : tensor<2x3xf32> -> tensor<2xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<2xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<2xf32>
// CHECK-NEXT: %[[V4:.*]] = nn.broadcast %[[V3]] dims [0] : tensor<2xf32> -> tensor<2x3xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.constant dense<2.000000e+00> : tensor<2x3xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.mulf %[[X]], %[[V5]] : tensor<2x3xf32>
// CHECK-NEXT: %[[V7:.*]] = arith.mulf %[[V4]], %[[V6]] : tensor<2x3xf32>
// CHECK-NEXT: return %[[V1]], %[[V7]] : tensor<f32>, tensor<2x3xf32>

// -----

// nn.reduce <l1>
zero.state @x "x" : tensor<2x3xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<2x3xf32>
  %r = nn.reduce <l1> %x dims [1] : tensor<2x3xf32> -> tensor<2xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<2xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<2x3xf32>
// CHECK-NEXT: %[[V0:.*]] = nn.reduce <l1> %[[X]] dims [1] : tensor<2x3xf32> -> tensor<2xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<2xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<2xf32>
// CHECK-NEXT: %[[V4:.*]] = nn.broadcast %[[V3]] dims [0] : tensor<2xf32> -> tensor<2x3xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.constant dense<0.000000e+00> : tensor<2x3xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.cmpf olt, %[[X]], %[[V5]] : tensor<2x3xf32>
// CHECK-NEXT: %[[V7:.*]] = arith.constant dense<-1.000000e+00> : tensor<2x3xf32>
// CHECK-NEXT: %[[V8:.*]] = arith.constant dense<0.000000e+00> : tensor<2x3xf32>
// CHECK-NEXT: %[[V9:.*]] = arith.select %[[V6]], %[[V7]], %[[V8]] : tensor<2x3xi1>, tensor<2x3xf32>
// CHECK-NEXT: %[[V10:.*]] = arith.cmpf ogt, %[[X]], %[[V5]] : tensor<2x3xf32>
// CHECK-NEXT: %[[V11:.*]] = arith.constant dense<1.000000e+00> : tensor<2x3xf32>
// CHECK-NEXT: %[[V12:.*]] = arith.select %[[V10]], %[[V11]], %[[V9]] : tensor<2x3xi1>, tensor<2x3xf32>
// CHECK-NEXT: %[[V13:.*]] = arith.mulf %[[V4]], %[[V12]] : tensor<2x3xf32>
// CHECK-NEXT: return %[[V1]], %[[V13]] : tensor<f32>, tensor<2x3xf32>

// -----

// nn.reduce <l2>
zero.state @x "x" : tensor<2x3xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<2x3xf32>
  %r = nn.reduce <l2> %x dims [1] : tensor<2x3xf32> -> tensor<2xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<2xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<2x3xf32>
// CHECK-NEXT: %[[V0:.*]] = nn.reduce <l2> %[[X]] dims [1] : tensor<2x3xf32> -> tensor<2xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<2xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<2xf32>
// CHECK-NEXT: %[[V4:.*]] = arith.constant dense<0.000000e+00> : tensor<2xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.cmpf oeq, %[[V0]], %[[V4]] : tensor<2xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.constant dense<0.000000e+00> : tensor<2xf32>
// CHECK-NEXT: %[[V7:.*]] = arith.divf %[[V3]], %[[V0]] : tensor<2xf32>
// CHECK-NEXT: %[[V8:.*]] = arith.select %[[V5]], %[[V6]], %[[V7]] : tensor<2xi1>, tensor<2xf32>
// CHECK-NEXT: %[[V9:.*]] = nn.broadcast %[[V8]] dims [0] : tensor<2xf32> -> tensor<2x3xf32>
// CHECK-NEXT: %[[V10:.*]] = arith.mulf %[[V9]], %[[X]] : tensor<2x3xf32>
// CHECK-NEXT: return %[[V1]], %[[V10]] : tensor<f32>, tensor<2x3xf32>

// -----

// nn.reduce <log_sum>
zero.state @x "x" : tensor<2x3xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<2x3xf32>
  %r = nn.reduce <log_sum> %x dims [1] : tensor<2x3xf32> -> tensor<2xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<2xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<2x3xf32>
// CHECK-NEXT: %[[V0:.*]] = nn.reduce <log_sum> %[[X]] dims [1] : tensor<2x3xf32> -> tensor<2xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<2xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<2xf32>
// CHECK-NEXT: %[[V4:.*]] = math.exp %[[V0]] : tensor<2xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.divf %[[V3]], %[[V4]] : tensor<2xf32>
// CHECK-NEXT: %[[V6:.*]] = nn.broadcast %[[V5]] dims [0] : tensor<2xf32> -> tensor<2x3xf32>
// CHECK-NEXT: return %[[V1]], %[[V6]] : tensor<f32>, tensor<2x3xf32>

// -----

// nn.reduce <log_sum_exp>
zero.state @x "x" : tensor<2x3xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<2x3xf32>
  %r = nn.reduce <log_sum_exp> %x dims [1] : tensor<2x3xf32> -> tensor<2xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<2xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<2x3xf32>
// CHECK-NEXT: %[[V0:.*]] = nn.reduce <log_sum_exp> %[[X]] dims [1] : tensor<2x3xf32> -> tensor<2xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<2xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<2xf32>
// CHECK-NEXT: %[[V4:.*]] = nn.broadcast %[[V3]] dims [0] : tensor<2xf32> -> tensor<2x3xf32>
// CHECK-NEXT: %[[V5:.*]] = nn.broadcast %[[V0]] dims [0] : tensor<2xf32> -> tensor<2x3xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.subf %[[X]], %[[V5]] : tensor<2x3xf32>
// CHECK-NEXT: %[[V7:.*]] = math.exp %[[V6]] : tensor<2x3xf32>
// CHECK-NEXT: %[[V8:.*]] = arith.mulf %[[V4]], %[[V7]] : tensor<2x3xf32>
// CHECK-NEXT: return %[[V1]], %[[V8]] : tensor<f32>, tensor<2x3xf32>

// -----

// nn.softmax
zero.state @x "x" : tensor<2x3xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<2x3xf32>
  %r = nn.softmax %x dim 1 : tensor<2x3xf32>
  %loss = nn.reduce <sum> %r dims [0, 1] : tensor<2x3xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<2x3xf32>
// CHECK-NEXT: %[[V0:.*]] = nn.softmax %[[X]] dim 1 : tensor<2x3xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0, 1] : tensor<2x3xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<2x3xf32>
// CHECK-NEXT: %[[V4:.*]] = arith.mulf %[[V3]], %[[V0]] : tensor<2x3xf32>
// CHECK-NEXT: %[[V5:.*]] = nn.reduce <sum> %[[V4]] dims [1] : tensor<2x3xf32> -> tensor<2xf32>
// CHECK-NEXT: %[[V6:.*]] = nn.broadcast %[[V5]] dims [0] : tensor<2xf32> -> tensor<2x3xf32>
// CHECK-NEXT: %[[V7:.*]] = arith.subf %[[V3]], %[[V6]] : tensor<2x3xf32>
// CHECK-NEXT: %[[V8:.*]] = arith.mulf %[[V0]], %[[V7]] : tensor<2x3xf32>
// CHECK-NEXT: return %[[V1]], %[[V8]] : tensor<f32>, tensor<2x3xf32>

// -----

// nn.log_softmax
zero.state @x "x" : tensor<2x3xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<2x3xf32>
  %r = nn.log_softmax %x dim 1 : tensor<2x3xf32>
  %loss = nn.reduce <sum> %r dims [0, 1] : tensor<2x3xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<2x3xf32>
// CHECK-NEXT: %[[V0:.*]] = nn.log_softmax %[[X]] dim 1 : tensor<2x3xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0, 1] : tensor<2x3xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<2x3xf32>
// CHECK-NEXT: %[[V4:.*]] = math.exp %[[V0]] : tensor<2x3xf32>
// CHECK-NEXT: %[[V5:.*]] = nn.reduce <sum> %[[V3]] dims [1] : tensor<2x3xf32> -> tensor<2xf32>
// CHECK-NEXT: %[[V6:.*]] = nn.broadcast %[[V5]] dims [0] : tensor<2xf32> -> tensor<2x3xf32>
// CHECK-NEXT: %[[V7:.*]] = arith.mulf %[[V4]], %[[V6]] : tensor<2x3xf32>
// CHECK-NEXT: %[[V8:.*]] = arith.subf %[[V3]], %[[V7]] : tensor<2x3xf32>
// CHECK-NEXT: return %[[V1]], %[[V8]] : tensor<f32>, tensor<2x3xf32>

// -----

// nn.cumsum
zero.state @x "x" : tensor<2x3xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<2x3xf32>
  %r = nn.cumsum %x dim 1 : tensor<2x3xf32>
  %loss = nn.reduce <sum> %r dims [0, 1] : tensor<2x3xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<2x3xf32>
// CHECK-NEXT: %[[V0:.*]] = nn.cumsum %[[X]] dim 1 : tensor<2x3xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0, 1] : tensor<2x3xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<2x3xf32>
// CHECK-NEXT: %[[V4:.*]] = nn.cumsum %[[V3]] dim 1 reverse : tensor<2x3xf32>
// CHECK-NEXT: return %[[V1]], %[[V4]] : tensor<f32>, tensor<2x3xf32>
