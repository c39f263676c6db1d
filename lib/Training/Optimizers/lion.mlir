// Lion (arXiv 2302.06675).
func.func @lion(%p: f32, %g: f32, %m: f32 {spillway.state = "momentum"},
                %lr: f64 {spillway.step = "lr"},
                %beta1: f64 {spillway.option = "beta1", spillway.default = 0.9 : f64,
                             spillway.least = 0.0 : f64, spillway.below = 1.0 : f64},
                %beta2: f64 {spillway.option = "beta2", spillway.default = 0.99 : f64,
                             spillway.least = 0.0 : f64, spillway.below = 1.0 : f64},
                %decay: f64 {spillway.option = "weight_decay", spillway.default = 0.0 : f64,
                             spillway.least = 0.0 : f64}) -> (f32, f32) {
  %one = arith.constant 1.0 : f64
  %zero = arith.constant 0.0 : f32
  %up = arith.constant 1.0 : f32
  %down = arith.constant -1.0 : f32
  // c = beta1 * m + (1 - beta1) * g
  %rest1 = arith.subf %one, %beta1 : f64
  %beta1_32 = arith.truncf %beta1 : f64 to f32
  %rest1_32 = arith.truncf %rest1 : f64 to f32
  %c0 = arith.mulf %beta1_32, %m : f32
  %c = math.fma %rest1_32, %g, %c0 : f32
  // p = p * (1 - lr * decay) - lr * sign(c)
  %rate = arith.mulf %lr, %decay : f64
  %kept = arith.subf %one, %rate : f64
  %kept32 = arith.truncf %kept : f64 to f32
  %lr32 = arith.truncf %lr : f64 to f32
  %decayed = arith.mulf %p, %kept32 : f32
  %isPositive = arith.cmpf ogt, %c, %zero : f32
  %isNegative = arith.cmpf olt, %c, %zero : f32
  %negative = arith.select %isNegative, %down, %zero : f32
  %sign = arith.select %isPositive, %up, %negative : f32
  %change = arith.mulf %lr32, %sign : f32
  %p1 = arith.subf %decayed, %change : f32
  // m = beta2 * m + (1 - beta2) * g
  %rest2 = arith.subf %one, %beta2 : f64
  %beta2_32 = arith.truncf %beta2 : f64 to f32
  %rest2_32 = arith.truncf %rest2 : f64 to f32
  %m0 = arith.mulf %beta2_32, %m : f32
  %m1 = math.fma %rest2_32, %g, %m0 : f32
  return %p1, %m1 : f32, f32
}
