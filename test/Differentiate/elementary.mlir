// What rules of elementary functions build.
// RUN: spillway-opt %s -split-input-file -nn-differentiate | FileCheck %s

// math.exp
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %r = math.exp %x : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = math.exp %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V4:.*]] = arith.mulf %[[V3]], %[[V0]] : tensor<4xf32>
// CHECK-NEXT: return %[[V1]], %[[V4]] : tensor<f32>, tensor<4xf32>

// -----

// math.exp2
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %r = math.exp2 %x : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = math.exp2 %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V4:.*]] = arith.constant dense<0.693147182> : tensor<4xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.mulf %[[V0]], %[[V4]] : tensor<4xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.mulf %[[V3]], %[[V5]] : tensor<4xf32>
// CHECK-NEXT: return %[[V1]], %[[V6]] : tensor<f32>, tensor<4xf32>

// -----

// math.expm1
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %r = math.expm1 %x : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = math.expm1 %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V4:.*]] = arith.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.addf %[[V0]], %[[V4]] : tensor<4xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.mulf %[[V3]], %[[V5]] : tensor<4xf32>
// CHECK-NEXT: return %[[V1]], %[[V6]] : tensor<f32>, tensor<4xf32>

// -----

// math.log
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %r = math.log %x : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = math.log %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V4:.*]] = arith.divf %[[V3]], %[[X]] : tensor<4xf32>
// CHECK-NEXT: return %[[V1]], %[[V4]] : tensor<f32>, tensor<4xf32>

// -----

// math.log1p
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %r = math.log1p %x : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = math.log1p %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V4:.*]] = arith.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.addf %[[X]], %[[V4]] : tensor<4xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.divf %[[V3]], %[[V5]] : tensor<4xf32>
// CHECK-NEXT: return %[[V1]], %[[V6]] : tensor<f32>, tensor<4xf32>

// -----

// math.log2
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %r = math.log2 %x : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = math.log2 %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V4:.*]] = arith.constant dense<0.693147182> : tensor<4xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.mulf %[[X]], %[[V4]] : tensor<4xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.divf %[[V3]], %[[V5]] : tensor<4xf32>
// CHECK-NEXT: return %[[V1]], %[[V6]] : tensor<f32>, tensor<4xf32>

// -----

// math.log10
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %r = math.log10 %x : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = math.log10 %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V4:.*]] = arith.constant dense<2.30258512> : tensor<4xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.mulf %[[X]], %[[V4]] : tensor<4xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.divf %[[V3]], %[[V5]] : tensor<4xf32>
// CHECK-NEXT: return %[[V1]], %[[V6]] : tensor<f32>, tensor<4xf32>

// -----

// math.sqrt
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %r = math.sqrt %x : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = math.sqrt %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V4:.*]] = arith.constant dense<2.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.mulf %[[V0]], %[[V4]] : tensor<4xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.divf %[[V3]], %[[V5]] : tensor<4xf32>
// CHECK-NEXT: return %[[V1]], %[[V6]] : tensor<f32>, tensor<4xf32>

// -----

// math.rsqrt
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %r = math.rsqrt %x : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = math.rsqrt %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V4:.*]] = arith.mulf %[[V0]], %[[V0]] : tensor<4xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.mulf %[[V4]], %[[V0]] : tensor<4xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.constant dense<-5.000000e-01> : tensor<4xf32>
// CHECK-NEXT: %[[V7:.*]] = arith.mulf %[[V5]], %[[V6]] : tensor<4xf32>
// CHECK-NEXT: %[[V8:.*]] = arith.mulf %[[V3]], %[[V7]] : tensor<4xf32>
// CHECK-NEXT: return %[[V1]], %[[V8]] : tensor<f32>, tensor<4xf32>

// -----

// math.tanh
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %r = math.tanh %x : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = math.tanh %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V4:.*]] = arith.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.mulf %[[V0]], %[[V0]] : tensor<4xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.subf %[[V4]], %[[V5]] : tensor<4xf32>
// CHECK-NEXT: %[[V7:.*]] = arith.mulf %[[V3]], %[[V6]] : tensor<4xf32>
// CHECK-NEXT: return %[[V1]], %[[V7]] : tensor<f32>, tensor<4xf32>

// -----

// math.erf
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %r = math.erf %x : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = math.erf %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V4:.*]] = arith.mulf %[[X]], %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.negf %[[V4]] : tensor<4xf32>
// CHECK-NEXT: %[[V6:.*]] = math.exp %[[V5]] : tensor<4xf32>
// CHECK-NEXT: %[[V7:.*]] = arith.constant dense<1.12837923> : tensor<4xf32>
// CHECK-NEXT: %[[V8:.*]] = arith.mulf %[[V6]], %[[V7]] : tensor<4xf32>
// CHECK-NEXT: %[[V9:.*]] = arith.mulf %[[V3]], %[[V8]] : tensor<4xf32>
// CHECK-NEXT: return %[[V1]], %[[V9]] : tensor<f32>, tensor<4xf32>

