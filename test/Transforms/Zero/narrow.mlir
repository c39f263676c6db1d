// REQUIRES: spillway-opt
// RUN: spillway-opt %s -split-input-file -zero-narrow -canonicalize | FileCheck %s

// A slice of rows is a state of these rows: the same place in the file, further on. Dimensions of
// one index before them do not matter.
// CHECK-DAG: zero.state @[[P:p.*]] "p[2:6]" : tensor<4x8xf32> role(<parameter>) source(#zero.file<"m.bin", 164, 128>)
// CHECK-DAG: zero.state @[[Q:q.*]] "q[:,0:4]" : tensor<1x4x8xi1> role(<parameter>) source(#zero.file<"m.bin", 500, 32>)
// CHECK-NOT: zero.state
// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[PV:.+]] = zero.use @[[P]] : tensor<4x8xf32>
// CHECK-DAG: %[[QV:.+]] = zero.use @[[Q]] : tensor<1x4x8xi1>
// CHECK: %[[C:.+]] = nn.slice %[[QV]] offsets [0, 0, 1] strides [1, 1, 2] : tensor<1x4x8xi1> -> tensor<1x4x3xi1>
// CHECK: return %[[PV]], %[[C]]
zero.state @p "p" : tensor<16x8xf32> role(<parameter>) source(#zero.file<"m.bin", 100, 512>)
zero.state @q "q" : tensor<1x16x8xi1> role(<parameter>) source(#zero.file<"m.bin", 500, 128>)
func.func @main() -> (tensor<4x8xf32>, tensor<1x4x3xi1>) {
  %p = zero.use @p : tensor<16x8xf32>
  %0 = nn.slice %p offsets [2, 0] strides [1, 1] : tensor<16x8xf32> -> tensor<4x8xf32>
  %q = zero.use @q : tensor<1x16x8xi1>
  %1 = nn.slice %q offsets [0, 0, 1] strides [1, 1, 2] : tensor<1x16x8xi1> -> tensor<1x4x3xi1>
  return %0, %1 : tensor<4x8xf32>, tensor<1x4x3xi1>
}

// -----

// Ranges that share rows are one state, others have their own; backwards and with gaps.
// CHECK-DAG: zero.state @[[A:w.*]] "w[0:7]" : tensor<7x8xf32> role(<parameter>) source(#zero.splat<1.000000e+00 : f32>)
// CHECK-DAG: zero.state @[[B:w.*]] "w[8:16]" : tensor<8x8xf32>
// CHECK-NOT: zero.state
// CHECK-LABEL: func.func @main
// CHECK-DAG: zero.use @[[A]]
// CHECK-DAG: zero.use @[[B]]
// CHECK-DAG: nn.slice %{{.+}} offsets [0, 0] strides [2, 1] : tensor<7x8xf32> -> tensor<2x8xf32>
// CHECK-DAG: nn.slice %{{.+}} offsets [6, 0] strides [-1, 1] : tensor<7x8xf32> -> tensor<5x8xf32>
zero.state @w "w" : tensor<16x8xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main() -> (tensor<2x8xf32>, tensor<5x8xf32>, tensor<8x8xf32>) {
  %w = zero.use @w : tensor<16x8xf32>
  %0 = nn.slice %w offsets [0, 0] strides [2, 1] : tensor<16x8xf32> -> tensor<2x8xf32>
  %1 = nn.slice %w offsets [6, 0] strides [-1, 1] : tensor<16x8xf32> -> tensor<5x8xf32>
  %2 = nn.slice %w offsets [8, 0] strides [1, 1] : tensor<16x8xf32> -> tensor<8x8xf32>
  return %0, %1, %2 : tensor<2x8xf32>, tensor<5x8xf32>, tensor<8x8xf32>
}

// -----

// A gather with constant indices counts from the first row that it needs; negative indices from the end.
// CHECK: zero.state @[[G:.+]] "g[3:15]" : tensor<12x8xf32>
// CHECK: arith.constant dense<[1, 11, 0]> : tensor<3xi64>
// CHECK: nn.gather %{{.+}} dim 0 : tensor<12x8xf32>, tensor<3xi64> -> tensor<3x8xf32>
zero.state @g "g" : tensor<16x8xf32> role(<parameter>) source(#zero.file<"m.bin", 0, 512>)
func.func @main() -> tensor<3x8xf32> {
  %g = zero.use @g : tensor<16x8xf32>
  %i = arith.constant dense<[4, -2, 3]> : tensor<3xi64>
  %0 = nn.gather %g[%i] dim 0 : tensor<16x8xf32>, tensor<3xi64> -> tensor<3x8xf32>
  return %0 : tensor<3x8xf32>
}

// -----

// What is also read whole, or looked up in, or has no fixed place for a row stays as it is.
// CHECK-COUNT-3: : tensor<16x8xf32> role
// CHECK: zero.state @i "i" : tensor<16xi64> role
// CHECK-NOT: zero.state
zero.state @whole "whole" : tensor<16x8xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @rows "rows" : tensor<16x8xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @columns "columns" : tensor<16x8xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @i "i" : tensor<16xi64> role(<parameter>) source(#zero.file<"m.bin", 0, 17, varint = true>)
func.func @main(%ids: tensor<2xi64>) -> (tensor<2x8xf32>, tensor<16x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<16x2xf32>, tensor<2xi64>) {
  %w = zero.use @whole : tensor<16x8xf32>
  %0 = nn.slice %w offsets [0, 0] strides [1, 1] : tensor<16x8xf32> -> tensor<2x8xf32>
  %1 = arith.negf %w : tensor<16x8xf32>
  %r = zero.use @rows : tensor<16x8xf32>
  %2 = nn.slice %r offsets [0, 0] strides [1, 1] : tensor<16x8xf32> -> tensor<2x8xf32>
  %3 = zero.lookup @rows[%ids] : tensor<2xi64> -> tensor<2x8xf32>
  %c = zero.use @columns : tensor<16x8xf32>
  %4 = nn.slice %c offsets [0, 0] strides [1, 1] : tensor<16x8xf32> -> tensor<16x2xf32>
  %i = zero.use @i : tensor<16xi64>
  %5 = nn.slice %i offsets [0] strides [1] : tensor<16xi64> -> tensor<2xi64>
  return %0, %1, %2, %3, %4, %5 : tensor<2x8xf32>, tensor<16x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<16x2xf32>, tensor<2xi64>
}
