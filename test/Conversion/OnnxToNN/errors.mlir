// REQUIRES: spillway-opt
// RUN: spillway-opt %s -convert-onnx-to-nn -split-input-file -verify-diagnostics

// Several nodes that do not convert are all reported; what depends on them is not.
onnx.graph "main" inputs(["x"]) dims([["", ""]]) outputs(["y"]) {
^bb0(%x: tensor<2x3xf32>):
  // expected-error @+1 {{Transpose: perm is not a permutation of 2 dimensions}}
  %0 = onnx.node "Transpose" (%x) version 13 {perm = array<i64: 0, 0>} : tensor<2x3xf32>
  %1 = onnx.node "Relu" (%0) version 14 {} : !onnx.value
  // expected-error @+1 {{MatMul: 'tensor<2x3xf32>' and 'tensor<2x3xf32>' do not fit as factors}}
  %2 = onnx.node "MatMul" (%x, %x) version 13 {} : tensor<2x3xf32>, tensor<2x3xf32>
  %3 = onnx.node "Add" (%1, %2) version 14 {} : !onnx.value, !onnx.value
  onnx.return %3 : !onnx.value
}

// -----

onnx.graph "main" inputs(["x", "i"]) dims([["", ""], [""]]) outputs(["y"]) {
^bb0(%x: tensor<2x3xf32>, %i: tensor<2xi64>):
  // expected-error @+1 {{Reshape: the shape (input 1) must be known at compile time; it depends on the inputs 'i' (see --bind)}}
  %0 = onnx.node "Reshape" (%x, %i) version 14 {} : tensor<2x3xf32>, tensor<2xi64>
  onnx.return %0 : !onnx.value
}

// -----

onnx.graph "main" inputs(["x"]) dims([["", ""]]) outputs(["y"]) {
^bb0(%x: tensor<2x3xi64>):
  // expected-error @+1 {{Exp: input 0 must hold floating-point numbers, not i64}}
  %0 = onnx.node "Exp" (%x) version 13 {} : tensor<2x3xi64>
  onnx.return %0 : !onnx.value
}

// -----

onnx.graph "main" inputs(["x", "y"]) dims([[""], [""]]) outputs(["z"]) {
^bb0(%x: tensor<3xf32>, %y: tensor<3xf64>):
  // expected-error @+1 {{Add: inputs 0 and 1 must have one type, not f32 and f64}}
  %0 = onnx.node "Add" (%x, %y) version 14 {} : tensor<3xf32>, tensor<3xf64>
  // expected-error @+1 {{Add: input 1 is required in opset 14}}
  %1 = onnx.node "Add" (%x) version 14 {} : tensor<3xf32>
  // expected-error @+1 {{Add: 3 inputs, at most 2 in opset 14}}
  %2 = onnx.node "Add" (%x, %x, %x) version 14 {} : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
  onnx.return %0 : !onnx.value
}

// -----

onnx.graph "main" inputs(["x"]) dims([[""]]) outputs(["z"]) {
^bb0(%x: tensor<3xf32>):
  // expected-error @+1 {{Softmax: attribute axis must be an integer, not "last"}}
  %0 = onnx.node "Softmax" (%x) version 13 {axis = "last"} : tensor<3xf32>
  // expected-error @+1 {{Softmax: axis 1 lies outside rank 1}}
  %1 = onnx.node "Softmax" (%x) version 13 {axis = 1 : i64} : tensor<3xf32>
  onnx.return %0 : !onnx.value
}

// -----

onnx.graph "main" inputs(["x"]) dims([[""]]) outputs(["z"]) {
^bb0(%x: tensor<3xf32>):
  // expected-warning @+1 {{Relu: attribute "slope" has no meaning in opset 14 and is ignored}}
  %0 = onnx.node "Relu" (%x) version 14 {slope = 1.0 : f32} : tensor<3xf32>
  onnx.return %0 : !onnx.value
}

// -----

// An operator that is newer than the opset that the model declares.
onnx.graph "main" inputs(["x", "w"]) dims([["", ""], [""]]) outputs(["z"]) {
^bb0(%x: tensor<2x3xf32>, %w: tensor<3xf32>):
  // expected-remark @+1 {{RMSNormalization is of opset 23 and taken as such, although the model declares opset 18}}
  %0 = onnx.node "RMSNormalization" (%x, %w) version 18 {} : tensor<2x3xf32>, tensor<3xf32>
  onnx.return %0 : !onnx.value
}

