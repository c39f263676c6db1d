// RUN: spillway-opt %s -zero-link -verify-diagnostics | FileCheck %s
// RUN: spillway-opt %s -zero-link -zero-tile=max-bytes=1 2>/dev/null | FileCheck %s --check-prefix=TILE

// Raw elements of a file are linked; constants and varints are not.
// CHECK: zero.state @w "w" {{.*}} layout(<1>) source(#zero.file<"m.onnx", 12, 131072>) {zero.linked}
// CHECK: zero.state @e "e" {{.*}} layout(<0>) source({{.*}}) {zero.linked}
// CHECK: zero.state @ones "ones" : tensor<2xf32> role(<parameter>) source(#zero.splat<1.000000e+00 : f32>){{$}}
// CHECK: zero.state @v "v" : tensor<2xi64> role(<parameter>) source(#zero.file<"m.onnx", 5, 9, varint = true>){{$}}
// A tile of columns takes a block of each row: 1024 elements, 64 panels. One of rows need not.
// TILE: zero.state @w {{.*}} tile(64)
// TILE: zero.state @e {{.*}} tile(4)
zero.state @w "w" : tensor<16x2048xf32> role(<parameter>) layout(<1>) source(#zero.file<"m.onnx", 12, 131072>)
zero.state @e "e" : tensor<2048x16xf32> role(<parameter>) layout(<0>) source(#zero.file<"m.onnx", 12, 131072>)
zero.state @ones "ones" : tensor<2xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
// expected-warning@+1 {{'v' is copied into the bundle, not linked: "m.onnx" holds it as varints, which have no fixed places}}
zero.state @v "v" : tensor<2xi64> role(<parameter>) source(#zero.file<"m.onnx", 5, 9, varint = true>)

nn.kernel private @k(tensor<8x16xf32>, tensor<16x2048xf32> {nn.layout = #nn.panels<1>, nn.tiled}) -> tensor<8x2048xf32>
  attributes {schedule = #nn.schedule<gemm>, units = 128 : i64, scratch = 0 : i64, cost = #nn.cost<1, 1>}
nn.kernel private @t(tensor<8x16xf32>, tensor<2048x16xf32> {nn.layout = #nn.panels<0>, nn.tiled}) -> tensor<8x2048xf32>
  attributes {schedule = #nn.schedule<gemm>, units = 128 : i64, scratch = 0 : i64, cost = #nn.cost<1, 1>}
func.func @main(%x: tensor<8x16xf32>) -> (tensor<8x2048xf32>, tensor<8x2048xf32>) {
  %w = zero.use @w : tensor<16x2048xf32>
  %0 = nn.call @k(%x, %w) : (tensor<8x16xf32>, tensor<16x2048xf32>) -> tensor<8x2048xf32>
  %e = zero.use @e : tensor<2048x16xf32>
  %1 = nn.call @t(%x, %e) : (tensor<8x16xf32>, tensor<2048x16xf32>) -> tensor<8x2048xf32>
  return %0, %1 : tensor<8x2048xf32>, tensor<8x2048xf32>
}
