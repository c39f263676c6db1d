// RUN: spillway-opt %s -split-input-file -canonicalize -nn-fuse-attention -canonicalize | FileCheck %s

// The eager form: scale on the scores, an additive mask broadcast over heads.
// CHECK-LABEL: func @eager
// CHECK-SAME: %[[Q:.+]]: tensor<2x4x5x8xf32>, %[[K:.+]]: tensor<2x4x5x8xf32>, %[[V:.+]]: tensor<2x4x5x8xf32>, %[[MASK:.+]]: tensor<2x1x1x5xf32>
// CHECK-NEXT: %[[A:.+]] = nn.attention <nan> %[[Q]], %[[K]], %[[V]] mask %[[MASK]] : tensor<2x1x1x5xf32> scale 2.500000e-01
// CHECK-NEXT: return %[[A]]
func.func @eager(%q: tensor<2x4x5x8xf32>, %k: tensor<2x4x5x8xf32>, %v: tensor<2x4x5x8xf32>, %mask: tensor<2x1x1x5xf32>) -> tensor<2x4x5x8xf32> {
  %four = arith.constant dense<4.0> : tensor<2x4x5x5xf32>
  %kt = nn.transpose %k perm [0, 1, 3, 2] : tensor<2x4x5x8xf32> -> tensor<2x4x8x5xf32>
  %s = nn.matmul %q, %kt : tensor<2x4x5x8xf32>, tensor<2x4x8x5xf32> -> tensor<2x4x5x5xf32>
  %scaled = arith.divf %s, %four : tensor<2x4x5x5xf32>
  %wide = nn.broadcast %mask dims [0, 1, 2, 3] : tensor<2x1x1x5xf32> -> tensor<2x4x5x5xf32>
  %masked = arith.addf %scaled, %wide : tensor<2x4x5x5xf32>
  %p = nn.softmax %masked dim 3 : tensor<2x4x5x5xf32>
  %o = nn.matmul %p, %v : tensor<2x4x5x5xf32>, tensor<2x4x5x8xf32> -> tensor<2x4x5x8xf32>
  return %o : tensor<2x4x5x8xf32>
}

// -----

// The form that SDPA is exported in: half of the scale on each side, the key transposed through
// a merge of its leading dimensions, -inf where masked, NaN of masked rows made zero.
// CHECK-LABEL: func @sdpa
// CHECK-SAME: %[[Q:.+]]: tensor<2x4x5x8xf32>, %[[K:.+]]: tensor<2x4x5x8xf32>, %[[V:.+]]: tensor<2x4x5x8xf32>, %[[KEEP:.+]]: tensor<5x5xi1>
// CHECK: %[[MASK:.+]] = nn.reshape %[[KEEP]] : tensor<5x5xi1> -> tensor<1x1x5x5xi1>
// CHECK: nn.attention <zero> %[[Q]], %[[K]], %[[V]] mask %[[MASK]] : tensor<1x1x5x5xi1> scale 2.500000e-01
func.func @sdpa(%q: tensor<2x4x5x8xf32>, %k: tensor<2x4x5x8xf32>, %v: tensor<2x4x5x8xf32>, %keep: tensor<5x5xi1>) -> tensor<2x4x5x8xf32> {
  %half = arith.constant dense<0.5> : tensor<2x4x5x8xf32>
  %halfT = arith.constant dense<0.5> : tensor<2x4x8x5xf32>
  %inf = arith.constant dense<0xFF800000> : tensor<2x4x5x5xf32>
  %zero = arith.constant dense<0.0> : tensor<2x4x5x5xf32>
  %qs = arith.mulf %q, %half : tensor<2x4x5x8xf32>
  %k3 = nn.reshape %k : tensor<2x4x5x8xf32> -> tensor<8x5x8xf32>
  %kt3 = nn.transpose %k3 perm [0, 2, 1] : tensor<8x5x8xf32> -> tensor<8x8x5xf32>
  %kt = nn.reshape %kt3 : tensor<8x8x5xf32> -> tensor<2x4x8x5xf32>
  %ks = arith.mulf %kt, %halfT : tensor<2x4x8x5xf32>
  %s = nn.matmul %qs, %ks : tensor<2x4x5x8xf32>, tensor<2x4x8x5xf32> -> tensor<2x4x5x5xf32>
  %wide = nn.broadcast %keep dims [2, 3] : tensor<5x5xi1> -> tensor<2x4x5x5xi1>
  %masked = arith.select %wide, %s, %inf : tensor<2x4x5x5xi1>, tensor<2x4x5x5xf32>
  %p = nn.softmax %masked dim 3 : tensor<2x4x5x5xf32>
  %nan = arith.cmpf uno, %p, %p : tensor<2x4x5x5xf32>
  %guarded = arith.select %nan, %zero, %p : tensor<2x4x5x5xi1>, tensor<2x4x5x5xf32>
  %o = nn.matmul %guarded, %v : tensor<2x4x5x5xf32>, tensor<2x4x5x8xf32> -> tensor<2x4x5x8xf32>
  return %o : tensor<2x4x5x8xf32>
}

// -----

