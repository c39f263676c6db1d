// REQUIRES: spillway-opt
// RUN: spillway-opt %s -nn-add-rows | FileCheck %s

zero.state @w "w" : tensor<50x8xf32> role(<parameter>) rewritten source(#zero.splat<1.0 : f32>)
zero.state @v "v" : tensor<50x8xf32> role(<parameter>) rewritten source(#zero.splat<1.0 : f32>)
zero.state @n "n" : tensor<50x8xf32> role(<parameter>) rewritten source(#zero.splat<1.0 : f32>)
zero.state @d "d" : tensor<50x8xf32> role(<parameter>) rewritten source(#zero.splat<1.0 : f32>)
zero.state @s "s" : tensor<50x8xf32> role(<parameter>) rewritten source(#zero.splat<1.0 : f32>)

// An embedding alone; and one that is the head, whose product joins the kernel. Negative rows count from the end.
// CHECK-LABEL: func.func @embeddings
// CHECK: %[[ROWS:.*]] = nn.reshape %arg0 : tensor<2x3x1xi64> -> tensor<6xi64>
// CHECK: arith.cmpi slt, %[[ROWS]]
// CHECK: arith.addi %[[ROWS]], %{{.*}} : tensor<6xi64>
// CHECK: %[[POSITIVE:.*]] = arith.select %{{.*}}, %{{.*}}, %[[ROWS]]
// CHECK: %[[ORDER:.*]] = nn.argsort %[[POSITIVE]] dim 0
// CHECK: %[[SORTED:.*]] = nn.gather %[[POSITIVE]][%[[ORDER]]] dim 0
// CHECK: %[[UPDATES:.*]] = nn.reshape %arg1 : tensor<2x3x8xf32> -> tensor<6x8xf32>
// CHECK: nn.add_rows %{{.*}}[%[[SORTED]], %[[ORDER]]] %[[UPDATES]] : tensor<50x8xf32>, tensor<6xi64>, tensor<6x8xf32>
// CHECK: %[[PRODUCT:.*]] = nn.matmul
// CHECK: nn.add_rows %[[PRODUCT]][
// CHECK-NOT: nn.scatter
func.func @embeddings(%i: tensor<2x3x1xi64>, %u: tensor<2x3x8xf32>, %x: tensor<6x50xf32>, %y: tensor<6x8xf32>) {
  %zeros = arith.constant dense<0.0> : tensor<50x8xf32>
  %w = zero.use @w : tensor<50x8xf32>
  %0 = nn.scatter <add> %zeros[%i] %u : tensor<50x8xf32>, tensor<2x3x1xi64>, tensor<2x3x8xf32>
  %1 = arith.mulf %0, %0 : tensor<50x8xf32>
  %2 = arith.subf %w, %1 : tensor<50x8xf32>
  zero.update [@w](%2) : tensor<50x8xf32>
  %product = nn.matmul %x transpose, %y : tensor<6x50xf32>, tensor<6x8xf32> -> tensor<50x8xf32>
  %3 = nn.scatter <add> %product[%i] %u : tensor<50x8xf32>, tensor<2x3x1xi64>, tensor<2x3x8xf32>
  zero.update [@v](%3) : tensor<50x8xf32>
  return
}

// CHECK-LABEL: func.func @i32
// CHECK: arith.extsi %{{.*}} : tensor<6xi32> to tensor<6xi64>
// CHECK: nn.add_rows
func.func @i32(%i: tensor<6x1xi32>, %u: tensor<6x8xf32>) {
  %zeros = arith.constant dense<0.0> : tensor<50x8xf32>
  %0 = nn.scatter <add> %zeros[%i] %u : tensor<50x8xf32>, tensor<6x1xi32>, tensor<6x8xf32>
  zero.update [@w](%0) : tensor<50x8xf32>
  return
}

// What a norm reads too is stored; so is what updates of two states take, and what would have much more wait for the rows.
// CHECK-LABEL: func.func @stored
// CHECK-COUNT-4: nn.scatter
// CHECK-NOT: nn.add_rows
func.func @stored(%i: tensor<6x1xi64>, %none: tensor<0x1xi64>, %u: tensor<6x8xf32>, %nothing: tensor<0x8xf32>, %x: tensor<200x50xf32>, %y: tensor<200x8xf32>) -> tensor<f32> {
  %zeros = arith.constant dense<0.0> : tensor<50x8xf32>
  %0 = nn.scatter <add> %zeros[%i] %u : tensor<50x8xf32>, tensor<6x1xi64>, tensor<6x8xf32>
  %norm = nn.reduce <l2> %0 dims [0, 1] : tensor<50x8xf32> -> tensor<f32>
  zero.update [@n](%0) : tensor<50x8xf32>
  %1 = nn.scatter <add> %zeros[%i] %u : tensor<50x8xf32>, tensor<6x1xi64>, tensor<6x8xf32>
  %2 = arith.negf %1 : tensor<50x8xf32>
  zero.update [@w](%1) : tensor<50x8xf32>
  zero.update [@v](%2) : tensor<50x8xf32>
  %product = nn.matmul %x transpose, %y : tensor<200x50xf32>, tensor<200x8xf32> -> tensor<50x8xf32>
  %3 = nn.scatter <add> %product[%i] %u : tensor<50x8xf32>, tensor<6x1xi64>, tensor<6x8xf32>
  zero.update [@d](%3) : tensor<50x8xf32>
  %4 = nn.scatter <add> %zeros[%none] %nothing : tensor<50x8xf32>, tensor<0x1xi64>, tensor<0x8xf32>
  zero.update [@s](%4) : tensor<50x8xf32>
  return %norm : tensor<f32>
}

// Nor is anything added where a scatter does something else, addresses elements, or gives a small table many rows.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-4: nn.scatter
// CHECK-NOT: nn.add_rows
func.func @others(%i: tensor<6x1xi64>, %pairs: tensor<6x2xi64>, %u: tensor<6x8xf32>, %each: tensor<6xf32>, %many: tensor<51x1xi64>, %v: tensor<51x8xf32>,
                  %x: tensor<6x50xf32>, %y: tensor<6x8xf32>) -> tensor<50x8xf32> {
  %zeros = arith.constant dense<0.0> : tensor<50x8xf32>
  %0 = nn.scatter <max> %zeros[%i] %u : tensor<50x8xf32>, tensor<6x1xi64>, tensor<6x8xf32>
  zero.update [@w](%0) : tensor<50x8xf32>
  %1 = nn.scatter <add> %zeros[%pairs] %each : tensor<50x8xf32>, tensor<6x2xi64>, tensor<6xf32>
  zero.update [@v](%1) : tensor<50x8xf32>
  %2 = nn.scatter <add> %zeros[%many] %v : tensor<50x8xf32>, tensor<51x1xi64>, tensor<51x8xf32>
  zero.update [@n](%2) : tensor<50x8xf32>
  %product = nn.matmul %x transpose, %y : tensor<6x50xf32>, tensor<6x8xf32> -> tensor<50x8xf32>
  %3 = nn.scatter <add> %product[%i] %u : tensor<50x8xf32>, tensor<6x1xi64>, tensor<6x8xf32>
  zero.update [@d](%3) : tensor<50x8xf32>
  return %product : tensor<50x8xf32>
}
