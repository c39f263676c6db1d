// Values that wait between two calls are written to the drive behind the call that gives them, and read back before
// the next one that takes them: at once (lead=0), or as long before as a transfer takes; what would be back at once stays.
// RUN: spillway-opt %s -zero-offload=share=0 | FileCheck %s --check-prefix=NONE
// RUN: spillway-opt %s -zero-offload='share=8 lead=0' | FileCheck %s --check-prefixes=CHECK,ATONCE
// RUN: spillway-opt %s -zero-offload='share=8 lead=1' | FileCheck %s --check-prefixes=CHECK,LEAD
// RUN: spillway-opt %s -zero-offload='share=4 lead=0' | FileCheck %s --check-prefix=HALF

// NONE-NOT: zero.offload
// ATONCE: zero.offloaded = {bytes = 16384 : i64, values = 2 : i64}
// LEAD: zero.offloaded = {bytes = 8192 : i64, values = 1 : i64}
// HALF: zero.offloaded = {bytes = 8192 : i64, values = 1 : i64}

// Of one millisecond each.
nn.kernel private @f(tensor<2048xf32>) -> tensor<2048xf32>
  attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, cost = #nn.cost<90000000, 1>}
nn.kernel private @loss(tensor<2048xf32>) -> tensor<f32>
  attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, cost = #nn.cost<90000000, 1>}
nn.kernel private @b(tensor<2048xf32>, tensor<32x64xf32>) -> tensor<2048xf32>
  attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, cost = #nn.cost<90000000, 1>}
nn.kernel private @update(tensor<2048xf32>, tensor<2048xf32>) -> tensor<2048xf32>
  attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, cost = #nn.cost<90000000, 1>}

zero.state @w "w" : tensor<2048xf32> role(<parameter>) rewritten source(#zero.splat<1.0 : f32>)

// CHECK-LABEL: func.func @main(
func.func @main(%x: tensor<2048xf32>) -> tensor<f32> {
  // CHECK: %[[H0:.*]] = nn.call @f(
  // CHECK-NEXT: %[[S0:.*]] = zero.offload %[[H0]] : tensor<2048xf32> -> <tensor<2048xf32>, nvme>
  // HALF: %[[H0:.*]] = nn.call @f(
  // HALF-NEXT: zero.offload %[[H0]]
  // HALF-NOT: zero.offload
  %h0 = nn.call @f(%x) : (tensor<2048xf32>) -> tensor<2048xf32>
  %v0 = nn.reshape %h0 : tensor<2048xf32> -> tensor<32x64xf32>
  // CHECK: %[[H1:.*]] = nn.call @f(%[[H0]])
  // ATONCE-NEXT: %[[S1:.*]] = zero.offload %[[H1]]
  %h1 = nn.call @f(%h0) : (tensor<2048xf32>) -> tensor<2048xf32>
  %v1 = nn.reshape %h1 : tensor<2048xf32> -> tensor<32x64xf32>
  // CHECK: zero.settle %[[S0]] : <tensor<2048xf32>, nvme>
  // CHECK-NEXT: %[[H2:.*]] = nn.call @f(%[[H1]])
  // ATONCE-NEXT: zero.settle %[[S1]]
  // CHECK-NEXT: nn.call @loss(%[[H2]])
  %h2 = nn.call @f(%h1) : (tensor<2048xf32>) -> tensor<2048xf32>
  %loss = nn.call @loss(%h2) : (tensor<2048xf32>) -> tensor<f32>

  // ATONCE-NEXT: %[[R1:.*]] = zero.restore %[[S1]] : <tensor<2048xf32>, nvme> -> tensor<2048xf32>
  // ATONCE-NEXT: zero.release %[[S1]]
  // ATONCE-NEXT: %[[B1:.*]] = nn.reshape %[[R1]]
  // ATONCE-NEXT: %[[G1:.*]] = nn.call @b(%[[H2]], %[[B1]])
  // ATONCE-NEXT: %[[R0:.*]] = zero.restore %[[S0]]
  // ATONCE-NEXT: zero.release %[[S0]]
  // ATONCE-NEXT: %[[B0:.*]] = nn.reshape %[[R0]]

  // LEAD-NEXT: %[[R0:.*]] = zero.restore %[[S0]]
  // LEAD-NEXT: zero.release %[[S0]]
  // LEAD-NEXT: %[[B0:.*]] = nn.reshape %[[R0]]
  // LEAD-NEXT: %[[G1:.*]] = nn.call @b(%[[H2]], %{{.*}})
  // CHECK-NEXT: nn.call @b(%[[G1]], %[[B0]])
  %g1 = nn.call @b(%h2, %v1) : (tensor<2048xf32>, tensor<32x64xf32>) -> tensor<2048xf32>
  %g0 = nn.call @b(%g1, %v0) : (tensor<2048xf32>, tensor<32x64xf32>) -> tensor<2048xf32>
  %w = zero.use @w : tensor<2048xf32>
  %new = nn.call @update(%g0, %w) into(%w : tensor<2048xf32>) : (tensor<2048xf32>, tensor<2048xf32>) -> tensor<2048xf32>
  zero.update [@w] (%new) : tensor<2048xf32>
  return %loss : tensor<f32>
}
