// REQUIRES: spillway-opt
// RUN: spillway-opt %s -convert-onnx-to-nn='keep-parameters=true train=true' -split-input-file -verify-diagnostics

// What an exporter has merged would be trained and be a statistic at once.
module {
  onnx.initializer @s "scale" : tensor<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  onnx.initializer @zero "bias" : tensor<4xf32> = dense<0.0> : tensor<4xf32>
  onnx.initializer @v "variance" : tensor<4xf32> = dense<1.0> : tensor<4xf32>
  onnx.graph "main" inputs(["x"]) dims([["", "", ""]]) outputs(["y"]) {
  ^bb0(%x: tensor<2x4x3xf32>):
    %s = onnx.use @s : tensor<4xf32>
    %zero = onnx.use @zero : tensor<4xf32>
    %v = onnx.use @v : tensor<4xf32>
    %copy = onnx.node "Identity" (%zero) version 15 {} : tensor<4xf32>
    // expected-error @+1 {{its running statistic 'bias' is also read by a BatchNormalization (exporters merge equal values; --untie 'bias' gives each its own)}}
    %y = onnx.node "BatchNormalization" (%x, %s, %zero, %copy, %v) version 15 {} : tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>, !onnx.value, tensor<4xf32>
    onnx.return %y : !onnx.value
  }
}

// -----

module {
  onnx.initializer @s "scale" : tensor<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  onnx.graph "main" inputs(["x", "m"]) dims([["", "", ""], [""]]) outputs(["y"]) {
  ^bb0(%x: tensor<2x4x3xf32>, %m: tensor<4xf32>):
    %s = onnx.use @s : tensor<4xf32>
    // expected-error @+1 {{its running statistics are no initializers, so that no training can update them (--eval-norm keeps the norm as it is)}}
    %y = onnx.node "BatchNormalization" (%x, %s, %s, %m, %m) version 15 {} : tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
    onnx.return %y : !onnx.value
  }
}

// -----

// A branch that is not taken must not update statistics, and both are computed.
module {
  onnx.initializer @s "scale" : tensor<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  onnx.initializer @b "bias" : tensor<4xf32> = dense<0.0> : tensor<4xf32>
  onnx.initializer @m "mean" : tensor<4xf32> = dense<0.0> : tensor<4xf32>
  onnx.initializer @v "variance" : tensor<4xf32> = dense<1.0> : tensor<4xf32>
  onnx.graph "main" inputs(["x", "c"]) dims([["", "", ""], []]) outputs(["y"]) {
  ^bb0(%x: tensor<2x4x3xf32>, %c: tensor<i1>):
    %s = onnx.use @s : tensor<4xf32>
    %b = onnx.use @b : tensor<4xf32>
    %m = onnx.use @m : tensor<4xf32>
    %v = onnx.use @v : tensor<4xf32>
    // expected-error @+1 {{If: the condition must be known at compile time: a branch updates the running statistics of a norm, which must stay as they are where it is not taken}}
    %y = onnx.node "If" (%c) version 13 {} graph "then_branch" {
      %n = onnx.node "BatchNormalization" (%x, %s, %b, %m, %v) version 15 {} : tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
      onnx.return %n : !onnx.value
    } graph "else_branch" {
      %e = onnx.node "Exp" (%x) version 13 {} : tensor<2x4x3xf32>
      onnx.return %e : !onnx.value
    } : tensor<i1>
    onnx.return %y : !onnx.value
  }
}

// -----

module {
  onnx.initializer @trips "trips" : tensor<i64> = dense<2> : tensor<i64>
  onnx.initializer @s "scale" : tensor<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  onnx.initializer @b "bias" : tensor<4xf32> = dense<0.0> : tensor<4xf32>
  onnx.initializer @m "mean" : tensor<4xf32> = dense<0.0> : tensor<4xf32>
  onnx.initializer @v "variance" : tensor<4xf32> = dense<1.0> : tensor<4xf32>
  onnx.graph "main" inputs(["x", "c"]) dims([["", "", ""], []]) outputs(["y"]) {
  ^bb0(%x: tensor<2x4x3xf32>, %c: tensor<i1>):
    %trips = onnx.use @trips : tensor<i64>
    %s = onnx.use @s : tensor<4xf32>
    %b = onnx.use @b : tensor<4xf32>
    %m = onnx.use @m : tensor<4xf32>
    %v = onnx.use @v : tensor<4xf32>
    // expected-error @+1 {{Loop: the condition before iteration 0 must be known at compile time: the body updates the running statistics of a norm, which must stay as they are where it is not run}}
    %y = onnx.node "Loop" (%trips, %c, %x) version 13 {} graph "body" {
    ^bb0(%i: !onnx.value, %d: !onnx.value, %u: !onnx.value):
      %n = onnx.node "BatchNormalization" (%u, %s, %b, %m, %v) version 15 {} : !onnx.value, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
      onnx.return %d, %n : !onnx.value, !onnx.value
    } : tensor<i64>, tensor<i1>, tensor<2x4x3xf32>
    onnx.return %y : !onnx.value
  }
}

// -----

// A copy of a statistic that nothing names reads nothing.
module {
  onnx.initializer @s "scale" : tensor<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  onnx.initializer @b "bias" : tensor<4xf32> = dense<0.0> : tensor<4xf32>
  onnx.initializer @m "mean" : tensor<4xf32> = dense<0.0> : tensor<4xf32>
  onnx.initializer @v "variance" : tensor<4xf32> = dense<1.0> : tensor<4xf32>
  onnx.graph "main" inputs(["x"]) dims([["", "", ""]]) outputs(["y"]) {
  ^bb0(%x: tensor<2x4x3xf32>):
    %s = onnx.use @s : tensor<4xf32>
    %b = onnx.use @b : tensor<4xf32>
    %m = onnx.use @m : tensor<4xf32>
    %v = onnx.use @v : tensor<4xf32>
    onnx.node "Identity" (%m) version 15 outputs 0 {} : tensor<4xf32>
    %y = onnx.node "BatchNormalization" (%x, %s, %b, %m, %v) version 15 {} : tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
    onnx.return %y : !onnx.value
  }
}
