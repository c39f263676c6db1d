// RUN: spillway-opt %s | spillway-opt | FileCheck %s
// RUN: spillway-opt %s --mlir-print-op-generic | spillway-opt | FileCheck %s

func.func private @operations(
    %a: tensor<2x3xf32>, %zero: tensor<f32>, %i: tensor<4xi64>, %j: tensor<2x1xi32>, %s: tensor<3xf32>,
    %q: tensor<1x4x5x8xbf16>, %k: tensor<1x2x6x8xbf16>, %v: tensor<1x2x6x3xbf16>, %m: tensor<1x1x5x6xi1>, %bytes: tensor<2x3xi8>) {
  // CHECK: nn.reshape %{{[a-z0-9]+}} : tensor<2x3xf32> -> tensor<6xf32>
  %0 = nn.reshape %a : tensor<2x3xf32> -> tensor<6xf32>
  // CHECK: nn.broadcast %{{[a-z0-9]+}} dims [0, 2] : tensor<2x3xf32> -> tensor<2x4x3xf32>
  %1 = nn.broadcast %a dims [0, 2] : tensor<2x3xf32> -> tensor<2x4x3xf32>
  // CHECK: nn.transpose %{{[a-z0-9]+}} perm [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %2 = nn.transpose %a perm [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  // CHECK: nn.slice %{{[a-z0-9]+}} offsets [1, 2] strides [-1, -2] : tensor<2x3xf32> -> tensor<2x2xf32>
  %3 = nn.slice %a offsets [1, 2] strides [-1, -2] : tensor<2x3xf32> -> tensor<2x2xf32>
  // CHECK: nn.concat %{{[a-z0-9]+}}, %{{[a-z0-9]+}} dim 1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
  %4 = nn.concat %a, %a dim 1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
  // CHECK: nn.pad <constant> %{{[a-z0-9]+}} value %{{[a-z0-9]+}} : tensor<f32> low [0, 1] : tensor<2x3xf32> -> tensor<2x5xf32>
  %5 = nn.pad <constant> %a value %zero : tensor<f32> low [0, 1] : tensor<2x3xf32> -> tensor<2x5xf32>
  // CHECK: nn.pad <reflect> %{{[a-z0-9]+}} low [-1, 2] : tensor<2x3xf32> -> tensor<1x7xf32>
  %6 = nn.pad <reflect> %a low [-1, 2] : tensor<2x3xf32> -> tensor<1x7xf32>
  // CHECK: nn.pad <edge> %{{[a-z0-9]+}} low [0, 0] : tensor<2x3xf32> -> tensor<2x9xf32>
  %7 = nn.pad <edge> %a low [0, 0] : tensor<2x3xf32> -> tensor<2x9xf32>
  // CHECK: nn.pad <wrap> %{{[a-z0-9]+}} low [0, 5] : tensor<2x3xf32> -> tensor<2x8xf32>
  %8 = nn.pad <wrap> %a low [0, 5] : tensor<2x3xf32> -> tensor<2x8xf32>
  // CHECK: nn.random %{{.*}} : tensor<2xi64> -> tensor<2x3xi32>
  %keys = nn.iota dim 0 : tensor<2xi64>
  %bits = nn.random %keys : tensor<2xi64> -> tensor<2x3xi32>
  // CHECK: nn.iota dim 1 : tensor<2x3xi64>
  %9 = nn.iota dim 1 : tensor<2x3xi64>
  // CHECK: nn.gather %{{[a-z0-9]+}}[%{{[a-z0-9]+}}] dim 1 : tensor<2x3xf32>, tensor<4xi64> -> tensor<2x4xf32>
  %10 = nn.gather %a[%i] dim 1 : tensor<2x3xf32>, tensor<4xi64> -> tensor<2x4xf32>
  // CHECK: nn.gather_elements %{{[a-z0-9]+}}[%{{[a-z0-9]+}}] dim 1 : tensor<2x3xf32>, tensor<2x1xi32> -> tensor<2x1xf32>
  %11 = nn.gather_elements %a[%j] dim 1 : tensor<2x3xf32>, tensor<2x1xi32> -> tensor<2x1xf32>
  // CHECK: nn.gather_nd %{{[a-z0-9]+}}[%{{[a-z0-9]+}}] batch_dims 0 : tensor<2x3xf32>, tensor<2x1xi32> -> tensor<2x3xf32>
  %12 = nn.gather_nd %a[%j] batch_dims 0 : tensor<2x3xf32>, tensor<2x1xi32> -> tensor<2x3xf32>
  // CHECK: nn.matmul %{{[a-z0-9]+}}, %{{[a-z0-9]+}} transpose : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x2xf32>
  %13 = nn.matmul %a, %a transpose : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x2xf32>
  // CHECK: nn.matmul %{{[a-z0-9]+}} transpose, %{{[a-z0-9]+}} : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<3x3xf32>
  %14 = nn.matmul %a transpose, %a : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<3x3xf32>
  // CHECK: nn.attention <nan> %{{[a-z0-9]+}}, %{{[a-z0-9]+}}, %{{[a-z0-9]+}} scale 1.250000e-01 : tensor<1x4x5x8xbf16>, tensor<1x2x6x8xbf16>, tensor<1x2x6x3xbf16> -> tensor<1x4x5x3xbf16>
  %15 = nn.attention <nan> %q, %k, %v scale 1.250000e-01 : tensor<1x4x5x8xbf16>, tensor<1x2x6x8xbf16>, tensor<1x2x6x3xbf16> -> tensor<1x4x5x3xbf16>
  // CHECK: nn.attention <zero> %{{[a-z0-9]+}}, %{{[a-z0-9]+}}, %{{[a-z0-9]+}} mask %{{[a-z0-9]+}} : tensor<1x1x5x6xi1> scale 1.250000e-01 {causal_offset = 1 : i64, softcap = 3.000000e+01 : f32} : tensor<1x4x5x8xbf16>, tensor<1x2x6x8xbf16>, tensor<1x2x6x3xbf16> -> tensor<1x4x5x3xbf16>
  %16 = nn.attention <zero> %q, %k, %v mask %m : tensor<1x1x5x6xi1> scale 1.250000e-01 {causal_offset = 1 : i64, softcap = 3.000000e+01 : f32} : tensor<1x4x5x8xbf16>, tensor<1x2x6x8xbf16>, tensor<1x2x6x3xbf16> -> tensor<1x4x5x3xbf16>
  // CHECK: nn.reduce <log_sum_exp> %{{[a-z0-9]+}} dims [0, 1] : tensor<2x3xf32> -> tensor<f32>
  %17 = nn.reduce <log_sum_exp> %a dims [0, 1] : tensor<2x3xf32> -> tensor<f32>
  // CHECK: nn.softmax %{{[a-z0-9]+}} dim 1 : tensor<2x3xf32>
  %18 = nn.softmax %a dim 1 : tensor<2x3xf32>
  // CHECK: nn.log_softmax %{{[a-z0-9]+}} dim 0 : tensor<2x3xf32>
  %19 = nn.log_softmax %a dim 0 : tensor<2x3xf32>
  // CHECK: nn.layer_norm %{{[a-z0-9]+}} scale %{{[a-z0-9]+}} : tensor<3xf32> bias %{{[a-z0-9]+}} : tensor<3xf32> dim 1 epsilon 9.99999974E-6 : tensor<2x3xf32>
  %20 = nn.layer_norm %a scale %s : tensor<3xf32> bias %s : tensor<3xf32> dim 1 epsilon 9.99999974E-6 : tensor<2x3xf32>
  // CHECK: nn.layer_norm %{{[a-z0-9]+}} scale %{{[a-z0-9]+}} : tensor<3xf32> dim 1 epsilon 9.99999974E-6 : tensor<2x3xf32>
  %21 = nn.layer_norm %a scale %s : tensor<3xf32> dim 1 epsilon 9.99999974E-6 : tensor<2x3xf32>
  // CHECK: nn.rms_norm %{{[a-z0-9]+}} scale %{{[a-z0-9]+}} : tensor<3xf32> dim 1 epsilon 9.99999974E-6 : tensor<2x3xf32>
  %22 = nn.rms_norm %a scale %s : tensor<3xf32> dim 1 epsilon 9.99999974E-6 : tensor<2x3xf32>
  // CHECK: nn.cumsum %{{[a-z0-9]+}} dim 0 : tensor<2x3xf32>
  %23 = nn.cumsum %a dim 0 : tensor<2x3xf32>
  // CHECK: nn.cumsum %{{[a-z0-9]+}} dim 1 exclusive reverse : tensor<2x3xf32>
  %24 = nn.cumsum %a dim 1 exclusive reverse : tensor<2x3xf32>
  // CHECK: nn.argsort %{{[a-z0-9]+}} dim 1 : tensor<2x3xf32> -> tensor<2x3xi64>
  %25 = nn.argsort %a dim 1 : tensor<2x3xf32> -> tensor<2x3xi64>
  // CHECK: nn.argsort %{{[a-z0-9]+}} dim 0 descending : tensor<2x3xf32> -> tensor<1x3xi64>
  %26 = nn.argsort %a dim 0 descending : tensor<2x3xf32> -> tensor<1x3xi64>
  %27 = arith.constant dense<1> : tensor<5x1xi64>
  %28 = arith.constant dense<1.0> : tensor<5x3xf32>
  // CHECK: nn.scatter <add> %{{[a-z0-9]+}}[%{{.*}}] %{{.*}} : tensor<2x3xf32>, tensor<5x1xi64>, tensor<5x3xf32>
  %29 = nn.scatter <add> %a[%27] %28 : tensor<2x3xf32>, tensor<5x1xi64>, tensor<5x3xf32>
  // CHECK: nn.add_rows %{{[a-z0-9]+}}[%{{[a-z0-9]+}}, %{{[a-z0-9]+}}] %{{.*}} : tensor<2x3xf32>, tensor<4xi64>, tensor<4x3xf32>
  %rows = arith.constant dense<1.0> : tensor<4x3xf32>
  %sum = nn.add_rows %a[%i, %i] %rows : tensor<2x3xf32>, tensor<4xi64>, tensor<4x3xf32>
  // CHECK: nn.unpack %{{[a-z0-9]+}} bits 4 : tensor<2x3xi8> -> tensor<2x6xi8>
  %30 = nn.unpack %bytes bits 4 : tensor<2x3xi8> -> tensor<2x6xi8>
  // CHECK: nn.unpack %{{[a-z0-9]+}} bits 2 signed : tensor<2x3xi8> -> tensor<2x12xi8>
  %31 = nn.unpack %bytes bits 2 signed : tensor<2x3xi8> -> tensor<2x12xi8>
  return
}

