// What kernels give each other lies in memory in bf16 where it follows from a state that trains, and is computed in f32.
// REQUIRES: spillway-opt
// RUN: spillway-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(nn-assign-layouts,nn-form-kernels,nn-narrow-stores)' | FileCheck %s

// A chain is rounded where it ends. Products read what is narrow as it is; everything else widens it first.
// CHECK-LABEL: func.func @chain
// CHECK-SAME: (%[[X:.*]]: tensor<8x64xf32>)
// CHECK: %[[H:.*]] = nn.call @[[TANH:.*]](%[[X]], %{{.*}}) : (tensor<8x64xf32>, tensor<64x32xbf16>) -> tensor<8x32xbf16>
// CHECK: %[[Y:.*]] = nn.call @[[PRODUCT:.*]](%[[H]], %{{.*}}) : (tensor<8x32xbf16>, tensor<32x32xbf16>) -> tensor<8x32xf32>
// CHECK: %[[Z:.*]] = nn.call @[[SCALE:.*]](%[[H]]) : (tensor<8x32xbf16>) -> tensor<8x32xf32>
// CHECK: return %[[Y]], %[[Z]]
// CHECK: nn.kernel @[[TANH]]
// CHECK: %[[WIDE:.*]] = math.tanh %{{.*}} : tensor<8x32xf32>
// CHECK-NEXT: %[[NARROW:.*]] = arith.truncf %[[WIDE]] : tensor<8x32xf32> to tensor<8x32xbf16>
// CHECK-NEXT: nn.yield %[[NARROW]]
// CHECK: nn.kernel @[[PRODUCT]](%[[A:.*]]: tensor<8x32xbf16>, %[[B:.*]]: tensor<32x32xbf16> {{.*}})
// CHECK-NEXT: %[[AB:.*]] = nn.matmul %[[A]], %[[B]] : tensor<8x32xbf16>, tensor<32x32xbf16> -> tensor<8x32xf32>
// CHECK-NEXT: nn.yield %[[AB]]
// CHECK: nn.kernel @[[SCALE]](%[[A:.*]]: tensor<8x32xbf16>)
// CHECK-NEXT: %[[WIDE:.*]] = arith.extf %[[A]]
// CHECK-NEXT: arith.mulf %[[WIDE]], %[[WIDE]] : tensor<8x32xf32>
module attributes {nn.stored_type = bf16} {
  zero.state @w "w.bf16" : tensor<64x32xbf16> role(<twin>) rewritten source(#zero.splat<1.0 : bf16>)
  zero.state @v "v.bf16" : tensor<32x32xbf16> role(<twin>) rewritten source(#zero.splat<1.0 : bf16>)
  func.func @chain(%x: tensor<8x64xf32>) -> (tensor<8x32xf32>, tensor<8x32xf32>) {
    %w = zero.use @w : tensor<64x32xbf16>
    %v = zero.use @v : tensor<32x32xbf16>
    %0 = nn.matmul %x, %w : tensor<8x64xf32>, tensor<64x32xbf16> -> tensor<8x32xf32>
    %h = math.tanh %0 : tensor<8x32xf32>
    %y = nn.matmul %h, %v : tensor<8x32xf32>, tensor<32x32xbf16> -> tensor<8x32xf32>
    %z = arith.mulf %h, %h : tensor<8x32xf32>
    return %y, %z : tensor<8x32xf32>, tensor<8x32xf32>
  }
}

// -----

// Statistics of rows stay f32, and so does what follows from no state that trains.
// CHECK-LABEL: func.func @statistics
// CHECK: %[[ANGLES:.*]] = nn.call @{{.*}} : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
// CHECK: %[[H:.*]] = nn.call @{{.*}}(%{{.*}}, %{{.*}}, %[[ANGLES]]) : {{.*}} -> tensor<8x32xbf16>
// CHECK: %[[SUM:.*]] = nn.call @{{.*}}(%[[H]]) : (tensor<8x32xbf16>) -> tensor<8xf32>
// CHECK: %[[ROOT:.*]] = nn.call @{{.*}}(%[[SUM]]) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK: nn.call @{{.*}}(%[[H]], %[[ROOT]]) : (tensor<8x32xbf16>, tensor<8xf32>) -> tensor<8x32xbf16>
module attributes {nn.stored_type = bf16} {
  zero.state @w "w.bf16" : tensor<64x32xbf16> role(<twin>) rewritten source(#zero.splat<1.0 : bf16>)
  zero.state @f "f" : tensor<64x32xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
  func.func @statistics(%x: tensor<8x64xf32>) -> (tensor<8x32xf32>, tensor<8xf32>, tensor<8x32xf32>, tensor<8x32xf32>) {
    %f = zero.use @f : tensor<64x32xf32>
    %angles = nn.matmul %x, %f : tensor<8x64xf32>, tensor<64x32xf32> -> tensor<8x32xf32>
    %cos = math.cos %angles : tensor<8x32xf32>
    %w = zero.use @w : tensor<64x32xbf16>
    %0 = nn.matmul %x, %w : tensor<8x64xf32>, tensor<64x32xbf16> -> tensor<8x32xf32>
    %h = arith.mulf %0, %angles : tensor<8x32xf32>
    %sum = nn.reduce <sum_square> %h dims [1] : tensor<8x32xf32> -> tensor<8xf32>
    %root = math.sqrt %sum : tensor<8xf32>
    %1 = nn.broadcast %root dims [0] : tensor<8xf32> -> tensor<8x32xf32>
    %2 = arith.divf %h, %1 : tensor<8x32xf32>
    %share = math.sin %2 : tensor<8x32xf32>
    %z = arith.addf %share, %1 : tensor<8x32xf32>
    %y = math.cos %share : tensor<8x32xf32>
    return %cos, %sum, %y, %z : tensor<8x32xf32>, tensor<8xf32>, tensor<8x32xf32>, tensor<8x32xf32>
  }
}

// -----

// Accumulators rest in the result of a product that takes its weight in tiles of depth; an update takes a stored gradient
// element by element, and writes the twin in the same pass.
// CHECK-LABEL: func.func @trained
// CHECK: %[[H:.*]] = nn.call @{{.*}} : (tensor<8x64xf32>, tensor<64x32xbf16>) -> tensor<8x32xbf16>
// CHECK: nn.call @[[DEPTH:.*]](%[[H]], %{{.*}}) : (tensor<8x32xbf16>, tensor<64x32xbf16>) -> tensor<8x64xf32>
// CHECK: %[[G:.*]] = nn.call @{{.*}}(%{{.*}}, %[[H]]) : (tensor<8x64xf32>, tensor<8x32xbf16>) -> tensor<64x32xf32>
// CHECK: nn.call @{{.*}}(%[[G]]) : (tensor<64x32xf32>) -> tensor<f32>
// CHECK: nn.call @{{.*}} into({{.*}} : tensor<64x32xf32>, tensor<64x32xbf16>)
// CHECK: nn.kernel @[[DEPTH]]({{.*}}nn.depth_tiled{{.*}} -> tensor<8x64xf32>
module attributes {nn.stored_type = bf16} {
  zero.state @w "w" : tensor<64x32xf32> role(<parameter>) rewritten source(#zero.splat<1.0 : f32>)
  zero.state @w.bf16 "w.bf16" : tensor<64x32xbf16> role(<twin>) rewritten source(#zero.rounded<#zero.splat<1.0 : f32>>)
  func.func @trained(%x: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<f32>) {
    %w = zero.use @w.bf16 : tensor<64x32xbf16>
    %h = nn.matmul %x, %w : tensor<8x64xf32>, tensor<64x32xbf16> -> tensor<8x32xf32>
    %y = nn.matmul %h, %w transpose : tensor<8x32xf32>, tensor<64x32xbf16> -> tensor<8x64xf32>
    %z = nn.softmax %y dim 1 : tensor<8x64xf32>
    %g = nn.matmul %x transpose, %h : tensor<8x64xf32>, tensor<8x32xf32> -> tensor<64x32xf32>
    %norm = nn.reduce <sum_square> %g dims [0, 1] : tensor<64x32xf32> -> tensor<f32>
    %0 = nn.broadcast %norm dims [] : tensor<f32> -> tensor<64x32xf32>
    %1 = arith.divf %g, %0 : tensor<64x32xf32>
    %exact = zero.use @w : tensor<64x32xf32>
    %w1 = arith.subf %exact, %1 : tensor<64x32xf32>
    %narrow = arith.truncf %w1 : tensor<64x32xf32> to tensor<64x32xbf16>
    zero.update [@w, @w.bf16] (%w1, %narrow) : tensor<64x32xf32>, tensor<64x32xbf16>
    return %z, %norm : tensor<8x64xf32>, tensor<f32>
  }
}

// -----

// expected-error@+1 {{nn.stored_type must be bf16 or f16, not 'i8'}}
module attributes {nn.stored_type = i8} {}
