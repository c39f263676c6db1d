// REQUIRES: spillway-opt
// RUN: spillway-opt %s -nn-turn-products | FileCheck %s
// RUN: spillway-opt %s -nn-turn-products -nn-form-kernels | FileCheck %s --check-prefix=FORM

zero.state @w "w" : tensor<32x8xf32> role(<parameter>) rewritten layout(<0>) source(#zero.splat<1.0 : f32>)
zero.state @v "v" : tensor<32x8xf32> role(<parameter>) rewritten layout(<0>) source(#zero.splat<1.0 : f32>)
zero.state @c "c" : tensor<32x32xf32> role(<parameter>) rewritten layout(<1>) source(#zero.splat<1.0 : f32>)
zero.state @r "r" : tensor<32x8xf32> role(<moment>) rewritten source(#zero.splat<1.0 : f32>)
zero.state @f "f" : tensor<6x8xf32> role(<parameter>) layout(<1>) source(#zero.splat<1.0 : f32>)
zero.state @n "n" : tensor<32x8xf32> role(<parameter>) rewritten layout(<0>) source(#zero.splat<1.0 : f32>)

// With rows that are added to it, or without, the product and what updates the panels are one kernel.
// CHECK-LABEL: func.func @panels_of_rows
// CHECK: %[[W:.*]] = nn.matmul %arg1 transpose, %arg0 : tensor<6x8xf32>, tensor<6x32xf32> -> tensor<8x32xf32>
// CHECK: %[[T:.*]] = nn.transpose %[[W]] perm [1, 0] : tensor<8x32xf32> -> tensor<32x8xf32>
// CHECK: arith.negf %[[T]]
// CHECK: %[[V:.*]] = nn.matmul %arg1 transpose, %arg2 transpose : tensor<6x8xf32>, tensor<32x6xf32> -> tensor<8x32xf32>
// CHECK: %[[U:.*]] = nn.transpose %[[V]]
// CHECK: nn.add_rows %[[U]][
// FORM-LABEL: func.func @panels_of_rows
// FORM: nn.call @[[W:[a-z_0-9]+]](
// FORM: nn.call @[[V:[a-z_0-9]+]](
// FORM-NOT: nn.call
// FORM-LABEL: func.func @others
func.func @panels_of_rows(%x: tensor<6x32xf32>, %y: tensor<6x8xf32>, %z: tensor<32x6xf32>, %rows: tensor<6xi64>, %order: tensor<6xi64>, %u: tensor<6x8xf32>) {
  %0 = nn.matmul %x transpose, %y : tensor<6x32xf32>, tensor<6x8xf32> -> tensor<32x8xf32>
  %1 = arith.negf %0 : tensor<32x8xf32>
  zero.update [@w](%1) : tensor<32x8xf32>
  %2 = nn.matmul %z, %y : tensor<32x6xf32>, tensor<6x8xf32> -> tensor<32x8xf32>
  %3 = nn.add_rows %2[%rows, %order] %u : tensor<32x8xf32>, tensor<6xi64>, tensor<6x8xf32>
  zero.update [@v](%3) : tensor<32x8xf32>
  return
}

// Panels of columns, states in different layouts, products with a state on the right, which is read by tiles there, and what
// something else reads, stay.
// CHECK-LABEL: func.func @others
// CHECK: nn.matmul %arg0 transpose, %arg0 : tensor<6x32xf32>, tensor<6x32xf32> -> tensor<32x32xf32>
// CHECK: nn.matmul %arg0 transpose, %arg1 : tensor<6x32xf32>, tensor<6x8xf32> -> tensor<32x8xf32>
// CHECK: nn.matmul %arg0 transpose, %arg1 : tensor<6x32xf32>, tensor<6x8xf32> -> tensor<32x8xf32>
// CHECK: nn.matmul %arg0 transpose, %{{.*}} : tensor<6x32xf32>, tensor<6x8xf32> -> tensor<32x8xf32>
func.func @others(%x: tensor<6x32xf32>, %y: tensor<6x8xf32>) -> tensor<32x8xf32> {
  %0 = nn.matmul %x transpose, %x : tensor<6x32xf32>, tensor<6x32xf32> -> tensor<32x32xf32>
  zero.update [@c](%0) : tensor<32x32xf32>
  %1 = nn.matmul %x transpose, %y : tensor<6x32xf32>, tensor<6x8xf32> -> tensor<32x8xf32>
  zero.update [@n](%1) : tensor<32x8xf32>
  %2 = nn.matmul %x transpose, %y : tensor<6x32xf32>, tensor<6x8xf32> -> tensor<32x8xf32>
  zero.update [@v, @r](%2, %2) : tensor<32x8xf32>, tensor<32x8xf32>
  %factor = zero.use @f : tensor<6x8xf32>
  %3 = nn.matmul %x transpose, %factor : tensor<6x32xf32>, tensor<6x8xf32> -> tensor<32x8xf32>
  zero.update [@w](%3) : tensor<32x8xf32>
  return %1 : tensor<32x8xf32>
}

// FORM-DAG: nn.kernel @[[W]](%arg0: tensor<6x8xf32>, %arg1: tensor<6x32xf32>) -> (tensor<32x8xf32> {nn.layout = #nn.panels<0>, nn.tiled}) attributes {{.*}}gemm
// FORM-DAG: nn.kernel @[[V]](%arg0: tensor<6x8xf32>, %arg1: tensor<32x6xf32>, %arg2: tensor<6xi64>, %arg3: tensor<6xi64>, %arg4: tensor<6x8xf32>) -> (tensor<32x8xf32> {nn.layout = #nn.panels<0>, nn.tiled}) attributes {{.*}}gemm
