// REQUIRES: spillway-opt
// RUN: spillway-opt %s -convert-onnx-to-nn='keep-parameters=true train=true' -split-input-file -verify-diagnostics

module {
  onnx.graph "main" inputs(["x"]) dims([[""]]) outputs(["y"]) {
  ^bb0(%x: tensor<3xf32>):
    // expected-error@+1 {{Dropout: the ratio must be at least 0 and below 1, not 1}}
    %y = onnx.node "Dropout" (%x) version 7 {ratio = 1.0 : f32} : tensor<3xf32>
    onnx.return %y : !onnx.value
  }
}

// -----

module {
  onnx.graph "main" inputs(["x", "r"]) dims([[""], []]) outputs(["y"]) {
  ^bb0(%x: tensor<3xf32>, %r: tensor<f32>):
    // expected-error@+1 {{Dropout: the ratio (input 1) must be known at compile time; it depends on the inputs 'r'}}
    %y = onnx.node "Dropout" (%x, %r) version 13 {} : tensor<3xf32>, tensor<f32>
    onnx.return %y : !onnx.value
  }
}

// -----

// What a step that trains adds is called as nothing of the model.
module {
  // expected-error@+1 {{the input 'training' is called as one that a training step adds; give it another name, or --bind it to a value}}
  onnx.graph "main" inputs(["training"]) dims([[""]]) outputs(["training"]) {
  ^bb0(%x: tensor<3xf32>):
    onnx.return %x : tensor<3xf32>
  }
}

// -----

module {
  // expected-error@+1 {{the input 'random' is called as one that a training step adds}}
  onnx.graph "main" inputs(["random"]) dims([[""]]) outputs(["y"]) {
  ^bb0(%x: tensor<3xi64>):
    onnx.return %x : tensor<3xi64>
  }
}
