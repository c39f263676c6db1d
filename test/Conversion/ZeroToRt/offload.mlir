// REQUIRES: spillway-opt
// RUN: spillway-opt %s -convert-zero-to-rt | FileCheck %s
// A value that waits on the drive: its memory is taken again by a call that finds it written, it is read into bytes that
// nothing uses any more, and the first call that takes it waits. A second value takes the same place on the drive when the
// first one has been taken.

// CHECK-LABEL: rt.program @main
// CHECK: rt.arena host 24576
// CHECK-NEXT: rt.arena nvme 8192
// CHECK: rt.buffer "" nvme[0, 8000]
// CHECK: rt.buffer "" nvme[0, 8000]
// CHECK: rt.step {
// CHECK-NEXT: %[[L0:.+]] = rt.launch @f(%{{.+}}) into(%[[A:.+]]) units [0, 1]
// CHECK-NEXT: %[[W0:.+]] = rt.copy %[[A]] into %[[S0:.+]] on write after(%[[L0]])
// CHECK-NEXT: rt.launch @f(%[[A]]) into(%{{[^ ]+}}) units [0, 1]{{$}}
// CHECK-NEXT: %[[L2:.+]] = rt.launch @f(%{{.+}}) into(%{{.+}}) units [0, 1] after(%[[W0]])
// CHECK-NEXT: %[[R0:.+]] = rt.copy %[[S0]] into %[[B:.+]] on read after(%[[L2]])
// CHECK-NEXT: rt.launch @f(%{{.+}}) into(%{{[^ ]+}}) units [0, 1]{{$}}
// CHECK-NEXT: rt.launch @g(%{{.+}}, %[[B]]) into(%{{.+}}) units [0, 1] after(%[[R0]])
// CHECK-NEXT: %[[L5:.+]] = rt.launch @f
// CHECK-NEXT: %[[W1:.+]] = rt.copy %{{.+}} into %[[S1:.+]] on write after(%[[L5]])
// CHECK-NEXT: rt.launch @f(%{{.+}}) into(%{{[^ ]+}}) units [0, 1]{{$}}
// CHECK-NEXT: %[[L7:.+]] = rt.launch @f(%{{.+}}) into(%{{.+}}) units [0, 1] after(%[[W1]])
// CHECK-NEXT: %[[R1:.+]] = rt.copy %[[S1]] into %[[C:.+]] on read after(%[[L7]])
// CHECK-NEXT: rt.launch @g(%{{.+}}, %[[C]]) into(%{{.+}}) units [0, 1] after(%[[R1]])
module attributes {zero.arenas = [#zero.arena<host, 65536>]} {
nn.kernel private @f(tensor<2000xf32>) -> tensor<2000xf32>
  attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, cost = #nn.cost<1, 1>}
nn.kernel private @g(tensor<2000xf32>, tensor<2000xf32>) -> tensor<2000xf32>
  attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, cost = #nn.cost<1, 1>}
func.func @main(%x: tensor<2000xf32> {spillway.name = "x", spillway.type = "f32"})
    -> (tensor<2000xf32> {spillway.name = "y", spillway.type = "f32"}) {
  %a = nn.call @f(%x) : (tensor<2000xf32>) -> tensor<2000xf32>
  %s = zero.offload %a : tensor<2000xf32> -> <tensor<2000xf32>, nvme>
  %b = nn.call @f(%a) : (tensor<2000xf32>) -> tensor<2000xf32>
  zero.settle %s : <tensor<2000xf32>, nvme>
  %c = nn.call @f(%b) : (tensor<2000xf32>) -> tensor<2000xf32>
  %r = zero.restore %s : <tensor<2000xf32>, nvme> -> tensor<2000xf32>
  zero.release %s : <tensor<2000xf32>, nvme>
  %d = nn.call @f(%c) : (tensor<2000xf32>) -> tensor<2000xf32>
  %e = nn.call @g(%d, %r) : (tensor<2000xf32>, tensor<2000xf32>) -> tensor<2000xf32>
  %h = nn.call @f(%e) : (tensor<2000xf32>) -> tensor<2000xf32>
  %t = zero.offload %h : tensor<2000xf32> -> <tensor<2000xf32>, nvme>
  %i = nn.call @f(%h) : (tensor<2000xf32>) -> tensor<2000xf32>
  zero.settle %t : <tensor<2000xf32>, nvme>
  %j = nn.call @f(%i) : (tensor<2000xf32>) -> tensor<2000xf32>
  %q = zero.restore %t : <tensor<2000xf32>, nvme> -> tensor<2000xf32>
  zero.release %t : <tensor<2000xf32>, nvme>
  %y = nn.call @g(%j, %q) : (tensor<2000xf32>, tensor<2000xf32>) -> tensor<2000xf32>
  return %y : tensor<2000xf32>
}
}
