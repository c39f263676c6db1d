// RUN: spillway-opt --nn-to-vector --split-input-file --verify-diagnostics %s | FileCheck %s

// Lanes lie across lines: the sum is carried as a vector.
// CHECK-LABEL: func.func @across(
// CHECK: scf.for {{.*}} iter_args(%[[SUM:.*]] = {{.*}}) -> (vector<16xf32>)
// CHECK: %[[X:.*]] = vector.load
// CHECK: %[[NEXT:.*]] = arith.addf %[[SUM]], %[[X]]
// CHECK: vector.store %[[NEXT]]
// CHECK: scf.yield %[[NEXT]]
nn.kernel @across(%x: tensor<9x32xf32>) -> tensor<9x32xf32>
    attributes {schedule = #nn.schedule<scan>, units = 1 : i64, scratch = 0 : i64} {
  %0 = nn.cumsum %x dim 0 : tensor<9x32xf32>
  nn.yield %0 : tensor<9x32xf32>
}

// -----

nn.kernel @backwards(%x: tensor<9x32xf32>) -> tensor<9x32xf32>
    attributes {schedule = #nn.schedule<scan>, units = 1 : i64, scratch = 0 : i64} {
  %0 = nn.cumsum %x dim 0 : tensor<9x32xf32>
  // expected-error @+1 {{cannot follow nn.cumsum in its kernel}}
  %1 = nn.slice %0 offsets [8, 0] strides [-1, 1] : tensor<9x32xf32> -> tensor<9x32xf32>
  nn.yield %1 : tensor<9x32xf32>
}
