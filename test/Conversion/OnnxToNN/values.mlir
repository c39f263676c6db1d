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
