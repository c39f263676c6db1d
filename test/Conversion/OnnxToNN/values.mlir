// What operators mean, on constants, which a conversion evaluates: the values are those of ONNX's
// reference implementation.
// REQUIRES: spillway-opt
// RUN: spillway-opt %s -convert-onnx-to-nn -split-input-file | FileCheck %s

// A run of rows that begins where each batch says.
// CHECK-LABEL: func.func @main
// CHECK{LITERAL}: arith.constant dense<[[[0], [-1], [-2], [3], [4]], [[5], [6], [7], [-3], [-4]]]> : tensor<2x5x1xi64>
module {
  onnx.initializer @i0 "i0" : tensor<2x5x1xi64> = dense<[[[0], [1], [2], [3], [4]], [[5], [6], [7], [8], [9]]]> : tensor<2x5x1xi64>
  onnx.initializer @i1 "i1" : tensor<2x2x1xi64> = dense<[[[-1], [-2]], [[-3], [-4]]]> : tensor<2x2x1xi64>
  onnx.initializer @i2 "i2" : tensor<2xi64> = dense<[1, 3]> : tensor<2xi64>
  onnx.graph "main" inputs([]) dims([]) outputs(["o0"]) {
    %i0 = onnx.use @i0 : tensor<2x5x1xi64>
    %i1 = onnx.use @i1 : tensor<2x2x1xi64>
    %i2 = onnx.use @i2 : tensor<2xi64>
    %o = onnx.node "TensorScatter" (%i0, %i1, %i2) version 24 {axis = 1 : i64} : tensor<2x5x1xi64>, tensor<2x2x1xi64>, tensor<2xi64>
    onnx.return %o : !onnx.value
  }
}

// -----

// Past the end it goes on at the beginning.
// CHECK-LABEL: func.func @main
// CHECK{LITERAL}: arith.constant dense<[[[0], [-1], [-2], [3], [4]], [[-4], [6], [7], [8], [-3]]]> : tensor<2x5x1xi64>
module {
  onnx.initializer @i0 "i0" : tensor<2x5x1xi64> = dense<[[[0], [1], [2], [3], [4]], [[5], [6], [7], [8], [9]]]> : tensor<2x5x1xi64>
  onnx.initializer @i1 "i1" : tensor<2x2x1xi64> = dense<[[[-1], [-2]], [[-3], [-4]]]> : tensor<2x2x1xi64>
  onnx.initializer @i2 "i2" : tensor<2xi64> = dense<[1, 4]> : tensor<2xi64>
  onnx.graph "main" inputs([]) dims([]) outputs(["o0"]) {
    %i0 = onnx.use @i0 : tensor<2x5x1xi64>
    %i1 = onnx.use @i1 : tensor<2x2x1xi64>
    %i2 = onnx.use @i2 : tensor<2xi64>
    %o = onnx.node "TensorScatter" (%i0, %i1, %i2) version 24 {axis = 1 : i64, mode = "circular"} : tensor<2x5x1xi64>, tensor<2x2x1xi64>, tensor<2xi64>
    onnx.return %o : !onnx.value
  }
}

// -----

// Unsigned numbers keep their order.
// CHECK-LABEL: func.func @main
// CHECK{LITERAL}: arith.constant dense<[1, -1, -6]> : tensor<3xi8>
module {
  onnx.initializer @i0 "i0" : tensor<3xui8> = dense<[1, 200, 3]> : tensor<3xui8>
  onnx.initializer @i1 "i1" : tensor<3xi64> = dense<[1, -1, 1]> : tensor<3xi64>
  onnx.initializer @i2 "i2" : tensor<3xui8> = dense<[100, 250, 255]> : tensor<3xui8>
  onnx.graph "main" inputs([]) dims([]) outputs(["o0"]) {
    %i0 = onnx.use @i0 : tensor<3xui8>
    %i1 = onnx.use @i1 : tensor<3xi64>
    %i2 = onnx.use @i2 : tensor<3xui8>
    %o = onnx.node "ScatterElements" (%i0, %i1, %i2) version 18 {axis = 0 : i64, reduction = "max"} : tensor<3xui8>, tensor<3xi64>, tensor<3xui8>
    onnx.return %o : !onnx.value
  }
}