// CHECK-LABEL: func.func @windows
func.func @windows(%x: tensor<8x9xf32>, %i: tensor<1x4x9x9xf32>, %f: tensor<6x2x3x3xf32>) {
  // CHECK: nn.windows %{{[a-z0-9]+}} strides [2] dilations [1] : tensor<8x9xf32> -> tensor<8x3x4xf32>
  %0 = nn.windows %x strides [2] dilations [1] : tensor<8x9xf32> -> tensor<8x3x4xf32>
  // CHECK: nn.conv %{{[a-z0-9]+}}, %{{[a-z0-9]+}} strides [2, 1] dilations [1, 2] low [1, -1] groups 2 : tensor<1x4x9x9xf32>, tensor<6x2x3x3xf32> -> tensor<1x6x5x7xf32>
  %1 = nn.conv %i, %f strides [2, 1] dilations [1, 2] low [1, -1] groups 2 : tensor<1x4x9x9xf32>, tensor<6x2x3x3xf32> -> tensor<1x6x5x7xf32>
  return
}

// CHECK: nn.kernel @gemm(%{{.*}}: tensor<4x32xf32>, %{{.*}}: tensor<32x40xf32> {nn.layout = #nn.panels<1>, nn.tiled}) -> tensor<4x40xf32> attributes {schedule = #nn.schedule<gemm>, scratch = 64 : i64, units = 3 : i64} {
nn.kernel @gemm(%x: tensor<4x32xf32>, %w: tensor<32x40xf32> {nn.layout = #nn.panels<1>, nn.tiled}) -> tensor<4x40xf32>
    attributes {schedule = #nn.schedule<gemm>, units = 3 : i64, scratch = 64 : i64} {
  %0 = nn.matmul %x, %w : tensor<4x32xf32>, tensor<32x40xf32> -> tensor<4x40xf32>
  // CHECK: nn.yield %{{.*}} : tensor<4x40xf32>
  nn.yield %0 : tensor<4x40xf32>
}

// CHECK: nn.kernel private @made(tensor<4xf32>) -> tensor<4xf32> attributes {cost = #nn.cost<8, 32>, schedule = #nn.schedule<map>, scratch = 0 : i64, units = 1 : i64}
nn.kernel private @made(tensor<4xf32>) -> tensor<4xf32>
    attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, cost = #nn.cost<8, 32>}

// CHECK: nn.kernel private @made_of_pairs({{.*}}cost = #nn.cost<16, 64, shared = 32 in bf16>
nn.kernel private @made_of_pairs(tensor<4xbf16>) -> tensor<4xf32>
    attributes {schedule = #nn.schedule<gemm>, units = 1 : i64, scratch = 0 : i64, cost = #nn.cost<16, 64, shared = 32 in bf16>}

// CHECK-LABEL: func.func @calls
func.func @calls(%x: tensor<4x32xf32>, %w: tensor<32x40xf32>, %t: tensor<32x32xf32>) -> tensor<4x40xf32> {
  // CHECK: nn.call @gemm(%{{.*}}, %{{.*}}) : (tensor<4x32xf32>, tensor<32x40xf32>) -> tensor<4x40xf32>
  %0 = nn.call @gemm(%x, %w) : (tensor<4x32xf32>, tensor<32x40xf32>) -> tensor<4x40xf32>
  // CHECK: nn.call @gemm(%{{.*}}, %{{.*}}) units [0, 2] into(%{{.*}} : tensor<4x40xf32>) : (tensor<4x32xf32>, tensor<32x32xf32>) -> tensor<4x40xf32>
  %1 = nn.call @gemm(%x, %t) units [0, 2] into (%0 : tensor<4x40xf32>) : (tensor<4x32xf32>, tensor<32x32xf32>) -> tensor<4x40xf32>
  return %1 : tensor<4x40xf32>
}
