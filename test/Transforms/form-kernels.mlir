// REQUIRES: spillway-opt
// RUN: spillway-opt %s -split-input-file -nn-assign-layouts -nn-form-kernels | FileCheck %s

// What is returned without being computed is copied, once, also in another shape; an argument is not.
zero.state @w "w" : tensor<2x4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
// CHECK-LABEL: func @returned
// CHECK: %[[W:.+]] = zero.use @w
// CHECK: %[[COPY:.+]] = nn.call @[[MAP:nn_map[_0-9]*]](%[[W]])
// CHECK: %[[RESHAPED:.+]] = nn.reshape %[[COPY]]
// CHECK: %[[ONES:.+]] = nn.call @{{nn_map[_0-9]*}}()
// CHECK: %[[IOTA:.+]] = nn.call @{{nn_map[_0-9]*}}()
// CHECK: return %[[COPY]], %[[RESHAPED]], %[[COPY]], %arg0, %[[ONES]], %[[IOTA]]
func.func @returned(%x: tensor<3xf32>) -> (tensor<2x4xf32>, tensor<8xf32>, tensor<2x4xf32>, tensor<3xf32>,
                                           tensor<2xf32>, tensor<4xi64>) {
  %w = zero.use @w : tensor<2x4xf32>
  %flat = nn.reshape %w : tensor<2x4xf32> -> tensor<8xf32>
  %ones = arith.constant dense<1.0> : tensor<2xf32>
  %iota = nn.iota dim 0 : tensor<4xi64>
  return %w, %flat, %w, %x, %ones, %iota
      : tensor<2x4xf32>, tensor<8xf32>, tensor<2x4xf32>, tensor<3xf32>, tensor<2xf32>, tensor<4xi64>
}

// -----

// Bias, activation and residual are the matmul's epilogue; the weight is stored in panels along the
// result's columns, and its tiles may stand for it. The two layers share the kernel.
// CHECK: zero.state @w1 {{.*}} layout(<1>)
// CHECK: zero.state @w2 {{.*}} layout(<1>)
zero.state @w1 "w1" : tensor<8x8xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @w2 "w2" : tensor<8x8xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @b "b" : tensor<8xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
// CHECK-LABEL: func @layers
// CHECK: %[[W1:.+]] = zero.use @w1
// CHECK: %[[Y1:.+]] = nn.call @[[GEMM:nn_gemm[_0-9]*]](%arg0, %[[W1]], %[[B:.+]])
// CHECK: %[[W2:.+]] = zero.use @w2
// CHECK: nn.call @[[GEMM]](%[[Y1]], %[[W2]]
func.func @layers(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %b = zero.use @b : tensor<8xf32>
  %wide = nn.broadcast %b dims [1] : tensor<8xf32> -> tensor<4x8xf32>
  %w1 = zero.use @w1 : tensor<8x8xf32>
  %0 = nn.matmul %x, %w1 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %1 = arith.addf %0, %wide : tensor<4x8xf32>
  %2 = math.tanh %1 : tensor<4x8xf32>
  %3 = arith.addf %2, %x : tensor<4x8xf32>
  %w2 = zero.use @w2 : tensor<8x8xf32>
  %4 = nn.matmul %3, %w2 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %5 = arith.addf %4, %wide : tensor<4x8xf32>
  %6 = math.tanh %5 : tensor<4x8xf32>
  %7 = arith.addf %6, %3 : tensor<4x8xf32>
  return %7 : tensor<4x8xf32>
}
// CHECK: nn.kernel @[[GEMM]](%arg0: tensor<4x8xf32>, %arg1: tensor<8x8xf32> {nn.layout = #nn.panels<1>, nn.tiled}, %arg2: tensor<8xf32>)
// CHECK-SAME: attributes {cost = {{.*}}, schedule = #nn.schedule<gemm>
// CHECK-NOT: nn.kernel

// -----

// Threads may divide the rows of a product that has many.
// CHECK: nn.kernel @{{.*}} attributes {cost = {{.*}}, parts = 4 : i64, schedule = #nn.schedule<gemm>
func.func @tall(%x: tensor<2x300x8xf32>, %w: tensor<8x16xf32>) -> tensor<2x300x16xf32> {
  %0 = nn.matmul %x, %w : tensor<2x300x8xf32>, tensor<8x16xf32> -> tensor<2x300x16xf32>
  return %0 : tensor<2x300x16xf32>
}

// -----