// -----

// Updates of one place follow each other.
// CHECK-LABEL: func.func @main
// CHECK{LITERAL}: arith.constant dense<[1, 60, 21]> : tensor<3xi64>
module {
  onnx.initializer @i0 "i0" : tensor<3xi64> = dense<[1, 2, 3]> : tensor<3xi64>
  onnx.initializer @i1 "i1" : tensor<3x1xi64> = dense<[[1], [1], [2]]> : tensor<3x1xi64>
  onnx.initializer @i2 "i2" : tensor<3xi64> = dense<[5, 6, 7]> : tensor<3xi64>
  onnx.graph "main" inputs([]) dims([]) outputs(["o0"]) {
    %i0 = onnx.use @i0 : tensor<3xi64>
    %i1 = onnx.use @i1 : tensor<3x1xi64>
    %i2 = onnx.use @i2 : tensor<3xi64>
    %o = onnx.node "ScatterND" (%i0, %i1, %i2) version 18 {reduction = "mul"} : tensor<3xi64>, tensor<3x1xi64>, tensor<3xi64>
    onnx.return %o : !onnx.value
  }
}

// -----

// The lower one of equal elements comes first.
// CHECK-LABEL: func.func @main
// CHECK-DAG{LITERAL}: arith.constant dense<[-6, -6, 7]> : tensor<3xi8>
// CHECK-DAG{LITERAL}: arith.constant dense<[1, 3, 2]> : tensor<3xi64>
module {
  onnx.initializer @i0 "i0" : tensor<4xui8> = dense<[3, 250, 7, 250]> : tensor<4xui8>
  onnx.initializer @i1 "i1" : tensor<1xi64> = dense<[3]> : tensor<1xi64>
  onnx.graph "main" inputs([]) dims([]) outputs(["o0", "o1"]) {
    %i0 = onnx.use @i0 : tensor<4xui8>
    %i1 = onnx.use @i1 : tensor<1xi64>
    %o:2 = onnx.node "TopK" (%i0, %i1) version 11 outputs 2 {} : tensor<4xui8>, tensor<1xi64>
    onnx.return %o#0, %o#1 : !onnx.value, !onnx.value
  }
}

// -----

// Here too.
// CHECK-LABEL: func.func @main
// CHECK-DAG{LITERAL}: arith.constant dense<1> : tensor<2xi64>
// CHECK-DAG{LITERAL}: arith.constant dense<[1, 3]> : tensor<2xi64>
module {
  onnx.initializer @i0 "i0" : tensor<4xi64> = dense<[3, 1, 7, 1]> : tensor<4xi64>
  onnx.initializer @i1 "i1" : tensor<1xi64> = dense<[2]> : tensor<1xi64>
  onnx.graph "main" inputs([]) dims([]) outputs(["o0", "o1"]) {
    %i0 = onnx.use @i0 : tensor<4xi64>
    %i1 = onnx.use @i1 : tensor<1xi64>
    %o:2 = onnx.node "TopK" (%i0, %i1) version 11 outputs 2 {largest = 0 : i64} : tensor<4xi64>, tensor<1xi64>
    onnx.return %o#0, %o#1 : !onnx.value, !onnx.value
  }
}

// -----

// A shift by the width gives zero.
// CHECK-LABEL: func.func @main
// CHECK{LITERAL}: arith.constant dense<[2, 0, -16]> : tensor<3xi8>
module {
  onnx.initializer @i0 "i0" : tensor<3xui8> = dense<[1, 2, 255]> : tensor<3xui8>
  onnx.initializer @i1 "i1" : tensor<3xui8> = dense<[1, 8, 4]> : tensor<3xui8>
  onnx.graph "main" inputs([]) dims([]) outputs(["o0"]) {
    %i0 = onnx.use @i0 : tensor<3xui8>
    %i1 = onnx.use @i1 : tensor<3xui8>
    %o = onnx.node "BitShift" (%i0, %i1) version 11 {direction = "LEFT"} : tensor<3xui8>, tensor<3xui8>
    onnx.return %o : !onnx.value
  }
}

