// REQUIRES: spillway-opt
// RUN: spillway-opt %s -zero-schedule -convert-zero-to-rt | FileCheck %s
// What is computed first takes 130 KiB, what comes later 4. The staging has room for one weight: @b waits for the launch that takes @a. @c lies
// in the bytes that are free by then, and waits for the same launch, not for that of @b.

// CHECK: rt.arena host [[#ARENA:]]
// CHECK-DAG: %[[A:.+]] = rt.buffer "a" host[[[#RING:ARENA-8192]], 8192]
// CHECK-DAG: %[[B:.+]] = rt.buffer "b" host[[[#RING]], 8192]
// CHECK-DAG: %[[C:.+]] = rt.buffer "c" host[4096, 8192]
// CHECK: rt.step {
// CHECK-NEXT: %[[RA:.+]] = rt.read @a[0] into %[[A]] label "a"
// CHECK-NEXT: rt.launch @grow
// CHECK-NEXT: rt.launch @shrink
// CHECK-NEXT: %[[LA:.+]] = rt.launch @k(%{{.+}}, %[[A]]) {{.+}} after(%[[RA]])
// CHECK-NEXT: %[[RB:.+]] = rt.read @b[0] into %[[B]] after(%[[LA]]) label "b"
// CHECK-NEXT: %[[RC:.+]] = rt.read @c[0] into %[[C]] after(%[[LA]]) label "c"
// CHECK-NEXT: rt.launch @k(%{{.+}}, %[[B]]) {{.+}} after(%[[RB]])
// CHECK-NEXT: rt.launch @k(%{{.+}}, %[[C]]) {{.+}} after(%[[RC]])
module attributes {zero.arenas = [#zero.arena<host, 262144, staging = 8192>]} {
zero.state @a "a" : tensor<32x64xf32> role(<parameter>) source(#zero.splat<0.0 : f32>)
zero.state @b "b" : tensor<32x64xf32> role(<parameter>) source(#zero.splat<0.0 : f32>)
zero.state @c "c" : tensor<32x64xf32> role(<parameter>) source(#zero.splat<0.0 : f32>)
nn.kernel private @grow(tensor<8x64xf32>) -> tensor<8x4096xf32>
  attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, cost = #nn.cost<1, 1>}
nn.kernel private @shrink(tensor<8x4096xf32>) -> tensor<8x32xf32>
  attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, cost = #nn.cost<1, 1>}
nn.kernel private @k(tensor<8x32xf32>, tensor<32x64xf32>) -> tensor<8x32xf32>
  attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, cost = #nn.cost<1, 1>}
func.func @main(%x: tensor<8x64xf32> {spillway.name = "x", spillway.type = "f32"})
    -> (tensor<8x32xf32> {spillway.name = "y", spillway.type = "f32"}) {
  %large = nn.call @grow(%x) : (tensor<8x64xf32>) -> tensor<8x4096xf32>
  %small = nn.call @shrink(%large) : (tensor<8x4096xf32>) -> tensor<8x32xf32>
  %a = zero.use @a : tensor<32x64xf32>
  %0 = nn.call @k(%small, %a) : (tensor<8x32xf32>, tensor<32x64xf32>) -> tensor<8x32xf32>
  %b = zero.use @b : tensor<32x64xf32>
  %1 = nn.call @k(%0, %b) : (tensor<8x32xf32>, tensor<32x64xf32>) -> tensor<8x32xf32>
  %c = zero.use @c : tensor<32x64xf32>
  %2 = nn.call @k(%1, %c) : (tensor<8x32xf32>, tensor<32x64xf32>) -> tensor<8x32xf32>
  return %2 : tensor<8x32xf32>
}
}