// What comes before a softmax is pulled into it; a reshape between kernels stays outside, where it
// names the same bytes.
// CHECK-LABEL: func @row
// CHECK-NEXT: %[[X:.+]] = nn.reshape %arg0
// CHECK-NEXT: %[[Y:.+]] = nn.call @[[ROW:nn_row[_0-9]*]](%[[X]], %arg1)
// CHECK-NEXT: return %[[Y]]
// CHECK: nn.kernel @[[ROW]]
// CHECK: arith.addf
// CHECK-NEXT: nn.softmax
func.func @row(%x: tensor<2x3x5xf32>, %m: tensor<6x5xf32>) -> tensor<6x5xf32> {
  %0 = nn.reshape %x : tensor<2x3x5xf32> -> tensor<6x5xf32>
  %1 = arith.addf %0, %m : tensor<6x5xf32>
  %2 = nn.softmax %1 dim 1 : tensor<6x5xf32>
  return %2 : tensor<6x5xf32>
}

// -----

// Two anchors are two kernels; an elementary function is not computed again for every row
// of a broadcast.
// CHECK-LABEL: func @separate
// CHECK-COUNT-3: nn.call
func.func @separate(%x: tensor<4x8xf32>, %v: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = math.exp %v : tensor<8xf32>
  %1 = nn.broadcast %0 dims [1] : tensor<8xf32> -> tensor<4x8xf32>
  %2 = nn.softmax %x dim 1 : tensor<4x8xf32>
  %3 = arith.mulf %2, %1 : tensor<4x8xf32>
  %4 = nn.softmax %3 dim 1 : tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}

// -----

// Heads are split in the epilogue of the product, and joined in that of the attention.
zero.state @w "w" : tensor<32x32xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
// CHECK-LABEL: func @heads
// CHECK: nn.call @[[SPLIT:nn_gemm[_0-9]*]](%arg0, %{{.*}}) : {{.*}} -> tensor<1x2x4x16xf32>
// CHECK-NEXT: nn.call @[[JOIN:nn_attention[_0-9]*]]
// CHECK-NEXT: nn.reshape
// CHECK-NEXT: return
// CHECK: nn.kernel @[[SPLIT]]
// CHECK: nn.matmul
// CHECK-NEXT: nn.reshape
// CHECK-NEXT: nn.transpose
// CHECK: nn.kernel @[[JOIN]]
// CHECK: nn.attention
// CHECK-NEXT: nn.transpose
func.func @heads(%x: tensor<4x32xf32>) -> tensor<4x32xf32> {
  %w = zero.use @w : tensor<32x32xf32>
  %0 = nn.matmul %x, %w : tensor<4x32xf32>, tensor<32x32xf32> -> tensor<4x32xf32>
  %1 = nn.reshape %0 : tensor<4x32xf32> -> tensor<1x4x2x16xf32>
  %2 = nn.transpose %1 perm [0, 2, 1, 3] : tensor<1x4x2x16xf32> -> tensor<1x2x4x16xf32>
  %3 = nn.attention <nan> %2, %2, %2 scale 1.0
      : tensor<1x2x4x16xf32>, tensor<1x2x4x16xf32>, tensor<1x2x4x16xf32> -> tensor<1x2x4x16xf32>
  %4 = nn.transpose %3 perm [0, 2, 1, 3] : tensor<1x2x4x16xf32> -> tensor<1x4x2x16xf32>
  %5 = nn.reshape %4 : tensor<1x4x2x16xf32> -> tensor<4x32xf32>
  return %5 : tensor<4x32xf32>
}

// -----

// A transposition that moves columns is a kernel of its own; so is one that meets what it moves.
// CHECK-LABEL: func @columns
// CHECK: nn.call @nn_gemm
// CHECK: nn.call @nn_map
// CHECK: nn.call @nn_gemm
// CHECK: nn.call @nn_map
func.func @columns(%x: tensor<2x2x2xf32>) -> (tensor<2x2x2xf32>, tensor<2x2x2xf32>) {
  %0 = nn.matmul %x, %x : tensor<2x2x2xf32>, tensor<2x2x2xf32> -> tensor<2x2x2xf32>
  %1 = nn.transpose %0 perm [0, 2, 1] : tensor<2x2x2xf32> -> tensor<2x2x2xf32>
  %2 = nn.matmul %1, %x : tensor<2x2x2xf32>, tensor<2x2x2xf32> -> tensor<2x2x2xf32>
  %3 = nn.transpose %2 perm [1, 0, 2] : tensor<2x2x2xf32> -> tensor<2x2x2xf32>
  %4 = arith.addf %2, %3 : tensor<2x2x2xf32>
  return %1, %4 : tensor<2x2x2xf32>, tensor<2x2x2xf32>
}