// -----

// expected-error @+1 {{input 'x' has the element type 'f8E5M2', which is not supported}}
onnx.graph "main" inputs(["x"]) dims([[""]]) outputs(["z"]) {
^bb0(%x: tensor<3xf8E5M2>):
  %0 = onnx.node "Identity" (%x) version 21 {} : tensor<3xf8E5M2>
  onnx.return %0 : !onnx.value
}

// -----

onnx.graph "main" inputs(["x"]) dims([["", ""]]) outputs(["z"]) {
^bb0(%x: tensor<2x3xf32>):
  %0 = onnx.node "SplitToSequence" (%x) version 11 {axis = 1 : i64} : tensor<2x3xf32>
  // expected-error @+1 {{Relu: input 0 must be a tensor, not a sequence}}
  %1 = onnx.node "Relu" (%0) version 14 {} : !onnx.value
  onnx.return %1 : !onnx.value
}

// -----

module {
  onnx.initializer @i "indices" : tensor<2xi64> = dense<[0, 4]> : tensor<2xi64>
  onnx.graph "main" inputs(["x"]) dims([["", ""]]) outputs(["z"]) {
  ^bb0(%x: tensor<4x3xf32>):
    %i = onnx.use @i : tensor<2xi64>
    // expected-error @+1 {{Gather: index 4 lies outside a dimension of size 4}}
    %0 = onnx.node "Gather" (%x, %i) version 13 {axis = 0 : i64} : tensor<4x3xf32>, tensor<2xi64>
    onnx.return %0 : !onnx.value
  }
}

// -----

// Before opset 7 one operand stretches from an axis on, and shapes are equal where it does not.
onnx.graph "main" inputs(["x", "y"]) dims([["", ""], [""]]) outputs(["z"]) {
^bb0(%x: tensor<2x3xf32>, %y: tensor<3xf32>):
  // expected-error @+1 {{Add: shapes do not broadcast: 'tensor<2x3xf32>' 'tensor<3x1xf32>'}}
  %0 = onnx.node "Add" (%x, %y) version 6 {broadcast = 1 : i64, axis = 0 : i64} : tensor<2x3xf32>, tensor<3xf32>
  // expected-error @+1 {{Mul: axis 2 lies outside rank 2}}
  %1 = onnx.node "Mul" (%x, %y) version 6 {broadcast = 1 : i64, axis = 2 : i64} : tensor<2x3xf32>, tensor<3xf32>
  // expected-error @+1 {{Sub: axis 0 leaves no room for 'tensor<2x3xf32>' in 'tensor<3xf32>'}}
  %2 = onnx.node "Sub" (%y, %x) version 6 {broadcast = 1 : i64, axis = 0 : i64} : tensor<3xf32>, tensor<2x3xf32>
  onnx.return %0 : !onnx.value
}

// -----

