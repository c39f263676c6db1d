// RUN: spillway-opt %s -split-input-file -zero-schedule -convert-zero-to-rt=ranks=2 | FileCheck %s
// RUN: not spillway-opt %s -split-input-file -zero-schedule -convert-zero-to-rt=ranks=3 2>&1 | FileCheck %s --check-prefix=OTHER

// OTHER: is split over 2 ranks of 3

// Each rank reads its part of a tile to its own place, and what the parts make up is gathered there:
// no byte more than the gathered tile. Of the last tile rank 1 has nothing (its read ends with the state).
// CHECK: rt.program @main ranks(2) threads(1)
// CHECK: rt.arena host 24576
// CHECK-DAG: %[[OWN0:.+]] = rt.buffer "w" host[8192, 8192] rank_stride 8192
// CHECK-DAG: %[[ALL0:.+]] = rt.buffer "w" host[8192, 16384]{{$}}
// CHECK-DAG: %[[OWN1:.+]] = rt.buffer "w" host[8192, 4096] rank_stride 4096
// CHECK-DAG: %[[ALL1:.+]] = rt.buffer "w" host[8192, 8192]{{$}}
// CHECK: rt.step {
// CHECK-NEXT: %[[R0:.+]] = rt.read @w[0] rank_stride 8192 into %[[OWN0]] label "w"
// CHECK-NEXT: %[[G0:.+]] = rt.all_gather %[[OWN0]] into %[[ALL0]] after(%[[R0]]) label "w"
// CHECK-NEXT: %[[L0:.+]] = rt.launch @k(%{{.+}}, %[[ALL0]]) into(%{{.+}}) units [0, 4] after(%[[G0]])
// CHECK-NEXT: %[[R1:.+]] = rt.read @w[16384] rank_stride 4096 into %[[OWN1]] after(%[[L0]])
// CHECK-NEXT: %[[G1:.+]] = rt.all_gather %[[OWN1]] into %[[ALL1]] after(%[[R1]])
// CHECK-NEXT: rt.launch @k(%{{.+}}, %[[ALL1]]) into(%{{.+}}) units [4, 5] origins [0, 4, 0] after(%[[G1]])
module attributes {zero.arenas = [#zero.arena<host, 65536, staging = 16384>]} {
zero.state @w "w" : tensor<64x72xf32> role(<parameter>) layout(<1>) tile(4) partition(2) source(#zero.splat<0.0 : f32>)
nn.kernel private @k(tensor<8x64xf32>, tensor<64x72xf32> {nn.layout = #nn.panels<1>, nn.tiled}) -> tensor<8x72xf32>
  attributes {schedule = #nn.schedule<gemm>, units = 5 : i64, scratch = 0 : i64, cost = #nn.cost<73728, 23072>}
func.func @main(%x: tensor<8x64xf32> {spillway.name = "x", spillway.type = "f32"}) -> (tensor<8x72xf32> {spillway.name = "y", spillway.type = "f32"}) {
  %e = tensor.empty() : tensor<8x72xf32>
  %w0 = zero.use @w tile 0 : tensor<64x64xf32>
  %y0 = nn.call @k(%x, %w0) units [0, 4] into (%e : tensor<8x72xf32>) : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x72xf32>
  %w1 = zero.use @w tile 1 : tensor<64x8xf32>
  %y1 = nn.call @k(%x, %w1) units [4, 5] into (%y0 : tensor<8x72xf32>) : (tensor<8x64xf32>, tensor<64x8xf32>) -> tensor<8x72xf32>
  return %y1 : tensor<8x72xf32>
}
}

// -----

// Three tiers: what is at home in the host is there by parts, which are brought in once; each goes up
// to its own place on the device.
// CHECK: rt.program @main ranks(2) threads(1)
// CHECK-DAG: %[[KEPT:.+]] = rt.buffer "w" host[0, 12288]{{$}}
// CHECK-DAG: %[[OWN:.+]] = rt.buffer "w" device[8192, 12288] rank_stride 12288
// CHECK-DAG: %[[ALL:.+]] = rt.buffer "w" device[8192, 24576]{{$}}
// CHECK: rt.prologue {
// CHECK-NEXT: rt.read @w[0] rank_stride 12288 into %{{.+}} label "w"
// CHECK: rt.step {
// CHECK-NEXT: %[[C:.+]] = rt.copy %{{.+}} into %[[OWN]] on copy_up label "w"
// CHECK-NEXT: %[[G:.+]] = rt.all_gather %[[OWN]] into %[[ALL]] after(%[[C]])
// CHECK-NEXT: rt.launch @k(%{{.+}}, %[[ALL]]) into(%{{.+}}) units [0, 5] after(%[[G]])
module attributes {zero.arenas = [#zero.arena<device, 65536, staging = 24576>, #zero.arena<host, 65536>]} {
zero.state @w "w" : tensor<64x72xf32> role(<parameter>) layout(<1>) partition(2) home([#zero.tier<host>]) source(#zero.splat<0.0 : f32>)
nn.kernel private @k(tensor<8x64xf32>, tensor<64x72xf32> {nn.layout = #nn.panels<1>, nn.tiled}) -> tensor<8x72xf32>
  attributes {schedule = #nn.schedule<gemm>, units = 5 : i64, scratch = 0 : i64, cost = #nn.cost<73728, 23072>}
func.func @main(%x: tensor<8x64xf32> {spillway.name = "x", spillway.type = "f32"}) -> (tensor<8x72xf32> {spillway.name = "y", spillway.type = "f32"}) {
  %w = zero.use @w : tensor<64x72xf32>
  %y = nn.call @k(%x, %w) : (tensor<8x64xf32>, tensor<64x72xf32>) -> tensor<8x72xf32>
  return %y : tensor<8x72xf32>
}
}

// -----

// What every rank keeps is read in parts once, but for what is less than a chunk a rank.
// CHECK: rt.program @main ranks(2) threads(1)
// CHECK-DAG: %[[OWN:.+]] = rt.buffer "w" host[0, 8192] rank_stride 8192
// CHECK-DAG: %[[ALL:.+]] = rt.buffer "w" host[0, 16384]{{$}}
// CHECK-DAG: %[[REST:.+]] = rt.buffer "w" host[16384, 4096]{{$}}
// CHECK: rt.prologue {
// CHECK-NEXT: %[[R:.+]] = rt.read @w[0] rank_stride 8192 into %[[OWN]] label "w"
// CHECK-NEXT: rt.all_gather %[[OWN]] into %[[ALL]] after(%[[R]]) label "w"
// CHECK-NEXT: rt.read @w[16384] into %[[REST]] label "w"
// CHECK: rt.step {
// CHECK-NEXT: rt.launch @k
module attributes {zero.arenas = [#zero.arena<host, 65536>]} {
zero.state @w "w" : tensor<64x72xf32> role(<parameter>) layout(<1>) partition(2) home([#zero.tier<host>]) source(#zero.splat<0.0 : f32>)
nn.kernel private @k(tensor<8x64xf32>, tensor<64x72xf32> {nn.layout = #nn.panels<1>, nn.tiled}) -> tensor<8x72xf32>
  attributes {schedule = #nn.schedule<gemm>, units = 5 : i64, scratch = 0 : i64, cost = #nn.cost<73728, 23072>}
func.func @main(%x: tensor<8x64xf32> {spillway.name = "x", spillway.type = "f32"}) -> (tensor<8x72xf32> {spillway.name = "y", spillway.type = "f32"}) {
  %w = zero.use @w : tensor<64x72xf32>
  %y = nn.call @k(%x, %w) : (tensor<8x64xf32>, tensor<64x72xf32>) -> tensor<8x72xf32>
  return %y : tensor<8x72xf32>
}
}
