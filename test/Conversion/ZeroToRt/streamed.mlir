// REQUIRES: spillway-opt
// RUN: spillway-opt %s -zero-schedule=threads=2 -convert-zero-to-rt=threads=2 | FileCheck %s
// What stays, then what the step computes, then the staging. The resident bias is read before the first step; tiles
// come in turn through two slots of 8 KiB, the third where the first was, once its launch has ended. Tiles of
// one result share its bytes and its scratch.

// CHECK-LABEL: rt.program @main ranks(1) threads(2) {
// CHECK-NEXT: rt.arena host 28672
// CHECK-NEXT: %[[X:.+]] = rt.buffer "" host[4096, 2048]
// CHECK-NEXT: rt.input "x" %[[X]] "f32" [8, 64]
// CHECK-NEXT: %[[Y:.+]] = rt.buffer "" host[6144, 2304]
// CHECK-NEXT: rt.output "y" %[[Y]] "f32" [8, 72]
// CHECK-DAG: %[[B:.+]] = rt.buffer "b" host[0, 4096]
// CHECK-DAG: %[[W0:.+]] = rt.buffer "w" host[12288, 8192]
// CHECK-DAG: %[[W1:.+]] = rt.buffer "w" host[20480, 8192]
// CHECK-DAG: %[[S:.+]] = rt.buffer "scratch" host[8448, 256]
// CHECK-DAG: %[[W2:.+]] = rt.buffer "w" host[12288, 4096]
// CHECK: rt.prologue {
// CHECK-NEXT: rt.read @b[0] into %[[B]] label "b"
// CHECK: rt.step {
// CHECK-NEXT: %[[R0:.+]] = rt.read @w[0] into %[[W0]] label "w"
// CHECK-NEXT: %[[R1:.+]] = rt.read @w[8192] into %[[W1]] label "w"
// CHECK-NEXT: %[[L0:.+]] = rt.launch @k(%[[X]], %[[W0]], %[[B2:.+]]) into(%[[Y]]) units [0, 2] scratch %[[S]] per_thread 128 after(%[[R0]])
// CHECK-NEXT: %[[R2:.+]] = rt.read @w[16384] into %[[W2]] after(%[[L0]]) label "w"
// CHECK-NEXT: rt.launch @k(%[[X]], %[[W1]], %[[B2]]) into(%[[Y]]) units [2, 4] origins [0, 2, 0, 0] scratch %[[S]] per_thread 128 after(%[[R1]])
// CHECK-NEXT: rt.launch @k(%[[X]], %[[W2]], %[[B2]]) into(%[[Y]]) units [4, 5] origins [0, 4, 0, 0] scratch %[[S]] per_thread 128 after(%[[R2]])
module attributes {zero.arenas = [#zero.arena<host, 65536, staging = 16384>]} {
zero.state @w "w" : tensor<64x72xf32> role(<parameter>) layout(<1>) tile(2) source(#zero.splat<0.0 : f32>)
zero.state @b "b" : tensor<72xf32> role(<parameter>) home([#zero.tier<host>]) source(#zero.splat<0.0 : f32>)
nn.kernel private @k(tensor<8x64xf32>, tensor<64x72xf32> {nn.layout = #nn.panels<1>, nn.tiled}, tensor<72xf32>) -> tensor<8x72xf32>
  attributes {schedule = #nn.schedule<gemm>, units = 5 : i64, scratch = 100 : i64, cost = #nn.cost<73728, 23072>}
func.func @main(%x: tensor<8x64xf32> {spillway.name = "x", spillway.type = "f32"})
    -> (tensor<8x72xf32> {spillway.name = "y", spillway.type = "f32"}) {
  %e = tensor.empty() : tensor<8x72xf32>
  %b = zero.use @b : tensor<72xf32>
  %w0 = zero.use @w tile 0 : tensor<64x32xf32>
  %y0 = nn.call @k(%x, %w0, %b) units [0, 2] into (%e : tensor<8x72xf32>) : (tensor<8x64xf32>, tensor<64x32xf32>, tensor<72xf32>) -> tensor<8x72xf32>
  %w1 = zero.use @w tile 1 : tensor<64x32xf32>
  %y1 = nn.call @k(%x, %w1, %b) units [2, 4] into (%y0 : tensor<8x72xf32>) : (tensor<8x64xf32>, tensor<64x32xf32>, tensor<72xf32>) -> tensor<8x72xf32>
  %w2 = zero.use @w tile 2 : tensor<64x8xf32>
  %y2 = nn.call @k(%x, %w2, %b) units [4, 5] into (%y1 : tensor<8x72xf32>) : (tensor<8x64xf32>, tensor<64x8xf32>, tensor<72xf32>) -> tensor<8x72xf32>
  return %y2 : tensor<8x72xf32>
}
}
