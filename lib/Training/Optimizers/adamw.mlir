// Adam with decoupled weight decay (arXiv 1711.05101).
func.func @adamw(%p: f32, %g: f32,
                 %m: f32 {spillway.state = "exp_avg"}, %v: f32 {spillway.state = "exp_avg_sq"},
                 %lr: f64 {spillway.step = "lr"}, %t: f64 {spillway.step = "step"},
                 %beta1: f64 {spillway.option = "beta1", spillway.default = 0.9 : f64,
                              spillway.least = 0.0 : f64, spillway.below = 1.0 : f64},
                 %beta2: f64 {spillway.option = "beta2", spillway.default = 0.999 : f64,
                              spillway.least = 0.0 : f64, spillway.below = 1.0 : f64},
                 %epsilon: f64 {spillway.option = "epsilon", spillway.default = 1.0e-8 : f64,
                                spillway.least = 0.0 : f64},
                 %decay: f64 {spillway.option = "weight_decay", spillway.default = 0.01 : f64,
                              spillway.least = 0.0 : f64}) -> (f32, f32, f32) {
  %one = arith.constant 1.0 : f64
  // p *= 1 - lr * decay
  %rate = arith.mulf %lr, %decay : f64
  %kept = arith.subf %one, %rate : f64
  %kept32 = arith.truncf %kept : f64 to f32
  %start = arith.mulf %p, %kept32 : f32
  // m = beta1 * m + (1 - beta1) * g
  %rest1 = arith.subf %one, %beta1 : f64
  %beta1_32 = arith.truncf %beta1 : f64 to f32
  %rest1_32 = arith.truncf %rest1 : f64 to f32
  %m0 = arith.mulf %beta1_32, %m : f32
  %m1 = math.fma %rest1_32, %g, %m0 : f32
  // v = beta2 * v + (1 - beta2) * g^2
  %rest2 = arith.subf %one, %beta2 : f64
  %beta2_32 = arith.truncf %beta2 : f64 to f32
  %rest2_32 = arith.truncf %rest2 : f64 to f32
  %square = arith.mulf %g, %g : f32
  %v0 = arith.mulf %beta2_32, %v : f32
  %v1 = math.fma %rest2_32, %square, %v0 : f32
  // p -= lr / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon)
  %power1 = math.powf %beta1, %t : f64
  %power2 = math.powf %beta2, %t : f64
  %correction1 = arith.subf %one, %power1 : f64
  %correction2 = arith.subf %one, %power2 : f64
  %step = arith.divf %lr, %correction1 : f64
  %scale = math.sqrt %correction2 : f64
  %step32 = arith.truncf %step : f64 to f32
  %scale32 = arith.truncf %scale : f64 to f32
  %epsilon32 = arith.truncf %epsilon : f64 to f32
  %root = math.sqrt %v1 : f32
  %deviation = arith.divf %root, %scale32 : f32
  %divisor = arith.addf %deviation, %epsilon32 : f32
  %direction = arith.divf %m1, %divisor : f32
  %change = arith.mulf %step32, %direction : f32
  %p1 = arith.subf %start, %change : f32
  return %p1, %m1, %v1 : f32, f32, f32
}