// -----

// math.erfc
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %r = math.erfc %x : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = math.erfc %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V4:.*]] = arith.mulf %[[X]], %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.negf %[[V4]] : tensor<4xf32>
// CHECK-NEXT: %[[V6:.*]] = math.exp %[[V5]] : tensor<4xf32>
// CHECK-NEXT: %[[V7:.*]] = arith.constant dense<1.12837923> : tensor<4xf32>
// CHECK-NEXT: %[[V8:.*]] = arith.mulf %[[V6]], %[[V7]] : tensor<4xf32>
// CHECK-NEXT: %[[V9:.*]] = arith.negf %[[V8]] : tensor<4xf32>
// CHECK-NEXT: %[[V10:.*]] = arith.mulf %[[V3]], %[[V9]] : tensor<4xf32>
// CHECK-NEXT: return %[[V1]], %[[V10]] : tensor<f32>, tensor<4xf32>

// -----

// math.sin
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %r = math.sin %x : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = math.sin %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V4:.*]] = math.cos %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.mulf %[[V3]], %[[V4]] : tensor<4xf32>
// CHECK-NEXT: return %[[V1]], %[[V5]] : tensor<f32>, tensor<4xf32>

// -----

// math.cos
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %r = math.cos %x : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = math.cos %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V4:.*]] = math.sin %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.negf %[[V4]] : tensor<4xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.mulf %[[V3]], %[[V5]] : tensor<4xf32>
// CHECK-NEXT: return %[[V1]], %[[V6]] : tensor<f32>, tensor<4xf32>

// -----

// math.tan
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %r = math.tan %x : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = math.tan %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V4:.*]] = arith.mulf %[[V0]], %[[V0]] : tensor<4xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.addf %[[V4]], %[[V5]] : tensor<4xf32>
// CHECK-NEXT: %[[V7:.*]] = arith.mulf %[[V3]], %[[V6]] : tensor<4xf32>
// CHECK-NEXT: return %[[V1]], %[[V7]] : tensor<f32>, tensor<4xf32>

// -----

// math.atan
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %r = math.atan %x : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = math.atan %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V4:.*]] = arith.mulf %[[X]], %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.addf %[[V4]], %[[V5]] : tensor<4xf32>
// CHECK-NEXT: %[[V7:.*]] = arith.divf %[[V3]], %[[V6]] : tensor<4xf32>
// CHECK-NEXT: return %[[V1]], %[[V7]] : tensor<f32>, tensor<4xf32>

// -----

// math.asin
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %r = math.asin %x : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = math.asin %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V4:.*]] = arith.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.mulf %[[X]], %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.subf %[[V4]], %[[V5]] : tensor<4xf32>
// CHECK-NEXT: %[[V7:.*]] = math.sqrt %[[V6]] : tensor<4xf32>
// CHECK-NEXT: %[[V8:.*]] = arith.divf %[[V3]], %[[V7]] : tensor<4xf32>
// CHECK-NEXT: return %[[V1]], %[[V8]] : tensor<f32>, tensor<4xf32>

// -----

// math.acos
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %r = math.acos %x : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = math.acos %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V4:.*]] = arith.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.mulf %[[X]], %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.subf %[[V4]], %[[V5]] : tensor<4xf32>
// CHECK-NEXT: %[[V7:.*]] = math.sqrt %[[V6]] : tensor<4xf32>
// CHECK-NEXT: %[[V8:.*]] = arith.negf %[[V7]] : tensor<4xf32>
// CHECK-NEXT: %[[V9:.*]] = arith.divf %[[V3]], %[[V8]] : tensor<4xf32>
// CHECK-NEXT: return %[[V1]], %[[V9]] : tensor<f32>, tensor<4xf32>

// -----

// math.sinh
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %r = math.sinh %x : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = math.sinh %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V4:.*]] = math.cosh %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.mulf %[[V3]], %[[V4]] : tensor<4xf32>
// CHECK-NEXT: return %[[V1]], %[[V5]] : tensor<f32>, tensor<4xf32>

// -----

// math.cosh
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %r = math.cosh %x : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = math.cosh %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V4:.*]] = math.sinh %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.mulf %[[V3]], %[[V4]] : tensor<4xf32>
// CHECK-NEXT: return %[[V1]], %[[V5]] : tensor<f32>, tensor<4xf32>

// -----

