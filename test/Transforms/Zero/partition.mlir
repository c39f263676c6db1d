// RUN: spillway-opt %s -zero-partition=ranks=2 | FileCheck %s
// RUN: spillway-opt %s -zero-partition | FileCheck %s --check-prefix=ONE
// RUN: not spillway-opt %s -zero-partition=ranks=0 2>&1 | FileCheck %s --check-prefix=NONE

// ONE-NOT: partition(
// NONE: needs at least one rank, not 0

// A state with a chunk for each rank is split; one of a single chunk stays whole, and one whose rows
// are only looked up.
// CHECK: zero.state @w "w" : tensor<64x72xf32> role(<parameter>) layout(<1>) partition(2) source
// CHECK: zero.state @b "b" : tensor<72xf32> role(<parameter>) source
// CHECK: zero.state @e "e" : tensor<99x64xf32> role(<parameter>) source
zero.state @w "w" : tensor<64x72xf32> role(<parameter>) layout(<1>) source(#zero.splat<0.0 : f32>)
zero.state @b "b" : tensor<72xf32> role(<parameter>) source(#zero.splat<0.0 : f32>)
zero.state @e "e" : tensor<99x64xf32> role(<parameter>) source(#zero.splat<0.0 : f32>)
nn.kernel private @k(tensor<8x64xf32>, tensor<64x72xf32> {nn.layout = #nn.panels<1>, nn.tiled}, tensor<72xf32>) -> tensor<8x72xf32>
  attributes {schedule = #nn.schedule<gemm>, units = 5 : i64, scratch = 0 : i64, cost = #nn.cost<73728, 23072>}
func.func @main(%i: tensor<8xi64>) -> tensor<8x72xf32> {
  %x = zero.lookup @e[%i] : tensor<8xi64> -> tensor<8x64xf32>
  %w = zero.use @w : tensor<64x72xf32>
  %b = zero.use @b : tensor<72xf32>
  %y = nn.call @k(%x, %w, %b) : (tensor<8x64xf32>, tensor<64x72xf32>, tensor<72xf32>) -> tensor<8x72xf32>
  return %y : tensor<8x72xf32>
}
