// RUN: spillway-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{C1: the type must be a static tensor}}
onnx.initializer @w "w" : tensor<?xf32> = #onnx.extent<"m.onnx", 0, 4, raw>

// -----

// expected-error@+1 {{C2: the value must be an extent, or elements of type 'tensor<2xf32>'}}
onnx.initializer @w "w" : tensor<2xf32> = dense<0.0> : tensor<3xf32>

// -----

// expected-error@+1 {{C2: the value must be an extent, or elements of type 'tensor<2xf32>'}}
onnx.initializer @w "w" : tensor<2xf32> = 3 : i64

// -----

// expected-error@+1 {{C1: names and dims must be one per input (1)}}
onnx.graph "main" inputs([]) dims([]) outputs(["y"]) {
^bb0(%x: tensor<2xf32>):
  onnx.return %x : tensor<2xf32>
}

// -----

// expected-error@+1 {{C1: input 0 must be a ranked tensor with one name per dimension}}
onnx.graph "main" inputs(["x"]) dims([["a", "b"]]) outputs(["y"]) {
^bb0(%x: tensor<2xf32>):
  onnx.return %x : tensor<2xf32>
}

// -----

// expected-error@+1 {{C2: the body must return one value per output (2)}}
onnx.graph "main" inputs(["x"]) dims([[""]]) outputs(["y", "z"]) {
^bb0(%x: tensor<2xf32>):
  onnx.return %x : tensor<2xf32>
}

// -----

onnx.initializer @w "w" : tensor<2xf32> = dense<0.0> : tensor<2xf32>
onnx.graph "main" inputs([]) dims([]) outputs(["y"]) {
  // expected-error@+1 {{C1: no initializer @v of type 'tensor<2xf32>'}}
  %v = onnx.use @v : tensor<2xf32>
  onnx.return %v : tensor<2xf32>
}

// -----

onnx.initializer @w "w" : tensor<2xf32> = dense<0.0> : tensor<2xf32>
onnx.graph "main" inputs([]) dims([]) outputs(["y"]) {
  // expected-error@+1 {{C1: no initializer @w of type 'tensor<3xf32>'}}
  %w = onnx.use @w : tensor<3xf32>
  onnx.return %w : tensor<3xf32>
}

// -----

onnx.graph "main" inputs([]) dims([]) outputs(["y"]) {
  // expected-error@+1 {{C1: needs an operator name, and a name per subgraph}}
  %y = onnx.node "" () version 13 {}
  onnx.return %y : !onnx.value
}

// -----

onnx.graph "main" inputs([]) dims([]) outputs(["y"]) {
  // expected-error@+1 {{a node has no negative number of outputs}}
  onnx.node "Relu" () version 13 outputs -1 {}
  onnx.return
}