onnx.graph "main" inputs(["x", "c", "i"]) dims([["", ""], [""], ["", ""]]) outputs(["z"]) {
^bb0(%x: tensor<2x3xf32>, %c: tensor<2xi1>, %i: tensor<4x3xi64>):
  // expected-error @+1 {{Compress: the condition (input 1) must be known at compile time; it depends on the inputs 'c' (see --bind)}}
  %0 = onnx.node "Compress" (%x, %c) version 11 {axis = 0 : i64} : tensor<2x3xf32>, tensor<2xi1>
  // expected-error @+1 {{NonZero: which elements are zero (input 0) must be known at compile time}}
  %1 = onnx.node "NonZero" (%x) version 13 {} : tensor<2x3xf32>
  // expected-error @+1 {{ScatterND: index tuples of 'tensor<4x3xi64>' do not address 'tensor<2x3xf32>'}}
  %2 = onnx.node "ScatterND" (%x, %i, %x) version 16 {} : tensor<2x3xf32>, tensor<4x3xi64>, tensor<2x3xf32>
  // expected-error @+1 {{ScatterElements: unknown reduction 'mean'}}
  %3 = onnx.node "ScatterElements" (%x, %i, %x) version 16 {reduction = "mean"} : tensor<2x3xf32>, tensor<4x3xi64>, tensor<2x3xf32>
  // expected-error @+1 {{Einsum: sizes 3 and 2 of one dimension of the equation differ}}
  %4 = onnx.node "Einsum" (%x, %x) version 12 {equation = "ij,jk->ik"} : tensor<2x3xf32>, tensor<2x3xf32>
  // expected-error @+1 {{Einsum: the term 'ii' needs equal sizes in 'tensor<2x3xf32>'}}
  %5 = onnx.node "Einsum" (%x) version 12 {equation = "ii"} : tensor<2x3xf32>
  // expected-error @+1 {{Einsum: the equation has 1 terms for 2 inputs}}
  %6 = onnx.node "Einsum" (%x, %x) version 12 {equation = "ij->ij"} : tensor<2x3xf32>, tensor<2x3xf32>
  // expected-error @+1 {{Det: the input must hold square matrices, not be 'tensor<2x3xf32>'}}
  %7 = onnx.node "Det" (%x) version 11 {} : tensor<2x3xf32>
  // expected-error @+1 {{TopK: k is 4, but axis 1 of 'tensor<2x3xf32>' has 3 elements}}
  %8 = onnx.node "TopK" (%x) version 9 {k = 4 : i64} : tensor<2x3xf32>
  onnx.return %0 : !onnx.value
}

// -----

onnx.graph "main" inputs(["x", "w"]) dims([["", "", ""], ["", "", ""]]) outputs(["y"]) {
^bb0(%x: tensor<1x4x9xf32>, %w: tensor<6x3x3xf32>):
  // expected-error @+1 {{Conv: filter 'tensor<6x3x3xf32>' in 1 groups does not fit the channels of 'tensor<1x4x9xf32>'}}
  %0 = onnx.node "Conv" (%x, %w) version 11 {} : tensor<1x4x9xf32>, tensor<6x3x3xf32>
  // expected-error @+1 {{MaxPool: the attribute kernel_shape is required}}
  %1 = onnx.node "MaxPool" (%x) version 12 {} : tensor<1x4x9xf32>
  // expected-error @+1 {{MaxPool: strides holds 0, which lies outside 1 to 2147483648}}
  %2 = onnx.node "MaxPool" (%x) version 12 {kernel_shape = array<i64: 2>, strides = array<i64: 0>} : tensor<1x4x9xf32>
  // expected-error @+1 {{AveragePool: a window of 12 elements does not fit into dimension 2 of 'tensor<1x4x9xf32>' with padding 1 and 1}}
  %3 = onnx.node "AveragePool" (%x) version 11 {kernel_shape = array<i64: 12>, pads = array<i64: 1, 1>} : tensor<1x4x9xf32>
  // expected-error @+1 {{DepthToSpace: blocksize 2 does not go with an input 'tensor<1x4x9xf32>'}}
  %4 = onnx.node "DepthToSpace" (%x) version 13 {blocksize = 2 : i64} : tensor<1x4x9xf32>
  onnx.return %0 : !onnx.value
}

// -----

module {
  onnx.initializer @long "long" : tensor<i64> = dense<1152921504606846976> : tensor<i64>
  onnx.graph "main" inputs(["x", "i"]) dims([["", "", ""], [""]]) outputs(["z"]) {
  ^bb0(%x: tensor<2x3x1xf32>, %i: tensor<100000xi64>):
    %long = onnx.use @long : tensor<i64>
    // expected-error @+1 {{DFT: a transform cannot have the length 1152921504606846976}}
    %0 = onnx.node "DFT" (%x, %long) version 17 {} : tensor<2x3x1xf32>, tensor<i64>
    // expected-error @+1 {{HannWindow: a window cannot have 1152921504606846976 elements}}
    %1 = onnx.node "HannWindow" (%long) version 17 {} : tensor<i64>
    // expected-error @+1 {{TfIdfVectorizer: n-grams of up to 2 elements that skip up to 100000 are too many to compare}}
    %2 = onnx.node "TfIdfVectorizer" (%i) version 9 {max_gram_length = 2 : i64, max_skip_count = 1000000 : i64, ngram_counts = array<i64: 0, 0>, ngram_indexes = array<i64: 0>, pool_int64s = array<i64: 1, 2>} : tensor<100000xi64>
    onnx.return %0 : !onnx.value
  }
}

