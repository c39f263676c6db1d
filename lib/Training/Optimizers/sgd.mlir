// Gradient descent with momentum; weight decay is part of the gradient.
func.func @sgd(%p: f32, %g: f32, %b: f32 {spillway.state = "momentum_buffer"},
               %lr: f64 {spillway.step = "lr"},
               %momentum: f64 {spillway.option = "momentum", spillway.default = 0.0 : f64, spillway.least = 0.0 : f64},
               %nesterov: f64 {spillway.option = "nesterov", spillway.default = 0.0 : f64,
                               spillway.least = 0.0 : f64, spillway.most = 1.0 : f64},
               %decay: f64 {spillway.option = "weight_decay", spillway.default = 0.0 : f64,
                            spillway.least = 0.0 : f64}) -> (f32, f32) {
  %zero = arith.constant 0.0 : f64
  %lr32 = arith.truncf %lr : f64 to f32
  %decay32 = arith.truncf %decay : f64 to f32
  %momentum32 = arith.truncf %momentum : f64 to f32
  %gradient = math.fma %decay32, %p, %g : f32
  // b = momentum * b + g
  %b1 = math.fma %momentum32, %b, %gradient : f32
  %ahead = math.fma %momentum32, %b1, %gradient : f32
  %looksAhead = arith.cmpf one, %nesterov, %zero : f64
  %direction = arith.select %looksAhead, %ahead, %b1 : f32
  %change = arith.mulf %lr32, %direction : f32
  %p1 = arith.subf %p, %change : f32
  return %p1, %b1 : f32, f32
}
