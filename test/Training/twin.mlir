// A twin lies as the weight does that it is of, and is written beside it by the same kernel. Its old value is not read for that.
// REQUIRES: spillway-opt
// RUN: spillway-opt %s -pass-pipeline='builtin.module(nn-assign-layouts,nn-form-kernels,nn-narrow-stores)' | FileCheck %s
// RUN: spillway-opt %s -pass-pipeline='builtin.module(nn-assign-layouts,nn-form-kernels,nn-narrow-stores,zero-plan{memory=45056},zero-tile,zero-schedule,convert-zero-to-rt)' | FileCheck %s --check-prefix=STREAMED

// CHECK: zero.state @w "w" : {{.*}} layout(<1>)
// CHECK: zero.state @w.bf16 "w.bf16" : {{.*}} layout(<1>)
// CHECK: nn.call @[[UPDATE:.*]](%{{.*}}, %{{.*}}, %[[W:.*]]) into(%[[W]], %{{.*}} : tensor<64x64xf32>, tensor<64x64xbf16>)
// CHECK: nn.kernel @[[UPDATE]]({{.*}}) -> (tensor<64x64xf32> {nn.layout = #nn.panels<1>, nn.tiled}, tensor<64x64xbf16> {nn.layout = #nn.panels<1>, nn.tiled}) attributes {{.*}}schedule = #nn.schedule<gemm>

// A step reads the weight once, and its twin once, in half of the bytes.
// STREAMED: rt.step
// STREAMED: rt.read @w.bf16[0] into
// STREAMED: rt.read @w.bf16[4096] into
// STREAMED-NOT: rt.read @w.bf16
// STREAMED: rt.write %{{.*}} into @w.bf16[4096]
module attributes {nn.stored_type = bf16} {
  zero.state @w "w" : tensor<64x64xf32> role(<parameter>) rewritten source(#zero.splat<1.0 : f32>)
  zero.state @w.bf16 "w.bf16" : tensor<64x64xbf16> role(<twin>) rewritten source(#zero.rounded<#zero.splat<1.0 : f32>>)
  func.func @main(%x: tensor<8x64xf32> {spillway.name = "x", spillway.type = "f32"},
                  %g: tensor<8x64xf32> {spillway.name = "g", spillway.type = "f32"})
      -> (tensor<8x64xf32> {spillway.name = "y", spillway.type = "f32"}) {
    %twin = zero.use @w.bf16 : tensor<64x64xbf16>
    %y = nn.matmul %x, %twin : tensor<8x64xf32>, tensor<64x64xbf16> -> tensor<8x64xf32>
    %w = zero.use @w : tensor<64x64xf32>
    %gradient = nn.matmul %x, %g {transpose_lhs} : tensor<8x64xf32>, tensor<8x64xf32> -> tensor<64x64xf32>
    %w1 = arith.subf %w, %gradient : tensor<64x64xf32>
    %narrow = arith.truncf %w1 : tensor<64x64xf32> to tensor<64x64xbf16>
    zero.update [@w, @w.bf16] (%w1, %narrow) : tensor<64x64xf32>, tensor<64x64xbf16>
    return %y : tensor<8x64xf32>
  }
}
