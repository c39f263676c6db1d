// REQUIRES: spillway-opt
// RUN: not spillway-opt %s -convert-onnx-to-nn 2>&1 | FileCheck %s

// All unsupported operators are reported at once.
// CHECK: error: 3 nodes have operators that are not supported
// CHECK: note: {{.*}}StringNormalizer (opset 17): 2 nodes, the first is 'text'
// CHECK: note: {{.*}}Magic (opset 3): 1 node, the first is 'magic'

onnx.graph "main" inputs(["x"]) dims([["", ""]]) outputs(["y"]) {
^bb0(%x: tensor<2x3xf32>):
  %0 = onnx.node "StringNormalizer" (%x) version 17 {} : tensor<2x3xf32> loc("text")
  %1 = onnx.node "Magic" domain "my.domain" (%0) version 3 {} : !onnx.value loc("magic")
  %2 = onnx.node "StringNormalizer" (%1) version 17 {} : !onnx.value loc("text_2")
  onnx.return %2 : !onnx.value
}
