// What a weight is rounded to is called as nothing of the model.
// RUN: spillway-opt %s -verify-diagnostics -nn-optimize=precision=bf16

// expected-error@+1 {{what training keeps for 'w' would be called 'w.bf16', as something else is already}}
zero.state @w "w" : tensor<2x2xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @other "w.bf16" : tensor<2x2xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%x: tensor<2x2xf32>) -> (tensor<2x2xf32> {spillway.name = "grad.w"}) {
  return %x : tensor<2x2xf32>
}