// math.asinh
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %r = math.asinh %x : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = math.asinh %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V4:.*]] = arith.mulf %[[X]], %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.addf %[[V4]], %[[V5]] : tensor<4xf32>
// CHECK-NEXT: %[[V7:.*]] = math.sqrt %[[V6]] : tensor<4xf32>
// CHECK-NEXT: %[[V8:.*]] = arith.divf %[[V3]], %[[V7]] : tensor<4xf32>
// CHECK-NEXT: return %[[V1]], %[[V8]] : tensor<f32>, tensor<4xf32>

// -----

// math.acosh
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %r = math.acosh %x : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = math.acosh %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V4:.*]] = arith.mulf %[[X]], %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.subf %[[V4]], %[[V5]] : tensor<4xf32>
// CHECK-NEXT: %[[V7:.*]] = math.sqrt %[[V6]] : tensor<4xf32>
// CHECK-NEXT: %[[V8:.*]] = arith.divf %[[V3]], %[[V7]] : tensor<4xf32>
// CHECK-NEXT: return %[[V1]], %[[V8]] : tensor<f32>, tensor<4xf32>

// -----

// math.atanh
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %r = math.atanh %x : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = math.atanh %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V4:.*]] = arith.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.mulf %[[X]], %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.subf %[[V4]], %[[V5]] : tensor<4xf32>
// CHECK-NEXT: %[[V7:.*]] = arith.divf %[[V3]], %[[V6]] : tensor<4xf32>
// CHECK-NEXT: return %[[V1]], %[[V7]] : tensor<f32>, tensor<4xf32>

// -----

// math.absf
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %r = math.absf %x : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = math.absf %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V4:.*]] = arith.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.cmpf olt, %[[X]], %[[V4]] : tensor<4xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.constant dense<-1.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[V7:.*]] = arith.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[V8:.*]] = arith.select %[[V5]], %[[V6]], %[[V7]] : tensor<4xi1>, tensor<4xf32>
// CHECK-NEXT: %[[V9:.*]] = arith.cmpf ogt, %[[X]], %[[V4]] : tensor<4xf32>
// CHECK-NEXT: %[[V10:.*]] = arith.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[V11:.*]] = arith.select %[[V9]], %[[V10]], %[[V8]] : tensor<4xi1>, tensor<4xf32>
// CHECK-NEXT: %[[V12:.*]] = arith.mulf %[[V3]], %[[V11]] : tensor<4xf32>
// CHECK-NEXT: return %[[V1]], %[[V12]] : tensor<f32>, tensor<4xf32>

// -----

// math.floor
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %r = math.floor %x : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = math.floor %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: return %[[V1]] : tensor<f32>

// -----

// math.ceil
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %r = math.ceil %x : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = math.ceil %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: return %[[V1]] : tensor<f32>

// -----

// math.round
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %r = math.round %x : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = math.round %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: return %[[V1]] : tensor<f32>

// -----

// math.roundeven
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %r = math.roundeven %x : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = math.roundeven %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: return %[[V1]] : tensor<f32>

// -----

// math.trunc
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %r = math.trunc %x : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = math.trunc %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: return %[[V1]] : tensor<f32>

// -----

// math.powf
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @y "y" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %y = zero.use @y : tensor<4xf32>
  %r = math.powf %x, %y : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[Y:.*]] = zero.use @y : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = math.powf %[[X]], %[[Y]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V4:.*]] = arith.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.subf %[[Y]], %[[V5]] : tensor<4xf32>
// CHECK-NEXT: %[[V7:.*]] = math.powf %[[X]], %[[V6]] : tensor<4xf32>
// CHECK-NEXT: %[[V8:.*]] = arith.mulf %[[Y]], %[[V7]] : tensor<4xf32>
// CHECK-NEXT: %[[V9:.*]] = arith.cmpf oeq, %[[Y]], %[[V4]] : tensor<4xf32>
// CHECK-NEXT: %[[V10:.*]] = arith.mulf %[[V3]], %[[V8]] : tensor<4xf32>
// CHECK-NEXT: %[[V11:.*]] = arith.select %[[V9]], %[[V4]], %[[V10]] : tensor<4xi1>, tensor<4xf32>
// CHECK-NEXT: %[[V12:.*]] = arith.cmpf oeq, %[[X]], %[[V4]] : tensor<4xf32>
// CHECK-NEXT: %[[V13:.*]] = arith.cmpf oge, %[[Y]], %[[V4]] : tensor<4xf32>
// CHECK-NEXT: %[[V14:.*]] = arith.andi %[[V12]], %[[V13]] : tensor<4xi1>
// CHECK-NEXT: %[[V15:.*]] = arith.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[V16:.*]] = arith.select %[[V14]], %[[V15]], %[[X]] : tensor<4xi1>, tensor<4xf32>
// CHECK-NEXT: %[[V17:.*]] = math.log %[[V16]] : tensor<4xf32>
// CHECK-NEXT: %[[V18:.*]] = arith.mulf %[[V0]], %[[V17]] : tensor<4xf32>
// CHECK-NEXT: %[[V19:.*]] = arith.mulf %[[V3]], %[[V18]] : tensor<4xf32>
// CHECK-NEXT: return %[[V1]], %[[V11]], %[[V19]] : tensor<f32>, tensor<4xf32>, tensor<4xf32>

