// RUN: spillway-opt %s -split-input-file -nn-causal-masks -canonicalize | FileCheck %s

// As exports write it: the lowest float above the diagonal.
// CHECK-LABEL: func @triangle
// CHECK-NEXT: nn.attention <nan> %arg0, %arg1, %arg2 scale 5.000000e-01 {causal_offset = 0 : i64}
// CHECK-NEXT: return
func.func @triangle(%q: tensor<2x4x3x8xf32>, %k: tensor<2x4x3x8xf32>, %v: tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32> {
  %lowest = arith.constant dense<-3.40282347E+38> : tensor<3x3xf32>
  %zero = arith.constant dense<0.0> : tensor<3x3xf32>
  %i = nn.iota dim 0 : tensor<3x3xi64>
  %j = nn.iota dim 1 : tensor<3x3xi64>
  %hidden = arith.cmpi sgt, %j, %i : tensor<3x3xi64>
  %m = arith.select %hidden, %lowest, %zero : tensor<3x3xi1>, tensor<3x3xf32>
  %mask = nn.reshape %m : tensor<3x3xf32> -> tensor<1x1x3x3xf32>
  %r = nn.attention <nan> %q, %k, %v mask %mask : tensor<1x1x3x3xf32> scale 5.000000e-01 : tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32> -> tensor<2x4x3x8xf32>
  return %r : tensor<2x4x3x8xf32>
}

// -----

// Behind a cache of two keys, for each batch and head, as what is kept.
// CHECK-LABEL: func @cache
// CHECK-NEXT: nn.attention <zero> %arg0, %arg1, %arg2 scale 5.000000e-01 {causal_offset = 2 : i64}
func.func @cache(%q: tensor<1x2x2x8xf32>, %k: tensor<1x2x4x8xf32>, %v: tensor<1x2x4x8xf32>) -> tensor<1x2x2x8xf32> {
  %keeps = arith.constant dense<[[[[true, true, true, false], [true, true, true, true]], [[true, true, true, false], [true, true, true, true]]]]> : tensor<1x2x2x4xi1>
  %r = nn.attention <zero> %q, %k, %v mask %keeps : tensor<1x2x2x4xi1> scale 5.000000e-01 : tensor<1x2x2x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32> -> tensor<1x2x2x8xf32>
  return %r : tensor<1x2x2x8xf32>
}

// -----

// It hides nothing.
// CHECK-LABEL: func @all
// CHECK-NEXT: nn.attention <nan> %arg0, %arg1, %arg2 scale 5.000000e-01 :
func.func @all(%q: tensor<1x2x2x8xf32>, %k: tensor<1x2x3x8xf32>, %v: tensor<1x2x3x8xf32>) -> tensor<1x2x2x8xf32> {
  %mask = arith.constant dense<0.0> : tensor<1x1x2x3xf32>
  %r = nn.attention <nan> %q, %k, %v mask %mask : tensor<1x1x2x3xf32> scale 5.000000e-01 : tensor<1x2x2x8xf32>, tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32> -> tensor<1x2x2x8xf32>
  return %r : tensor<1x2x2x8xf32>
}

// -----

// A query that sees no key, a window, another number than zero, a fill that hides nothing, and a head of its own: not causal.
// CHECK-LABEL: func @others
// CHECK-COUNT-5: nn.attention <nan> %arg0, %arg1, %arg2 mask
// CHECK-NOT: causal_offset
func.func @others(%q: tensor<1x2x2x8xf32>, %k: tensor<1x2x3x8xf32>, %v: tensor<1x2x3x8xf32>)
    -> (tensor<1x2x2x8xf32>, tensor<1x2x2x8xf32>, tensor<1x2x2x8xf32>, tensor<1x2x2x8xf32>, tensor<1x2x2x8xf32>) {
  %none = arith.constant dense<[[[[false, false, false], [true, false, false]]]]> : tensor<1x1x2x3xi1>
  %window = arith.constant dense<[[[[true, false, false], [false, true, false]]]]> : tensor<1x1x2x3xi1>
  %bias = arith.constant dense<[[[[0.5, -1.0e38, -1.0e38], [0.0, 0.0, -1.0e38]]]]> : tensor<1x1x2x3xf32>
  %soft = arith.constant dense<[[[[0.0, -1.0e4, -1.0e4], [0.0, 0.0, -1.0e4]]]]> : tensor<1x1x2x3xf32>
  %heads = arith.constant dense<[[[[true, false, false], [true, true, false]], [[true, true, false], [true, true, true]]]]> : tensor<1x2x2x3xi1>
  %0 = nn.attention <nan> %q, %k, %v mask %none : tensor<1x1x2x3xi1> scale 5.000000e-01 : tensor<1x2x2x8xf32>, tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32> -> tensor<1x2x2x8xf32>
  %1 = nn.attention <nan> %q, %k, %v mask %window : tensor<1x1x2x3xi1> scale 5.000000e-01 : tensor<1x2x2x8xf32>, tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32> -> tensor<1x2x2x8xf32>
  %2 = nn.attention <nan> %q, %k, %v mask %bias : tensor<1x1x2x3xf32> scale 5.000000e-01 : tensor<1x2x2x8xf32>, tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32> -> tensor<1x2x2x8xf32>
  %3 = nn.attention <nan> %q, %k, %v mask %soft : tensor<1x1x2x3xf32> scale 5.000000e-01 : tensor<1x2x2x8xf32>, tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32> -> tensor<1x2x2x8xf32>
  %4 = nn.attention <nan> %q, %k, %v mask %heads : tensor<1x2x2x3xi1> scale 5.000000e-01 : tensor<1x2x2x8xf32>, tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32> -> tensor<1x2x2x8xf32>
  return %0, %1, %2, %3, %4 : tensor<1x2x2x8xf32>, tensor<1x2x2x8xf32>, tensor<1x2x2x8xf32>, tensor<1x2x2x8xf32>, tensor<1x2x2x8xf32>
}