// -----

onnx.graph "main" inputs(["x", "i", "w", "q"]) dims([["", "", ""], ["", "", ""], ["", "", ""], [""]]) outputs(["y"]) {
^bb0(%x: tensor<1x2x3xf32>, %i: tensor<1x2x3xi64>, %w: tensor<2x1x3xf32>, %q: tensor<4xui8>):
  // expected-error @+1 {{BitCast: the elements of 'tensor<1x2x3xf32>' have not the width of i64}}
  %0 = onnx.node "BitCast" (%x) version 26 {to = 7 : i64} : tensor<1x2x3xf32>
  // expected-error @+1 {{MaxUnpool: the result cannot have the shape [1, 2, -3] where the input is 'tensor<1x2x3xf32>'}}
  %1 = onnx.node "MaxUnpool" (%x, %i) version 22 {kernel_shape = array<i64: 1>, pads = array<i64: 3, 3>} : tensor<1x2x3xf32>, tensor<1x2x3xi64>
  // expected-error @+1 {{CausalConvWithState: unknown activation 'relu'}}
  %2 = onnx.node "CausalConvWithState" (%x, %w) version 27 {activation = "relu"} : tensor<1x2x3xf32>, tensor<2x1x3xf32>
  // expected-error @+1 {{LinearAttention: update_rule 'gated' takes a decay (input 4) and no beta (input 5)}}
  %3 = onnx.node "LinearAttention" (%x, %x, %x) version 27 {q_num_heads = 1 : i64, kv_num_heads = 1 : i64, update_rule = "gated"} : tensor<1x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>
  // expected-error @+1 {{ConvInteger: input 'tensor<4xi8>' and filter 'tensor<4xi8>' must have three dimensions or more}}
  %4 = onnx.node "ConvInteger" (%q, %q) version 10 {} : tensor<4xui8>, tensor<4xui8>
  onnx.return %0 : !onnx.value
}

// -----

// Integers of a few bits are no outputs, whatever moved them, and no others.
module {
  onnx.initializer @w "w" : tensor<2x2xi4> = dense<[[1, -2], [3, -4]]> : tensor<2x2xi4>
  onnx.initializer @b "b" : tensor<2x2xsi8> = dense<1> : tensor<2x2xsi8>
  onnx.graph "main" inputs(["x"]) dims([[""]]) outputs(["y"]) {
  ^bb0(%x: tensor<4xf32>):
    %w = onnx.use @w : tensor<2x2xi4>
    %b = onnx.use @b : tensor<2x2xsi8>
    // expected-error @+1 {{Concat: inputs 0 and 1 must have one type, not i4 and i8}}
    %0 = onnx.node "Concat" (%w, %b) version 13 {axis = 0 : i64} : tensor<2x2xi4>, tensor<2x2xsi8>
    // expected-error @+1 {{CastLike: elements of 4 bits are not supported as results}}
    %1 = onnx.node "CastLike" (%x, %w) version 21 {} : tensor<4xf32>, tensor<2x2xi4>
    onnx.return %x : tensor<4xf32>
  }
}

// -----

module {
  onnx.initializer @w "w" : tensor<2x2xi4> = dense<[[1, -2], [3, -4]]> : tensor<2x2xi4>
  onnx.initializer @shape "shape" : tensor<1xi64> = dense<4> : tensor<1xi64>
  // expected-error @+1 {{output "y" has elements of 4 bits, which are not supported}}
  onnx.graph "main" inputs([]) dims([]) outputs(["y"]) {
    %w = onnx.use @w : tensor<2x2xi4>
    %shape = onnx.use @shape : tensor<1xi64>
    %y = onnx.node "Reshape" (%w, %shape) version 21 {} : tensor<2x2xi4>, tensor<1xi64>
    onnx.return %y : !onnx.value
  }
}

// -----

