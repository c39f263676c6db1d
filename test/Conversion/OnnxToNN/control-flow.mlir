// REQUIRES: spillway-opt
// RUN: spillway-opt %s -convert-onnx-to-nn -split-input-file -verify-diagnostics | FileCheck %s

// A branch that is not taken is not converted.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[Y:.*]] = math.exp %arg0
// CHECK-NEXT: return %[[Y]]
module {
  onnx.initializer @c "c" : tensor<i1> = dense<true> : tensor<i1>
  onnx.graph "main" inputs(["x"]) dims([["", ""]]) outputs(["y"]) {
  ^bb0(%x: tensor<2x3xf32>):
    %c = onnx.use @c : tensor<i1>
    %y = onnx.node "If" (%c) version 13 {} graph "then_branch" {
      %a = onnx.node "Exp" (%x) version 13 {} : tensor<2x3xf32>
      onnx.return %a : !onnx.value
    } graph "else_branch" {
      %b = onnx.node "Magic" (%x) version 13 {} : tensor<2x3xf32>
      onnx.return %b : !onnx.value
    } : tensor<i1>
    onnx.return %y : !onnx.value
  }
}

// -----

// Both branches of a condition that the step computes; one that is run may hold what is not supported.
module {
  onnx.graph "main" inputs(["x", "c"]) dims([["", ""], []]) outputs(["y"]) {
  ^bb0(%x: tensor<2x3xf32>, %c: tensor<i1>):
    // expected-error @+2 {{If: both branches are computed, since the condition is not known at compile time; it depends on the inputs 'c' (see --bind)}}
    // expected-note @+1 {{a branch cannot be: Magic (opset 13) is not supported}}
    %y = onnx.node "If" (%c) version 13 {} graph "then_branch" {
      %a = onnx.node "Exp" (%x) version 13 {} : tensor<2x3xf32>
      onnx.return %a : !onnx.value
    } graph "else_branch" {
      %b = onnx.node "Magic" (%x) version 13 {} : tensor<2x3xf32>
      onnx.return %b : !onnx.value
    } : tensor<i1>
    onnx.return %y : !onnx.value
  }
}

// -----

module {
  onnx.graph "main" inputs(["x", "c"]) dims([["", ""], []]) outputs(["y"]) {
  ^bb0(%x: tensor<2x3xf32>, %c: tensor<i1>):
    // expected-error @+1 {{If: the condition must be known at compile time: output 0 is 'tensor<2x3xf32>' in one branch and 'tensor<3x2xf32>' in the other}}
    %y = onnx.node "If" (%c) version 13 {} graph "then_branch" {
      %a = onnx.node "Exp" (%x) version 13 {} : tensor<2x3xf32>
      onnx.return %a : !onnx.value
    } graph "else_branch" {
      %b = onnx.node "Transpose" (%x) version 13 {} : tensor<2x3xf32>
      onnx.return %b : !onnx.value
    } : tensor<i1>
    onnx.return %y : !onnx.value
  }
}

// -----

// An index may be out of range where its branch is not taken.
module {
  onnx.graph "main" inputs(["x", "i", "c"]) dims([["", ""], [""], []]) outputs(["y"]) {
  ^bb0(%x: tensor<2x3xf32>, %i: tensor<2xi64>, %c: tensor<i1>):
    // expected-error @+1 {{If: the condition must be known at compile time: a branch picks elements by indices}}
    %y = onnx.node "If" (%c) version 13 {} graph "then_branch" {
      %a = onnx.node "Gather" (%x, %i) version 13 {} : tensor<2x3xf32>, tensor<2xi64>
      onnx.return %a : !onnx.value
    } graph "else_branch" {
      %b = onnx.node "Exp" (%x) version 13 {} : tensor<2x3xf32>
      onnx.return %b : !onnx.value
    } : tensor<i1>
    onnx.return %y : !onnx.value
  }
}

// -----

module {
  onnx.graph "main" inputs(["x", "m"]) dims([["", ""], []]) outputs(["y"]) {
  ^bb0(%x: tensor<2x3xf32>, %m: tensor<i64>):
    %none = onnx.none
    // expected-error @+1 {{Loop: the trip count (input 0) must be known at compile time}}
    %y = onnx.node "Loop" (%m, %none, %x) version 13 {} graph "body" {
    ^bb0(%i: !onnx.value, %c: !onnx.value, %v: !onnx.value):
      %w = onnx.node "Add" (%v, %v) version 14 {} : !onnx.value, !onnx.value
      onnx.return %c, %w : !onnx.value, !onnx.value
    } : tensor<i64>, !onnx.none, tensor<2x3xf32>
    onnx.return %y : !onnx.value
  }
}

// -----

module {
  onnx.graph "main" inputs(["x", "c"]) dims([["", ""], []]) outputs(["y"]) {
  ^bb0(%x: tensor<2x3xf32>, %c: tensor<i1>):
    %none = onnx.none
    // expected-error @+1 {{Loop: the condition before iteration 0 must be known at compile time, or the trip count}}
    %y = onnx.node "Loop" (%none, %c, %x) version 13 {} graph "body" {
    ^bb0(%i: !onnx.value, %d: !onnx.value, %v: !onnx.value):
      %w = onnx.node "Add" (%v, %v) version 14 {} : !onnx.value, !onnx.value
      onnx.return %d, %w : !onnx.value, !onnx.value
    } : !onnx.none, tensor<i1>, tensor<2x3xf32>
    onnx.return %y : !onnx.value
  }
}

