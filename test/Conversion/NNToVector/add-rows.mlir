// The rows that are added to an element are searched for once for all columns of a panel, and summed in a loop.

// RUN: spillway-opt %s -nn-to-vector=cpu=avx512 | FileCheck %s

// CHECK-LABEL: func.func @panels_of_rows
// CHECK: math.fma
// CHECK-COUNT-14: arith.select {{.*}} : index
// CHECK: scf.for
// CHECK-NOT: arith.select {{.*}} : index
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<16xf32>)
// CHECK: arith.addf {{.*}} : vector<16xf32>
// CHECK: arith.select {{.*}} : vector<16xi1>, vector<16xf32>
nn.kernel @panels_of_rows(%x: tensor<64x128xf32>, %y: tensor<64x512xf32>, %rows: tensor<64xi64>, %order: tensor<64xi64>, %u: tensor<64x128xf32>)
    -> (tensor<512x128xf32> {nn.layout = #nn.panels<0>}) attributes {schedule = #nn.schedule<gemm>, units = 1 : i64, scratch = 0 : i64} {
  %t = nn.matmul %x transpose, %y : tensor<64x128xf32>, tensor<64x512xf32> -> tensor<128x512xf32>
  %0 = nn.transpose %t perm [1, 0] : tensor<128x512xf32> -> tensor<512x128xf32>
  %1 = nn.add_rows %0[%rows, %order] %u : tensor<512x128xf32>, tensor<64xi64>, tensor<64x128xf32>
  nn.yield %1 : tensor<512x128xf32>
}

// Lanes of one row need no mask.
// CHECK-LABEL: func.func @columns
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<16xf32>)
// CHECK: arith.addf {{.*}} : vector<16xf32>
// CHECK-NOT: vector<16xi1>
// CHECK: return
nn.kernel @columns(%x: tensor<512x128xf32>, %rows: tensor<64xi64>, %order: tensor<64xi64>, %u: tensor<64x128xf32>) -> tensor<512x128xf32>
    attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64} {
  %0 = nn.add_rows %x[%rows, %order] %u : tensor<512x128xf32>, tensor<64xi64>, tensor<64x128xf32>
  nn.yield %0 : tensor<512x128xf32>
}
