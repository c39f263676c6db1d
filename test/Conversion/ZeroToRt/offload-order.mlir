// REQUIRES: spillway-opt
// RUN: spillway-opt %s -convert-zero-to-rt | FileCheck %s
// What comes back may take the memory of a value that the same call finds written: it is read when that write has ended.

// CHECK: rt.step {
// CHECK-NEXT: %[[L0:.+]] = rt.launch @f
// CHECK-NEXT: %[[W0:.+]] = rt.copy %{{.+}} into %[[S0:.+]] on write after(%[[L0]])
// CHECK-NEXT: rt.launch @f(%{{.+}}) into(%{{[^ ]+}}) units [0, 1]{{$}}
// CHECK-NEXT: %[[L2:.+]] = rt.launch @f(%{{.+}}) into(%{{.+}}) units [0, 1] after(%[[W0]])
// CHECK-NEXT: %[[W2:.+]] = rt.copy %{{.+}} into %{{.+}} on write after(%[[L2]])
// CHECK-NEXT: rt.copy %[[S0]] into %{{.+}} on read after(%[[W2]], %[[L2]])
module attributes {zero.arenas = [#zero.arena<host, 65536>]} {
nn.kernel private @f(tensor<2048xf32>) -> tensor<2048xf32>
  attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, cost = #nn.cost<1, 1>}
nn.kernel private @g(tensor<2048xf32>, tensor<2048xf32>) -> tensor<2048xf32>
  attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, cost = #nn.cost<1, 1>}
func.func @main(%x: tensor<2048xf32> {spillway.name = "x", spillway.type = "f32"})
    -> (tensor<2048xf32> {spillway.name = "y", spillway.type = "f32"}) {
  %a = nn.call @f(%x) : (tensor<2048xf32>) -> tensor<2048xf32>
  %s = zero.offload %a : tensor<2048xf32> -> <tensor<2048xf32>, nvme>
  %b = nn.call @f(%a) : (tensor<2048xf32>) -> tensor<2048xf32>
  zero.settle %s : <tensor<2048xf32>, nvme>
  %c = nn.call @f(%b) : (tensor<2048xf32>) -> tensor<2048xf32>
  %t = zero.offload %c : tensor<2048xf32> -> <tensor<2048xf32>, nvme>
  zero.settle %t : <tensor<2048xf32>, nvme>
  %r = zero.restore %s : <tensor<2048xf32>, nvme> -> tensor<2048xf32>
  zero.release %s : <tensor<2048xf32>, nvme>
  %d = nn.call @f(%r) : (tensor<2048xf32>) -> tensor<2048xf32>
  %q = zero.restore %t : <tensor<2048xf32>, nvme> -> tensor<2048xf32>
  zero.release %t : <tensor<2048xf32>, nvme>
  %y = nn.call @g(%d, %q) : (tensor<2048xf32>, tensor<2048xf32>) -> tensor<2048xf32>
  return %y : tensor<2048xf32>
}
}