// -----

module {
  onnx.initializer @m "m" : tensor<i64> = dense<100000> : tensor<i64>
  onnx.graph "main" inputs(["x"]) dims([["", ""]]) outputs(["y"]) {
  ^bb0(%x: tensor<2x3xf32>):
    %none = onnx.none
    %m = onnx.use @m : tensor<i64>
    // expected-error @+1 {{Loop: more than 4096 iterations are not supported}}
    %y = onnx.node "Loop" (%m, %none, %x) version 13 {} graph "body" {
    ^bb0(%i: !onnx.value, %d: !onnx.value, %v: !onnx.value):
      %w = onnx.node "Add" (%v, %v) version 14 {} : !onnx.value, !onnx.value
      onnx.return %d, %w : !onnx.value, !onnx.value
    } : tensor<i64>, !onnx.none, tensor<2x3xf32>
    onnx.return %y : !onnx.value
  }
}

// -----

// A body that takes other numbers of values than the node gives it.
module {
  onnx.graph "main" inputs(["x"]) dims([["", ""]]) outputs(["y"]) {
  ^bb0(%x: tensor<2x3xf32>):
    // expected-error @+1 {{Scan: the graph body has 2 inputs and 1 outputs, where 1 and 1 are expected}}
    %y = onnx.node "Scan" (%x) version 9 {num_scan_inputs = 1 : i64} graph "body" {
    ^bb0(%a: !onnx.value, %b: !onnx.value):
      onnx.return %a : !onnx.value
    } : tensor<2x3xf32>
    onnx.return %y : !onnx.value
  }
}

// -----

// Opset 8 takes lengths in front of what it scans, which may be left out, but not alone.
module {
  onnx.graph "main" inputs(["x"]) dims([["", ""]]) outputs(["y"]) {
  ^bb0(%x: tensor<2x3xf32>):
    // expected-error @+1 {{Scan: there is nothing to scan}}
    %y = onnx.node "Scan" () version 8 {num_scan_inputs = 4294967295 : i64} graph "body" {
      onnx.return %x : tensor<2x3xf32>
    }
    onnx.return %y : !onnx.value
  }
}

// -----

// Iterations count, also those of a body without nodes.
module {
  onnx.initializer @many "many" : tensor<i64> = dense<4096> : tensor<i64>
  onnx.initializer @some "some" : tensor<i64> = dense<100> : tensor<i64>
  onnx.graph "main" inputs(["x"]) dims([["", ""]]) outputs(["y"]) {
  ^bb0(%x: tensor<2x3xf32>):
    %none = onnx.none
    %many = onnx.use @many : tensor<i64>
    %some = onnx.use @some : tensor<i64>
    %y = onnx.node "Loop" (%some, %none, %x) version 13 {} graph "body" {
    ^bb0(%i: !onnx.value, %c: !onnx.value, %v: !onnx.value):
      // expected-error @+1 {{the loops have more than 262144 nodes in all their iterations}}
      %w = onnx.node "Loop" (%many, %none, %v) version 13 {} graph "body" {
      ^bb0(%j: !onnx.value, %d: !onnx.value, %u: !onnx.value):
        onnx.return %d, %u : !onnx.value, !onnx.value
      } : tensor<i64>, !onnx.none, !onnx.value
      onnx.return %c, %w : !onnx.value, !onnx.value
    } : tensor<i64>, !onnx.none, tensor<2x3xf32>
    onnx.return %y : !onnx.value
  }
}

// -----

// So do the steps of a layer, which is one node.
module {
  onnx.initializer @many "many" : tensor<i64> = dense<4096> : tensor<i64>
  onnx.graph "main" inputs(["x", "s", "w", "r"]) dims([["", ""], ["", "", ""], ["", "", ""], ["", "", ""]]) outputs(["y"]) {
  ^bb0(%x: tensor<2x3xf32>, %s: tensor<4000x1x1xf32>, %w: tensor<1x4x1xf32>, %r: tensor<1x4x1xf32>):
    %none = onnx.none
    %many = onnx.use @many : tensor<i64>
    %y = onnx.node "Loop" (%many, %none, %x) version 13 {} graph "body" {
    ^bb0(%i: !onnx.value, %c: !onnx.value, %v: !onnx.value):
      // expected-error @+1 {{the model takes more than 2097152 operations with its loops unrolled}}
      %a:3 = onnx.node "LSTM" (%s, %w, %r) version 14 outputs 3 {hidden_size = 1 : i64} : tensor<4000x1x1xf32>, tensor<1x4x1xf32>, tensor<1x4x1xf32>
      onnx.return %c, %v : !onnx.value, !onnx.value
    } : tensor<i64>, !onnx.none, tensor<2x3xf32>
    onnx.return %y : !onnx.value
  }
}