// -----

// A state that is read plain, transposed and elementwise has one layout. Its tiles stand for it
// only where they follow the product's columns.
zero.state @w "w" : tensor<8x8xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
// CHECK-LABEL: func @shared
func.func @shared(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8x8xf32>) {
  %w = zero.use @w : tensor<8x8xf32>
  %0 = nn.matmul %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %1 = nn.matmul %0, %w transpose : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %2 = math.exp %w : tensor<8x8xf32>
  return %1, %2 : tensor<4x8xf32>, tensor<8x8xf32>
}
// CHECK: nn.kernel @nn_gemm({{.*}}, %arg1: tensor<8x8xf32> {nn.layout = #nn.panels<1>, nn.tiled})
// CHECK: nn.kernel @nn_gemm_{{[0-9]+}}({{.*}}, %arg1: tensor<8x8xf32> {nn.depth_tiled, nn.layout = #nn.panels<1>})
// CHECK: nn.kernel @nn_map({{.*}}%arg0: tensor<8x8xf32> {nn.layout = #nn.panels<1>})

// -----

// Nothing follows a scatter in its kernel, since an element is complete after the last update alone; a
// sort is followed by what each index becomes.
// CHECK-LABEL: func @places
// CHECK: %[[S:.+]] = nn.call @nn_scatter
// CHECK: nn.call @nn_map{{.*}}(%[[S]])
// CHECK: nn.call @nn_sort
// CHECK-NEXT: return
func.func @places(%x: tensor<4xf32>, %i: tensor<2x1xi64>, %u: tensor<2xf32>) -> (tensor<4xf32>, tensor<4xi64>) {
  %0 = nn.scatter <add> %x[%i] %u : tensor<4xf32>, tensor<2x1xi64>, tensor<2xf32>
  %1 = math.sqrt %0 : tensor<4xf32>
  %2 = nn.argsort %x dim 0 : tensor<4xf32> -> tensor<4xi64>
  %3 = arith.addi %2, %2 : tensor<4xi64>
  return %1, %3 : tensor<4xf32>, tensor<4xi64>
}

// -----

// Bias, activation and residual are the convolution's epilogue. Of few windows the units are panels of
// filters, so that tiles may stand for the filter.
zero.state @f "f" : tensor<64x64x3x3xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @b "b" : tensor<64xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
// CHECK-LABEL: func @residual
// CHECK: nn.call @[[CONV:nn_conv[_0-9]*]](%arg0, %{{.*}}, %{{.*}})
func.func @residual(%x: tensor<1x64x8x8xf32>) -> tensor<1x64x8x8xf32> {
  %f = zero.use @f : tensor<64x64x3x3xf32>
  %b = zero.use @b : tensor<64xf32>
  %0 = nn.conv %x, %f strides [1, 1] dilations [1, 1] low [1, 1] groups 1 : tensor<1x64x8x8xf32>, tensor<64x64x3x3xf32> -> tensor<1x64x8x8xf32>
  %wide = nn.broadcast %b dims [1] : tensor<64xf32> -> tensor<1x64x8x8xf32>
  %1 = arith.addf %0, %wide : tensor<1x64x8x8xf32>
  %2 = math.absf %1 : tensor<1x64x8x8xf32>
  %3 = arith.addf %2, %x : tensor<1x64x8x8xf32>
  return %3 : tensor<1x64x8x8xf32>
}
// CHECK: nn.kernel @[[CONV]](%arg0: tensor<1x64x8x8xf32>, %arg1: tensor<64x64x3x3xf32> {nn.layout = #nn.panels<0>, nn.tiled}, %arg2: tensor<64xf32>)
// CHECK-SAME: schedule = #nn.schedule<conv>
// CHECK-SAME: units = 4

// -----

// Four panels of filters are few units for several threads: they are of each of two blocks of windows.
zero.state @f "f" : tensor<56x64x1x1xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
// CHECK-LABEL: func @blocks
func.func @blocks(%x: tensor<1x64x14x14xf32>) -> tensor<1x56x14x14xf32> {
  %f = zero.use @f : tensor<56x64x1x1xf32>
  %0 = nn.conv %x, %f strides [1, 1] dilations [1, 1] low [0, 0] groups 1 : tensor<1x64x14x14xf32>, tensor<56x64x1x1xf32> -> tensor<1x56x14x14xf32>
  return %0 : tensor<1x56x14x14xf32>
}
// CHECK: nn.kernel @{{.*}}%arg1: tensor<56x64x1x1xf32> {nn.layout = #nn.panels<0>})
// CHECK-SAME: units = 8

