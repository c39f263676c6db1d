// REQUIRES: spillway-opt
// RUN: spillway-opt %s -split-input-file -nn-assign-layouts | FileCheck %s

// A transposed weight has its panels along its first dimension; where matmuls disagree, the larger one decides;
// what no matmul reads stays in rows.
// CHECK: zero.state @transposed {{.*}} layout(<0>)
zero.state @transposed "t" : tensor<8x4xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
// CHECK: zero.state @both {{.*}} layout(<1>)
zero.state @both "b" : tensor<8x8xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
// CHECK: zero.state @none "n" : tensor<8x8xf32> role(<parameter>) source
zero.state @none "n" : tensor<8x8xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @main(%x: tensor<2x4xf32>, %y: tensor<2x8xf32>, %z: tensor<20x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>, tensor<20x8xf32>, tensor<8x8xf32>) {
  %t = zero.use @transposed : tensor<8x4xf32>
  %0 = nn.matmul %x, %t transpose : tensor<2x4xf32>, tensor<8x4xf32> -> tensor<2x8xf32>
  %b = zero.use @both : tensor<8x8xf32>
  %1 = nn.matmul %y, %b transpose : tensor<2x8xf32>, tensor<8x8xf32> -> tensor<2x8xf32>
  %2 = nn.matmul %z, %b : tensor<20x8xf32>, tensor<8x8xf32> -> tensor<20x8xf32>
  %n = zero.use @none : tensor<8x8xf32>
  %3 = arith.negf %n : tensor<8x8xf32>
  return %0, %1, %2, %3 : tensor<2x8xf32>, tensor<2x8xf32>, tensor<20x8xf32>, tensor<8x8xf32>
}

// A filter has panels along its first dimension, unless panels cross groups, each filter sees one channel, or
// something else reads the weight.
// CHECK: zero.state @filter {{.*}} layout(<0>)
zero.state @filter "f" : tensor<8x4x3xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
// CHECK: zero.state @crossing "c" : tensor<8x2x3xf32> role(<parameter>) source
zero.state @crossing "c" : tensor<8x2x3xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
// CHECK: zero.state @single "s" : tensor<4x1x3xf32> role(<parameter>) source
zero.state @single "s" : tensor<4x1x3xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
// CHECK: zero.state @read "r" : tensor<8x4x3xf32> role(<parameter>) source
zero.state @read "r" : tensor<8x4x3xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @convs(%x: tensor<1x4x9xf32>) -> (tensor<1x8x7xf32>, tensor<1x8x7xf32>, tensor<1x4x7xf32>, tensor<1x8x7xf32>, tensor<8x4x3xf32>) {
  %f = zero.use @filter : tensor<8x4x3xf32>
  %0 = nn.conv %x, %f strides [1] dilations [1] low [0] groups 1 : tensor<1x4x9xf32>, tensor<8x4x3xf32> -> tensor<1x8x7xf32>
  %c = zero.use @crossing : tensor<8x2x3xf32>
  %1 = nn.conv %x, %c strides [1] dilations [1] low [0] groups 2 : tensor<1x4x9xf32>, tensor<8x2x3xf32> -> tensor<1x8x7xf32>
  %s = zero.use @single : tensor<4x1x3xf32>
  %2 = nn.conv %x, %s strides [1] dilations [1] low [0] groups 4 : tensor<1x4x9xf32>, tensor<4x1x3xf32> -> tensor<1x4x7xf32>
  %r = zero.use @read : tensor<8x4x3xf32>
  %3 = nn.conv %x, %r strides [1] dilations [1] low [0] groups 1 : tensor<1x4x9xf32>, tensor<8x4x3xf32> -> tensor<1x8x7xf32>
  %4 = arith.negf %r : tensor<8x4x3xf32>
  return %0, %1, %2, %3, %4 : tensor<1x8x7xf32>, tensor<1x8x7xf32>, tensor<1x4x7xf32>, tensor<1x8x7xf32>, tensor<8x4x3xf32>
}

// -----

