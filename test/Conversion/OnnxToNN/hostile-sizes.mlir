// REQUIRES: spillway-opt
// RUN: spillway-opt %s -convert-onnx-to-nn -split-input-file -verify-diagnostics

// Sizes that no machine has are refused before anything of that size is made or counted.
module {
  onnx.initializer @row "row" : tensor<1xi64> = dense<0> : tensor<1xi64>
  onnx.initializer @column "column" : tensor<1xi64> = dense<1> : tensor<1xi64>
  onnx.initializer @huge "huge" : tensor<1xi64> = dense<4611686018427387904> : tensor<1xi64>
  onnx.initializer @large "large" : tensor<1xi64> = dense<36028797018963968> : tensor<1xi64>
  onnx.initializer @two "two" : tensor<2xi64> = dense<4294967296> : tensor<2xi64>
  onnx.initializer @lowest "lowest" : tensor<i64> = dense<-9223372036854775808> : tensor<i64>
  onnx.initializer @zero "zero" : tensor<i64> = dense<0> : tensor<i64>
  onnx.initializer @minus "minus" : tensor<i64> = dense<-1> : tensor<i64>
  onnx.initializer @one "one" : tensor<i64> = dense<1> : tensor<i64>
  onnx.initializer @ends "ends" : tensor<2xi64> = dense<[1, 1099511627776]> : tensor<2xi64>
  onnx.initializer @most "most" : tensor<2xi64> = dense<1099511627776> : tensor<2xi64>
  onnx.graph "main" inputs(["x"]) dims([["", ""]]) outputs(["y"]) {
  ^bb0(%x: tensor<2x3xf32>):
    %row = onnx.use @row : tensor<1xi64>
    %column = onnx.use @column : tensor<1xi64>
    %huge = onnx.use @huge : tensor<1xi64>
    %large = onnx.use @large : tensor<1xi64>
    %two = onnx.use @two : tensor<2xi64>
    %lowest = onnx.use @lowest : tensor<i64>
    %zero = onnx.use @zero : tensor<i64>
    %minus = onnx.use @minus : tensor<i64>
    %one = onnx.use @one : tensor<i64>
    // expected-error @+1 {{ConstantOfShape: the shape holds a negative size or is too large}}
    %0 = onnx.node "ConstantOfShape" (%huge) version 9 {} : tensor<1xi64>
    // expected-error @+1 {{Tile: the result is too large}}
    %1 = onnx.node "Tile" (%x, %two) version 13 {} : tensor<2x3xf32>, tensor<2xi64>
    // expected-error @+1 {{Range: the result is too large}}
    %2 = onnx.node "Range" (%zero, %lowest, %minus) version 11 {} : tensor<i64>, tensor<i64>, tensor<i64>
    // expected-error @+1 {{Range: start, limit and delta give no number of elements}}
    %3 = onnx.node "Range" (%one, %lowest, %minus) version 11 {} : tensor<i64>, tensor<i64>, tensor<i64>
    %4 = onnx.node "ConstantOfShape" (%large) version 9 {} : tensor<1xi64>
    // expected-error @+1 {{Concat: makes a tensor of more than 36028797018963968 elements}}
    %5 = onnx.node "Concat" (%4, %4) version 13 {axis = 0 : i64} : !onnx.value, !onnx.value
    // expected-error @+1 {{SplitToSequence: 36028797018963968 parts, at most 65536 are supported}}
    %6 = onnx.node "SplitToSequence" (%4) version 11 {axis = 0 : i64} : !onnx.value
    // expected-error @+1 {{SplitToSequence: 36028797018963968 parts, at most 65536 are supported}}
    %7 = onnx.node "SplitToSequence" (%4, %one) version 11 {axis = 0 : i64} : !onnx.value, tensor<i64>
    %8 = onnx.node "Unsqueeze" (%4, %row) version 13 {} : !onnx.value, tensor<1xi64>
    %9 = onnx.node "Unsqueeze" (%4, %column) version 13 {} : !onnx.value, tensor<1xi64>
    // expected-error @+1 {{Add: shapes do not broadcast}}
    %10 = onnx.node "Add" (%8, %9) version 14 {} : !onnx.value, !onnx.value
    // expected-error @+1 {{MatMul: makes a tensor of more than 36028797018963968 elements}}
    %11 = onnx.node "MatMul" (%9, %8) version 13 {} : !onnx.value, !onnx.value
    %none = onnx.none
    %ends = onnx.use @ends : tensor<2xi64>
    %most = onnx.use @most : tensor<2xi64>
    %12 = onnx.node "ConstantOfShape" (%ends) version 9 {} : tensor<2xi64>
    // expected-error @+1 {{Resize: the sizes make dimension 1 one of 1.2}}
    %13 = onnx.node "Resize" (%12, %none, %none, %most) version 18 {keep_aspect_ratio_policy = "not_smaller"}
      : !onnx.value, !onnx.none, !onnx.none, tensor<2xi64>
    onnx.return %x : tensor<2x3xf32>
  }
}

// -----