// -----

// Bits of numbers that broadcast.
// CHECK-LABEL: func.func @main
// CHECK{LITERAL}: arith.constant dense<[3, -5]> : tensor<2xi32>
module {
  onnx.initializer @i0 "i0" : tensor<2xi32> = dense<[5, -3]> : tensor<2xi32>
  onnx.initializer @i1 "i1" : tensor<1xi32> = dense<[6]> : tensor<1xi32>
  onnx.graph "main" inputs([]) dims([]) outputs(["o0"]) {
    %i0 = onnx.use @i0 : tensor<2xi32>
    %i1 = onnx.use @i1 : tensor<1xi32>
    %o = onnx.node "BitwiseXor" (%i0, %i1) version 18 {} : tensor<2xi32>, tensor<1xi32>
    onnx.return %o : !onnx.value
  }
}

// -----

// Bits of unsigned numbers.
// CHECK-LABEL: func.func @main
// CHECK{LITERAL}: arith.constant dense<[-6, -1]> : tensor<2xi8>
module {
  onnx.initializer @i0 "i0" : tensor<2xui8> = dense<[5, 0]> : tensor<2xui8>
  onnx.graph "main" inputs([]) dims([]) outputs(["o0"]) {
    %i0 = onnx.use @i0 : tensor<2xui8>
    %o = onnx.node "BitwiseNot" (%i0) version 18 {} : tensor<2xui8>
    onnx.return %o : !onnx.value
  }
}

// -----

// A pivot that is zero, and a matrix without an inverse.
// CHECK-LABEL: func.func @main
// CHECK{LITERAL}: arith.constant dense<[-6.000000e+00, 0.000000e+00]> : tensor<2xf32>
module {
  onnx.initializer @i0 "i0" : tensor<2x2x2xi64> = dense<[[[0, 2], [3, 4]], [[1, 1], [1, 1]]]> : tensor<2x2x2xi64>
  onnx.graph "main" inputs([]) dims([]) outputs(["o0"]) {
    %i0 = onnx.use @i0 : tensor<2x2x2xi64>
    %f0 = onnx.node "Cast" (%i0) version 13 {to = 1 : i64} : tensor<2x2x2xi64>
    %o = onnx.node "Det" (%f0) version 22 {} : !onnx.value
    onnx.return %o : !onnx.value
  }
}

// -----

// The trace of a matrix.
// CHECK-LABEL: func.func @main
// CHECK{LITERAL}: arith.constant dense<12> : tensor<i64>
module {
  onnx.initializer @i0 "i0" : tensor<3x3xi64> = dense<[[0, 1, 2], [3, 4, 5], [6, 7, 8]]> : tensor<3x3xi64>
  onnx.graph "main" inputs([]) dims([]) outputs(["o0"]) {
    %i0 = onnx.use @i0 : tensor<3x3xi64>
    %o = onnx.node "Einsum" (%i0) version 12 {equation = "ii"} : tensor<3x3xi64>
    onnx.return %o : !onnx.value
  }
}

// -----

// Its diagonal.
// CHECK-LABEL: func.func @main
// CHECK{LITERAL}: arith.constant dense<[0, 4, 8]> : tensor<3xi64>
module {
  onnx.initializer @i0 "i0" : tensor<3x3xi64> = dense<[[0, 1, 2], [3, 4, 5], [6, 7, 8]]> : tensor<3x3xi64>
  onnx.graph "main" inputs([]) dims([]) outputs(["o0"]) {
    %i0 = onnx.use @i0 : tensor<3x3xi64>
    %o = onnx.node "Einsum" (%i0) version 12 {equation = "ii -> i"} : tensor<3x3xi64>
    onnx.return %o : !onnx.value
  }
}

// -----