// A weight that is read as one matrix alone is that matrix; one that is read in two shapes stays as it is, and so
// does what no product reads.
// CHECK: zero.state @planes "p" : tensor<8x4xf32> {{.*}} layout(<0>) source(dense<2.000000e+00> : tensor<8x4xf32>)
zero.state @planes "p" : tensor<1x8x4xf32> role(<parameter>) source(dense<2.0> : tensor<1x8x4xf32>)
// CHECK: zero.state @two "t" : tensor<1x4x8xf32> role(<parameter>) source
zero.state @two "t" : tensor<1x4x8xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
// CHECK: zero.state @row "r" : tensor<8xf32> role(<parameter>) source
zero.state @row "r" : tensor<8xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
// CHECK-LABEL: func.func @reshaped
// CHECK: %[[P:.*]] = zero.use @planes : tensor<8x4xf32>
// CHECK: nn.matmul %arg0, %[[P]] transpose
func.func @reshaped(%x: tensor<2x4xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>, tensor<1x4x8xf32>, tensor<1x8xf32>) {
  %p = zero.use @planes : tensor<1x8x4xf32>
  %matrix = nn.reshape %p : tensor<1x8x4xf32> -> tensor<8x4xf32>
  %0 = nn.matmul %x, %matrix transpose : tensor<2x4xf32>, tensor<8x4xf32> -> tensor<2x8xf32>
  %t = zero.use @two : tensor<1x4x8xf32>
  %other = nn.reshape %t : tensor<1x4x8xf32> -> tensor<4x8xf32>
  %1 = nn.matmul %x, %other : tensor<2x4xf32>, tensor<4x8xf32> -> tensor<2x8xf32>
  %2 = arith.negf %t : tensor<1x4x8xf32>
  %r = zero.use @row : tensor<8xf32>
  %wide = nn.reshape %r : tensor<8xf32> -> tensor<1x8xf32>
  %3 = arith.negf %wide : tensor<1x8xf32>
  return %0, %1, %2, %3 : tensor<2x8xf32>, tensor<2x8xf32>, tensor<1x4x8xf32>, tensor<1x8xf32>
}

// -----

// Where a weight is also read by another shape, or a part of it, its bytes are in row-major order.
// CHECK: zero.state @flat "f" : tensor<3x20xf32> role(<parameter>) source
zero.state @flat "f" : tensor<3x20xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
// CHECK: zero.state @part "p" : tensor<3x20xf32> role(<parameter>) source
zero.state @part "p" : tensor<3x20xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @places(%x: tensor<2x3xf32>) -> (tensor<2x20xf32>, tensor<60xf32>, tensor<2x20xf32>, tensor<3x4xf32>) {
  %f = zero.use @flat : tensor<3x20xf32>
  %0 = nn.matmul %x, %f : tensor<2x3xf32>, tensor<3x20xf32> -> tensor<2x20xf32>
  %1 = nn.reshape %f : tensor<3x20xf32> -> tensor<60xf32>
  %p = zero.use @part : tensor<3x20xf32>
  %2 = nn.matmul %x, %p : tensor<2x3xf32>, tensor<3x20xf32> -> tensor<2x20xf32>
  %3 = nn.slice %p offsets [0, 0] strides [1, 1] : tensor<3x20xf32> -> tensor<3x4xf32>
  return %0, %1, %2, %3 : tensor<2x20xf32>, tensor<60xf32>, tensor<2x20xf32>, tensor<3x4xf32>
}

// -----

