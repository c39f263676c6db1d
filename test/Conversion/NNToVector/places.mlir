// RUN: spillway-opt --nn-to-vector --split-input-file --verify-diagnostics %s | FileCheck %s

// Data are copied, then updates happen in order: a place that is updated is read and written.
// CHECK-LABEL: func.func @scatter(
// CHECK: scf.for
// CHECK: vector.store
// CHECK: scf.for
// CHECK: %[[UPDATE:.*]] = vector.load
// CHECK: %[[OLD:.*]] = vector.load
// CHECK: %[[NEW:.*]] = arith.addf %[[OLD]], %[[UPDATE]]
// CHECK: vector.store %[[NEW]]
nn.kernel @scatter(%x: tensor<9x32xf32>, %i: tensor<5x1xi64>, %u: tensor<5x32xf32>) -> tensor<9x32xf32>
    attributes {schedule = #nn.schedule<scatter>, units = 1 : i64, scratch = 0 : i64} {
  %0 = nn.scatter <add> %x[%i] %u : tensor<9x32xf32>, tensor<5x1xi64>, tensor<5x32xf32>
  nn.yield %0 : tensor<9x32xf32>
}

// -----

// expected-error @+1 {{must give the result of its scatter alone}}
nn.kernel @followed(%x: tensor<9x32xf32>, %i: tensor<5x1xi64>, %u: tensor<5x32xf32>) -> tensor<9x32xf32>
    attributes {schedule = #nn.schedule<scatter>, units = 1 : i64, scratch = 0 : i64} {
  %0 = nn.scatter <add> %x[%i] %u : tensor<9x32xf32>, tensor<5x1xi64>, tensor<5x32xf32>
  %1 = math.sqrt %0 : tensor<9x32xf32>
  nn.yield %1 : tensor<9x32xf32>
}

// -----

// A merge carries its places in the two runs.
// CHECK-LABEL: func.func @sort(
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (index, index)
// CHECK: arith.cmpf olt
nn.kernel @sort(%x: tensor<9x32xf32>) -> tensor<9x4xi64>
    attributes {schedule = #nn.schedule<sort>, units = 1 : i64, scratch = 0 : i64} {
  %0 = nn.argsort %x dim 1 : tensor<9x32xf32> -> tensor<9x4xi64>
  nn.yield %0 : tensor<9x4xi64>
}

// -----

// expected-error @+1 {{has the schedule sort, but not one argsort}}
nn.kernel @none(%x: tensor<9xi64>) -> tensor<9xi64>
    attributes {schedule = #nn.schedule<sort>, units = 1 : i64, scratch = 0 : i64} {
  %0 = arith.addi %x, %x : tensor<9xi64>
  nn.yield %0 : tensor<9xi64>
}
