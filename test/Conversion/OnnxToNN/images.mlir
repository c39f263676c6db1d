// REQUIRES: spillway-opt
// RUN: spillway-opt %s -convert-onnx-to-nn -split-input-file | FileCheck %s

// The padding of SAME_LOWER is larger before the image.
// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]] = nn.conv %arg0, %arg1 strides [2, 1] dilations [1, 1] low [1, 1] groups 2 : {{.*}} -> tensor<1x6x4x8xf32>
// CHECK: %[[B:.*]] = nn.broadcast %arg2 dims [1]
// CHECK: arith.addf %[[Y]], %[[B]]
onnx.graph "main" inputs(["x", "w", "b"]) dims([["", "", "", ""], ["", "", "", ""], [""]]) outputs(["y"]) {
^bb0(%x: tensor<1x4x7x8xf32>, %w: tensor<6x2x3x3xf32>, %b: tensor<6xf32>):
  %y = onnx.node "Conv" (%x, %w, %b) version 11 {group = 2 : i64, strides = array<i64: 2, 1>, auto_pad = "SAME_LOWER"}
    : tensor<1x4x7x8xf32>, tensor<6x2x3x3xf32>, tensor<6xf32>
  onnx.return %y : !onnx.value
}

// -----

// Windows that see whole images are products.
// CHECK-LABEL: func.func @main
// CHECK: %[[ROWS:.*]] = nn.reshape %arg0 : tensor<2x4x3x2xf32> -> tensor<2x24xf32>
// CHECK: %[[COLUMNS:.*]] = nn.reshape %arg1 : tensor<6x4x3x2xf32> -> tensor<6x24xf32>
// CHECK: %[[Y:.*]] = nn.matmul %[[ROWS]], %[[COLUMNS]] transpose
// CHECK: nn.reshape %[[Y]] : tensor<2x6xf32> -> tensor<2x6x1x1xf32>
onnx.graph "main" inputs(["x", "w"]) dims([["", "", "", ""], ["", "", "", ""]]) outputs(["y"]) {
^bb0(%x: tensor<2x4x3x2xf32>, %w: tensor<6x4x3x2xf32>):
  %y = onnx.node "Conv" (%x, %w) version 11 {strides = array<i64: 2, 2>}
    : tensor<2x4x3x2xf32>, tensor<6x4x3x2xf32>
  onnx.return %y : !onnx.value
}

// -----

// Each remainder by the stride is a convolution with every second place of the turned filter.
// CHECK-LABEL: func.func @main
// CHECK: nn.slice %arg1 offsets [0, 0, 3] strides [1, 1, -2]
// CHECK: %[[EVEN:.*]] = nn.conv %arg0, %{{.*}} strides [1] dilations [1] low [1] groups 1
// CHECK: nn.slice %arg1 offsets [0, 0, 2] strides [1, 1, -2]
// CHECK: %[[ODD:.*]] = nn.conv %arg0, %{{.*}} strides [1] dilations [1] low [0] groups 1
// CHECK: nn.concat %{{.*}}, %{{.*}} dim 0
// CHECK: nn.transpose %{{.*}} perm [1, 2, 3, 0] : tensor<2x1x3x5xf32> -> tensor<1x3x5x2xf32>
onnx.graph "main" inputs(["x", "w"]) dims([["", "", ""], ["", "", ""]]) outputs(["y"]) {
^bb0(%x: tensor<1x4x5xf32>, %w: tensor<4x3x4xf32>):
  %y = onnx.node "ConvTranspose" (%x, %w) version 11 {strides = array<i64: 2>, pads = array<i64: 1, 1>}
    : tensor<1x4x5xf32>, tensor<4x3x4xf32>
  onnx.return %y : !onnx.value
}

// -----

// The index is that of the first element which equals the maximum.
// CHECK-LABEL: func.func @main
// CHECK: %[[W:.*]] = nn.windows %{{.*}} strides [2] dilations [1] : tensor<1x2x7xf32> -> tensor<1x2x3x3xf32>
// CHECK: %[[Y:.*]] = nn.reduce <max> %[[W]] dims [2]
// CHECK: %[[I:.*]] = nn.reduce <min> %{{.*}} dims [2] : tensor<1x2x3x3xi64>
// CHECK: return %[[Y]], %[[I]]
onnx.graph "main" inputs(["x"]) dims([["", "", ""]]) outputs(["y", "i"]) {
^bb0(%x: tensor<1x2x6xf32>):
  %y:2 = onnx.node "MaxPool" (%x) version 12 outputs 2 {kernel_shape = array<i64: 3>, strides = array<i64: 2>, ceil_mode = 1 : i64}
    : tensor<1x2x6xf32>
  onnx.return %y#0, %y#1 : !onnx.value, !onnx.value
}

