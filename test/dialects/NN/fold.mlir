// RUN: spillway-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @identities
// CHECK-SAME: %[[A:.*]]: tensor<2x3xf32>
// CHECK-NEXT: return %[[A]], %[[A]], %[[A]], %[[A]], %[[A]]
func.func @identities(%a: tensor<2x3xf32>)
    -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = nn.reshape %a : tensor<2x3xf32> -> tensor<2x3xf32>
  %1 = nn.broadcast %a dims [0, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  %2 = nn.transpose %a perm [0, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  %3 = nn.slice %a offsets [0, 0] strides [1, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  %4 = nn.concat %a dim 0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0, %1, %2, %3, %4
      : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: func.func @reshape_of_reshape
// CHECK-SAME: %[[A:.*]]: tensor<2x6xf32>
// CHECK-NEXT: %[[R:.*]] = nn.reshape %[[A]] : tensor<2x6xf32> -> tensor<3x4xf32>
// CHECK-NEXT: return %[[R]], %[[A]]
func.func @reshape_of_reshape(%a: tensor<2x6xf32>) -> (tensor<3x4xf32>, tensor<2x6xf32>) {
  %0 = nn.reshape %a : tensor<2x6xf32> -> tensor<12xf32>
  %1 = nn.reshape %0 : tensor<12xf32> -> tensor<3x4xf32>
  %2 = nn.reshape %0 : tensor<12xf32> -> tensor<2x6xf32>
  return %1, %2 : tensor<3x4xf32>, tensor<2x6xf32>
}

// Result dimension i of both is operand dimension perm0[perm1[i]].
// CHECK-LABEL: func.func @transpose_of_transpose
// CHECK-SAME: %[[A:.*]]: tensor<2x3x4xf32>
// CHECK-NEXT: %[[T:.*]] = nn.transpose %[[A]] perm [0, 2, 1] : tensor<2x3x4xf32> -> tensor<2x4x3xf32>
// CHECK-NEXT: return %[[T]], %[[A]]
func.func @transpose_of_transpose(%a: tensor<2x3x4xf32>) -> (tensor<2x4x3xf32>, tensor<2x3x4xf32>) {
  %0 = nn.transpose %a perm [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
  %1 = nn.transpose %0 perm [2, 1, 0] : tensor<3x4x2xf32> -> tensor<2x4x3xf32>
  %2 = nn.transpose %0 perm [2, 0, 1] : tensor<3x4x2xf32> -> tensor<2x3x4xf32>
  return %1, %2 : tensor<2x4x3xf32>, tensor<2x3x4xf32>
}

// CHECK-LABEL: func.func @not_the_whole
// CHECK: nn.broadcast
// CHECK: nn.slice
func.func @not_the_whole(%a: tensor<1x3xf32>) -> (tensor<2x3xf32>, tensor<1x3xf32>) {
  %0 = nn.broadcast %a dims [0, 1] : tensor<1x3xf32> -> tensor<2x3xf32>
  %1 = nn.slice %a offsets [0, 2] strides [1, -1] : tensor<1x3xf32> -> tensor<1x3xf32>
  return %0, %1 : tensor<2x3xf32>, tensor<1x3xf32>
}