// -----

// math.atan2
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @y "y" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %y = zero.use @y : tensor<4xf32>
  %r = math.atan2 %x, %y : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[Y:.*]] = zero.use @y : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = math.atan2 %[[X]], %[[Y]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V4:.*]] = arith.mulf %[[Y]], %[[Y]] : tensor<4xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.mulf %[[X]], %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.addf %[[V4]], %[[V5]] : tensor<4xf32>
// CHECK-NEXT: %[[V7:.*]] = arith.divf %[[V3]], %[[V6]] : tensor<4xf32>
// CHECK-NEXT: %[[V8:.*]] = arith.mulf %[[V7]], %[[Y]] : tensor<4xf32>
// CHECK-NEXT: %[[V9:.*]] = arith.mulf %[[V7]], %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V10:.*]] = arith.negf %[[V9]] : tensor<4xf32>
// CHECK-NEXT: return %[[V1]], %[[V8]], %[[V10]] : tensor<f32>, tensor<4xf32>, tensor<4xf32>

// -----

// math.copysign
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @y "y" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %y = zero.use @y : tensor<4xf32>
  %r = math.copysign %x, %y : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[Y:.*]] = zero.use @y : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = math.copysign %[[X]], %[[Y]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V4:.*]] = arith.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.cmpf olt, %[[X]], %[[V4]] : tensor<4xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.constant dense<-1.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[V7:.*]] = arith.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[V8:.*]] = arith.select %[[V5]], %[[V6]], %[[V7]] : tensor<4xi1>, tensor<4xf32>
// CHECK-NEXT: %[[V9:.*]] = arith.cmpf ogt, %[[X]], %[[V4]] : tensor<4xf32>
// CHECK-NEXT: %[[V10:.*]] = arith.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[V11:.*]] = arith.select %[[V9]], %[[V10]], %[[V8]] : tensor<4xi1>, tensor<4xf32>
// CHECK-NEXT: %[[V12:.*]] = arith.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[V13:.*]] = arith.cmpf olt, %[[X]], %[[V12]] : tensor<4xf32>
// CHECK-NEXT: %[[V14:.*]] = arith.constant dense<-1.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[V15:.*]] = arith.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[V16:.*]] = arith.select %[[V13]], %[[V14]], %[[V15]] : tensor<4xi1>, tensor<4xf32>
// CHECK-NEXT: %[[V17:.*]] = arith.cmpf ogt, %[[X]], %[[V12]] : tensor<4xf32>
// CHECK-NEXT: %[[V18:.*]] = arith.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK-NEXT: %[[V19:.*]] = arith.select %[[V17]], %[[V18]], %[[V16]] : tensor<4xi1>, tensor<4xf32>
// CHECK-NEXT: %[[V20:.*]] = arith.mulf %[[V19]], %[[Y]] : tensor<4xf32>
// CHECK-NEXT: %[[V21:.*]] = math.copysign %[[V11]], %[[V20]] : tensor<4xf32>
// CHECK-NEXT: %[[V22:.*]] = arith.mulf %[[V3]], %[[V21]] : tensor<4xf32>
// CHECK-NEXT: return %[[V1]], %[[V22]] : tensor<f32>, tensor<4xf32>

// -----

// math.fma
zero.state @x "x" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @y "y" : tensor<4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<4xf32>
  %y = zero.use @y : tensor<4xf32>
  %r = math.fma %x, %y, %x : tensor<4xf32>
  %loss = nn.reduce <sum> %r dims [0] : tensor<4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: @main
// CHECK: %[[X:.*]] = zero.use @x : tensor<4xf32>
// CHECK-NEXT: %[[Y:.*]] = zero.use @y : tensor<4xf32>
// CHECK-NEXT: %[[V0:.*]] = math.fma %[[X]], %[[Y]], %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V1:.*]] = nn.reduce <sum> %[[V0]] dims [0] : tensor<4xf32> -> tensor<f32>
// CHECK-NEXT: %[[V2:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[V3:.*]] = nn.broadcast %[[V2]] dims [] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: %[[V4:.*]] = arith.mulf %[[V3]], %[[Y]] : tensor<4xf32>
// CHECK-NEXT: %[[V5:.*]] = arith.mulf %[[V3]], %[[X]] : tensor<4xf32>
// CHECK-NEXT: %[[V6:.*]] = arith.addf %[[V4]], %[[V3]] : tensor<4xf32>
// CHECK-NEXT: return %[[V1]], %[[V6]], %[[V5]] : tensor<f32>, tensor<4xf32>, tensor<4xf32>