// The largest parts and repeats of nothing are no problem; neither is a node that computes nothing.
module {
  onnx.initializer @large "large" : tensor<1xi64> = dense<36028797018963968> : tensor<1xi64>
  onnx.initializer @most "most" : tensor<i64> = dense<9223372036854775807> : tensor<i64>
  onnx.graph "main" inputs(["x"]) dims([["", ""]]) outputs(["y"]) {
  ^bb0(%x: tensor<2x3xf32>):
    %most = onnx.use @most : tensor<i64>
    %0 = onnx.node "SplitToSequence" (%x, %most) version 11 {axis = 1 : i64} : tensor<2x3xf32>, tensor<i64>
    %1 = onnx.node "ConcatFromSequence" (%0) version 11 {axis = 1 : i64} : !onnx.value
    onnx.node "Split" (%x) version 13 outputs 0 {} : tensor<2x3xf32>
    onnx.return %1 : !onnx.value
  }
}

// -----

// Sizes and pads whose sums and products leave the integers.
module {
  onnx.initializer @pads "pads" : tensor<4xi64> = dense<[-9223372036854775808, 0, 9223372036854775807, 0]> : tensor<4xi64>
  onnx.initializer @bins "bins" : tensor<i64> = dense<4> : tensor<i64>
  onnx.initializer @low "low" : tensor<f32> = dense<0.0> : tensor<f32>
  onnx.initializer @inf "inf" : tensor<f32> = dense<0x7F800000> : tensor<f32>
  onnx.graph "main" inputs(["x", "image", "grid", "deep"]) dims([["", ""], ["", "", "", ""], ["", "", "", ""], ["", "", "", ""]]) outputs(["y"]) {
  ^bb0(%x: tensor<2x3xf32>, %image: tensor<1x1099511627776x1x1xf32>, %grid: tensor<1x1048576x1x2xf32>, %deep: tensor<1x281474976710656x0x0xf32>):
    %pads = onnx.use @pads : tensor<4xi64>
    %bins = onnx.use @bins : tensor<i64>
    %low = onnx.use @low : tensor<f32>
    %inf = onnx.use @inf : tensor<f32>
    // expected-error @+1 {{Pad: pads of axis 0 leave no valid size}}
    %0 = onnx.node "Pad" (%x, %pads) version 13 {} : tensor<2x3xf32>, tensor<4xi64>
    // expected-error @+1 {{GridSample: the result is too large}}
    %1 = onnx.node "GridSample" (%image, %grid) version 16 {} : tensor<1x1099511627776x1x1xf32>, tensor<1x1048576x1x2xf32>
    // expected-error @+1 {{SpaceToDepth: blocks of 1048576 x 1048576 make too many channels}}
    %2 = onnx.node "SpaceToDepth" (%deep) version 13 {blocksize = 1048576 : i64} : tensor<1x281474976710656x0x0xf32>
    // expected-error @+1 {{MelWeightMatrix: has no triangles for 4 bins}}
    %3 = onnx.node "MelWeightMatrix" (%bins, %bins, %bins, %low, %inf) version 17 {} : tensor<i64>, tensor<i64>, tensor<i64>, tensor<f32>, tensor<f32>
    onnx.return %x : tensor<2x3xf32>
  }
}

// -----

module {
  // expected-error @+1 {{tensor 'nibbles' is too large}}
  onnx.initializer @nibbles "nibbles" : tensor<0x72057594037927936xi4> = #onnx.extent<"m.onnx", 64, 0, raw>
  onnx.graph "main" inputs([]) dims([]) outputs(["y"]) {
    %nibbles = onnx.use @nibbles : tensor<0x72057594037927936xi4>
    %y = onnx.node "Cast" (%nibbles) version 21 {to = 1 : i64} : tensor<0x72057594037927936xi4>
    onnx.return %y : !onnx.value
  }
}

// -----

// A filter without channels has any number of places, and a step may be the largest integer: neither takes long.
module {
  onnx.initializer @step "step" : tensor<i64> = dense<9223372036854775807> : tensor<i64>
  onnx.initializer @frame "frame" : tensor<i64> = dense<4> : tensor<i64>
  onnx.graph "main" inputs(["x", "w", "s"]) dims([["", "", ""], ["", "", ""], ["", "", ""]]) outputs(["y", "z"]) {
  ^bb0(%x: tensor<1x0x1xf32>, %w: tensor<0x0x2147483648xf32>, %s: tensor<1x4x1xf32>):
    %step = onnx.use @step : tensor<i64>
    %frame = onnx.use @frame : tensor<i64>
    %none = onnx.none
    %y = onnx.node "ConvTranspose" (%x, %w) version 11 {strides = array<i64: 2>} : tensor<1x0x1xf32>, tensor<0x0x2147483648xf32>
    %z = onnx.node "STFT" (%s, %step, %none, %frame) version 17 {} : tensor<1x4x1xf32>, tensor<i64>, !onnx.none, tensor<i64>
    onnx.return %y, %z : !onnx.value, !onnx.value
  }
}
