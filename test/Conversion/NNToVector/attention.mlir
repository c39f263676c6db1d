// RUN: spillway-opt %s -split-input-file -nn-to-vector -verify-diagnostics | FileCheck %s

// Twenty queries are four tiles of five rows; scores of a block of keys stay in scratch.
// CHECK-LABEL: func.func @causal
// The running maximum begins below everything.
// CHECK: memref.store {{.*}} : memref<20xf32>
// Scores: one chain of products over depth.
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK-COUNT-20: math.fma {{.*}} : vector<16xf32>
// CHECK: vector.store {{.*}} : memref<1440xf32>, vector<16xf32>
// Hidden keys, then the maximum, the weights and how what was summed before decays.
// CHECK: vector.create_mask {{.*}} : vector<16xi1>
// CHECK: vector.reduction <maximumf>
// CHECK: math.exp {{.*}} : vector<16xf32>
// CHECK: math.exp {{.*}} : vector<16xf32>
// Weights times values go on from the output so far.
// CHECK-COUNT-20: math.fma {{.*}} : vector<16xf32>
// The epilogue: the bias is read where the element goes, heads behind queries.
// CHECK: arith.divf {{.*}} : vector<16xf32>
// CHECK: vector.load {{.*}} : memref<64xf32>, vector<16xf32>
// CHECK: arith.addf {{.*}} : vector<16xf32>
// CHECK: vector.store {{.*}} : memref<1280xf32>, vector<16xf32>
// CHECK-NOT: vector.scatter
nn.kernel @causal(%q: tensor<1x2x20x8xf32>, %k: tensor<1x2x40x8xf32>, %v: tensor<1x2x40x32xf32>, %b: tensor<64xf32>)
    -> tensor<1x20x64xf32> attributes {schedule = #nn.schedule<attention>, units = 2 : i64, scratch = 0 : i64} {
  %0 = nn.attention <nan> %q, %k, %v scale 0.125 {causal_offset = 20 : i64}
      : tensor<1x2x20x8xf32>, tensor<1x2x40x8xf32>, tensor<1x2x40x32xf32> -> tensor<1x2x20x32xf32>
  %1 = nn.transpose %0 perm [0, 2, 1, 3] : tensor<1x2x20x32xf32> -> tensor<1x20x2x32xf32>
  %2 = nn.reshape %1 : tensor<1x20x2x32xf32> -> tensor<1x20x64xf32>
  %3 = nn.broadcast %b dims [2] : tensor<64xf32> -> tensor<1x20x64xf32>
  %4 = arith.addf %2, %3 : tensor<1x20x64xf32>
  nn.yield %4 : tensor<1x20x64xf32>
}

// -----

// expected-error @below {{must hold one nn.attention}}
nn.kernel @no_attention(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {schedule = #nn.schedule<attention>, units = 1 : i64, scratch = 0 : i64} {
  nn.yield %x : tensor<4xf32>
}

// -----

nn.kernel @two_positions(%q: tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
    attributes {schedule = #nn.schedule<attention>, units = 1 : i64, scratch = 0 : i64} {
  %0 = nn.attention <nan> %q, %q, %q scale 1.0
      : tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32> -> tensor<1x4x4x4xf32>
  %1 = nn.transpose %0 perm [0, 2, 1, 3] : tensor<1x4x4x4xf32> -> tensor<1x4x4x4xf32>
  // expected-error @below {{cannot follow nn.attention in its kernel: it needs other elements of it}}
  %2 = arith.addf %0, %1 : tensor<1x4x4x4xf32>
  nn.yield %2 : tensor<1x4x4x4xf32>
}

// -----

// expected-error @below {{has a result that does not follow from its nn.attention}}
nn.kernel @beside(%q: tensor<1x4x4x4xf32>) -> (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>)
    attributes {schedule = #nn.schedule<attention>, units = 1 : i64, scratch = 0 : i64} {
  %0 = nn.attention <nan> %q, %q, %q scale 1.0
      : tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32> -> tensor<1x4x4x4xf32>
  %1 = arith.negf %q : tensor<1x4x4x4xf32>
  nn.yield %0, %1 : tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>
}
