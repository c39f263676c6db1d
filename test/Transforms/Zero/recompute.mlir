// What the backward half takes of the first segments is computed again right before it takes it, and before any
// state that these calls read is updated; what crosses between segments is kept.
// RUN: spillway-opt %s -zero-recompute=segments=0 | FileCheck %s --check-prefixes=CHECK,KEEP
// RUN: spillway-opt %s -zero-recompute=segments=1 | FileCheck %s --check-prefixes=CHECK,ONE
// RUN: spillway-opt %s -zero-recompute='segments=2 joined=2' | FileCheck %s --check-prefixes=CHECK,JOINED

// KEEP: zero.recomputed = {joined = 1 : i64, of = 3 : i64, segments = 0 : i64}
// ONE: zero.recomputed = {joined = 1 : i64, of = 3 : i64, segments = 1 : i64}
// JOINED: zero.recomputed = {joined = 2 : i64, of = 3 : i64, segments = 2 : i64}

nn.kernel private @wide(tensor<4xf32>, tensor<64xf32>) -> tensor<64xf32>
  attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, cost = #nn.cost<1, 1>}
nn.kernel private @narrow(tensor<64xf32>) -> tensor<4xf32>
  attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, cost = #nn.cost<1, 1>}
nn.kernel private @loss(tensor<4xf32>) -> tensor<f32>
  attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, cost = #nn.cost<1, 1>}
nn.kernel private @backward(tensor<4xf32>, tensor<64xf32>) -> tensor<4xf32>
  attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, cost = #nn.cost<1, 1>}
nn.kernel private @update(tensor<4xf32>, tensor<64xf32>) -> tensor<64xf32>
  attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, cost = #nn.cost<1, 1>}

zero.state @w "w" : tensor<64xf32> role(<parameter>) rewritten source(#zero.splat<1.0 : f32>)

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
  // CHECK: %[[W:.*]] = zero.use @w
  // CHECK: %[[H0:.*]] = nn.call @wide(%[[X]], %[[W]])
  // CHECK: %[[Y0:.*]] = nn.call @narrow(%[[H0]])
  // CHECK: %[[H1:.*]] = nn.call @wide(%[[Y0]], %[[W]])
  // CHECK: %[[Y1:.*]] = nn.call @narrow(%[[H1]])
  // CHECK: %[[H2:.*]] = nn.call @wide(%[[Y1]], %[[W]])
  // CHECK: %[[Y2:.*]] = nn.call @narrow(%[[H2]])
  // CHECK: nn.call @loss
  %w = zero.use @w : tensor<64xf32>
  %h0 = nn.call @wide(%x, %w) : (tensor<4xf32>, tensor<64xf32>) -> tensor<64xf32>
  %y0 = nn.call @narrow(%h0) : (tensor<64xf32>) -> tensor<4xf32>
  %h1 = nn.call @wide(%y0, %w) : (tensor<4xf32>, tensor<64xf32>) -> tensor<64xf32>
  %y1 = nn.call @narrow(%h1) : (tensor<64xf32>) -> tensor<4xf32>
  %h2 = nn.call @wide(%y1, %w) : (tensor<4xf32>, tensor<64xf32>) -> tensor<64xf32>
  %y2 = nn.call @narrow(%h2) : (tensor<64xf32>) -> tensor<4xf32>
  %loss = nn.call @loss(%y2) : (tensor<4xf32>) -> tensor<f32>
  // CHECK: %[[G2:.*]] = nn.call @backward(%[[Y2]], %[[H2]])

  // KEEP-NEXT: %[[G1:.*]] = nn.call @backward(%[[G2]], %[[H1]])
  // KEEP-NEXT: nn.call @backward(%[[G1]], %[[H0]])

  // ONE-NEXT: %[[G1:.*]] = nn.call @backward(%[[G2]], %[[H1]])
  // ONE-NEXT: %[[A0:.*]] = nn.call @wide(%[[X]], %[[W]])
  // ONE-NEXT: nn.call @backward(%[[G1]], %[[A0]])

  // JOINED-NEXT: %[[A0:.*]] = nn.call @wide(%[[X]], %[[W]])
  // JOINED-NEXT: %[[B0:.*]] = nn.call @narrow(%[[A0]])
  // JOINED-NEXT: %[[A1:.*]] = nn.call @wide(%[[B0]], %[[W]])
  // JOINED-NEXT: %[[G1:.*]] = nn.call @backward(%[[G2]], %[[A1]])
  // JOINED-NEXT: nn.call @backward(%[[G1]], %[[A0]])
  %g2 = nn.call @backward(%y2, %h2) : (tensor<4xf32>, tensor<64xf32>) -> tensor<4xf32>
  %g1 = nn.call @backward(%g2, %h1) : (tensor<4xf32>, tensor<64xf32>) -> tensor<4xf32>
  %g0 = nn.call @backward(%g1, %h0) : (tensor<4xf32>, tensor<64xf32>) -> tensor<4xf32>
  %new = nn.call @update(%g0, %w) into(%w : tensor<64xf32>) : (tensor<4xf32>, tensor<64xf32>) -> tensor<64xf32>
  zero.update [@w] (%new) : tensor<64xf32>
  return %loss : tensor<f32>
}
