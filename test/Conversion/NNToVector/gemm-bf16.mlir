// Two operands of bf16 are multiplied in pairs along depth where the processor has an instruction for that.

// RUN: spillway-opt %s -nn-to-vector=cpu=avx512bf16 | FileCheck %s --check-prefixes=ALL,DOT
// RUN: spillway-opt %s -nn-to-vector=cpu=avx512 | FileCheck %s --check-prefixes=ALL,FMA
// RUN: spillway-opt %s -nn-to-vector=cpu=avx512bf16 -legalize-numbers | FileCheck %s --check-prefix=LEGAL

// Rows of the left operand lie along depth: its pairs are transposed as words.
// ALL-LABEL: func.func @pairs
// DOT: vector.bitcast {{.*}} : vector<16xbf16> to vector<8xi32>
// DOT: vector.shuffle {{.*}} : vector<8xi32>, vector<8xi32>
// Nineteen indices of depth are ten pairs, the last of which ends with a zero.
// DOT: vector.shuffle {{.*}} [0, 1, 2, 16, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15] : vector<16xbf16>, vector<16xbf16>
// Rows of the right operand lie across depth.
// DOT: vector.interleave {{.*}} : vector<16xi16> -> vector<32xi16>
// DOT-COUNT-4: x86vector.avx512.dot {{.*}} : vector<32xbf16> -> vector<16xf32>
// DOT-NOT: math.fma
// FMA-NOT: x86vector
// FMA: math.fma {{.*}} : vector<16xf32>
// FMA-NOT: x86vector
// LEGAL-LABEL: func.func @pairs
// LEGAL: vector.bitcast {{.*}} : vector<16xi32> to vector<32xbf16>
// LEGAL: x86vector.avx512.dot
nn.kernel @pairs(%x: tensor<20x19xbf16>, %w: tensor<19x32xbf16> {nn.layout = #nn.panels<1>, nn.tiled}) -> tensor<20x32xf32>
    attributes {schedule = #nn.schedule<gemm>, units = 2 : i64, scratch = 0 : i64} {
  %0 = nn.matmul %x, %w : tensor<20x19xbf16>, tensor<19x32xbf16> -> tensor<20x32xf32>
  nn.yield %0 : tensor<20x32xf32>
}

// Few rows read the right operand where it lies, in f32.
// ALL-LABEL: func.func @one_row
// ALL-NOT: x86vector
// ALL: math.fma
// ALL-NOT: x86vector
nn.kernel @one_row(%x: tensor<1x64xbf16>, %w: tensor<64x16xbf16> {nn.layout = #nn.panels<1>, nn.tiled}) -> tensor<1x16xf32>
    attributes {schedule = #nn.schedule<gemm>, units = 1 : i64, scratch = 0 : i64} {
  %0 = nn.matmul %x, %w : tensor<1x64xbf16>, tensor<64x16xbf16> -> tensor<1x16xf32>
  nn.yield %0 : tensor<1x16xf32>
}

// Whole panels of depth are read as vectors, also where the depth is none of their multiples.
// ALL-LABEL: func.func @last_panel_of_depth
// ALL-NOT: vector.gather
// DOT: x86vector.avx512.dot
// ALL-NOT: vector.gather
nn.kernel @last_panel_of_depth(%x: tensor<20x40xbf16>, %w: tensor<40x32xbf16> {nn.layout = #nn.panels<0>}) -> tensor<20x32xf32>
    attributes {schedule = #nn.schedule<gemm>, units = 2 : i64, scratch = 0 : i64} {
  %0 = nn.matmul %x, %w : tensor<20x40xbf16>, tensor<40x32xbf16> -> tensor<20x32xf32>
  nn.yield %0 : tensor<20x32xf32>
}

// ALL-LABEL: func.func @last_panel_of_many
// ALL-NOT: vector.gather
// DOT: x86vector.avx512.dot
// ALL-NOT: vector.gather
nn.kernel @last_panel_of_many(%x: tensor<20x300xbf16>, %w: tensor<32x300xbf16> {nn.layout = #nn.panels<1>}) -> tensor<20x32xf32>
    attributes {schedule = #nn.schedule<gemm>, units = 2 : i64, scratch = 0 : i64} {
  %0 = nn.matmul %x, %w transpose : tensor<20x300xbf16>, tensor<32x300xbf16> -> tensor<20x32xf32>
  nn.yield %0 : tensor<20x32xf32>
}

// ALL-LABEL: func.func @last_panel_of_blocks
// ALL-NOT: vector.gather
// DOT: x86vector.avx512.dot
// ALL-NOT: vector.gather
nn.kernel @last_panel_of_blocks(%x: tensor<20x520xbf16>, %w: tensor<520x32xbf16> {nn.layout = #nn.panels<0>}) -> tensor<20x32xf32>
    attributes {schedule = #nn.schedule<gemm>, units = 2 : i64, scratch = 0 : i64} {
  %0 = nn.matmul %x, %w : tensor<20x520xbf16>, tensor<520x32xbf16> -> tensor<20x32xf32>
  nn.yield %0 : tensor<20x32xf32>
}
