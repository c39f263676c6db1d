// REQUIRES: spillway-opt
// RUN: spillway-opt %s -zero-schedule -convert-zero-to-rt | FileCheck %s
// Three tiers: what stays on the device comes up through halves of the host's staging before the first step; what
// streams is read into the host, copied up, and its place in the host is free when it has gone up.

// CHECK-LABEL: rt.program @main ranks(1) threads(1) {
// CHECK-DAG: rt.arena device 24576
// CHECK-DAG: rt.arena host 12288
// CHECK-DAG: %[[RD0:.+]] = rt.buffer "r" device[0, 4096]
// CHECK-DAG: %[[RD1:.+]] = rt.buffer "r" device[4096, 4096]
// CHECK-DAG: %[[RD2:.+]] = rt.buffer "r" device[8192, 4096]
// CHECK-DAG: %[[BH:.+]] = rt.buffer "b" host[0, 4096]
// CHECK: rt.prologue {
// CHECK-NEXT: %[[P0:.+]] = rt.read @r[0] into %[[H0:.+]] label "r"
// CHECK-NEXT: %[[C0:.+]] = rt.copy %[[H0]] into %[[RD0]] on copy_up after(%[[P0]]) label "r"
// CHECK-NEXT: %[[P1:.+]] = rt.read @r[4096] into %[[H1:.+]] label "r"
// CHECK-NEXT: rt.copy %[[H1]] into %[[RD1]] on copy_up after(%[[P1]]) label "r"
// CHECK-NEXT: %[[P2:.+]] = rt.read @r[8192] into %[[H2:.+]] after(%[[C0]]) label "r"
// CHECK-NEXT: rt.copy %[[H2]] into %[[RD2]] on copy_up after(%[[P2]]) label "r"
// CHECK-NEXT: rt.read @b[0] into %[[BH]] label "b"
// CHECK: rt.step {
// CHECK-NEXT: %[[A:.+]] = rt.read @a[0] into %[[AH:.+]] label "a"
// CHECK-NEXT: %[[AU:.+]] = rt.copy %[[AH]] into %[[AD:.+]] on copy_up after(%[[A]]) label "a"
// CHECK-NEXT: %[[BU:.+]] = rt.copy %{{.+}} into %[[BD:.+]] on copy_up label "b"
// CHECK-NEXT: %[[L0:.+]] = rt.launch @k(%{{.+}}, %[[AD]]) into(%{{.+}}) units [0, 1] after(%[[AU]])
// CHECK-NEXT: rt.launch @k(%{{.+}}, %[[BD]]) into(%{{.+}}) units [0, 1] after(%[[BU]])
// CHECK-NEXT: rt.launch @big
module attributes {zero.arenas = [#zero.arena<device, 65536, staging = 8192>, #zero.arena<host, 65536, staging = 8192>]} {
zero.state @r "r" : tensor<3072xf32> role(<parameter>) home([#zero.tier<device>]) source(#zero.splat<0.0 : f32>)
zero.state @a "a" : tensor<64xf32> role(<parameter>) source(#zero.splat<0.0 : f32>)
zero.state @b "b" : tensor<64xf32> role(<parameter>) home([#zero.tier<host>]) source(#zero.splat<0.0 : f32>)
nn.kernel private @k(tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, cost = #nn.cost<64, 768>}
nn.kernel private @big(tensor<64xf32>, tensor<3072xf32>) -> tensor<64xf32>
  attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, cost = #nn.cost<64, 768>}
func.func @main(%x: tensor<64xf32> {spillway.name = "x", spillway.type = "f32"})
    -> (tensor<64xf32> {spillway.name = "y", spillway.type = "f32"}) {
  %a = zero.use @a : tensor<64xf32>
  %b = zero.use @b : tensor<64xf32>
  %r = zero.use @r : tensor<3072xf32>
  %0 = nn.call @k(%x, %a) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %1 = nn.call @k(%0, %b) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %2 = nn.call @big(%1, %r) : (tensor<64xf32>, tensor<3072xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}
}
