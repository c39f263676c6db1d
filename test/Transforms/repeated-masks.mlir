// What follows from its place and little data is computed again by each kernel that reads it, where storing it would
// go through memory: neither the mask nor what it picks is a result of a kernel.
// RUN: spillway-opt %s -nn-form-kernels | FileCheck %s
// CHECK: func.func @main(%[[X:[a-z0-9]+]]: tensor<1024x2048xf32>, %[[INDEX:[a-z0-9]+]]: tensor<1024xi64>, %[[G:[a-z0-9]+]]: tensor<1024xf32>)
// CHECK-NEXT: %[[SUM:.*]] = nn.call @{{.*}}(%[[INDEX]], %[[G]]) : (tensor<1024xi64>, tensor<1024xf32>) -> tensor<1024xf32>
// CHECK-NEXT: %[[DIFFERENCE:.*]] = nn.call @{{.*}}(%[[X]], %[[INDEX]], %[[G]]) : {{.*}} -> tensor<1024x2048xf32>
// CHECK-NEXT: return %[[SUM]], %[[DIFFERENCE]]
func.func @main(%x: tensor<1024x2048xf32>, %index: tensor<1024xi64>, %g: tensor<1024xf32>)
    -> (tensor<1024xf32>, tensor<1024x2048xf32>) {
  %zero = arith.constant dense<0.0> : tensor<1024x2048xf32>
  %place = nn.iota dim 1 : tensor<1024x2048xi64>
  %indices = nn.broadcast %index dims [0] : tensor<1024xi64> -> tensor<1024x2048xi64>
  %mask = arith.cmpi eq, %place, %indices : tensor<1024x2048xi64>
  %values = nn.broadcast %g dims [0] : tensor<1024xf32> -> tensor<1024x2048xf32>
  %picked = arith.select %mask, %values, %zero : tensor<1024x2048xi1>, tensor<1024x2048xf32>
  %sum = nn.reduce <sum> %picked dims [1] : tensor<1024x2048xf32> -> tensor<1024xf32>
  %difference = arith.subf %x, %picked : tensor<1024x2048xf32>
  return %sum, %difference : tensor<1024xf32>, tensor<1024x2048xf32>
}
