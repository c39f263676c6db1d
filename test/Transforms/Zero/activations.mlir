// What becomes of values that wait is decided by the memory there is: all are kept where they have room, and go to the drive
// where nothing else fits; the others' policies leave less choice, or none. Of a step that trains nothing is nothing said.
// RUN: spillway-opt %s -zero-activations=memory=1000000 | FileCheck %s --check-prefix=ROOM
// RUN: spillway-opt %s -zero-activations=memory=40960 | FileCheck %s --check-prefix=LITTLE
// RUN: spillway-opt %s -zero-activations='memory=1000000 policy=offload' | FileCheck %s --check-prefix=OFFLOAD
// RUN: spillway-opt %s -zero-activations='memory=100 policy=keep' | FileCheck %s --check-prefix=KEEP
// RUN: spillway-opt %s -zero-activations='memory=1000000 policy=recompute' | FileCheck %s --check-prefix=RECOMPUTE
// RUN: not spillway-opt %s -zero-activations=policy=forget 2>&1 | FileCheck %s --check-prefix=FORGET

// ROOM: zero.activations = {joined = 1 : i64, lead = 1 : i64, minimum = {{[0-9]+}} : i64, segments = 0 : i64, share = 0 : i64}
// LITTLE: zero.activations = {joined = 1 : i64, lead = {{[0-2]}} : i64, minimum = {{[0-9]+}} : i64, segments = 0 : i64, share = {{[48]}} : i64}
// OFFLOAD: zero.activations = {joined = 1 : i64, lead = 2 : i64, minimum = {{[0-9]+}} : i64, segments = 0 : i64, share = 8 : i64}
// KEEP: zero.activations = {joined = 1 : i64, lead = 1 : i64, segments = 0 : i64, share = 0 : i64}
// RECOMPUTE: zero.activations = {joined = 1 : i64, lead = 1 : i64, segments = {{[0-9]+}} : i64, share = 0 : i64}
// FORGET: error: no policy 'forget'

nn.kernel private @f(tensor<2048xf32>) -> tensor<2048xf32>
  attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, cost = #nn.cost<90000000, 1>}
nn.kernel private @loss(tensor<2048xf32>) -> tensor<f32>
  attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, cost = #nn.cost<90000000, 1>}
nn.kernel private @b(tensor<2048xf32>, tensor<32x64xf32>) -> tensor<2048xf32>
  attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, cost = #nn.cost<90000000, 1>}
nn.kernel private @update(tensor<2048xf32>, tensor<2048xf32>) -> tensor<2048xf32>
  attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, cost = #nn.cost<90000000, 1>}

zero.state @w "w" : tensor<2048xf32> role(<parameter>) rewritten source(#zero.splat<1.0 : f32>)

func.func @main(%x: tensor<2048xf32>) -> tensor<f32> {
  %h0 = nn.call @f(%x) : (tensor<2048xf32>) -> tensor<2048xf32>
  %v0 = nn.reshape %h0 : tensor<2048xf32> -> tensor<32x64xf32>
  %h1 = nn.call @f(%h0) : (tensor<2048xf32>) -> tensor<2048xf32>
  %v1 = nn.reshape %h1 : tensor<2048xf32> -> tensor<32x64xf32>
  %h2 = nn.call @f(%h1) : (tensor<2048xf32>) -> tensor<2048xf32>
  %loss = nn.call @loss(%h2) : (tensor<2048xf32>) -> tensor<f32>


  %g1 = nn.call @b(%h2, %v1) : (tensor<2048xf32>, tensor<32x64xf32>) -> tensor<2048xf32>
  %g0 = nn.call @b(%g1, %v0) : (tensor<2048xf32>, tensor<32x64xf32>) -> tensor<2048xf32>
  %w = zero.use @w : tensor<2048xf32>
  %new = nn.call @update(%g0, %w) into(%w : tensor<2048xf32>) : (tensor<2048xf32>, tensor<2048xf32>) -> tensor<2048xf32>
  zero.update [@w] (%new) : tensor<2048xf32>
  return %loss : tensor<f32>
}
