// REQUIRES: spillway-opt
// RUN: spillway-opt %s -split-input-file -nn-assign-layouts -nn-form-kernels | FileCheck %s

// Bias, activation and residual are the matmul's epilogue; the weight is stored in panels along the
// result's columns, and its tiles may stand for it. The two layers share the kernel.
// CHECK: zero.state @w1 {{.*}} layout(<1>)
// CHECK: zero.state @w2 {{.*}} layout(<1>)
zero.state @w1 "w1" : tensor<8x8xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @w2 "w2" : tensor<8x8xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @b "b" : tensor<8xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
// CHECK-LABEL: func @layers
// CHECK: %[[W1:.+]] = zero.use @w1
// CHECK: %[[Y1:.+]] = nn.call @[[GEMM:nn_gemm[_0-9]*]](%arg0, %[[W1]], %[[B:.+]])
// CHECK: %[[W2:.+]] = zero.use @w2
// CHECK: nn.call @[[GEMM]](%[[Y1]], %[[W2]]
func.func @layers(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %b = zero.use @b : tensor<8xf32>
  %wide = nn.broadcast %b dims [1] : tensor<8xf32> -> tensor<4x8xf32>
  %w1 = zero.use @w1 : tensor<8x8xf32>
  %0 = nn.matmul %x, %w1 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %1 = arith.addf %0, %wide : tensor<4x8xf32>
  %2 = math.tanh %1 : tensor<4x8xf32>
  %3 = arith.addf %2, %x : tensor<4x8xf32>
  %w2 = zero.use @w2 : tensor<8x8xf32>
  %4 = nn.matmul %3, %w2 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %5 = arith.addf %4, %wide : tensor<4x8xf32>
  %6 = math.tanh %5 : tensor<4x8xf32>
  %7 = arith.addf %6, %3 : tensor<4x8xf32>
  return %7 : tensor<4x8xf32>
}
// CHECK: nn.kernel @[[GEMM]](%arg0: tensor<4x8xf32>, %arg1: tensor<8x8xf32> {nn.layout = #nn.panels<1>, nn.tiled}, %arg2: tensor<8xf32>)
// CHECK-SAME: schedule = #nn.schedule<gemm>
// CHECK-NOT: nn.kernel

// -----

// What comes before a softmax is pulled into it; a reshape between kernels stays outside, where it
// names the same bytes.
// CHECK-LABEL: func @row
// CHECK-NEXT: %[[X:.+]] = nn.reshape %arg0
// CHECK-NEXT: %[[Y:.+]] = nn.call @[[ROW:nn_row[_0-9]*]](%[[X]], %arg1)
// CHECK-NEXT: return %[[Y]]
// CHECK: nn.kernel @[[ROW]]
// CHECK: arith.addf
// CHECK-NEXT: nn.softmax
func.func @row(%x: tensor<2x3x5xf32>, %m: tensor<6x5xf32>) -> tensor<6x5xf32> {
  %0 = nn.reshape %x : tensor<2x3x5xf32> -> tensor<6x5xf32>
  %1 = arith.addf %0, %m : tensor<6x5xf32>
  %2 = nn.softmax %1 dim 1 : tensor<6x5xf32>
  return %2 : tensor<6x5xf32>
}

// -----

// Two anchors are two kernels; an elementary function is not computed again for every row
// of a broadcast.
// CHECK-LABEL: func @separate
// CHECK-COUNT-3: nn.call
func.func @separate(%x: tensor<4x8xf32>, %v: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = math.exp %v : tensor<8xf32>
  %1 = nn.broadcast %0 dims [1] : tensor<8xf32> -> tensor<4x8xf32>
  %2 = nn.softmax %x dim 1 : tensor<4x8xf32>
  %3 = arith.mulf %2, %1 : tensor<4x8xf32>
  %4 = nn.softmax %3 dim 1 : tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}
