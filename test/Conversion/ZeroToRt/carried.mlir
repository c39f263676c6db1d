// REQUIRES: spillway-opt
// RUN: spillway-opt %s -zero-schedule -convert-zero-to-rt | FileCheck %s
// What is computed first takes 130 KiB, what comes later 4. The staging has room for one weight: @a, then @b. New values of @c lie in bytes that
// are free by then, and are written from there when the step has ended: the launch of the next step that takes these bytes waits for that.
// What reads a weight waits for its own write, and for that of what lies in its place.

// CHECK: rt.arena host [[#ARENA:]]
// CHECK-DAG: %[[A:.+]] = rt.buffer "a" host[[[#RING:ARENA-8192]], 8192]
// CHECK-DAG: %[[B:.+]] = rt.buffer "b" host[[[#RING]], 8192]
// CHECK-DAG: %[[C:.+]] = rt.buffer "c" host[4096, 8192]
// CHECK: rt.step {
// CHECK-NEXT: ^bb0(%[[WA:.+]]: !rt.event, %[[WB:.+]]: !rt.event, %[[WC:.+]]: !rt.event):
// CHECK-NEXT: rt.read @a[0] into %[[A]] after(%[[WB]], %[[WA]]) label "a"
// CHECK-NEXT: rt.launch @grow({{.+}} after(%[[WC]])
// CHECK-NEXT: rt.launch @shrink({{[^)]+}}) into({{[^)]+}}) units [0, 1]{{$}}
// CHECK: %[[LA:.+]] = rt.launch @update({{[^)]+}}) into(%[[A]])
// CHECK: rt.read @b[0] into %[[B]] after(%[[LA]], %{{[0-9]+}}, %[[WB]]) label "b"
// CHECK: rt.read @c[0] into %[[C]] after(%[[LA]], %[[WC]]) label "c"
// CHECK: rt.carry %{{.+}}, %{{.+}}, %{{.+}}
module attributes {zero.arenas = [#zero.arena<host, 262144, staging = 8192>]} {
zero.state @a "a" : tensor<32x64xf32> role(<parameter>) rewritten source(#zero.splat<0.0 : f32>)
zero.state @b "b" : tensor<32x64xf32> role(<parameter>) rewritten source(#zero.splat<0.0 : f32>)
zero.state @c "c" : tensor<32x64xf32> role(<parameter>) rewritten source(#zero.splat<0.0 : f32>)
nn.kernel private @grow(tensor<8x64xf32>) -> tensor<8x4096xf32>
  attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, cost = #nn.cost<1, 1>}
nn.kernel private @shrink(tensor<8x4096xf32>) -> tensor<8x32xf32>
  attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, cost = #nn.cost<1, 1>}
nn.kernel private @k(tensor<8x32xf32>) -> tensor<8x32xf32>
  attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, cost = #nn.cost<1, 1>}
nn.kernel private @update(tensor<8x32xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
  attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, cost = #nn.cost<1, 1>}
func.func @main(%x: tensor<8x64xf32> {spillway.name = "x", spillway.type = "f32"})
    -> (tensor<8x32xf32> {spillway.name = "y", spillway.type = "f32"}) {
  %large = nn.call @grow(%x) : (tensor<8x64xf32>) -> tensor<8x4096xf32>
  %small = nn.call @shrink(%large) : (tensor<8x4096xf32>) -> tensor<8x32xf32>
  %y = nn.call @k(%small) : (tensor<8x32xf32>) -> tensor<8x32xf32>
  %a = zero.use @a : tensor<32x64xf32>
  %0 = nn.call @update(%y, %a) into (%a : tensor<32x64xf32>) : (tensor<8x32xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
  zero.update [@a](%0) : tensor<32x64xf32>
  %b = zero.use @b : tensor<32x64xf32>
  %1 = nn.call @update(%y, %b) into (%b : tensor<32x64xf32>) : (tensor<8x32xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
  zero.update [@b](%1) : tensor<32x64xf32>
  %c = zero.use @c : tensor<32x64xf32>
  %2 = nn.call @update(%y, %c) into (%c : tensor<32x64xf32>) : (tensor<8x32xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
  zero.update [@c](%2) : tensor<32x64xf32>
  return %y : tensor<8x32xf32>
}
}
