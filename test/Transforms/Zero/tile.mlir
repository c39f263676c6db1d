// RUN: spillway-opt %s -split-input-file -zero-tile=state=w=2 | FileCheck %s
// RUN: spillway-opt %s -split-input-file -zero-tile=max-bytes=9000 | FileCheck %s
// RUN: not spillway-opt %s -split-input-file -zero-tile=state=q=2 2>&1 | FileCheck %s --check-prefix=UNMATCHED
// RUN: not spillway-opt %s -split-input-file -zero-tile=state=w 2>&1 | FileCheck %s --check-prefix=MALFORMED
// RUN: not spillway-opt %s -split-input-file -zero-tile=state=b=1 2>&1 | FileCheck %s --check-prefix=UNTILEABLE

// UNMATCHED: tile rule q=2: no state that kernels can take by parts matches q with its whole name
// MALFORMED: tile rule w: expected REGEX=UNITS
// UNTILEABLE: tile rule b=1: no state that kernels can take by parts matches b with its whole name

// Five panels by two: the last tile is shorter, in panels and in columns. The bias stays whole.
// CHECK: zero.state @w "w" : tensor<64x72xf32> role(<parameter>) layout(<1>) tile(2)
// CHECK: zero.state @b "b" : tensor<72xf32> role(<parameter>) source
// CHECK-LABEL: func.func @main
// CHECK: %[[B:.+]] = zero.use @b : tensor<72xf32>
// CHECK: %[[E:.+]] = tensor.empty() : tensor<8x72xf32>
// CHECK: %[[W0:.+]] = zero.use @w tile 0 : tensor<64x32xf32>
// CHECK: %[[Y0:.+]] = nn.call @k(%{{.+}}, %[[W0]], %[[B]]) units [0, 2] into(%[[E]] : tensor<8x72xf32>)
// CHECK: %[[W1:.+]] = zero.use @w tile 1 : tensor<64x32xf32>
// CHECK: %[[Y1:.+]] = nn.call @k(%{{.+}}, %[[W1]], %[[B]]) units [2, 4] into(%[[Y0]] : tensor<8x72xf32>)
// CHECK: %[[W2:.+]] = zero.use @w tile 2 : tensor<64x8xf32>
// CHECK: %[[Y2:.+]] = nn.call @k(%{{.+}}, %[[W2]], %[[B]]) units [4, 5] into(%[[Y1]] : tensor<8x72xf32>)
// CHECK: return %[[Y2]]
zero.state @w "w" : tensor<64x72xf32> role(<parameter>) layout(<1>) source(#zero.splat<0.0 : f32>)
zero.state @b "b" : tensor<72xf32> role(<parameter>) source(#zero.splat<0.0 : f32>)
nn.kernel private @k(tensor<8x64xf32>, tensor<64x72xf32> {nn.layout = #nn.panels<1>, nn.tiled}, tensor<72xf32>) -> tensor<8x72xf32>
  attributes {schedule = #nn.schedule<gemm>, units = 5 : i64, scratch = 0 : i64, cost = #nn.cost<73728, 23072>}
func.func @main(%x: tensor<8x64xf32>) -> tensor<8x72xf32> {
  %w = zero.use @w : tensor<64x72xf32>
  %b = zero.use @b : tensor<72xf32>
  %y = nn.call @k(%x, %w, %b) : (tensor<8x64xf32>, tensor<64x72xf32>, tensor<72xf32>) -> tensor<8x72xf32>
  return %y : tensor<8x72xf32>
}
