// What is planned is checked, also where it was written by hand: updates that no call computes over the old values.
// RUN: spillway-opt %s -split-input-file -verify-diagnostics -zero-plan=memory=1000000

zero.state @w "w" : tensor<4xf32> role(<parameter>) rewritten source(#zero.splat<0.0 : f32>)
func.func @main(%x: tensor<4xf32>) {
  // expected-error@+1 {{the value of @w is no result of a call into a use of it}}
  zero.update [@w] (%x) : tensor<4xf32>
  return
}

// -----

zero.state @w "w" : tensor<4xf32> role(<parameter>) rewritten source(#zero.splat<0.0 : f32>)
nn.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64} {
  nn.yield %x : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) {
  %w = zero.use @w : tensor<4xf32>
  // expected-error@+1 {{computes into a state that no update gives the value}}
  %0 = nn.call @k(%x) into (%w : tensor<4xf32>) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

zero.state @w "w" : tensor<4xf32> role(<parameter>) rewritten source(#zero.splat<0.0 : f32>)
nn.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64} {
  nn.yield %x : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = zero.use @w : tensor<4xf32>
  %0 = nn.call @k(%x) into (%w : tensor<4xf32>) : (tensor<4xf32>) -> tensor<4xf32>
  zero.update [@w] (%0) : tensor<4xf32>
  // expected-error@+1 {{takes the old value of @w after the new one was computed}}
  %1 = nn.call @k(%w) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