// Three operands, without a result in the equation.
// CHECK-LABEL: func.func @main
// CHECK{LITERAL}: arith.constant dense<[[20, 30], [60, 92]]> : tensor<2x2xi64>
module {
  onnx.initializer @i0 "i0" : tensor<2x2xi64> = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>
  onnx.initializer @i1 "i1" : tensor<2xi64> = dense<[1, 10]> : tensor<2xi64>
  onnx.initializer @i2 "i2" : tensor<2x2xi64> = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>
  onnx.graph "main" inputs([]) dims([]) outputs(["o0"]) {
    %i0 = onnx.use @i0 : tensor<2x2xi64>
    %i1 = onnx.use @i1 : tensor<2xi64>
    %i2 = onnx.use @i2 : tensor<2x2xi64>
    %o = onnx.node "Einsum" (%i0, %i1, %i2) version 12 {equation = "ij,j,jk"} : tensor<2x2xi64>, tensor<2xi64>, tensor<2x2xi64>
    onnx.return %o : !onnx.value
  }
}

// -----

// Dimensions of an ellipsis.
// CHECK-LABEL: func.func @main
// CHECK{LITERAL}: arith.constant dense<[[[2, 3]], [[26, 31]]]> : tensor<2x1x2xi64>
module {
  onnx.initializer @i0 "i0" : tensor<2x1x2xi64> = dense<[[[0, 1]], [[2, 3]]]> : tensor<2x1x2xi64>
  onnx.initializer @i1 "i1" : tensor<2x2x2xi64> = dense<[[[0, 1], [2, 3]], [[4, 5], [6, 7]]]> : tensor<2x2x2xi64>
  onnx.graph "main" inputs([]) dims([]) outputs(["o0"]) {
    %i0 = onnx.use @i0 : tensor<2x1x2xi64>
    %i1 = onnx.use @i1 : tensor<2x2x2xi64>
    %o = onnx.node "Einsum" (%i0, %i1) version 12 {equation = "...ij,...jk->...ik"} : tensor<2x1x2xi64>, tensor<2x2x2xi64>
    onnx.return %o : !onnx.value
  }
}

// -----

// Lengths of batches.
// CHECK-LABEL: func.func @main
// CHECK{LITERAL}: arith.constant dense<[[4, 3], [2, 1], [0, 5]]> : tensor<3x2xi64>
module {
  onnx.initializer @i0 "i0" : tensor<3x2xi64> = dense<[[0, 1], [2, 3], [4, 5]]> : tensor<3x2xi64>
  onnx.initializer @i1 "i1" : tensor<2xi64> = dense<[3, 2]> : tensor<2xi64>
  onnx.graph "main" inputs([]) dims([]) outputs(["o0"]) {
    %i0 = onnx.use @i0 : tensor<3x2xi64>
    %i1 = onnx.use @i1 : tensor<2xi64>
    %o = onnx.node "ReverseSequence" (%i0, %i1) version 10 {time_axis = 0 : i64, batch_axis = 1 : i64} : tensor<3x2xi64>, tensor<2xi64>
    onnx.return %o : !onnx.value
  }
}

// -----

// In the order of their first occurrence.
// CHECK-LABEL: func.func @main
// CHECK-DAG{LITERAL}: arith.constant dense<[2, 1, 3, 4]> : tensor<4xi64>
// CHECK-DAG{LITERAL}: arith.constant dense<[0, 1, 3, 4]> : tensor<4xi64>
// CHECK-DAG{LITERAL}: arith.constant dense<[0, 1, 1, 2, 3, 2]> : tensor<6xi64>
// CHECK-DAG{LITERAL}: arith.constant dense<[1, 2, 2, 1]> : tensor<4xi64>
module {
  onnx.initializer @i0 "i0" : tensor<6xi64> = dense<[2, 1, 1, 3, 4, 3]> : tensor<6xi64>
  onnx.graph "main" inputs([]) dims([]) outputs(["o0", "o1", "o2", "o3"]) {
    %i0 = onnx.use @i0 : tensor<6xi64>
    %o:4 = onnx.node "Unique" (%i0) version 11 outputs 4 {sorted = 0 : i64} : tensor<6xi64>
    onnx.return %o#0, %o#1, %o#2, %o#3 : !onnx.value, !onnx.value, !onnx.value, !onnx.value
  }
}

