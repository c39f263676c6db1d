// Something must train, and what a training step adds is called as nothing of the model.
// RUN: spillway-opt %s -split-input-file -verify-diagnostics -nn-optimize

zero.state @w "w" : tensor<2xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
// expected-error@+1 {{the input 'lr' is called as one that a training step adds; give it another name}}
func.func @main(%x: tensor<2xf32> {spillway.name = "lr"}) -> (tensor<2xf32> {spillway.name = "grad.w"}) {
  return %x : tensor<2xf32>
}

// -----

zero.state @w "w" : tensor<2xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
// expected-error@+1 {{the input 'step' is called as one that a training step adds; give it another name}}
func.func @main(%x: tensor<2xf32>, %s: tensor<f64> {spillway.name = "step"}) -> (tensor<2xf32> {spillway.name = "grad.w"}) {
  return %x : tensor<2xf32>
}

// -----

// It scales the loss with --precision fp16 alone.
zero.state @w "w" : tensor<2xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
// expected-error@+1 {{the input 'loss_scale' is called as one that a training step adds; give it another name}}
func.func @main(%x: tensor<2xf32>, %s: tensor<f64> {spillway.name = "loss_scale"}) -> (tensor<2xf32> {spillway.name = "grad.w"}) {
  return %x : tensor<2xf32>
}

// -----

zero.state @w "w" : tensor<2xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
// expected-error@+1 {{the output 'grad_norm' is called as one that a training step adds; give it another name}}
func.func @main(%x: tensor<2xf32>, %l: tensor<f32>) -> (tensor<f32> {spillway.name = "grad_norm"}, tensor<2xf32> {spillway.name = "grad.w"}) {
  return %l, %x : tensor<f32>, tensor<2xf32>
}

// -----

// expected-error@+1 {{what training keeps for 'w' would be called 'w.exp_avg', as something else is already}}
zero.state @w "w" : tensor<2xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @other "w.exp_avg" : tensor<2xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32> {spillway.name = "grad.w"}) {
  return %x : tensor<2xf32>
}

// -----

// expected-error@+1 {{the loss depends on no parameter that trains}}
func.func @main(%l: tensor<f32>) -> (tensor<f32> {spillway.name = "loss"}) {
  return %l : tensor<f32>
}