// -----

// Padding does not count.
// CHECK-LABEL: func.func @main
// CHECK: %[[SUM:.*]] = nn.reduce <sum> %{{.*}} dims [2]
// CHECK: %[[COUNT:.*]] = arith.constant dense<{{\[\[\[}}2.000000e+00, 3.000000e+00, 3.000000e+00], {{.*}}> : tensor<1x2x3xf32>
// CHECK: arith.divf %[[SUM]], %[[COUNT]]
onnx.graph "main" inputs(["x"]) dims([["", "", ""]]) outputs(["y"]) {
^bb0(%x: tensor<1x2x6xf32>):
  %y = onnx.node "AveragePool" (%x) version 19 {kernel_shape = array<i64: 3>, pads = array<i64: 1, 1>, strides = array<i64: 2>}
    : tensor<1x2x6xf32>
  onnx.return %y : !onnx.value
}

// -----

// Scale and deviation are one factor per channel.
// CHECK-LABEL: func.func @main
// CHECK: %[[FACTOR:.*]] = arith.mulf %arg1, %{{.*}} : tensor<2xf32>
// CHECK: %[[CENTRED:.*]] = arith.subf %arg0
// CHECK: %[[WIDE:.*]] = nn.broadcast %[[FACTOR]] dims [1]
// CHECK: arith.mulf %[[CENTRED]], %[[WIDE]]
onnx.graph "main" inputs(["x", "s", "b", "m", "v"]) dims([["", "", ""], [""], [""], [""], [""]]) outputs(["y"]) {
^bb0(%x: tensor<1x2x6xf32>, %s: tensor<2xf32>, %b: tensor<2xf32>, %m: tensor<2xf32>, %v: tensor<2xf32>):
  %y = onnx.node "BatchNormalization" (%x, %s, %b, %m, %v) version 15 {}
    : tensor<1x2x6xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
  onnx.return %y : !onnx.value
}

// -----

// Places are counted in the image that the attributes give; the asked shape adds zeros behind it.
// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]] = nn.scatter <replace> %{{.*}}[%{{.*}}] %{{.*}} : tensor<48xf32>, tensor<12x1xi64>, tensor<12xf32>
// CHECK: %[[IMAGE:.*]] = nn.reshape %[[Y]] : tensor<48xf32> -> tensor<1x2x4x6xf32>
// CHECK: nn.pad <constant> %[[IMAGE]] {{.*}} low [0, 0, 0, 0] : tensor<1x2x4x6xf32> -> tensor<1x2x5x6xf32>
module {
  onnx.initializer @s "s" : tensor<4xi64> = dense<[1, 2, 5, 6]> : tensor<4xi64>
  onnx.graph "main" inputs(["x", "i"]) dims([["", "", "", ""], ["", "", "", ""]]) outputs(["y"]) {
  ^bb0(%x: tensor<1x2x2x3xf32>, %i: tensor<1x2x2x3xi64>):
    %s = onnx.use @s : tensor<4xi64>
    %y = onnx.node "MaxUnpool" (%x, %i, %s) version 22 {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>}
      : tensor<1x2x2x3xf32>, tensor<1x2x2x3xi64>, tensor<4xi64>
    onnx.return %y : !onnx.value
  }
}

// -----

// The state stands before the input, and what is left of both is the next one.
// CHECK-LABEL: func.func @main
// CHECK: %[[ALL:.*]] = nn.concat %arg2, %arg0 dim 2 : (tensor<2x4x3xf32>, tensor<2x4x8xf32>) -> tensor<2x4x11xf32>
// CHECK-DAG: nn.slice %[[ALL]] offsets [0, 0, 8]
// CHECK-DAG: nn.conv %[[ALL]], %arg1 strides [1] dilations [1] low [0] groups 4
onnx.graph "main" inputs(["x", "w", "p"]) dims([["", "", ""], ["", "", ""], ["", "", ""]]) outputs(["y", "n"]) {
^bb0(%x: tensor<2x4x8xf32>, %w: tensor<4x1x4xf32>, %p: tensor<2x4x3xf32>):
  %none = onnx.none
  %y:2 = onnx.node "CausalConvWithState" (%x, %w, %none, %p) version 27 outputs 2 {}
    : tensor<2x4x8xf32>, tensor<4x1x4xf32>, !onnx.none, tensor<2x4x3xf32>
  onnx.return %y#0, %y#1 : !onnx.value, !onnx.value
}