// -----

// A condition for each row.
// CHECK-LABEL: func.func @main
// CHECK{LITERAL}: arith.constant dense<[[2, 3], [4, 5]]> : tensor<2x2xi64>
module {
  onnx.initializer @i0 "i0" : tensor<3x2xi64> = dense<[[0, 1], [2, 3], [4, 5]]> : tensor<3x2xi64>
  onnx.initializer @i1 "i1" : tensor<3xi1> = dense<[false, true, true]> : tensor<3xi1>
  onnx.graph "main" inputs([]) dims([]) outputs(["o0"]) {
    %i0 = onnx.use @i0 : tensor<3x2xi64>
    %i1 = onnx.use @i1 : tensor<3xi1>
    %o = onnx.node "Compress" (%i0, %i1) version 11 {axis = 0 : i64} : tensor<3x2xi64>, tensor<3xi1>
    onnx.return %o : !onnx.value
  }
}

// -----

// One column for each index tuple.
// CHECK-LABEL: func.func @main
// CHECK{LITERAL}: arith.constant dense<[[0, 1, 1], [0, 0, 1]]> : tensor<2x3xi64>
module {
  onnx.initializer @i0 "i0" : tensor<2x2xi1> = dense<[[true, false], [true, true]]> : tensor<2x2xi1>
  onnx.graph "main" inputs([]) dims([]) outputs(["o0"]) {
    %i0 = onnx.use @i0 : tensor<2x2xi1>
    %o = onnx.node "NonZero" (%i0) version 13 {} : tensor<2x2xi1>
    onnx.return %o : !onnx.value
  }
}

// -----

// One at the first of the largest.
// CHECK-LABEL: func.func @main
// CHECK{LITERAL}: arith.constant dense<[0.000000e+00, 1.000000e+00, 0.000000e+00]> : tensor<3xf32>
module {
  onnx.initializer @i0 "i0" : tensor<3xi64> = dense<[1, 3, 3]> : tensor<3xi64>
  onnx.graph "main" inputs([]) dims([]) outputs(["o0"]) {
    %i0 = onnx.use @i0 : tensor<3xi64>
    %f0 = onnx.node "Cast" (%i0) version 13 {to = 1 : i64} : tensor<3xi64>
    %o = onnx.node "Hardmax" (%f0) version 13 {} : !onnx.value
    onnx.return %o : !onnx.value
  }
}

// -----

// Bits of floats are integers as they lie.
// CHECK-LABEL: func.func @main
// CHECK: arith.bitcast %arg0 : tensor<2xf32> to tensor<2xi32>
onnx.graph "main" inputs(["x"]) dims([[""]]) outputs(["y"]) {
^bb0(%x: tensor<2xf32>):
  %y = onnx.node "BitCast" (%x) version 26 {to = 6 : i64} : tensor<2xf32>
  onnx.return %y : !onnx.value
}

// -----

// CHECK-LABEL: func.func @main
// CHECK{LITERAL}: arith.constant dense<[1, 1, 2, 6, 24]> : tensor<5xi64>
module {
  onnx.initializer @x "x" : tensor<5xi64> = dense<[1, 2, 3, 4, 5]> : tensor<5xi64>
  onnx.initializer @a "a" : tensor<i64> = dense<0> : tensor<i64>
  onnx.graph "main" inputs([]) dims([]) outputs(["y"]) {
    %x = onnx.use @x : tensor<5xi64>
    %a = onnx.use @a : tensor<i64>
    %y = onnx.node "CumProd" (%x, %a) version 26 {exclusive = 1 : i64} : tensor<5xi64>, tensor<i64>
    onnx.return %y : !onnx.value
  }
}

// -----