// -----

// The result of a product keeps its vectors under dimensions of size 1: the bias is its epilogue.
// CHECK-LABEL: func @ones
// CHECK: nn.call @nn_gemm(%arg0, %arg1, %arg2)
// CHECK-NEXT: return
func.func @ones(%x: tensor<2x32xf32>, %w: tensor<32x24xf32>, %b: tensor<24xf32>) -> tensor<2x24x1x1xf32> {
  %0 = nn.matmul %x, %w : tensor<2x32xf32>, tensor<32x24xf32> -> tensor<2x24xf32>
  %1 = nn.reshape %0 : tensor<2x24xf32> -> tensor<2x24x1x1xf32>
  %2 = nn.broadcast %b dims [1] : tensor<24xf32> -> tensor<2x24x1x1xf32>
  %3 = arith.addf %1, %2 : tensor<2x24x1x1xf32>
  return %3 : tensor<2x24x1x1xf32>
}

// -----

// The windows of a pooling, and the padding around them, are pulled into its reduction.
// CHECK-LABEL: func @pool
// CHECK: nn.call @[[POOL:nn_row[_0-9]*]](%arg0)
// CHECK-NEXT: return
func.func @pool(%x: tensor<1x4x9x9xf32>) -> tensor<1x4x5x5xf32> {
  %low = arith.constant dense<0xFF800000> : tensor<f32>
  %0 = nn.pad <constant> %x value %low : tensor<f32> low [0, 0, 1, 1] : tensor<1x4x9x9xf32> -> tensor<1x4x11x11xf32>
  %1 = nn.windows %0 strides [2, 2] dilations [1, 1] : tensor<1x4x11x11xf32> -> tensor<1x4x3x3x5x5xf32>
  %2 = nn.reduce <max> %1 dims [2, 3] : tensor<1x4x3x3x5x5xf32> -> tensor<1x4x5x5xf32>
  return %2 : tensor<1x4x5x5xf32>
}

// -----

