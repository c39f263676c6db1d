// REQUIRES: spillway-opt
// RUN: spillway-opt %s -zero-schedule -convert-zero-to-rt | FileCheck %s
// The halves of the host's staging lie at the same places for states of different pieces: what comes first through the
// lower half need not wait for what lies in the upper one.

// CHECK-LABEL: rt.program @main
// CHECK-DAG: %[[A0:.+]] = rt.buffer "a" host[0, 12288]
// CHECK-DAG: %[[A1:.+]] = rt.buffer "a" host[16384, 12288]
// CHECK-DAG: %[[B0:.+]] = rt.buffer "b" host[0, 16384]
// CHECK-DAG: %[[B1:.+]] = rt.buffer "b" host[16384, 4096]
// CHECK: rt.prologue {
// CHECK-NEXT: %[[R0:.+]] = rt.read @a[0] into %[[A0]] label "a"
// CHECK-NEXT: %[[C0:.+]] = rt.copy %[[A0]] into %{{.+}} on copy_up after(%[[R0]]) label "a"
// CHECK-NEXT: %[[R1:.+]] = rt.read @a[12288] into %[[A1]] label "a"
// CHECK-NEXT: %[[C1:.+]] = rt.copy %[[A1]] into %{{.+}} on copy_up after(%[[R1]]) label "a"
// CHECK-NEXT: %[[R2:.+]] = rt.read @b[0] into %[[B0]] after(%[[C0]]) label "b"
// CHECK-NEXT: rt.copy %[[B0]] into %{{.+}} on copy_up after(%[[R2]]) label "b"
// CHECK-NEXT: %[[R3:.+]] = rt.read @b[16384] into %[[B1]] after(%[[C1]]) label "b"
module attributes {zero.arenas = [#zero.arena<device, 131072>, #zero.arena<host, 65536, staging = 32768>]} {
zero.state @a "a" : tensor<2x3072xf32> role(<parameter>) home([#zero.tier<device>]) source(#zero.splat<0.0 : f32>)
zero.state @b "b" : tensor<5120xf32> role(<parameter>) home([#zero.tier<device>]) source(#zero.splat<0.0 : f32>)
nn.kernel private @k(tensor<2x3072xf32>, tensor<5120xf32>) -> tensor<64xf32>
  attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, cost = #nn.cost<64, 768>}
func.func @main() -> (tensor<64xf32> {spillway.name = "y", spillway.type = "f32"}) {
  %a = zero.use @a : tensor<2x3072xf32>
  %b = zero.use @b : tensor<5120xf32>
  %0 = nn.call @k(%a, %b) : (tensor<2x3072xf32>, tensor<5120xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
}