// Numbers that a type of integers lacks.
module {
  onnx.initializer @nan "nan" : tensor<f32> = dense<0x7FC00000> : tensor<f32>
  onnx.initializer @huge "huge" : tensor<f64> = dense<1.0e30> : tensor<f64>
  onnx.initializer @off "off" : tensor<2xi64> = dense<[0, 1]> : tensor<2xi64>
  onnx.graph "main" inputs(["x"]) dims([[""]]) outputs(["y"]) {
  ^bb0(%x: tensor<3xi32>):
    %nan = onnx.use @nan : tensor<f32>
    %huge = onnx.use @huge : tensor<f64>
    %off = onnx.use @off : tensor<2xi64>
    // expected-error @+1 {{OneHot: the depth (input 1) must be an integer of 64 bits, not nan}}
    %0 = onnx.node "OneHot" (%x, %nan, %off) version 11 {} : tensor<3xi32>, tensor<f32>, tensor<2xi64>
    // expected-error @+1 {{OneHot: the depth (input 1) must be an integer of 64 bits, not 1.000000e+30}}
    %1 = onnx.node "OneHot" (%x, %huge, %off) version 11 {} : tensor<3xi32>, tensor<f64>, tensor<2xi64>
    // expected-error @+1 {{Pad: i32 has no number INF}}
    %2 = onnx.node "Pad" (%x) version 2 {pads = array<i64: 1, 1>, value = 0x7F800000 : f32} : tensor<3xi32>
    // expected-error @+1 {{Pad: i32 has no number 5.000000e-01}}
    %3 = onnx.node "Pad" (%x) version 2 {pads = array<i64: 1, 1>, value = 0.5 : f32} : tensor<3xi32>
    onnx.return %x : tensor<3xi32>
  }
}

// -----

// Axes that are given twice, and indices that are known to lie outside.
module {
  onnx.initializer @twice "twice" : tensor<2xi64> = dense<[0, -2]> : tensor<2xi64>
  onnx.initializer @pads "pads" : tensor<4xi64> = dense<1> : tensor<4xi64>
  onnx.initializer @i "i" : tensor<1x2xi64> = dense<[[1, 3]]> : tensor<1x2xi64>
  onnx.initializer @three "three" : tensor<2xi64> = dense<3> : tensor<2xi64>
  onnx.initializer @lengths "lengths" : tensor<3xi64> = dense<3> : tensor<3xi64>
  onnx.graph "main" inputs(["x", "u", "w"]) dims([["", ""], [""], ["", ""]]) outputs(["y"]) {
  ^bb0(%x: tensor<2x3xf32>, %u: tensor<1xf32>, %w: tensor<1x2xf32>):
    %twice = onnx.use @twice : tensor<2xi64>
    %pads = onnx.use @pads : tensor<4xi64>
    %i = onnx.use @i : tensor<1x2xi64>
    %three = onnx.use @three : tensor<2xi64>
    %lengths = onnx.use @lengths : tensor<3xi64>
    %none = onnx.none
    // expected-error @+1 {{Pad: axis 0 is given twice}}
    %0 = onnx.node "Pad" (%x, %pads, %none, %twice) version 18 {} : tensor<2x3xf32>, tensor<4xi64>, !onnx.none, tensor<2xi64>
    // expected-error @+1 {{CenterCropPad: axis 1 is given twice}}
    %1 = onnx.node "CenterCropPad" (%x, %three) version 18 {axes = array<i64: 1, -1>} : tensor<2x3xf32>, tensor<2xi64>
    // expected-error @+1 {{Resize: axis 1 is given twice}}
    %2 = onnx.node "Resize" (%x, %none, %none, %three) version 18 {axes = array<i64: 1, 1>} : tensor<2x3xf32>, !onnx.none, !onnx.none, tensor<2xi64>
    // expected-error @+1 {{GatherND: index 3 lies outside a dimension of size 3}}
    %3 = onnx.node "GatherND" (%x, %i) version 13 {} : tensor<2x3xf32>, tensor<1x2xi64>
    // expected-error @+1 {{ScatterND: index 3 lies outside a dimension of size 3}}
    %4 = onnx.node "ScatterND" (%x, %i, %u) version 18 {} : tensor<2x3xf32>, tensor<1x2xi64>, tensor<1xf32>
    // expected-error @+1 {{ScatterElements: index 3 lies outside a dimension of size 2}}
    %6 = onnx.node "ScatterElements" (%x, %i, %w) version 18 {} : tensor<2x3xf32>, tensor<1x2xi64>, tensor<1x2xf32>
    // expected-error @+1 {{ReverseSequence: sequence_lens must be from 0 to 2, not 3}}
    %7 = onnx.node "ReverseSequence" (%x, %lengths) version 10 {} : tensor<2x3xf32>, tensor<3xi64>
    onnx.return %x : tensor<2x3xf32>
  }
}

