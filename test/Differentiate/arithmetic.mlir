// What rules of arithmetic build; their values are tested in DerivativeTest.
// RUN: spillway-opt %s -split-input-file -nn-differentiate | FileCheck %s

// arith.addf
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @y "y" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %y = zero.use @y : tensor<4xf32>
  %r = arith.addf %x, %y : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[Y:.*]] = zero.use @y : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = arith.addf %[[X]], %[[Y]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: return %[[V1]], %[[V3]], %[[V3]] : tensor<f32>, tensor<4xf32>, tensor<4xf32>

// -----

// arith.subf
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @y "y" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %y = zero.use @y : tensor<4xf32>
  %r = arith.subf %x, %y : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[Y:.*]] = zero.use @y : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = arith.subf %[[X]], %[[Y]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V4:.*]] = arith.negf %[[V3]] : tensor<4xf32>
// CHECK-NEXT: return %[[V1]], %[[V3]], %[[V4]] : tensor<f32>, tensor<4xf32>, tensor<4xf32>

// -----

// arith.mulf
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @y "y" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %y = zero.use @y : tensor<4xf32>
  %r = arith.mulf %x, %y : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[Y:.*]] = zero.use @y : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = arith.mulf %[[X]], %[[Y]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V4:.*]] = arith.mulf %[[V3]], %[[Y]] : tensor<4xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.mulf %[[V3]], %[[X]] : tensor<4xf32>
// CHECK-NEXT: return %[[V1]], %[[V4]], %[[V5]] : tensor<f32>, tensor<4xf32>, tensor<4xf32>

// -----

// arith.divf
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @y "y" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %y = zero.use @y : tensor<4xf32>
  %r = arith.divf %x, %y : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[Y:.*]] = zero.use @y : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = arith.divf %[[X]], %[[Y]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V4:.*]] = arith.divf %[[V3]], %[[Y]] : tensor<4xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.mulf %[[V4]], %[[V0]] : tensor<4xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.negf %[[V5]] : tensor<4xf32>
// CHECK-NEXT: return %[[V1]], %[[V4]], %[[V6]] : tensor<f32>, tensor<4xf32>, tensor<4xf32>

// -----

// arith.remf
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @y "y" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %y = zero.use @y : tensor<4xf32>
  %r = arith.remf %x, %y : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[Y:.*]] = zero.use @y : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = arith.remf %[[X]], %[[Y]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V4:.*]] = arith.divf %[[X]], %[[Y]] : tensor<4xf32>
// CHECK-NEXT: %[[V5:.*]] = math.trunc %[[V4]] : tensor<4xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.mulf %[[V3]], %[[V5]] : tensor<4xf32>
// CHECK-NEXT: %[[V7:.*]] = arith.negf %[[V6]] : tensor<4xf32>
// CHECK-NEXT: return %[[V1]], %[[V3]], %[[V7]] : tensor<f32>, tensor<4xf32>, tensor<4xf32>

// -----

// arith.maximumf
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @y "y" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %y = zero.use @y : tensor<4xf32>
  %r = arith.maximumf %x, %y : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[Y:.*]] = zero.use @y : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = arith.maximumf %[[X]], %[[Y]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V4:.*]] = arith.constant dense<5.000000e-01> : tensor<4xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.mulf %[[V3]], %[[V4]] : tensor<4xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.cmpf oeq, %[[X]], %[[Y]] : tensor<4xf32>
// CHECK-NEXT: %[[V7:.*]] = arith.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[V8:.*]] = arith.select %[[V6]], %[[V5]], %[[V7]] : tensor<4xi1>, tensor<4xf32>
// CHECK-NEXT: %[[V9:.*]] = arith.cmpf ogt, %[[X]], %[[Y]] : tensor<4xf32>
// CHECK-NEXT: %[[V10:.*]] = arith.select %[[V9]], %[[V3]], %[[V8]] : tensor<4xi1>, tensor<4xf32>
// CHECK-NEXT: %[[V11:.*]] = arith.constant dense<5.000000e-01> : tensor<4xf32>
// CHECK-NEXT: %[[V12:.*]] = arith.mulf %[[V3]], %[[V11]] : tensor<4xf32>
// CHECK-NEXT: %[[V13:.*]] = arith.cmpf oeq, %[[Y]], %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V14:.*]] = arith.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[V15:.*]] = arith.select %[[V13]], %[[V12]], %[[V14]] : tensor<4xi1>, tensor<4xf32>
// CHECK-NEXT: %[[V16:.*]] = arith.cmpf ogt, %[[Y]], %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V17:.*]] = arith.select %[[V16]], %[[V3]], %[[V15]] : tensor<4xi1>, tensor<4xf32>
// CHECK-NEXT: return %[[V1]], %[[V10]], %[[V17]] : tensor<f32>, tensor<4xf32>, tensor<4xf32>

// -----

// arith.minimumf
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @y "y" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %y = zero.use @y : tensor<4xf32>
  %r = arith.minimumf %x, %y : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[Y:.*]] = zero.use @y : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = arith.minimumf %[[X]], %[[Y]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V4:.*]] = arith.constant dense<5.000000e-01> : tensor<4xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.mulf %[[V3]], %[[V4]] : tensor<4xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.cmpf oeq, %[[X]], %[[Y]] : tensor<4xf32>
