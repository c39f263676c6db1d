// REQUIRES: spillway-opt
// RUN: spillway-opt %s -nn-assign-layouts | FileCheck %s

// A transposed weight has its panels along its first dimension; where matmuls disagree, the larger one decides;
// what no matmul reads stays in rows.
// CHECK: zero.state @transposed {{.*}} layout(<0>)
zero.state @transposed "t" : tensor<8x4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
// CHECK: zero.state @both {{.*}} layout(<1>)
zero.state @both "b" : tensor<8x8xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
// CHECK: zero.state @none "n" : tensor<8x8xf32> role(<parameter>) source
zero.state @none "n" : tensor<8x8xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%x: tensor<2x4xf32>, %y: tensor<2x8xf32>, %z: tensor<20x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>, tensor<20x8xf32>, tensor<8x8xf32>) {
  %t = zero.use @transposed : tensor<8x4xf32>
  %0 = nn.matmul %x, %t transpose : tensor<2x4xf32>, tensor<8x4xf32> -> tensor<2x8xf32>
  %b = zero.use @both : tensor<8x8xf32>
  %1 = nn.matmul %y, %b transpose : tensor<2x8xf32>, tensor<8x8xf32> -> tensor<2x8xf32>
  %2 = nn.matmul %z, %b : tensor<20x8xf32>, tensor<8x8xf32> -> tensor<20x8xf32>
  %n = zero.use @none : tensor<8x8xf32>
  %3 = arith.negf %n : tensor<8x8xf32>
  return %0, %1, %2, %3 : tensor<2x8xf32>, tensor<2x8xf32>, tensor<20x8xf32>, tensor<8x8xf32>
}
