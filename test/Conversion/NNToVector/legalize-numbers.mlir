// RUN: spillway-opt --pass-pipeline='builtin.module(func.func(legalize-numbers))' --split-input-file --verify-diagnostics %s | FileCheck %s

// Nothing of bf16 is left but the signature's.
// CHECK-LABEL: func.func @bf16(
// CHECK-SAME: %[[M:.*]]: memref<16xi16>
// CHECK: vector.load {{.*}} vector<16xi16>
// CHECK: arith.shli
// CHECK: arith.addf {{.*}} : vector<16xf32>
// CHECK: arith.shrui
// CHECK: vector.store {{.*}} vector<16xi16>
// CHECK-NOT: bf16
func.func @bf16(%bits: memref<16xi16>, %i: index) {
  %m = builtin.unrealized_conversion_cast %bits : memref<16xi16> to memref<16xbf16>
  %x = vector.load %m[%i] : memref<16xbf16>, vector<16xbf16>
  %y = arith.addf %x, %x : vector<16xbf16>
  vector.store %y, %m[%i] : memref<16xbf16>, vector<16xbf16>
  return
}

// -----

// CHECK-LABEL: func.func @division(
// CHECK: arith.select
// CHECK: arith.divsi
// CHECK: arith.select
func.func @division(%x: i32, %y: i32) -> i32 {
  %0 = arith.divsi %x, %y : i32
  return %0 : i32
}

// -----

// A divisor that is known needs no guard.
// CHECK-LABEL: func.func @constant_division(
// CHECK-NOT: arith.select
// CHECK: return
func.func @constant_division(%x: i32) -> i32 {
  %c = arith.constant 7 : i32
  %0 = arith.divui %x, %c : i32
  return %0 : i32
}

// -----

// CHECK-LABEL: func.func @exp(
// CHECK-NOT: math.exp
// CHECK: math.fma
// CHECK: return
func.func @exp(%x: vector<16xf32>) -> vector<16xf32> {
  %0 = math.exp %x : vector<16xf32>
  return %0 : vector<16xf32>
}

// -----

func.func @unknown(%x: f32, %n: i32) -> f32 {
  // expected-error @+1 {{has no code for this machine}}
  %0 = math.fpowi %x, %n : f32, i32
  return %0 : f32
}

// -----

// LLVM may not join the two conversions.
// CHECK-LABEL: func.func @scalar_to_f16(
// CHECK: arith.truncf {{.*}} to_nearest_even : f64 to f32
// CHECK: arith.truncf {{.*}} : f32 to f16
func.func @scalar_to_f16(%x: f64) -> f16 {
  %0 = arith.truncf %x : f64 to f32
  %1 = arith.truncf %0 : f32 to f16
  return %1 : f16
}

// -----

// What an integer does not hold becomes the nearest that it does.
// CHECK-LABEL: func.func @to_integer(
// CHECK-SAME: %[[X:.*]]: f32
// CHECK: %[[ABOVE:.*]] = arith.cmpf ogt, %[[X]], {{.*}} : f32
// CHECK: %[[BELOW:.*]] = arith.cmpf olt, %[[X]], {{.*}} : f32
// CHECK: %[[FITS:.*]] = arith.andi %[[ABOVE]], %[[BELOW]]
// CHECK: %[[SAFE:.*]] = arith.select %[[FITS]], %[[X]]
// CHECK: arith.fptosi %[[SAFE]] : f32 to i32
// CHECK-COUNT-2: arith.select
func.func @to_integer(%x: f32) -> i32 {
  %0 = arith.fptosi %x : f32 to i32
  return %0 : i32
}
