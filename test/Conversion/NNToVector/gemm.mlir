// RUN: spillway-opt %s -split-input-file -nn-to-vector -verify-diagnostics | FileCheck %s

// Thirteen rows are three tiles: one of five rows, two of four. The bias is added, and the
// product rounded to its element type, after the last block of depth.
// CHECK-LABEL: func.func @packed
// The block of the left operand, transposed eight by eight.
// CHECK: vector.load {{.*}} : memref<6656xbf16>, vector<8xbf16>
// CHECK: arith.extf {{.*}} : vector<8xbf16> to vector<8xf32>
// CHECK: vector.shuffle {{.*}} [0, 8, 1, 9, 4, 12, 5, 13] : vector<8xf32>, vector<8xf32>
// A block of a panel, in accumulator type since several tiles read it.
// CHECK: vector.load {{.*}} : memref<24576xbf16>, vector<16xbf16>
// CHECK: memref.prefetch {{.*}}, read, locality<2>, data : memref<24576xbf16>
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK-COUNT-20: math.fma {{.*}} : vector<16xf32>
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) {
// CHECK-COUNT-16: math.fma {{.*}} : vector<16xf32>
// CHECK-NOT: math.fma
// CHECK: arith.truncf {{.*}} : vector<16xf32> to vector<16xbf16>
// CHECK: arith.addf {{.*}} : vector<16xbf16>
// CHECK: vector.store {{.*}} : memref<624xbf16>, vector<16xbf16>
nn.kernel @packed(%x: tensor<13x512xbf16>, %w: tensor<512x48xbf16> {nn.layout = #nn.panels<1>, nn.tiled}, %b: tensor<48xbf16>)
    -> tensor<13x48xbf16> attributes {schedule = #nn.schedule<gemm>, units = 3 : i64, scratch = 0 : i64} {
  %0 = nn.matmul %x, %w : tensor<13x512xbf16>, tensor<512x48xbf16> -> tensor<13x48xbf16>
  %1 = nn.broadcast %b dims [1] : tensor<48xbf16> -> tensor<13x48xbf16>
  %2 = arith.addf %0, %1 : tensor<13x48xbf16>
  nn.yield %2 : tensor<13x48xbf16>
}

// -----

// One row reads the weight where it lies.
// CHECK-LABEL: func.func @one_row
// CHECK: scf.for {{.*}} -> (vector<16xf32>) {
// CHECK: vector.load {{.*}} : memref<4096xf32>, vector<16xf32>
// CHECK: math.fma
nn.kernel @one_row(%x: tensor<1x64xf32>, %w: tensor<64x64xf32>) -> tensor<1x64xf32>
    attributes {schedule = #nn.schedule<gemm>, units = 4 : i64, scratch = 0 : i64} {
  %0 = nn.matmul %x, %w : tensor<1x64xf32>, tensor<64x64xf32> -> tensor<1x64xf32>
  nn.yield %0 : tensor<1x64xf32>
}

// -----

// expected-error @below {{must hold one nn.matmul}}
nn.kernel @no_matmul(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {schedule = #nn.schedule<gemm>, units = 1 : i64, scratch = 0 : i64} {
  nn.yield %x : tensor<4xf32>
}

// -----

// Panels of depth, for another user of the weight: eight indices of depth are read at once and
// transposed.
// CHECK-LABEL: func.func @depth_panels
// CHECK: vector.load {{.*}} : memref<1024xf32>, vector<8xf32>
// CHECK: vector.shuffle {{.*}} [0, 8, 1, 9, 4, 12, 5, 13] : vector<8xf32>, vector<8xf32>
// CHECK-NOT: vector.gather
nn.kernel @depth_panels(%x: tensor<1x32xf32>, %w: tensor<32x32xf32> {nn.layout = #nn.panels<0>}) -> tensor<1x32xf32>
    attributes {schedule = #nn.schedule<gemm>, units = 2 : i64, scratch = 0 : i64} {
  %0 = nn.matmul %x, %w : tensor<1x32xf32>, tensor<32x32xf32> -> tensor<1x32xf32>
  nn.yield %0 : tensor<1x32xf32>
}

// -----

nn.kernel @moves_columns(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32>
    attributes {schedule = #nn.schedule<gemm>, units = 1 : i64, scratch = 0 : i64} {
  %0 = nn.matmul %x, %w : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  // expected-error @below {{cannot follow nn.matmul in its kernel: it needs other elements of it}}
  %1 = nn.slice %0 offsets [0, 3] strides [1, -1] : tensor<4x4xf32> -> tensor<4x4xf32>
  nn.yield %1 : tensor<4x4xf32>
}

// -----

// A right operand that is packed, and too large to stay in a cache, is fetched a block ahead; rows of it or columns.
// CHECK-LABEL: func.func @rows_ahead
// CHECK: memref.prefetch {{.*}}, read, locality<2>, data : memref<131072xf32>
// CHECK-COUNT-24: math.fma
nn.kernel @rows_ahead(%x: tensor<12x512xf32>, %w: tensor<512x256xf32>) -> tensor<12x256xf32>
    attributes {schedule = #nn.schedule<gemm>, units = 16 : i64, scratch = 0 : i64} {
  %0 = nn.matmul %x, %w : tensor<12x512xf32>, tensor<512x256xf32> -> tensor<12x256xf32>
  nn.yield %0 : tensor<12x256xf32>
}

// -----

// CHECK-LABEL: func.func @columns_ahead
// CHECK: memref.prefetch {{.*}}, read, locality<2>, data : memref<131072xf32>
// CHECK-COUNT-24: math.fma
nn.kernel @columns_ahead(%x: tensor<12x512xf32>, %w: tensor<256x512xf32>) -> tensor<12x256xf32>
    attributes {schedule = #nn.schedule<gemm>, units = 16 : i64, scratch = 0 : i64} {
  %0 = nn.matmul %x, %w transpose : tensor<12x512xf32>, tensor<256x512xf32> -> tensor<12x256xf32>
  nn.yield %0 : tensor<12x256xf32>
}

// -----

// CHECK-LABEL: func.func @stays_in_a_cache
// CHECK-NOT: memref.prefetch
// CHECK: return
nn.kernel @stays_in_a_cache(%x: tensor<12x64xf32>, %w: tensor<64x64xf32>) -> tensor<12x64xf32>
    attributes {schedule = #nn.schedule<gemm>, units = 4 : i64, scratch = 0 : i64} {
  %0 = nn.matmul %x, %w : tensor<12x64xf32>, tensor<64x64xf32> -> tensor<12x64xf32>
  nn.yield %0 : tensor<12x64xf32>
}
