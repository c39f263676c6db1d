// RUN: spillway-opt %s -split-input-file -nn-differentiate -verify-diagnostics

zero.state @x "x" : tensor<f32> role(<parameter>) source(#zero.splat<1.0 : f32>)
// expected-error @+1 {{has 2 outputs of one float: one must be named as the loss; outputs of one float: 'a' 'b'}}
func.func @main() -> (tensor<f32> {spillway.name = "a"}, tensor<f32> {spillway.name = "b"}) {
  %x = zero.use @x : tensor<f32>
  return %x, %x : tensor<f32>, tensor<f32>
}

// -----

zero.state @x "x" : tensor<f32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main() -> (tensor<f32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<f32>
  // expected-error @+1 {{math.cbrt has no derivative}}
  %r = math.cbrt %x : tensor<f32>
  return %r : tensor<f32>
}

// -----

zero.state @x "x" : tensor<1xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<1x1xi64>) -> (tensor<1xf32> {spillway.name = "loss"}) {
  %x = zero.use @x : tensor<1xf32>
  // expected-error @+1 {{a scatter that multiplies or compares has no derivative}}
  %r = nn.scatter <max> %x[%i] %x : tensor<1xf32>, tensor<1x1xi64>, tensor<1xf32>
  return %r : tensor<1xf32>
}

// -----

zero.state @x "x" : tensor<f32> role(<parameter>) source(#zero.splat<1.0 : f32>)
// expected-error @+1 {{the output 'grad.x' is called as a gradient; give it another name}}
func.func @main(%y: tensor<2xf32>) -> (tensor<f32> {spillway.name = "loss"}, tensor<2xf32> {spillway.name = "grad.x"}) {
  %x = zero.use @x : tensor<f32>
  return %x, %y : tensor<f32>, tensor<2xf32>
}
