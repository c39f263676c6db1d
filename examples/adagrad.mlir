// Adagrad: the rate of each element falls with the squares of the gradients that it has had.
// spillway compile model.onnx -o m.spill --train --optimizer examples/adagrad.mlir --optimizer-option epsilon=1e-8
func.func @adagrad(%p: f32, %g: f32, %sum: f32 {spillway.state = "sum"}, %lr: f64 {spillway.step = "lr"},
                   %epsilon: f64 {spillway.option = "epsilon", spillway.default = 1.0e-10 : f64,
                                  spillway.least = 0.0 : f64}) -> (f32, f32) {
  %lr32 = arith.truncf %lr : f64 to f32
  %epsilon32 = arith.truncf %epsilon : f64 to f32
  %sum1 = math.fma %g, %g, %sum : f32
  %root = math.sqrt %sum1 : f32
  %divisor = arith.addf %root, %epsilon32 : f32
  %scaled = arith.mulf %lr32, %g : f32
  %change = arith.divf %scaled, %divisor : f32
  %p1 = arith.subf %p, %change : f32
  return %p1, %sum1 : f32, f32
}