// A zero point of four bits has them wherever it is moved: integers are clamped to theirs.
// CHECK-LABEL: func.func @main
// CHECK{LITERAL}: arith.constant dense<[7, -8, 4]> : tensor<3xi8>
module {
  onnx.initializer @x "x" : tensor<3xf32> = dense<[100.0, -100.0, 3.0]> : tensor<3xf32>
  onnx.initializer @s "s" : tensor<f32> = dense<1.0> : tensor<f32>
  onnx.initializer @z "z" : tensor<1xi4> = dense<1> : tensor<1xi4>
  onnx.initializer @a "a" : tensor<1xi64> = dense<0> : tensor<1xi64>
  onnx.graph "main" inputs([]) dims([]) outputs(["o0"]) {
    %x = onnx.use @x : tensor<3xf32>
    %s = onnx.use @s : tensor<f32>
    %z = onnx.use @z : tensor<1xi4>
    %a = onnx.use @a : tensor<1xi64>
    %zero = onnx.node "Squeeze" (%z, %a) version 21 {} : tensor<1xi4>, tensor<1xi64>
    %q = onnx.node "QuantizeLinear" (%x, %s, %zero) version 21 {} : tensor<3xf32>, tensor<f32>, !onnx.value
    %o = onnx.node "Cast" (%q) version 21 {to = 3 : i64} : !onnx.value
    onnx.return %o : !onnx.value
  }
}

// -----

// CHECK-LABEL: func.func @main
// CHECK{LITERAL}: arith.constant dense<[[0.000000e+00, 4.000000e+00], [-6.000000e+00, -1.000000e+01]]> : tensor<2x2xf32>
module {
  onnx.initializer @w "w" : tensor<2x2xi4> = dense<[[1, -2], [3, -4]]> : tensor<2x2xi4>
  onnx.initializer @s "s" : tensor<f32> = dense<2.0> : tensor<f32>
  onnx.initializer @z "z" : tensor<i4> = dense<1> : tensor<i4>
  onnx.graph "main" inputs([]) dims([]) outputs(["o0"]) {
    %w = onnx.use @w : tensor<2x2xi4>
    %s = onnx.use @s : tensor<f32>
    %z = onnx.use @z : tensor<i4>
    %t = onnx.node "Transpose" (%w) version 21 {} : tensor<2x2xi4>
    %o = onnx.node "DequantizeLinear" (%t, %s, %z) version 21 {} : !onnx.value, tensor<f32>, tensor<i4>
    onnx.return %o : !onnx.value
  }
}

// -----

// CHECK-LABEL: func.func @main
// CHECK{LITERAL}: arith.constant dense<[[4.000000e+00, -1.000000e+01], [-2.000000e+00, 0.000000e+00], [-6.000000e+00, -2.000000e+00]]> : tensor<3x2xf32>
module {
  onnx.initializer @w "w" : tensor<2x2xi4> = dense<[[1, -2], [3, -4]]> : tensor<2x2xi4>
  onnx.initializer @s "s" : tensor<f32> = dense<2.0> : tensor<f32>
  onnx.initializer @z "z" : tensor<i4> = dense<1> : tensor<i4>
  onnx.initializer @one "one" : tensor<1xi64> = dense<1> : tensor<1xi64>
  onnx.initializer @two "two" : tensor<1xi64> = dense<2> : tensor<1xi64>
  onnx.initializer @zero "zero" : tensor<1xi64> = dense<0> : tensor<1xi64>
  onnx.initializer @shape "shape" : tensor<2xi64> = dense<[3, 2]> : tensor<2xi64>
  onnx.initializer @c "c" : tensor<i1> = dense<false> : tensor<i1>
  onnx.initializer @pads "pads" : tensor<4xi64> = dense<[0, 0, 0, 1]> : tensor<4xi64>
  onnx.graph "main" inputs([]) dims([]) outputs(["o0"]) {
    %w = onnx.use @w : tensor<2x2xi4>
    %s = onnx.use @s : tensor<f32>
    %z = onnx.use @z : tensor<i4>
    %one = onnx.use @one : tensor<1xi64>
    %two = onnx.use @two : tensor<1xi64>
    %zero = onnx.use @zero : tensor<1xi64>
    %shape = onnx.use @shape : tensor<2xi64>
    %c = onnx.use @c : tensor<i1>
    %pads = onnx.use @pads : tensor<4xi64>
    %first = onnx.node "Gather" (%w, %zero) version 13 {} : tensor<2x2xi4>, tensor<1xi64>
    %second = onnx.node "Slice" (%w, %one, %two, %zero) version 13 {} : tensor<2x2xi4>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>
    %both = onnx.node "Concat" (%second, %first) version 13 {axis = 0 : i64} : !onnx.value, !onnx.value
    %twice = onnx.node "Where" (%c, %w, %both) version 16 {} : tensor<i1>, tensor<2x2xi4>, !onnx.value
    %wide = onnx.node "Pad" (%twice, %pads) version 21 {} : !onnx.value, tensor<4xi64>
    %more = onnx.node "Reshape" (%wide, %shape) version 21 {} : !onnx.value, tensor<2xi64>
    %o = onnx.node "DequantizeLinear" (%more, %s, %z) version 21 {} : !onnx.value, tensor<f32>, tensor<i4>
    onnx.return %o : !onnx.value
  }
}