// CHECK-NEXT: %[[V7:.*]] = arith.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[V8:.*]] = arith.select %[[V6]], %[[V5]], %[[V7]] : tensor<4xi1>, tensor<4xf32>
// CHECK-NEXT: %[[V9:.*]] = arith.cmpf olt, %[[X]], %[[Y]] : tensor<4xf32>
// CHECK-NEXT: %[[V10:.*]] = arith.select %[[V9]], %[[V3]], %[[V8]] : tensor<4xi1>, tensor<4xf32>
// CHECK-NEXT: %[[V11:.*]] = arith.constant dense<5.000000e-01> : tensor<4xf32>
// CHECK-NEXT: %[[V12:.*]] = arith.mulf %[[V3]], %[[V11]] : tensor<4xf32>
// CHECK-NEXT: %[[V13:.*]] = arith.cmpf oeq, %[[Y]], %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V14:.*]] = arith.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[V15:.*]] = arith.select %[[V13]], %[[V12]], %[[V14]] : tensor<4xi1>, tensor<4xf32>
// CHECK-NEXT: %[[V16:.*]] = arith.cmpf olt, %[[Y]], %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V17:.*]] = arith.select %[[V16]], %[[V3]], %[[V15]] : tensor<4xi1>, tensor<4xf32>
// CHECK-NEXT: return %[[V1]], %[[V10]], %[[V17]] : tensor<f32>, tensor<4xf32>, tensor<4xf32>

// -----

// arith.negf
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %r = arith.negf %x : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = arith.negf %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V4:.*]] = arith.negf %[[V3]] : tensor<4xf32>
// CHECK-NEXT: return %[[V1]], %[[V4]] : tensor<f32>, tensor<4xf32>

// -----

// A constant bound that is not zero passes equal values on.
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %c = arith.constant dense<1.0> : tensor<4xf32>
  %r = arith.minimumf %x, %c : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = arith.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = arith.minimumf %[[X]], %[[V0]] : tensor<4xf32>
// CHECK-NEXT: %[[V2:.*]] = nn.reduce <sum> %[[V1]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V4:.*]] = nn.broadcast %[[V3]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.cmpf oeq, %[[X]], %[[V0]] : tensor<4xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[V7:.*]] = arith.select %[[V5]], %[[V4]], %[[V6]] : tensor<4xi1>, tensor<4xf32>
// CHECK-NEXT: %[[V8:.*]] = arith.cmpf olt, %[[X]], %[[V0]] : tensor<4xf32>
// CHECK-NEXT: %[[V9:.*]] = arith.select %[[V8]], %[[V4]], %[[V7]] : tensor<4xi1>, tensor<4xf32>
// CHECK-NEXT: return %[[V2]], %[[V9]] : tensor<f32>, tensor<4xf32>

// -----

// arith.select
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @y "y" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %y = zero.use @y : tensor<4xf32>
  %c = arith.cmpf olt, %x, %y : tensor<4xf32>
  %r = arith.select %c, %x, %y : tensor<4xi1>, tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[Y:.*]] = zero.use @y : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = arith.cmpf olt, %[[X]], %[[Y]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = arith.select %[[V0]], %[[X]], %[[Y]] : tensor<4xi1>, tensor<4xf32>
// CHECK-NEXT: %[[V2:.*]] = nn.reduce <sum> %[[V1]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V4:.*]] = nn.broadcast %[[V3]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.select %[[V0]], %[[V4]], %[[V5]] : tensor<4xi1>, tensor<4xf32>
// CHECK-NEXT: %[[V7:.*]] = arith.select %[[V0]], %[[V5]], %[[V4]] : tensor<4xi1>, tensor<4xf32>
// CHECK-NEXT: return %[[V2]], %[[V6]], %[[V7]] : tensor<f32>, tensor<4xf32>, tensor<4xf32>

// -----

// Conversions
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %h = arith.truncf %x : tensor<4xf32> to tensor<4xbf16>
  %r = arith.extf %h : tensor<4xbf16> to tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = arith.truncf %[[X]] : tensor<4xf32> to tensor<4xbf16>
// CHECK-NEXT: %[[V1:.*]] = arith.extf %[[V0]] : tensor<4xbf16> to tensor<4xf32>
// CHECK-NEXT: %[[V2:.*]] = nn.reduce <sum> %[[V1]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V4:.*]] = nn.broadcast %[[V3]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.truncf %[[V4]] : tensor<4xf32> to tensor<4xbf16>
// CHECK-NEXT: %[[V6:.*]] = arith.extf %[[V5]] : tensor<4xbf16> to tensor<4xf32>
// CHECK-NEXT: return %[[V2]], %[[V6]] : tensor<f32>, tensor<4xf32>

// -----

// Only what depends on a state and what the loss depends on has a cotangent.
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @y "y" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %y = zero.use @y : tensor<4xf32>
  %c = arith.constant dense<2.0> : tensor<4xf32>
  %d = arith.mulf %c, %c : tensor<4xf32>
  %unused = arith.mulf %y, %y : tensor<4xf32>
  %r = arith.mulf %x, %d : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[Y:.*]] = zero.use @y : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = arith.constant dense<2.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = arith.mulf %[[V0]], %[[V0]] : tensor<4xf32>
// CHECK-NEXT: %[[V2:.*]] = arith.mulf %[[Y]], %[[Y]] : tensor<4xf32>
// CHECK-NEXT: %[[V3:.*]] = arith.mulf %[[X]], %[[V1]] : tensor<4xf32>
// CHECK-NEXT: %[[V4:.*]] = nn.reduce <sum> %[[V3]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V5:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V6:.*]] = nn.broadcast %[[V5]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V7:.*]] = arith.mulf %[[V6]], %[[V1]] : tensor<4xf32>
// CHECK-NEXT: return %[[V4]], %[[V7]] : tensor<f32>, tensor<4xf32>