// -----

module {
  onnx.initializer @zero "zero" : tensor<f32> = dense<0.0> : tensor<f32>
  onnx.initializer @one "one" : tensor<f32> = dense<1.0> : tensor<f32>
  onnx.initializer @total "total" : tensor<i32> = dense<6> : tensor<i32>
  onnx.graph "main" inputs(["x", "a", "q", "k", "v", "n"]) dims([["", ""], ["", ""], ["", "", ""], ["", "", "", ""], ["", "", "", ""], [""]]) outputs(["y"]) {
  ^bb0(%x: tensor<2x3xf32>, %a: tensor<2x2xui8>, %q: tensor<1x1x4xf32>, %k: tensor<1x1x5x4xf32>, %v: tensor<1x1x10x4xf32>, %n: tensor<1xi32>):
    %zero = onnx.use @zero : tensor<f32>
    %one = onnx.use @one : tensor<f32>
    %total = onnx.use @total : tensor<i32>
    %s = onnx.node "SequenceConstruct" (%x) version 11 {} : tensor<2x3xf32>
    // expected-error @+1 {{SequenceInsert: input 1 must be a tensor}}
    %0 = onnx.node "SequenceInsert" (%s, %s) version 11 {} : !onnx.value, !onnx.value
    // expected-error @+1 {{QLinearMatMul: input 7 must hold i8 or u8, not f32}}
    %1 = onnx.node "QLinearMatMul" (%a, %one, %a, %a, %one, %a, %one, %zero) version 21 {} : tensor<2x2xui8>, tensor<f32>, tensor<2x2xui8>, tensor<2x2xui8>, tensor<f32>, tensor<2x2xui8>, tensor<f32>, tensor<f32>
    // expected-error @+1 {{GroupQueryAttention: past_key and past_value must be two caches of one shape}}
    %2 = onnx.node "GroupQueryAttention" domain "com.microsoft" (%q, %q, %q, %k, %v, %n, %total) version 1 {num_heads = 1 : i64, kv_num_heads = 1 : i64} : tensor<1x1x4xf32>, tensor<1x1x4xf32>, tensor<1x1x4xf32>, tensor<1x1x5x4xf32>, tensor<1x1x10x4xf32>, tensor<1xi32>, tensor<i32>
    onnx.return %x : tensor<2x3xf32>
  }
}

// -----

module {
  onnx.initializer @label "label" : tensor<2xi64> = dense<[1, 3]> : tensor<2xi64>
  onnx.initializer @place "place" : tensor<1x1x1xi64> = dense<2> : tensor<1x1x1xi64>
  onnx.graph "main" inputs(["x", "u"]) dims([["", ""], ["", "", ""]]) outputs(["y"]) {
  ^bb0(%x: tensor<2x3xf32>, %u: tensor<1x1x1xf32>):
    %label = onnx.use @label : tensor<2xi64>
    %place = onnx.use @place : tensor<1x1x1xi64>
    // expected-error @+1 {{NegativeLogLikelihoodLoss: index 3 lies outside a dimension of size 3}}
    %0 = onnx.node "NegativeLogLikelihoodLoss" (%x, %label) version 13 {} : tensor<2x3xf32>, tensor<2xi64>
    // expected-error @+1 {{MaxUnpool: index 2 lies outside a dimension of size 2}}
    %1 = onnx.node "MaxUnpool" (%u, %place) version 11 {kernel_shape = array<i64: 2>} : tensor<1x1x1xf32>, tensor<1x1x1xi64>
    onnx.return %x : tensor<2x3xf32>
  }
}
