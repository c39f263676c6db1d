// REQUIRES: spillway-opt
// RUN: spillway-opt %s -convert-onnx-to-nn="dims=batch=2,seq=3,x.1=4" | FileCheck %s
// RUN: not spillway-opt %s -convert-onnx-to-nn="dims=batch=2" 2>&1 | FileCheck %s --check-prefix=UNBOUND
// RUN: not spillway-opt %s -convert-onnx-to-nn="dims=batch=2,seq=-1,x.1=4" 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: spillway-opt %s -convert-onnx-to-nn="dims=batch=2,seq=0,x.1=4" | FileCheck %s --check-prefix=EMPTY
// RUN: not spillway-opt %s -convert-onnx-to-nn="dims=batch=2,sec=3,x.1=4" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not spillway-opt %s -convert-onnx-to-nn="dims=batch=2,batch=3,seq=3,x.1=4" 2>&1 | FileCheck %s --check-prefix=TWICE

// CHECK: func.func @main(%{{.*}}: tensor<2x3xi64> {spillway.name = "ids", spillway.type = "i64"}, %{{.*}}: tensor<2x4x7xi8> {spillway.name = "x", spillway.type = "u8"})
// CHECK-SAME: -> (tensor<2x3xi64> {spillway.name = "ids_out", spillway.type = "i64"}, tensor<2x4x7xi8> {spillway.name = "x_out", spillway.type = "u8"})

// UNBOUND: error: dimensions need sizes: seq (ids[1]); x.1 (x[1])
// EMPTY: func.func @main(%{{.*}}: tensor<2x0xi64>
// NEGATIVE: error: dimension binding 'seq=-1' must be NAME=SIZE with a size of at least 0
// UNKNOWN: error: the model has no dimension 'sec'; did you mean 'seq'?
// TWICE: error: dimension 'batch' is bound to 2 and to 3

onnx.graph "main" inputs(["ids", "x"]) dims([["batch", "seq"], ["batch", "", ""]]) outputs(["ids_out", "x_out"]) {
^bb0(%ids: tensor<?x?xi64>, %x: tensor<?x?x7xui8>):
  %0 = onnx.node "Identity" (%ids) version 13 {} : tensor<?x?xi64>
  %1 = onnx.node "Identity" (%x) version 13 {} : tensor<?x?x7xui8>
  onnx.return %0, %1 : !onnx.value, !onnx.value
}
