// RUN: spillway-opt %s -zero-outline-constants | FileCheck %s

// Equal constants become one state, used twice.
// CHECK-DAG: zero.state @[[A:constant.*]] "[[A]]" : tensor<2xi64> role(<constant>) source(dense<[1, 2]> : tensor<2xi64>)
// CHECK-DAG: zero.state @[[B:constant.*]] "[[B]]" : tensor<f32> role(<constant>) source(dense<3.000000e+00> : tensor<f32>)
// CHECK-LABEL: func.func @main
// CHECK-NOT: arith.constant
// CHECK: %[[X:.+]] = zero.use @[[A]] : tensor<2xi64>
// CHECK: %[[Y:.+]] = zero.use @[[A]] : tensor<2xi64>
// CHECK: %[[Z:.+]] = zero.use @[[B]] : tensor<f32>
// CHECK: nn.call @k(%[[X]], %[[Y]], %[[Z]])
nn.kernel private @k(tensor<2xi64>, tensor<2xi64>, tensor<f32>) -> tensor<2xi64>
  attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, cost = #nn.cost<2, 52>}
func.func @main() -> tensor<2xi64> {
  %a = arith.constant dense<[1, 2]> : tensor<2xi64>
  %b = arith.constant dense<[1, 2]> : tensor<2xi64>
  %c = arith.constant dense<3.0> : tensor<f32>
  %0 = nn.call @k(%a, %b, %c) : (tensor<2xi64>, tensor<2xi64>, tensor<f32>) -> tensor<2xi64>
  return %0 : tensor<2xi64>
}