// A weight of small integers is read as it is by the product, which unpacks it. Tiles of what is stored by the
// product's columns can stand for it.
zero.state @q "q" : tensor<8x16xi8> role(<parameter>) source(#zero.splat<1 : i8>)
zero.state @s "s" : tensor<8xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
// CHECK-LABEL: func @unpacked
// CHECK: %[[Q:.+]] = zero.use @q
// CHECK: %[[S:.+]] = zero.use @s
// CHECK: %[[Y:.+]] = nn.call @[[GEMM:nn_gemm[_0-9]*]](%[[Q]], %[[S]], %arg0)
// CHECK-NEXT: return %[[Y]]
// CHECK: nn.kernel @[[GEMM]](%{{.*}}: tensor<8x16xi8> {nn.rows = 16 : i64, nn.tiled}, %{{.*}}: tensor<8xf32>, %
// CHECK: nn.unpack
// CHECK: nn.matmul
func.func @unpacked(%x: tensor<4x32xf32>) -> tensor<4x8xf32> {
  %q = zero.use @q : tensor<8x16xi8>
  %s = zero.use @s : tensor<8xf32>
  %0 = nn.unpack %q bits 4 signed : tensor<8x16xi8> -> tensor<8x32xi8>
  %1 = arith.sitofp %0 : tensor<8x32xi8> to tensor<8x32xf32>
  %2 = nn.broadcast %s dims [0] : tensor<8xf32> -> tensor<8x32xf32>
  %3 = arith.mulf %1, %2 : tensor<8x32xf32>
  %4 = nn.matmul %x, %3 transpose : tensor<4x32xf32>, tensor<8x32xf32> -> tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}

// -----

// Activations are computed once, and so is a weight that takes as many bytes before its operation.
zero.state @w "w" : tensor<32x8xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
// CHECK-LABEL: func @computed
// CHECK-COUNT-4: nn.call
func.func @computed(%x: tensor<4x32xf32>, %q: tensor<32x8xi8>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %w = zero.use @w : tensor<32x8xf32>
  %0 = arith.negf %w : tensor<32x8xf32>
  %1 = nn.matmul %x, %0 : tensor<4x32xf32>, tensor<32x8xf32> -> tensor<4x8xf32>
  %2 = arith.sitofp %q : tensor<32x8xi8> to tensor<32x8xf32>
  %3 = nn.matmul %x, %2 : tensor<4x32xf32>, tensor<32x8xf32> -> tensor<4x8xf32>
  return %1, %3 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Steps that read their own part of a sequence are calls of one kernel: the parts are places in it.
// CHECK-LABEL: func @steps
// CHECK-DAG: %[[A:.+]] = nn.slice %arg0 offsets [0, 0]
// CHECK-DAG: %[[B:.+]] = nn.slice %arg0 offsets [1, 0]
// CHECK-DAG: %[[C:.+]] = nn.slice %arg0 offsets [2, 0]
// CHECK: nn.call @[[STEP:nn_row[_0-9]*]](%{{.*}}, %[[A]])
// CHECK: nn.call @[[STEP]](%{{.*}}, %[[B]])
// CHECK: nn.call @[[STEP]](%{{.*}}, %[[C]])
func.func @steps(%x: tensor<3x4xf32>, %h: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %a = nn.slice %x offsets [0, 0] strides [1, 1] : tensor<3x4xf32> -> tensor<1x4xf32>
  %b = nn.slice %x offsets [1, 0] strides [1, 1] : tensor<3x4xf32> -> tensor<1x4xf32>
  %c = nn.slice %x offsets [2, 0] strides [1, 1] : tensor<3x4xf32> -> tensor<1x4xf32>
  %0 = nn.softmax %h dim 1 : tensor<1x4xf32>
  %1 = arith.addf %0, %a : tensor<1x4xf32>
  %2 = nn.softmax %1 dim 1 : tensor<1x4xf32>
  %3 = arith.addf %2, %b : tensor<1x4xf32>
  %4 = nn.softmax %3 dim 1 : tensor<1x4xf32>
  %5 = arith.addf %4, %c : tensor<1x4xf32>
  %6 = nn.softmax %5 dim 1 : tensor<1x4xf32>
  return %6 : tensor<1x4xf32>
}

// -----

// Windows without end are cut at once.
zero.state @f "f" : tensor<2x2x3xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
// CHECK-LABEL: func @endless
func.func @endless(%x: tensor<1x2x140737488355328xf32>) -> tensor<1x2x140737488355328xf32> {
  %f = zero.use @f : tensor<2x2x3xf32>
  %0 = nn.conv %x, %f strides [1] dilations [1] low [1] groups 1 : tensor<1x2x140737488355328xf32>, tensor<2x2x3xf32> -> tensor<1x2x140737488355328xf32>
  return %0 : tensor<1x2x140737488355328xf32>
}
// CHECK: units = 549755813888

// -----

// Random bits are made where they are read; kernels of different places that take them are equal, each with its key.
// CHECK-LABEL: func @dropouts
// CHECK-SAME: %[[X:.+]]: tensor<8x512xf32>, %[[KEYS:.+]]: tensor<2xi64>
// CHECK-NOT: nn.random
// CHECK: %[[FIRST:.+]] = nn.slice %[[KEYS]] offsets [0]
// CHECK: %[[KEY1:.+]] = nn.reshape %[[FIRST]]
// CHECK: %[[Y:.+]] = nn.call @[[DROP:nn_map[_0-9]*]](%[[KEY1]], %[[X]])
// CHECK: %[[SECOND:.+]] = nn.slice %[[KEYS]] offsets [1]
// CHECK: %[[KEY2:.+]] = nn.reshape %[[SECOND]]
// CHECK: nn.call @[[DROP]](%[[KEY2]], %[[Y]])
func.func @dropouts(%x: tensor<8x512xf32>, %keys: tensor<2xi64>) -> (tensor<8x512xf32>, tensor<8x512xf32>) {
  %limit = arith.constant dense<1073741824> : tensor<8x512xi32>
  %zero = arith.constant dense<0.0> : tensor<8x512xf32>
  %s1 = nn.slice %keys offsets [0] strides [1] : tensor<2xi64> -> tensor<1xi64>
  %k1 = nn.reshape %s1 : tensor<1xi64> -> tensor<i64>
  %r1 = nn.random %k1 : tensor<i64> -> tensor<8x512xi32>
  %d1 = arith.cmpi ult, %r1, %limit : tensor<8x512xi32>
  %y = arith.select %d1, %zero, %x : tensor<8x512xi1>, tensor<8x512xf32>
  %s2 = nn.slice %keys offsets [1] strides [1] : tensor<2xi64> -> tensor<1xi64>
  %k2 = nn.reshape %s2 : tensor<1xi64> -> tensor<i64>
  %r2 = nn.random %k2 : tensor<i64> -> tensor<8x512xi32>
  %d2 = arith.cmpi ult, %r2, %limit : tensor<8x512xi32>
  %z = arith.select %d2, %zero, %y : tensor<8x512xi1>, tensor<8x512xf32>
  return %y, %z : tensor<8x512xf32>, tensor<8x512xf32>
}