// What a product's right operand is unpacked from is stored by its columns: in runs of rows of 16 columns, or in
// panels of them. What has few bytes for each column stays whole, and so does what is read elsewhere too.
// CHECK: zero.state @rows "r" : tensor<128x64xi8> role(<parameter>) rows(16) source
zero.state @rows "r" : tensor<128x64xi8> role(<parameter>) source(#zero.splat<1 : i8>)
// CHECK: zero.state @groups "g" : tensor<128x8xf32> role(<parameter>) rows(16) source
zero.state @groups "g" : tensor<1024xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
// CHECK: zero.state @few "f" : tensor<128xf32> role(<parameter>) source
zero.state @few "f" : tensor<128xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
func.func @rows_of_columns(%x: tensor<4x128xf32>) -> tensor<4x128xf32> {
  %r = zero.use @rows : tensor<128x64xi8>
  %0 = nn.unpack %r bits 4 signed : tensor<128x64xi8> -> tensor<128x128xi8>
  %1 = arith.sitofp %0 : tensor<128x128xi8> to tensor<128x128xf32>
  %2 = nn.reshape %1 : tensor<128x128xf32> -> tensor<128x8x16xf32>
  %g = zero.use @groups : tensor<1024xf32>
  %3 = nn.reshape %g : tensor<1024xf32> -> tensor<128x8xf32>
  %4 = nn.broadcast %3 dims [0, 1] : tensor<128x8xf32> -> tensor<128x8x16xf32>
  %5 = arith.mulf %2, %4 : tensor<128x8x16xf32>
  %6 = nn.reshape %5 : tensor<128x8x16xf32> -> tensor<128x128xf32>
  %f = zero.use @few : tensor<128xf32>
  %7 = nn.broadcast %f dims [0] : tensor<128xf32> -> tensor<128x128xf32>
  %8 = arith.addf %6, %7 : tensor<128x128xf32>
  %9 = nn.matmul %x, %8 transpose : tensor<4x128xf32>, tensor<128x128xf32> -> tensor<4x128xf32>
  return %9 : tensor<4x128xf32>
}

// -----

// CHECK: zero.state @bytes "b" : tensor<64x128xi8> role(<parameter>) layout(<1>) source
zero.state @bytes "b" : tensor<64x128xi8> role(<parameter>) source(#zero.splat<1 : i8>)
// CHECK: zero.state @nibbles "n" : tensor<64x64xi8> role(<parameter>) layout(<1, width = 8>) source
zero.state @nibbles "n" : tensor<64x64xi8> role(<parameter>) source(#zero.splat<1 : i8>)
// CHECK: zero.state @twice "t" : tensor<64x128xi8> role(<parameter>) source
zero.state @twice "t" : tensor<64x128xi8> role(<parameter>) source(#zero.splat<1 : i8>)
func.func @panels_of_columns(%x: tensor<4x64xf32>) -> (tensor<4x128xf32>, tensor<4x128xf32>, tensor<4x128xf32>, tensor<64x128xi8>) {
  %b = zero.use @bytes : tensor<64x128xi8>
  %0 = arith.sitofp %b : tensor<64x128xi8> to tensor<64x128xf32>
  %1 = nn.matmul %x, %0 : tensor<4x64xf32>, tensor<64x128xf32> -> tensor<4x128xf32>
  %n = zero.use @nibbles : tensor<64x64xi8>
  %2 = nn.unpack %n bits 4 : tensor<64x64xi8> -> tensor<64x128xi8>
  %3 = arith.uitofp %2 : tensor<64x128xi8> to tensor<64x128xf32>
  %4 = nn.matmul %x, %3 : tensor<4x64xf32>, tensor<64x128xf32> -> tensor<4x128xf32>
  %t = zero.use @twice : tensor<64x128xi8>
  %5 = arith.sitofp %t : tensor<64x128xi8> to tensor<64x128xf32>
  %6 = nn.matmul %x, %5 : tensor<4x64xf32>, tensor<64x128xf32> -> tensor<4x128xf32>
  %7 = arith.addi %t, %t : tensor<64x128xi8>
  return %1, %4, %6, %7 : tensor<4x128xf32>, tensor<4x128xf32>, tensor<4x128xf32>, tensor<64x128xi8>
}

// -----

// A large table of which rows are looked up has panels where it is updated, so that this goes by parts; what is updated
// with it lies alike. Where it stays as it is, or is small, so do its rows.
// CHECK: zero.state @table {{.*}} layout(<0>)
// CHECK: zero.state @moment {{.*}} layout(<0>)
// CHECK: zero.state @frozen "f" : tensor<256x8xf32> role(<parameter>) source
// CHECK: zero.state @small "s" : tensor<2x8xf32> role(<parameter>) rewritten source
zero.state @table "t" : tensor<256x8xf32> role(<parameter>) rewritten source(#zero.splat<1.0 : f32>)
zero.state @moment "m" : tensor<256x8xf32> role(<moment>) rewritten source(#zero.splat<1.0 : f32>)
zero.state @frozen "f" : tensor<256x8xf32> role(<parameter>) source(#zero.splat<1.0 : f32>)
zero.state @small "s" : tensor<2x8xf32> role(<parameter>) rewritten source(#zero.splat<1.0 : f32>)
func.func @main(%i: tensor<4xi64>, %g: tensor<256x8xf32>, %h: tensor<2x8xf32>) -> tensor<4x8xf32> {
  %a = zero.lookup @table[%i] : tensor<4xi64> -> tensor<4x8xf32>
  %b = zero.lookup @frozen[%i] : tensor<4xi64> -> tensor<4x8xf32>
  %c = zero.lookup @small[%i] : tensor<4xi64> -> tensor<4x8xf32>
  %t = zero.use @table : tensor<256x8xf32>
  %m = zero.use @moment : tensor<256x8xf32>
  %m1 = arith.addf %m, %g : tensor<256x8xf32>
  %t1 = arith.subf %t, %m1 : tensor<256x8xf32>
  zero.update [@table, @moment] (%t1, %m1) : tensor<256x8xf32>, tensor<256x8xf32>
  %s = zero.use @small : tensor<2x8xf32>
  %s1 = arith.subf %s, %h : tensor<2x8xf32>
  zero.update [@small] (%s1) : tensor<2x8xf32>
  %ab = arith.addf %a, %b : tensor<4x8xf32>
  %abc = arith.addf %ab, %c : tensor<4x8xf32>
  return %abc : tensor<4x8xf32>
}
