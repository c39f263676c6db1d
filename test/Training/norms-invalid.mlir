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
