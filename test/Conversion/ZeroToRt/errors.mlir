// REQUIRES: spillway-opt
// RUN: spillway-opt %s -split-input-file -convert-zero-to-rt -verify-diagnostics

// expected-error @below {{needs zero.arenas: which memory there is}}
module {
func.func @main() {
  return
}
}

// -----

// expected-error @below {{the step takes 4096 bytes of host, which has 256}}
module attributes {zero.arenas = [#zero.arena<host, 256>]} {
nn.kernel private @k(tensor<64xf32>) -> tensor<64xf32>
  attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, cost = #nn.cost<64, 768>}
func.func @main(%x: tensor<64xf32> {spillway.name = "x", spillway.type = "f32"})
    -> (tensor<64xf32> {spillway.name = "y", spillway.type = "f32"}) {
  %0 = nn.call @k(%x) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
}

// -----

module attributes {zero.arenas = [#zero.arena<host, 65536>]} {
zero.state @a "a" : tensor<64xf32> role(<parameter>) source(#zero.splat<0.0 : f32>)
nn.kernel private @k(tensor<64xf32>) -> tensor<64xf32>
  attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, cost = #nn.cost<64, 768>}
func.func @main() -> (tensor<64xf32> {spillway.name = "y", spillway.type = "f32"}) {
  // expected-error @below {{is not scheduled: run zero-schedule before}}
  %a = zero.use @a : tensor<64xf32>
  %0 = nn.call @k(%a) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
}

// -----

module attributes {zero.arenas = [#zero.arena<host, 65536, staging = 4096>]} {
zero.state @a "a" : tensor<2048xf32> role(<parameter>) source(#zero.splat<0.0 : f32>)
nn.kernel private @k(tensor<2048xf32>) -> tensor<64xf32>
  attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, cost = #nn.cost<64, 768>}
func.func @main() -> (tensor<64xf32> {spillway.name = "y", spillway.type = "f32"}) {
  // expected-error @below {{takes more bytes than the staging of its tier}}
  %h = zero.fetch @a to <host> : !zero.handle<tensor<2048xf32>, host>
  %a = zero.view %h : !zero.handle<tensor<2048xf32>, host> -> tensor<2048xf32>
  %0 = nn.call @k(%a) : (tensor<2048xf32>) -> tensor<64xf32>
  zero.release %h : !zero.handle<tensor<2048xf32>, host>
  return %0 : tensor<64xf32>
}
}
