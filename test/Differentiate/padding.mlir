// Look-ups of a padding row, from either end, give its parameter no gradient.
// RUN: spillway-opt %s -nn-differentiate=padding=emb=1 | FileCheck %s
// RUN: not spillway-opt %s -nn-differentiate=padding=emb=3 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not spillway-opt %s -nn-differentiate=padding=other=1 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not spillway-opt %s -nn-differentiate=padding=emb=last 2>&1 | FileCheck %s --check-prefix=NUMBER
// RANGE: error: padding 'emb=3': 'emb' has rows 0 to 2
// NAME: error: padding 'other=1': of no parameter of that name rows are looked up
// NUMBER: error: padding 'emb=last': expected NAME=ROW

zero.state @emb "emb" : tensor<3x4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<2xi64>) -> (tensor<f32> {spillway.name = "loss"}) {
  %a = zero.lookup @emb[%i] : tensor<2xi64> -> tensor<2x4xf32>
  %loss = nn.reduce <sum> %a dims [0, 1] : tensor<2x4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK: %[[OF_ROWS:.*]] = nn.broadcast %{{.*}} -> tensor<2x4xf32>
// CHECK-NEXT: %[[ROW:.*]] = arith.constant dense<1> : tensor<2xi64>
// CHECK-NEXT: %[[IS_ROW:.*]] = arith.cmpi eq, %[[I:.*]], %[[ROW]]
// CHECK-NEXT: %[[FROM_END:.*]] = arith.constant dense<-2> : tensor<2xi64>
// CHECK-NEXT: %[[IS_FROM_END:.*]] = arith.cmpi eq, %[[I]], %[[FROM_END]]
// CHECK-NEXT: %[[EITHER:.*]] = arith.ori %[[IS_ROW]], %[[IS_FROM_END]]
// CHECK-NEXT: %[[SPREAD:.*]] = nn.broadcast %[[EITHER]] dims [0]
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant dense<0.0{{.*}}> : tensor<2x4xf32>
// CHECK-NEXT: %[[KEPT:.*]] = arith.select %[[SPREAD]], %[[ZERO]], %[[OF_ROWS]]
// CHECK: nn.scatter <add> {{.*}}%[[KEPT]]
