// RUN: spillway-opt --nn-to-vector --split-input-file --verify-diagnostics %s | FileCheck %s

// Heads of attention: lanes stay side by side through reshape and transpose.
// CHECK-LABEL: func.func @heads(
// CHECK-SAME: %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr)
// CHECK: scf.for
// CHECK: scf.for
// CHECK: %[[X:.*]] = vector.load %{{.*}} : memref<3072xf32>, vector<16xf32>
// CHECK: vector.store %[[X]]
// CHECK-NOT: vector.gather
// CHECK: return
nn.kernel @heads(%x: tensor<2x8x192xf32>) -> tensor<2x3x8x64xf32>
    attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64} {
  %0 = nn.reshape %x : tensor<2x8x192xf32> -> tensor<2x8x3x64xf32>
  %1 = nn.transpose %0 perm [0, 2, 1, 3] : tensor<2x8x3x64xf32> -> tensor<2x3x8x64xf32>
  nn.yield %1 : tensor<2x3x8x64xf32>
}

// -----

// Elementwise work of any shape is one row; its tail is masked. A value that is used
// twice is computed once, a broadcast scalar is loaded before the loop.
// CHECK-LABEL: func.func @chain(
// CHECK: memref.load
// CHECK: scf.for
// CHECK-NOT: memref.load
// CHECK: math.exp {{.*}} : vector<16xf32>
// CHECK-NOT: math.exp
// CHECK: vector.store
// CHECK: vector.maskedstore
nn.kernel @chain(%x: tensor<105xf32>, %s: tensor<1xf32>) -> tensor<105xf32>
    attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64} {
  %0 = nn.broadcast %s dims [0] : tensor<1xf32> -> tensor<105xf32>
  %1 = math.exp %x : tensor<105xf32>
  %2 = arith.mulf %1, %0 : tensor<105xf32>
  %3 = arith.addf %2, %1 : tensor<105xf32>
  nn.yield %3 : tensor<105xf32>
}

// -----

// The last element alone is no masked store.
// CHECK-LABEL: func.func @lone(
// CHECK: vector.store
// CHECK-NOT: vector.maskedstore
// CHECK: memref.store %{{.*}}, %{{.*}} : memref<33xf32>
// CHECK: return
nn.kernel @lone(%x: tensor<33xf32>) -> tensor<33xf32>
    attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64} {
  %0 = arith.negf %x : tensor<33xf32>
  nn.yield %0 : tensor<33xf32>
}

// -----

// A row of a table: the index is checked once a row, its row is read side by side.
// CHECK-LABEL: func.func @rows(
// CHECK: scf.for
// CHECK: memref.load %{{.*}} : memref<6xi64>
// CHECK: arith.maxsi
// CHECK: scf.for
// CHECK: llvm.store %{{.*}} atomic monotonic
// CHECK: vector.load
nn.kernel @rows(%t: tensor<10x64xf32>, %i: tensor<6xi64>) -> tensor<6x64xf32>
    attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64} {
  %0 = nn.gather %t[%i] dim 0 : tensor<10x64xf32>, tensor<6xi64> -> tensor<6x64xf32>
  nn.yield %0 : tensor<6x64xf32>
}

// -----

// A boolean is a byte in memory and a bit in a vector.
// CHECK-LABEL: func.func @booleans(
// CHECK: vector.load %{{.*}} : memref<64xi8>, vector<16xi8>
// CHECK: arith.cmpi ne
// CHECK: arith.extui {{.*}} : vector<16xi1> to vector<16xi8>
// CHECK: vector.store
nn.kernel @booleans(%x: tensor<64xi1>, %y: tensor<64xi1>) -> tensor<64xi1>
    attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64} {
  %0 = arith.andi %x, %y : tensor<64xi1>
  nn.yield %0 : tensor<64xi1>
}

// -----

nn.kernel @refused(%x: tensor<4x4xf32>) -> tensor<4x4xf32>
    attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64} {
  // expected-error @+1 {{cannot be computed element by element in a kernel of this schedule}}
  %0 = nn.softmax %x dim 1 : tensor<4x4xf32>
  nn.yield %0 : tensor<4x4xf32>
}

// -----

// Indices of fewer bits than a dimension has are widened before they are compared with it.
// CHECK-LABEL: func.func @long(
// CHECK: %[[I:.*]] = memref.load %{{.*}} : memref<6xi32>
// CHECK: %[[WIDE:.*]] = arith.extsi %[[I]] : i32 to i64
// CHECK: arith.cmpi slt, %[[WIDE]], %{{.*}} : i64
nn.kernel @long(%t: tensor<3000000000x64xi8>, %i: tensor<6xi32>) -> tensor<6x64xi8>
    attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64} {
  %0 = nn.gather %t[%i] dim 0 : tensor<3000000000x64xi8>, tensor<6xi32> -> tensor<6x64xi8>
  nn.yield %0 : tensor<6x64xi8>
}
