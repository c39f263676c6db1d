// What the backward half takes and can compute in few steps from what is kept is computed there again.
// RUN: spillway-opt %s -pass-pipeline='builtin.module(func.func(nn-save-less))' -split-input-file | FileCheck %s

// The product's result with its bias is kept; squares and the hyperbolic tangent follow from it.
// CHECK-LABEL: func.func @chain(
// CHECK: %[[P:.*]] = nn.matmul
// CHECK: %[[Y:.*]] = arith.addf %[[P]]
// CHECK: %[[T:.*]] = math.tanh
// CHECK: %[[L:.*]] = nn.reduce <sum> %[[T]]
// CHECK: %[[S2:.*]] = arith.mulf %[[Y]], %[[Y]]
// CHECK: %[[T2:.*]] = math.tanh %[[S2]]
// CHECK: %[[D:.*]] = arith.mulf %[[T2]], %[[Y]]
// CHECK: return %[[L]], %[[D]]
func.func @chain(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>, %b: tensor<8xf32>) -> (tensor<f32>, tensor<8x8xf32>) {
  %p = nn.matmul %x, %w : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %bias = nn.broadcast %b dims [1] : tensor<8xf32> -> tensor<8x8xf32>
  %y = arith.addf %p, %bias : tensor<8x8xf32>
  %s = arith.mulf %y, %y : tensor<8x8xf32>
  %t = math.tanh %s : tensor<8x8xf32>
  %loss = nn.reduce <sum> %t dims [0, 1] : tensor<8x8xf32> -> tensor<f32>
  %d = arith.mulf %t, %y : tensor<8x8xf32>
  return %loss, %d : tensor<f32>, tensor<8x8xf32>
}

// -----

// A sum of two values that the backward half does not take is kept, rather than both.
// CHECK-LABEL: func.func @sum(
// CHECK: %[[S:.*]] = arith.addf
// CHECK: %[[L:.*]] = nn.reduce <sum>
// CHECK-NEXT: %[[D:.*]] = arith.mulf %[[S]], %[[S]]
func.func @sum(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> (tensor<f32>, tensor<8x8xf32>) {
  %p = nn.matmul %x, %w : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %q = nn.matmul %w, %x : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %r = nn.matmul %p, %q : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %s = arith.addf %p, %q : tensor<8x8xf32>
  %t = arith.mulf %s, %r : tensor<8x8xf32>
  %loss = nn.reduce <sum> %t dims [0, 1] : tensor<8x8xf32> -> tensor<f32>
  %d = arith.mulf %s, %s : tensor<8x8xf32>
  return %loss, %d : tensor<f32>, tensor<8x8xf32>
}

// -----

// Random bits are made again, and so is the mask that they make.
// CHECK-LABEL: func.func @dropout(
// CHECK: %[[BITS:.*]] = nn.random
// CHECK: %[[DROPS:.*]] = arith.cmpi ult, %[[BITS]]
// CHECK: arith.select %[[DROPS]]
// CHECK: nn.reduce <sum>
// CHECK: %[[AGAIN:.*]] = arith.cmpi ult, %[[BITS]]
// CHECK: arith.select %[[AGAIN]]
func.func @dropout(%x: tensor<8x8xf32>, %k: tensor<i64>) -> (tensor<f32>, tensor<8x8xf32>) {
  %bits = nn.random %k : tensor<i64> -> tensor<8x8xi32>
  %limit = arith.constant dense<1073741824> : tensor<8x8xi32>
  %drops = arith.cmpi ult, %bits, %limit : tensor<8x8xi32>
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %y = arith.select %drops, %zero, %x : tensor<8x8xi1>, tensor<8x8xf32>
  %loss = nn.reduce <sum> %y dims [0, 1] : tensor<8x8xf32> -> tensor<f32>
  %g = arith.constant dense<1.0> : tensor<8x8xf32>
  %d = arith.select %drops, %zero, %g : tensor<8x8xi1>, tensor<8x8xf32>
  return %loss, %d : tensor<f32>, tensor<8x8xf32>
}

// -----

// A product takes what it multiplies as it is kept.
// CHECK-LABEL: func.func @product(
// CHECK: %[[T:.*]] = math.tanh
// CHECK: nn.reduce <sum>
// CHECK-NEXT: nn.matmul %[[T]]
func.func @product(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> (tensor<f32>, tensor<8x8xf32>) {
  %p = nn.matmul %x, %w : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %s = arith.mulf %p, %p : tensor<8x8xf32>
  %t = math.tanh %s : tensor<8x8xf32>
  %loss = nn.reduce <sum> %t dims [0, 1] : tensor<8x8xf32> -> tensor<f32>
  %d = nn.matmul %t, %w : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  return %loss, %d : tensor<f32>, tensor<8x8xf32>
}

// -----

// The logits alone are kept of a loss over classes, and what is picked of them is picked before it is computed with.
// CHECK-LABEL: func.func @classes(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x512xf32>, %[[I:[a-z0-9]+]]: tensor<4x1xi64>
// CHECK-NOT: log_softmax
// CHECK: %[[M:.*]] = nn.reduce <max> %[[X]]
// CHECK: math.log
// CHECK: %[[A:.*]] = nn.gather_elements %[[X]][%[[I]]]
// CHECK: arith.subf %[[A]], {{.*}} : tensor<4x1xf32>
// CHECK: %[[L:.*]] = nn.reduce <sum>
// CHECK: arith.subf %[[X]]
// CHECK: math.exp
// CHECK: return %[[L]]
func.func @classes(%x: tensor<4x512xf32>, %i: tensor<4x1xi64>) -> (tensor<f32>, tensor<4x512xf32>) {
  %p = nn.log_softmax %x dim 1 : tensor<4x512xf32>
  %a = nn.gather_elements %p[%i] dim 1 : tensor<4x512xf32>, tensor<4x1xi64> -> tensor<4x1xf32>
  %loss = nn.reduce <sum> %a dims [0, 1] : tensor<4x1xf32> -> tensor<f32>
  %e = math.exp %p : tensor<4x512xf32>
  return %loss, %e : tensor<f32>, tensor<4x512xf32>
}