// -----

// Unsigned numbers have no sign, and their sum may need more bits than they have.
// CHECK-LABEL: func.func @main
// CHECK{LITERAL}: arith.constant dense<1500000000> : tensor<i32>
module {
  onnx.initializer @x "x" : tensor<2xui32> = dense<[3000000000, 0]> : tensor<2xui32>
  onnx.graph "main" inputs([]) dims([]) outputs(["o0"]) {
    %x = onnx.use @x : tensor<2xui32>
    %o = onnx.node "ReduceMean" (%x) version 18 {keepdims = 0 : i64} : tensor<2xui32>
    onnx.return %o : !onnx.value
  }
}

// -----

// CHECK-LABEL: func.func @main
// CHECK{LITERAL}: arith.constant dense<3000000005> : tensor<i64>
module {
  onnx.initializer @x "x" : tensor<2xui32> = dense<[3000000000, 5]> : tensor<2xui32>
  onnx.initializer @axes "axes" : tensor<1xi64> = dense<0> : tensor<1xi64>
  onnx.graph "main" inputs([]) dims([]) outputs(["o0"]) {
    %x = onnx.use @x : tensor<2xui32>
    %axes = onnx.use @axes : tensor<1xi64>
    %l = onnx.node "ReduceL1" (%x) version 18 {keepdims = 0 : i64} : tensor<2xui32>
    %o = onnx.node "Cast" (%l) version 13 {to = 7 : i64} : !onnx.value
    onnx.return %o : !onnx.value
  }
}

// -----

// More elements than their type counts.
// CHECK-LABEL: func.func @main
// CHECK{LITERAL}: arith.constant dense<100> : tensor<i8>
module {
  onnx.initializer @n "n" : tensor<1xi64> = dense<300> : tensor<1xi64>
  onnx.graph "main" inputs([]) dims([]) outputs(["o0"]) {
    %n = onnx.use @n : tensor<1xi64>
    %x = onnx.node "ConstantOfShape" (%n) version 9 {value = dense<100> : tensor<1xsi8>} : tensor<1xi64>
    %o = onnx.node "ReduceMean" (%x) version 18 {keepdims = 0 : i64} : !onnx.value
    onnx.return %o : !onnx.value
  }
}

// -----

// CHECK-LABEL: func.func @main
// CHECK{LITERAL}: arith.constant dense<[-3, 2147483647]> : tensor<2xi32>
module {
  onnx.initializer @x "x" : tensor<2x2xi32> = dense<[[-3, -4], [2147483647, 2147483647]]> : tensor<2x2xi32>
  onnx.initializer @axes "axes" : tensor<1xi64> = dense<1> : tensor<1xi64>
  onnx.graph "main" inputs([]) dims([]) outputs(["o0"]) {
    %x = onnx.use @x : tensor<2x2xi32>
    %axes = onnx.use @axes : tensor<1xi64>
    %o = onnx.node "ReduceMean" (%x, %axes) version 18 {keepdims = 0 : i64} : tensor<2x2xi32>, tensor<1xi64>
    onnx.return %o : !onnx.value
  }
}

