// RUN: spillway-opt %s | spillway-opt | FileCheck %s
// RUN: spillway-opt %s --mlir-print-op-generic | spillway-opt | FileCheck %s

// CHECK: zero.state @plain "h.0.bias" : tensor<48xf32> role(<parameter>) rewritten source(#zero.file<"model.onnx", 128, 192>)
zero.state @plain "h.0.bias" : tensor<48xf32> role(<parameter>) rewritten source(#zero.file<"model.onnx", 128, 192>)
// CHECK: zero.state @ids "ids" : tensor<7xi64> role(<parameter>) source(#zero.file<"model.onnx", 5, 9, varint = true>)
zero.state @ids "ids" : tensor<7xi64> role(<parameter>) source(#zero.file<"model.onnx", 5, 9, varint = true>)
// CHECK: zero.state @zeros "zeros" : tensor<2x3xbf16> role(<parameter>) source(#zero.splat<0.000000e+00 : bf16>)
zero.state @zeros "zeros" : tensor<2x3xbf16> role(<parameter>) source(#zero.splat<0.0 : bf16>)
// CHECK: zero.state @inline "inline" : tensor<2xi8> role(<parameter>) source(dense<[1, 2]> : tensor<2xi8>)
zero.state @inline "inline" : tensor<2xi8> role(<parameter>) source(dense<[1, 2]> : tensor<2xi8>)
// CHECK: zero.state @w "h.0.weight" : tensor<32x40xf32> role(<parameter>) rewritten layout(<1>) tile(2) home([#zero.tier<nvme>, #zero.tier<host>]) at(4096) source(#zero.splat<1.000000e+00 : f32>)
zero.state @w "h.0.weight" : tensor<32x40xf32> role(<parameter>) rewritten layout(<1>) tile(2)
  home([#zero.tier<nvme>, #zero.tier<host>]) at(4096) source(#zero.splat<1.0 : f32>)

// CHECK: zero.state @linked "linked" : tensor<4xf32> role(<parameter>) source(#zero.file<"model.onnx", 3, 16>) {zero.linked}
zero.state @linked "linked" : tensor<4xf32> role(<parameter>) source(#zero.file<"model.onnx", 3, 16>) {zero.linked}
// CHECK: zero.state @parts "parts" : tensor<64x104xf32> role(<parameter>) layout(<1>) tile(4) partition(2) source(#zero.splat<1.000000e+00 : f32>)
zero.state @parts "parts" : tensor<64x104xf32> role(<parameter>) layout(<1>) tile(4) partition(2) source(#zero.splat<1.0 : f32>)

// CHECK-LABEL: func.func @unscheduled
func.func @unscheduled(%i: tensor<3x4xi32>) {
  // CHECK: zero.use @plain : tensor<48xf32>
  %0 = zero.use @plain : tensor<48xf32>
  // The first tile is two panels, the second the 8 columns that are left.
  // CHECK: zero.use @w tile 0 : tensor<32x32xf32>
  %1 = zero.use @w tile 0 : tensor<32x32xf32>
  // CHECK: zero.use @w tile 1 : tensor<32x8xf32>
  %2 = zero.use @w tile 1 : tensor<32x8xf32>
  // CHECK: zero.lookup @zeros[%{{.*}}] : tensor<3x4xi32> -> tensor<3x4x3xbf16>
  %3 = zero.lookup @zeros[%i] : tensor<3x4xi32> -> tensor<3x4x3xbf16>
  // CHECK: zero.update [@plain](%{{.*}}) : tensor<48xf32>
  zero.update [@plain] (%0) : tensor<48xf32>
  // CHECK: zero.update [@w] tile 0(%{{.*}}) : tensor<32x32xf32>
  zero.update [@w] tile 0 (%1) : tensor<32x32xf32>
  return
}

// CHECK-LABEL: func.func @scheduled
func.func @scheduled() {
  // CHECK: %[[A:.*]] = zero.fetch @w tile 0 to <host> : <tensor<32x32xf32>, host>
  %a = zero.fetch @w tile 0 to <host> : <tensor<32x32xf32>, host>
  // CHECK: %[[B:.*]] = zero.move %[[A]] to <device> : <tensor<32x32xf32>, host> -> <tensor<32x32xf32>, device>
  %b = zero.move %a to <device> : <tensor<32x32xf32>, host> -> <tensor<32x32xf32>, device>
  // CHECK: zero.view %[[B]] : <tensor<32x32xf32>, device> -> tensor<32x32xf32>
  %t = zero.view %b : <tensor<32x32xf32>, device> -> tensor<32x32xf32>
  // CHECK: zero.release %[[B]] : <tensor<32x32xf32>, device>
  zero.release %b : <tensor<32x32xf32>, device>
  // CHECK: zero.release %[[A]] : <tensor<32x32xf32>, host>
  zero.release %a : <tensor<32x32xf32>, host>
  return
}

// Each rank's part of the first tile is two panels; of the second, three panels, two with the padding.
// CHECK-LABEL: func.func @gathered
func.func @gathered() {
  // CHECK: %[[A:.*]] = zero.fetch @parts tile 0 part to <host> : <tensor<64x32xf32>, host>
  %a = zero.fetch @parts tile 0 part to <host> : <tensor<64x32xf32>, host>
  // CHECK: %[[B:.*]] = zero.gather %[[A]] : <tensor<64x32xf32>, host> -> <tensor<64x64xf32>, host>
  %b = zero.gather %a : <tensor<64x32xf32>, host> -> <tensor<64x64xf32>, host>
  zero.release %a : <tensor<64x32xf32>, host>
  zero.release %b : <tensor<64x64xf32>, host>
  // CHECK: %[[C:.*]] = zero.fetch @parts tile 1 part to <host> : <tensor<64x32xf32>, host>
  %c = zero.fetch @parts tile 1 part to <host> : <tensor<64x32xf32>, host>
  %d = zero.move %c to <device> : <tensor<64x32xf32>, host> -> <tensor<64x32xf32>, device>
  zero.release %c : <tensor<64x32xf32>, host>
  // CHECK: zero.gather %{{.*}} : <tensor<64x32xf32>, device> -> <tensor<64x40xf32>, device>
  %e = zero.gather %d : <tensor<64x32xf32>, device> -> <tensor<64x40xf32>, device>
  zero.release %d : <tensor<64x32xf32>, device>
  zero.release %e : <tensor<64x40xf32>, device>
  return
}

// CHECK-LABEL: func.func @waiting
func.func @waiting(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %[[S:.*]] = zero.offload %{{.*}} : tensor<4xf32> -> <tensor<4xf32>, nvme>
  %s = zero.offload %x : tensor<4xf32> -> <tensor<4xf32>, nvme>
  // CHECK-NEXT: zero.settle %[[S]] : <tensor<4xf32>, nvme>
  zero.settle %s : <tensor<4xf32>, nvme>
  // CHECK-NEXT: zero.restore %[[S]] : <tensor<4xf32>, nvme> -> tensor<4xf32>
  %r = zero.restore %s : <tensor<4xf32>, nvme> -> tensor<4xf32>
  // CHECK-NEXT: zero.release %[[S]]
  zero.release %s : <tensor<4xf32>, nvme>
  return %r : tensor<4xf32>
}