// Heads of key and value repeated by a broadcast, and a soft cap.
// CHECK-LABEL: func @grouped
// CHECK-SAME: %[[Q:.+]]: tensor<1x4x5x8xf32>, %[[K:.+]]: tensor<1x2x5x8xf32>, %[[V:.+]]: tensor<1x2x5x8xf32>
// CHECK-NEXT: nn.attention <nan> %[[Q]], %[[K]], %[[V]] scale 5.000000e-01 {softcap = 5.000000e+01 : f32}
func.func @grouped(%q: tensor<1x4x5x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x8xf32>) -> tensor<1x4x5x8xf32> {
  %half = arith.constant dense<0.5> : tensor<1x4x5x5xf32>
  %cap = arith.constant dense<50.0> : tensor<1x4x5x5xf32>
  %kr = nn.broadcast %k dims [0, 1, 3, 4] : tensor<1x2x5x8xf32> -> tensor<1x2x2x5x8xf32>
  %km = nn.reshape %kr : tensor<1x2x2x5x8xf32> -> tensor<1x4x5x8xf32>
  %vr = nn.broadcast %v dims [0, 1, 3, 4] : tensor<1x2x5x8xf32> -> tensor<1x2x2x5x8xf32>
  %vm = nn.reshape %vr : tensor<1x2x2x5x8xf32> -> tensor<1x4x5x8xf32>
  %s = nn.matmul %q, %km transpose : tensor<1x4x5x8xf32>, tensor<1x4x5x8xf32> -> tensor<1x4x5x5xf32>
  %scaled = arith.mulf %s, %half : tensor<1x4x5x5xf32>
  %small = arith.divf %scaled, %cap : tensor<1x4x5x5xf32>
  %tanh = math.tanh %small : tensor<1x4x5x5xf32>
  %capped = arith.mulf %tanh, %cap : tensor<1x4x5x5xf32>
  %p = nn.softmax %capped dim 3 : tensor<1x4x5x5xf32>
  %o = nn.matmul %p, %vm : tensor<1x4x5x5xf32>, tensor<1x4x5x8xf32> -> tensor<1x4x5x8xf32>
  return %o : tensor<1x4x5x8xf32>
}

// -----

// A fill of -10000 lets a little of the masked keys through: not a mask.
// CHECK-LABEL: func @smallFill
// CHECK-NOT: nn.attention
func.func @smallFill(%q: tensor<1x4x5x8xf32>, %k: tensor<1x4x5x8xf32>, %v: tensor<1x4x5x8xf32>, %keep: tensor<1x4x5x5xi1>) -> tensor<1x4x5x8xf32> {
  %fill = arith.constant dense<-10000.0> : tensor<1x4x5x5xf32>
  %s = nn.matmul %q, %k transpose : tensor<1x4x5x8xf32>, tensor<1x4x5x8xf32> -> tensor<1x4x5x5xf32>
  %masked = arith.select %keep, %s, %fill : tensor<1x4x5x5xi1>, tensor<1x4x5x5xf32>
  %p = nn.softmax %masked dim 3 : tensor<1x4x5x5xf32>
  %o = nn.matmul %p, %v : tensor<1x4x5x5xf32>, tensor<1x4x5x8xf32> -> tensor<1x4x5x8xf32>
  return %o : tensor<1x4x5x8xf32>
}

// -----

// The operation's scale is an f32: in f64 only such a one is taken.
// CHECK-LABEL: func @exact
// CHECK: nn.attention {{.*}} scale 2.500000e-01 : tensor<1x2x5x8xf64>
func.func @exact(%q: tensor<1x2x5x8xf64>, %k: tensor<1x2x5x8xf64>, %v: tensor<1x2x5x8xf64>) -> tensor<1x2x5x8xf64> {
  %four = arith.constant dense<4.0> : tensor<1x2x5x5xf64>
  %s = nn.matmul %q, %k transpose : tensor<1x2x5x8xf64>, tensor<1x2x5x8xf64> -> tensor<1x2x5x5xf64>
  %scaled = arith.divf %s, %four : tensor<1x2x5x5xf64>
  %p = nn.softmax %scaled dim 3 : tensor<1x2x5x5xf64>
  %o = nn.matmul %p, %v : tensor<1x2x5x5xf64>, tensor<1x2x5x8xf64> -> tensor<1x2x5x8xf64>
  return %o : tensor<1x2x5x8xf64>
}

// CHECK-LABEL: func @inexact
// CHECK-NOT: nn.attention
// CHECK: return
func.func @inexact(%q: tensor<1x2x5x8xf64>, %k: tensor<1x2x5x8xf64>, %v: tensor<1x2x5x8xf64>) -> tensor<1x2x5x8xf64> {
  %scale = arith.constant dense<0.35355339059327379> : tensor<1x2x5x5xf64>
  %s = nn.matmul %q, %k transpose : tensor<1x2x5x8xf64>, tensor<1x2x5x8xf64> -> tensor<1x2x5x5xf64>
  %scaled = arith.mulf %s, %scale : tensor<1x2x5x5xf64>
  %p = nn.softmax %scaled dim 3 : tensor<1x2x5x5xf64>
  %o = nn.matmul %p, %v : tensor<1x2x5x5xf64>, tensor<1x2x5x8xf64> -> tensor<1x2x5x8xf64>
  return %o : tensor<1x2x5x8xf64>
}