// -----

// A depth may be of any type.
// CHECK-LABEL: func.func @main
// CHECK{LITERAL}: arith.constant dense<[[1, 0, 0], [0, 0, 1]]> : tensor<2x3xi64>
module {
  onnx.initializer @i "i" : tensor<2xi64> = dense<[0, 2]> : tensor<2xi64>
  onnx.initializer @d "d" : tensor<f16> = dense<3.0> : tensor<f16>
  onnx.initializer @v "v" : tensor<2xi64> = dense<[0, 1]> : tensor<2xi64>
  onnx.graph "main" inputs([]) dims([]) outputs(["o0"]) {
    %i = onnx.use @i : tensor<2xi64>
    %d = onnx.use @d : tensor<f16>
    %v = onnx.use @v : tensor<2xi64>
    %o = onnx.node "OneHot" (%i, %d, %v) version 11 {} : tensor<2xi64>, tensor<f16>, tensor<2xi64>
    onnx.return %o : !onnx.value
  }
}

// -----

// Attributes of integers need not be integers; what comes of them is truncated.
// CHECK-LABEL: func.func @main
// CHECK{LITERAL}: arith.constant dense<[0, 0, 2]> : tensor<3xi8>
module {
  onnx.initializer @x "x" : tensor<3xui8> = dense<[0, 1, 2]> : tensor<3xui8>
  onnx.graph "main" inputs([]) dims([]) outputs(["o0"]) {
    %x = onnx.use @x : tensor<3xui8>
    %o = onnx.node "Shrink" (%x) version 9 {lambd = 1.5 : f32} : tensor<3xui8>
    onnx.return %o : !onnx.value
  }
}

// -----

// CHECK-LABEL: func.func @main
// CHECK{LITERAL}: arith.constant dense<[-1, 0, 0, 1]> : tensor<4xi32>
module {
  onnx.initializer @x "x" : tensor<4xi32> = dense<[-2, -1, 1, 2]> : tensor<4xi32>
  onnx.graph "main" inputs([]) dims([]) outputs(["o0"]) {
    %x = onnx.use @x : tensor<4xi32>
    %o = onnx.node "Shrink" (%x) version 9 {lambd = 1.5 : f32, bias = 0.5 : f32} : tensor<4xi32>
    onnx.return %o : !onnx.value
  }
}

// -----

// CHECK-LABEL: func.func @main
// CHECK{LITERAL}: arith.constant dense<[[1, 2], [2, 3]]> : tensor<2x2xi32>
module {
  onnx.initializer @a "a" : tensor<2x2xi32> = dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  onnx.initializer @b "b" : tensor<2x2xi32> = dense<[[1, 0], [0, 1]]> : tensor<2x2xi32>
  onnx.initializer @c "c" : tensor<i32> = dense<1> : tensor<i32>
  onnx.graph "main" inputs([]) dims([]) outputs(["o0"]) {
    %a = onnx.use @a : tensor<2x2xi32>
    %b = onnx.use @b : tensor<2x2xi32>
    %c = onnx.use @c : tensor<i32>
    %o = onnx.node "Gemm" (%a, %b, %c) version 13 {alpha = 0.5 : f32} : tensor<2x2xi32>, tensor<2x2xi32>, tensor<i32>
    onnx.return %o : !onnx.value
  }
}

// -----

// A cube is rounded once.
// CHECK-LABEL: func.func @main
// CHECK{LITERAL}: arith.constant dense<1.041990e+00> : tensor<1xf16>
module {
  onnx.initializer @x "x" : tensor<1xf16> = dense<1.01367188> : tensor<1xf16>
  onnx.initializer @three "three" : tensor<f16> = dense<3.0> : tensor<f16>
  onnx.graph "main" inputs([]) dims([]) outputs(["o0"]) {
    %x = onnx.use @x : tensor<1xf16>
    %three = onnx.use @three : tensor<f16>
    %o = onnx.node "Pow" (%x, %three) version 15 {} : tensor<1xf16>, tensor<f16>
    onnx.return %o : !onnx.value
  }
}
