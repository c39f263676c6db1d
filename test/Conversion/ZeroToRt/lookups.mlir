// REQUIRES: spillway-opt
// RUN: spillway-opt %s -split-input-file -zero-schedule -convert-zero-to-rt | FileCheck %s

// Rows of an embedding that stays on NVMe come through staging, on the read stream; the launch waits for them.
// CHECK-LABEL: rt.program @main
// CHECK: rt.input "ids" %[[IDS:.+]] "i64" [2]
// CHECK: %[[S:.+]] = rt.buffer "e" host[{{[0-9]+}}, 4096]
// CHECK: rt.step {
// CHECK-NEXT: %[[E:.+]] = rt.lookup @e[%[[IDS]] "i64"] into %[[ROWS:.+]] staging %[[S]]
// CHECK-NEXT: rt.launch @k(%[[ROWS]]) into(%{{.+}}) units [0, 1] after(%[[E]])
module attributes {zero.arenas = [#zero.arena<host, 65536>]} {
zero.state @e "e" : tensor<100x1024xf32> role(<parameter>) source(#zero.splat<0.0 : f32>)
nn.kernel private @k(tensor<2x1024xf32>) -> tensor<2x1024xf32>
  attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, cost = #nn.cost<64, 768>}
func.func @main(%ids: tensor<2xi64> {spillway.name = "ids", spillway.type = "i64"})
    -> (tensor<2x1024xf32> {spillway.name = "y", spillway.type = "f32"}) {
  %0 = zero.lookup @e[%ids] : tensor<2xi64> -> tensor<2x1024xf32>
  %1 = nn.call @k(%0) : (tensor<2x1024xf32>) -> tensor<2x1024xf32>
  return %1 : tensor<2x1024xf32>
}
}

// -----

// Where all of it stays, they come from memory, in order with the launches.
// CHECK-LABEL: rt.program @main
// CHECK: %[[E:.+]] = rt.buffer "e" host[0, 409600]
// CHECK: rt.prologue {
// CHECK-NEXT: rt.read @e[0] into %[[E]]
// CHECK: rt.step {
// CHECK-NEXT: rt.lookup @e[%{{.+}} "i32"] into %[[ROWS:.+]] resident %[[E]]
// CHECK-NEXT: rt.launch @k(%[[ROWS]]) into(%{{.+}}) units [0, 1]{{$}}
module attributes {zero.arenas = [#zero.arena<host, 500000>]} {
zero.state @e "e" : tensor<100x1024xf32> role(<parameter>) home([#zero.tier<host>]) source(#zero.splat<0.0 : f32>)
nn.kernel private @k(tensor<2x1024xf32>) -> tensor<2x1024xf32>
  attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, cost = #nn.cost<64, 768>}
func.func @main(%ids: tensor<2xi32> {spillway.name = "ids", spillway.type = "i32"})
    -> (tensor<2x1024xf32> {spillway.name = "y", spillway.type = "f32"}) {
  %0 = zero.lookup @e[%ids] : tensor<2xi32> -> tensor<2x1024xf32>
  %1 = nn.call @k(%0) : (tensor<2x1024xf32>) -> tensor<2x1024xf32>
  return %1 : tensor<2x1024xf32>
}
}
