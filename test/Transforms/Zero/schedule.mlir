// RUN: spillway-opt %s -split-input-file -zero-schedule | FileCheck %s

// Staging for two slots of 8 KiB: the third tile comes in where the first was, as soon
// as that is released; the resident bias is there when it is asked for.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[H0:.+]] = zero.fetch @w tile 0 to <host>
// CHECK-NEXT: %[[H1:.+]] = zero.fetch @w tile 1 to <host>
// CHECK-NEXT: %[[E:.+]] = tensor.empty()
// CHECK-NEXT: %[[W0:.+]] = zero.view %[[H0]]
// CHECK-NEXT: %[[HB0:.+]] = zero.fetch @b to <host>
// CHECK-NEXT: %[[B0:.+]] = zero.view %[[HB0]]
// CHECK-NEXT: %[[Y0:.+]] = nn.call @k(%{{.+}}, %[[W0]], %[[B0]]) units [0, 2] into(%[[E]]
// CHECK-NEXT: zero.release %[[HB0]]
// CHECK-NEXT: zero.release %[[H0]]
// CHECK-NEXT: %[[H2:.+]] = zero.fetch @w tile 2 to <host>
// CHECK-NEXT: %[[W1:.+]] = zero.view %[[H1]]
// CHECK: nn.call @k(%{{.+}}, %[[W1]]
// CHECK: zero.release %[[H1]]
// CHECK-NEXT: %[[W2:.+]] = zero.view %[[H2]]
// CHECK: nn.call @k(%{{.+}}, %[[W2]]
// CHECK: zero.release %[[H2]]
// CHECK-NEXT: return
module attributes {zero.arenas = [#zero.arena<host, 65536, staging = 16384>]} {
zero.state @w "w" : tensor<64x72xf32> role(<parameter>) layout(<1>) tile(2) source(#zero.splat<0.0 : f32>)
zero.state @b "b" : tensor<72xf32> role(<parameter>) home([#zero.tier<host>]) source(#zero.splat<0.0 : f32>)
nn.kernel private @k(tensor<8x64xf32>, tensor<64x72xf32> {nn.layout = #nn.panels<1>, nn.tiled}, tensor<72xf32>) -> tensor<8x72xf32>
  attributes {schedule = #nn.schedule<gemm>, units = 5 : i64, scratch = 0 : i64, cost = #nn.cost<73728, 23072>}
func.func @main(%x: tensor<8x64xf32>) -> tensor<8x72xf32> {
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

// -----

// Three tiers: from NVMe through the host's one slot to the device's two; what is at home in the
// host only goes up. The third piece waits in the host until the device has room. A
// reshape of a state follows its view.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[A:.+]] = zero.fetch @a to <host>
// CHECK-NEXT: %[[B:.+]] = zero.fetch @b to <host>
// CHECK-NEXT: %[[AD:.+]] = zero.move %[[A]] to <device>
// CHECK-NEXT: zero.release %[[A]]
// CHECK-NEXT: %[[BD:.+]] = zero.move %[[B]] to <device>
// CHECK-NEXT: zero.release %[[B]]
// CHECK-NEXT: %[[C:.+]] = zero.fetch @a to <host>
// CHECK-NEXT: %[[AV:.+]] = zero.view %[[AD]]
// CHECK-NEXT: %[[AR:.+]] = nn.reshape %[[AV]]
// CHECK-NEXT: nn.call @k(%{{.+}}, %[[AR]])
// CHECK-NEXT: zero.release %[[AD]]
// CHECK-NEXT: %[[CD:.+]] = zero.move %[[C]] to <device>
// CHECK-NEXT: zero.release %[[C]]
// CHECK-NEXT: %[[BV:.+]] = zero.view %[[BD]]
// CHECK-NEXT: nn.reshape %[[BV]]
// CHECK-NEXT: nn.call
// CHECK-NEXT: zero.release %[[BD]]
// CHECK-NEXT: zero.view %[[CD]]
module attributes {zero.arenas = [#zero.arena<device, 65536, staging = 8192>, #zero.arena<host, 65536, staging = 4096>]} {
zero.state @a "a" : tensor<1x64xf32> role(<parameter>) source(#zero.splat<0.0 : f32>)
zero.state @b "b" : tensor<1x64xf32> role(<parameter>) home([#zero.tier<host>]) source(#zero.splat<0.0 : f32>)
nn.kernel private @k(tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, cost = #nn.cost<64, 768>}
func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %a = zero.use @a : tensor<1x64xf32>
  %ar = nn.reshape %a : tensor<1x64xf32> -> tensor<64xf32>
  %b = zero.use @b : tensor<1x64xf32>
  %br = nn.reshape %b : tensor<1x64xf32> -> tensor<64xf32>
  %0 = nn.call @k(%x, %ar) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %1 = nn.call @k(%0, %br) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %2 = nn.call @k(%1, %ar) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}
}

// -----

// Two ranks share five panels: a tile of four and one of the last. Each rank fetches its part, which is
// gathered at once; staging for the first tile, which holds the second one's two parts too.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[P0:.+]] = zero.fetch @w tile 0 part to <host> : <tensor<64x32xf32>, host>
// CHECK-NEXT: %[[H0:.+]] = zero.gather %[[P0]] : <tensor<64x32xf32>, host> -> <tensor<64x64xf32>, host>
// CHECK-NEXT: zero.release %[[P0]]
// CHECK-NEXT: tensor.empty
// CHECK-NEXT: %[[W0:.+]] = zero.view %[[H0]]
// CHECK-NEXT: nn.call @k(%{{.+}}, %[[W0]]) units [0, 4]
// CHECK-NEXT: zero.release %[[H0]]
// CHECK-NEXT: %[[P1:.+]] = zero.fetch @w tile 1 part to <host> : <tensor<64x16xf32>, host>
// CHECK-NEXT: %[[H1:.+]] = zero.gather %[[P1]] : <tensor<64x16xf32>, host> -> <tensor<64x8xf32>, host>
// CHECK-NEXT: zero.release %[[P1]]
// CHECK-NEXT: %[[W1:.+]] = zero.view %[[H1]]
// CHECK-NEXT: nn.call @k(%{{.+}}, %[[W1]]) units [4, 5]
// CHECK-NEXT: zero.release %[[H1]]
module attributes {zero.arenas = [#zero.arena<host, 65536, staging = 16384>]} {
zero.state @w "w" : tensor<64x72xf32> role(<parameter>) layout(<1>) tile(4) partition(2) source(#zero.splat<0.0 : f32>)
nn.kernel private @k(tensor<8x64xf32>, tensor<64x72xf32> {nn.layout = #nn.panels<1>, nn.tiled}) -> tensor<8x72xf32>
  attributes {schedule = #nn.schedule<gemm>, units = 5 : i64, scratch = 0 : i64, cost = #nn.cost<73728, 23072>}
func.func @main(%x: tensor<8x64xf32>) -> tensor<8x72xf32> {
  %e = tensor.empty() : tensor<8x72xf32>
  %w0 = zero.use @w tile 0 : tensor<64x64xf32>
  %y0 = nn.call @k(%x, %w0) units [0, 4] into (%e : tensor<8x72xf32>) : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x72xf32>
  %w1 = zero.use @w tile 1 : tensor<64x8xf32>
  %y1 = nn.call @k(%x, %w1) units [4, 5] into (%y0 : tensor<8x72xf32>) : (tensor<8x64xf32>, tensor<64x8xf32>) -> tensor<8x72xf32>
  return %y1 : tensor<8x72xf32>
}
}

// -----

// Three tiers: the part goes up, and is gathered on the device. What is at home there is whole.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[H:.+]] = zero.fetch @w part to <host> : <tensor<64x48xf32>, host>
// CHECK-NEXT: %[[D:.+]] = zero.move %[[H]] to <device>
// CHECK-NEXT: zero.release %[[H]]
// CHECK-NEXT: %[[G:.+]] = zero.gather %[[D]] : <tensor<64x48xf32>, device> -> <tensor<64x72xf32>, device>
// CHECK-NEXT: zero.release %[[D]]
// CHECK-NEXT: %[[W:.+]] = zero.view %[[G]]
// CHECK-NEXT: nn.call @k(%{{.+}}, %[[W]])
// CHECK-NEXT: zero.release %[[G]]
// CHECK-NEXT: %[[V:.+]] = zero.fetch @v to <device> : <tensor<64x72xf32>, device>
module attributes {zero.arenas = [#zero.arena<device, 65536, staging = 24576>, #zero.arena<host, 65536, staging = 12288>]} {
zero.state @w "w" : tensor<64x72xf32> role(<parameter>) layout(<1>) partition(2) source(#zero.splat<0.0 : f32>)
zero.state @v "v" : tensor<64x72xf32> role(<parameter>) layout(<1>) partition(2) home([#zero.tier<device>]) source(#zero.splat<0.0 : f32>)
nn.kernel private @k(tensor<8x64xf32>, tensor<64x72xf32> {nn.layout = #nn.panels<1>, nn.tiled}) -> tensor<8x72xf32>
  attributes {schedule = #nn.schedule<gemm>, units = 5 : i64, scratch = 0 : i64, cost = #nn.cost<73728, 23072>}
func.func @main(%x: tensor<8x64xf32>) -> (tensor<8x72xf32>, tensor<8x72xf32>) {
  %w = zero.use @w : tensor<64x72xf32>
  %y = nn.call @k(%x, %w) : (tensor<8x64xf32>, tensor<64x72xf32>) -> tensor<8x72xf32>
  %v = zero.use @v : tensor<64x72xf32>
  %z = nn.call @k(%x, %v) : (tensor<8x64xf32>, tensor<64x72xf32>) -> tensor<8x72xf32>
  return %y, %z : tensor<8x72xf32>, tensor<8x72xf32>
}
}
