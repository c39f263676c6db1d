// RUN: spillway-opt %s -split-input-file -convert-zero-to-rt=ranks=2 --verify-diagnostics

module attributes {zero.arenas = [#zero.arena<host, 131072, staging = 32768>]} {
zero.state @w "w" : tensor<64x64xf32> role(<parameter>) partition(2) home([#zero.tier<host>]) source(#zero.splat<0.0 : f32>)
nn.kernel private @k(tensor<64x64xf32>) -> tensor<64x64xf32>
  attributes {schedule = #nn.schedule<map>, units = 64 : i64, scratch = 0 : i64, cost = #nn.cost<1, 1>}
func.func @main() -> (tensor<64x64xf32> {spillway.name = "y", spillway.type = "f32"}) {
  // expected-error@+1 {{takes a part of what is whole there}}
  %p = zero.fetch @w part to <host> : <tensor<32x64xf32>, host>
  %h = zero.gather %p : <tensor<32x64xf32>, host> -> <tensor<64x64xf32>, host>
  %w = zero.view %h : <tensor<64x64xf32>, host> -> tensor<64x64xf32>
  %y = nn.call @k(%w) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  zero.release %p : <tensor<32x64xf32>, host>
  zero.release %h : <tensor<64x64xf32>, host>
  return %y : tensor<64x64xf32>
}
}

// -----

module attributes {zero.arenas = [#zero.arena<device, 131072, staging = 32768>, #zero.arena<host, 131072>]} {
zero.state @w "w" : tensor<64x64xf32> role(<parameter>) partition(2) home([#zero.tier<host>]) source(#zero.splat<0.0 : f32>)
nn.kernel private @k(tensor<64x64xf32>) -> tensor<64x64xf32>
  attributes {schedule = #nn.schedule<map>, units = 64 : i64, scratch = 0 : i64, cost = #nn.cost<1, 1>}
func.func @main() -> (tensor<64x64xf32> {spillway.name = "y", spillway.type = "f32"}) {
  // expected-error@+1 {{takes the whole of what is there by parts}}
  %h = zero.fetch @w to <host> : <tensor<64x64xf32>, host>
  %d = zero.move %h to <device> : <tensor<64x64xf32>, host> -> <tensor<64x64xf32>, device>
  %w = zero.view %d : <tensor<64x64xf32>, device> -> tensor<64x64xf32>
  %y = nn.call @k(%w) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  zero.release %h : <tensor<64x64xf32>, host>
  zero.release %d : <tensor<64x64xf32>, device>
  return %y : tensor<64x64xf32>
}
}

// -----

module attributes {zero.arenas = [#zero.arena<device, 131072, staging = 32768>, #zero.arena<host, 131072, staging = 32768>]} {
zero.state @w "w" : tensor<64x64xf32> role(<parameter>) partition(2) source(#zero.splat<0.0 : f32>)
nn.kernel private @k(tensor<64x64xf32>) -> tensor<64x64xf32>
  attributes {schedule = #nn.schedule<map>, units = 64 : i64, scratch = 0 : i64, cost = #nn.cost<1, 1>}
func.func @main() -> (tensor<64x64xf32> {spillway.name = "y", spillway.type = "f32"}) {
  %p = zero.fetch @w part to <host> : <tensor<32x64xf32>, host>
  // expected-error@+1 {{gathers in another tier than kernels compute on}}
  %h = zero.gather %p : <tensor<32x64xf32>, host> -> <tensor<64x64xf32>, host>
  %w = zero.view %h : <tensor<64x64xf32>, host> -> tensor<64x64xf32>
  %y = nn.call @k(%w) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  zero.release %p : <tensor<32x64xf32>, host>
  zero.release %h : <tensor<64x64xf32>, host>
  return %y : tensor<64x64xf32>
}
}
