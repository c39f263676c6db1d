// RUN: spillway-opt %s --split-input-file --verify-diagnostics

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{C1: 'tensor<2x3xf32>' and 'tensor<5xf32>' differ}}
  %0 = nn.reshape %a : tensor<2x3xf32> -> tensor<5xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{C1: 'tensor<2x3xf32>' and 'tensor<6xi32>' differ}}
  %0 = nn.reshape %a : tensor<2x3xf32> -> tensor<6xi32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{C1: dims must be one strictly ascending}}
  %0 = nn.broadcast %a dims [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{C1: dims must be one strictly ascending}}
  %0 = nn.broadcast %a dims [0] : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{C1: dims must be one strictly ascending}}
  %0 = nn.broadcast %a dims [0, 2] : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{C2: operand dimension 1 has size 3, neither 1 nor 4}}
  %0 = nn.broadcast %a dims [0, 1] : tensor<2x3xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{C3: element types differ}}
  %0 = nn.broadcast %a dims [0, 1] : tensor<2x3xf32> -> tensor<2x3xf16>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{C1: perm is not a permutation of 2 dimensions}}
  %0 = nn.transpose %a perm [0, 0] : tensor<2x3xf32> -> tensor<2x2xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{C2: the result must be 'tensor<3x2xf32>'}}
  %0 = nn.transpose %a perm [1, 0] : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{C1: ranks, offsets, strides or element types}}
  %0 = nn.slice %a offsets [0] strides [1, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{C2: stride 0 along dimension 1}}
  %0 = nn.slice %a offsets [0, 0] strides [1, 0] : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{C3: elements 1 to 3 of dimension 1 do not lie inside its size 3}}
  %0 = nn.slice %a offsets [0, 1] strides [1, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{C3: elements 1 to -1 of dimension 1}}
  %0 = nn.slice %a offsets [0, 1] strides [1, -1] : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{C1: needs an operand}}
  %0 = nn.concat dim 0 : () -> tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{C1: dim 2 lies outside rank 2}}
  %0 = nn.concat %a dim 2 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{C1: operand 'tensor<2x3xf32>' differs in rank or element type}}
  %0 = nn.concat %a dim 0 : (tensor<2x3xf32>) -> tensor<2x3xf16>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{C2: operand 'tensor<2x3xf32>' does not fit 'tensor<2x4xf32>' along dimension 1}}
  %0 = nn.concat %a dim 0 : (tensor<2x3xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{C2: sizes along dimension 0 add up to 4, not 5}}
  %0 = nn.concat %a, %a dim 0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<5x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{C1: ranks, low or element types}}
  %0 = nn.pad <edge> %a low [1] : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{C2: a value is given exactly in the mode constant}}
  %0 = nn.pad <constant> %a low [0, 0] : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %v: tensor<f32>) {
  // expected-error@+1 {{C2: a value is given exactly in the mode constant}}
  %0 = nn.pad <wrap> %a value %v : tensor<f32> low [0, 0] : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %v: tensor<f16>) {
  // expected-error@+1 {{C2: the value must be a tensor of rank 0}}
  %0 = nn.pad <constant> %a value %v : tensor<f16> low [0, 0] : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x0xf32>) {
  // expected-error@+1 {{C3: nothing to repeat along dimension 1}}
  %0 = nn.pad <reflect> %a low [0, 1] : tensor<2x0xf32> -> tensor<2x1xf32>
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{C1: dim 1 lies outside rank 1}}
  %0 = nn.iota dim 1 : tensor<3xi64>
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{C2: an i1 cannot hold an index}}
  %0 = nn.iota dim 0 : tensor<3xi1>
  return
}

// -----

func.func @f(%k: tensor<2xi64>) {
  // expected-error@+1 {{C1: the result must begin with the dimensions of the key}}
  %0 = nn.random %k : tensor<2xi64> -> tensor<3x2xi32>
  return
}

// -----

func.func @f(%k: tensor<2xi64>) {
  // expected-error@+1 {{C2: more than 2^32 elements belong to a key}}
  %0 = nn.random %k : tensor<2xi64> -> tensor<2x65536x65537xi32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %i: tensor<4xi64>) {
  // expected-error@+1 {{C1: dim 2 lies outside rank 2}}
  %0 = nn.gather %a[%i] dim 2 : tensor<2x3xf32>, tensor<4xi64> -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %i: tensor<4xi64>) {
  // expected-error@+1 {{C2: the result must be 'tensor<4x3xf32>'}}
  %0 = nn.gather %a[%i] dim 0 : tensor<2x3xf32>, tensor<4xi64> -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %i: tensor<1x1xi64>) {
  // expected-error@+1 {{C1: dim -1 lies outside rank 2}}
  %0 = nn.gather_elements %a[%i] dim -1 : tensor<2x3xf32>, tensor<1x1xi64> -> tensor<1x1xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %i: tensor<1xi64>) {
  // expected-error@+1 {{C1: data and indices differ in rank}}
  %0 = nn.gather_elements %a[%i] dim 0 : tensor<2x3xf32>, tensor<1xi64> -> tensor<1xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %i: tensor<1x1xi64>) {
  // expected-error@+1 {{C2: the result must be 'tensor<1x1xf32>'}}
  %0 = nn.gather_elements %a[%i] dim 0 : tensor<2x3xf32>, tensor<1x1xi64> -> tensor<1x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %i: tensor<1x4xi64>) {
  // expected-error@+1 {{C3: indices are larger than data along dimension 1}}
  %0 = nn.gather_elements %a[%i] dim 0 : tensor<2x3xf32>, tensor<1x4xi64> -> tensor<1x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %i: tensor<2x1xi64>) {
  // expected-error@+1 {{C1: batch_dims and the index tuples do not fit}}
  %0 = nn.gather_nd %a[%i] batch_dims 2 : tensor<2x3xf32>, tensor<2x1xi64> -> tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %i: tensor<1x3xi64>) {
  // expected-error@+1 {{C1: batch_dims and the index tuples do not fit}}
  %0 = nn.gather_nd %a[%i] batch_dims 0 : tensor<2x3xf32>, tensor<1x3xi64> -> tensor<1xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %i: tensor<3x1xi64>) {
  // expected-error@+1 {{C1: batch_dims and the index tuples do not fit}}
  %0 = nn.gather_nd %a[%i] batch_dims 1 : tensor<2x3xf32>, tensor<3x1xi64> -> tensor<3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %i: tensor<2x1xi64>) {
  // expected-error@+1 {{C2: the result must be 'tensor<2xf32>'}}
  %0 = nn.gather_nd %a[%i] batch_dims 1 : tensor<2x3xf32>, tensor<2x1xi64> -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{C1: ranks must be at least 2}}
  %0 = nn.matmul %a, %b : tensor<2x3xf32>, tensor<3xf32> -> tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<4x2x3xf32>, %b: tensor<5x3x2xf32>) {
  // expected-error@+1 {{C2: batch sizes differ}}
  %0 = nn.matmul %a, %b : tensor<4x2x3xf32>, tensor<5x3x2xf32> -> tensor<4x2x2xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{C3: sizes do not agree: k is 3 and 2}}
  %0 = nn.matmul %a, %a : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{C3: sizes do not agree: k is 3 and 3, the result 'tensor<2x3xf32>'}}
  %0 = nn.matmul %a, %a transpose : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{C4: element types do not agree}}
  %0 = nn.matmul %a, %a transpose : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x2xf64>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{C1: dims must be strictly ascending and inside rank 2}}
  %0 = nn.reduce <sum> %a dims [1, 0] : tensor<2x3xf32> -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{C1: dims must be strictly ascending and inside rank 2}}
  %0 = nn.reduce <sum> %a dims [2] : tensor<2x3xf32> -> tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{C2: the result must be 'tensor<2xf32>'}}
  %0 = nn.reduce <sum> %a dims [1] : tensor<2x3xf32> -> tensor<3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xi32>) {
  // expected-error@+1 {{C3: l2 needs floats}}
  %0 = nn.reduce <l2> %a dims [1] : tensor<2x3xi32> -> tensor<2xi32>
  return
}

// -----

func.func @f(%a: tensor<2x3xi32>) {
  // expected-error@+1 {{C3: mean needs floats}}
  %0 = nn.reduce <mean> %a dims [1] : tensor<2x3xi32> -> tensor<2xi32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{C1: dim 2 lies outside rank 2}}
  %0 = nn.softmax %a dim 2 : tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{C1: dim -1 lies outside rank 2}}
  %0 = nn.log_softmax %a dim -1 : tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %s: tensor<3xf32>) {
  // expected-error@+1 {{C1: dim 2 lies outside rank 2}}
  %0 = nn.layer_norm %a scale %s : tensor<3xf32> dim 2 epsilon 1.0 : tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %s: tensor<2xf32>) {
  // expected-error@+1 {{C2: scale must be 'tensor<3xf32>', not 'tensor<2xf32>'}}
  %0 = nn.layer_norm %a scale %s : tensor<2xf32> dim 1 epsilon 1.0 : tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %s: tensor<3xf32>, %b: tensor<3xf16>) {
  // expected-error@+1 {{C2: bias must be 'tensor<3xf32>', not 'tensor<3xf16>'}}
  %0 = nn.layer_norm %a scale %s : tensor<3xf32> bias %b : tensor<3xf16> dim 1 epsilon 1.0 : tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %s: tensor<3xf32>) {
  // expected-error@+1 {{C1: dim 2 lies outside rank 2}}
  %0 = nn.rms_norm %a scale %s : tensor<3xf32> dim 2 epsilon 1.0 : tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %s: tensor<3xf32>) {
  // expected-error@+1 {{C2: scale must be 'tensor<2x3xf32>'}}
  %0 = nn.rms_norm %a scale %s : tensor<3xf32> dim 0 epsilon 1.0 : tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{C1: dim 2 lies outside rank 2}}
  %0 = nn.cumsum %a dim 2 : tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2xi1>) {
  // expected-error@+1 {{C2: elements must not be i1}}
  %0 = nn.cumsum %a dim 0 : tensor<2xi1>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{C1: dim 2}}
  %0 = nn.argsort %a dim 2 : tensor<2x3xf32> -> tensor<2x3xi64>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{C2: the result 'tensor<2x4xi64>' does not fit 'tensor<2x3xf32>'}}
  %0 = nn.argsort %a dim 1 : tensor<2x3xf32> -> tensor<2x4xi64>
  return
}

// -----

func.func @f(%a: tensor<2xi1>) {
  // expected-error@+1 {{C3: elements must not be i1}}
  %0 = nn.argsort %a dim 0 : tensor<2xi1> -> tensor<2xi64>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x3xi64>, %u: tensor<5xf32>) {
  // expected-error@+1 {{C1: index tuples of 'tensor<5x3xi64>' do not address 'tensor<2x3xf32>'}}
  %0 = nn.scatter <replace> %a[%i] %u : tensor<2x3xf32>, tensor<5x3xi64>, tensor<5xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>, %u: tensor<5xf32>) {
  // expected-error@+1 {{C2: updates must be 'tensor<5x3xf32>'}}
  %0 = nn.scatter <replace> %a[%i] %u : tensor<2x3xf32>, tensor<5x1xi64>, tensor<5xf32>
  return
}

// -----

func.func @f(%a: tensor<2xi1>, %i: tensor<5x1xi64>, %u: tensor<5xi1>) {
  // expected-error@+1 {{C3: elements of i1 can only be replaced}}
  %0 = nn.scatter <add> %a[%i] %u : tensor<2xi1>, tensor<5x1xi64>, tensor<5xi1>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %i: tensor<5xi32>, %u: tensor<5x3xf32>) {
  // expected-error@+1 {{C1: rows must be a vector of i64, not 'tensor<5xi32>'}}
  %0 = nn.add_rows %a[%i, %i] %u : tensor<2x3xf32>, tensor<5xi32>, tensor<5x3xf32>
  return
}

// -----

func.func @f(%a: tensor<f32>, %i: tensor<5xi64>, %u: tensor<5xf32>) {
  // expected-error@+1 {{C2: data has no dimension}}
  %0 = nn.add_rows %a[%i, %i] %u : tensor<f32>, tensor<5xi64>, tensor<5xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %i: tensor<5xi64>, %u: tensor<4x3xf32>) {
  // expected-error@+1 {{C2: updates must be 'tensor<5x3xf32>'}}
  %0 = nn.add_rows %a[%i, %i] %u : tensor<2x3xf32>, tensor<5xi64>, tensor<4x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2xi1>, %i: tensor<5xi64>, %u: tensor<5xi1>) {
  // expected-error@+1 {{C3: elements of i1 cannot be added}}
  %0 = nn.add_rows %a[%i, %i] %u : tensor<2xi1>, tensor<5xi64>, tensor<5xi1>
  return
}

// -----

func.func @f(%q: tensor<4x5x8xf32>, %k: tensor<1x2x6x8xf32>, %v: tensor<1x2x6x3xf32>) {
  // expected-error@+1 {{C1: ranks must be 4}}
  %0 = nn.attention <nan> %q, %k, %v scale 1.0 : tensor<4x5x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x3xf32> -> tensor<1x4x5x3xf32>
  return
}

// -----

func.func @f(%q: tensor<1x4x5x8xf32>, %k: tensor<1x2x7x8xf32>, %v: tensor<1x2x6x3xf32>) {
  // expected-error@+1 {{C1: sizes do not agree}}
  %0 = nn.attention <nan> %q, %k, %v scale 1.0 : tensor<1x4x5x8xf32>, tensor<1x2x7x8xf32>, tensor<1x2x6x3xf32> -> tensor<1x4x5x3xf32>
  return
}

// -----

func.func @f(%q: tensor<1x4x5x8xf32>, %k: tensor<1x3x6x8xf32>, %v: tensor<1x3x6x3xf32>) {
  // expected-error@+1 {{C2: 4 query heads are no multiple of 3 key heads}}
  %0 = nn.attention <nan> %q, %k, %v scale 1.0 : tensor<1x4x5x8xf32>, tensor<1x3x6x8xf32>, tensor<1x3x6x3xf32> -> tensor<1x4x5x3xf32>
  return
}

// -----

func.func @f(%q: tensor<1x4x5x8xf32>, %k: tensor<1x2x6x8xf32>, %v: tensor<1x2x6x3xf32>, %m: tensor<1x2x5x6xf32>) {
  // expected-error@+1 {{C3: mask 'tensor<1x2x5x6xf32>' does not fit the scores}}
  %0 = nn.attention <nan> %q, %k, %v mask %m : tensor<1x2x5x6xf32> scale 1.0 : tensor<1x4x5x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x3xf32> -> tensor<1x4x5x3xf32>
  return
}

// -----

func.func @f(%q: tensor<1x4x5x8xf32>, %k: tensor<1x2x6x8xf32>, %v: tensor<1x2x6x3xf32>, %m: tensor<1x1x5x6xi64>) {
  // expected-error@+1 {{C3: mask 'tensor<1x1x5x6xi64>' does not fit the scores}}
  %0 = nn.attention <nan> %q, %k, %v mask %m : tensor<1x1x5x6xi64> scale 1.0 : tensor<1x4x5x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x3xf32> -> tensor<1x4x5x3xf32>
  return
}

// -----

func.func @f(%q: tensor<1x4x5x8xf32>, %k: tensor<1x2x6x8xf16>, %v: tensor<1x2x6x3xf32>) {
  // expected-error@+1 {{C4: element types do not agree}}
  %0 = nn.attention <nan> %q, %k, %v scale 1.0 : tensor<1x4x5x8xf32>, tensor<1x2x6x8xf16>, tensor<1x2x6x3xf32> -> tensor<1x4x5x3xf16>
  return
}

// -----

// expected-error@+1 {{C1: the body must end in a yield of the results' types}}
nn.kernel @k(%x: tensor<2xf32>) -> tensor<3xf32> attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64} {
  nn.yield %x : tensor<2xf32>
}

// -----

// expected-error@+1 {{C2: units and parts must be at least 1 and scratch at least 0}}
nn.kernel @k(%x: tensor<2xf32>) -> tensor<2xf32> attributes {schedule = #nn.schedule<map>, units = 0 : i64, scratch = 0 : i64} {
  nn.yield %x : tensor<2xf32>
}

// -----

// expected-error@+1 {{C2: units and parts must be at least 1 and scratch at least 0}}
nn.kernel @k(%x: tensor<2xf32>) -> tensor<2xf32> attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = -1 : i64} {
  nn.yield %x : tensor<2xf32>
}

// -----

// expected-error@+1 {{C2: units and parts must be at least 1 and scratch at least 0}}
nn.kernel @k(%x: tensor<2xf32>) -> tensor<2xf32> attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, parts = 0 : i64} {
  nn.yield %x : tensor<2xf32>
}

// -----

// expected-error@+1 {{C2: only a product is divided into parts}}
nn.kernel @k(%x: tensor<2xf32>) -> tensor<2xf32> attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, parts = 2 : i64} {
  nn.yield %x : tensor<2xf32>
}

// -----

zero.state @w "w" : tensor<2xf32> role(<parameter>) source(#zero.splat<0.0 : f32>)
// expected-error@+1 {{C3: the body holds an operation with side effects: zero.use}}
nn.kernel @k() -> tensor<2xf32> attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64} {
  %0 = zero.use @w : tensor<2xf32>
  nn.yield %0 : tensor<2xf32>
}

// -----

// expected-error@+1 {{C4: a kernel without a body needs a cost}}
nn.kernel private @k(tensor<2xf32>) -> tensor<2xf32> attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64}

// -----

// expected-error@+1 {{panels are cut along dimension 0 or 1, not 2}}
#panels = #nn.panels<2>

// -----

nn.kernel @k(%x: tensor<4x32xf32>, %w: tensor<32x40xf32> {nn.layout = #nn.panels<1>, nn.tiled}) -> tensor<4x40xf32>
    attributes {schedule = #nn.schedule<gemm>, units = 3 : i64, scratch = 0 : i64} {
  %0 = nn.matmul %x, %w : tensor<4x32xf32>, tensor<32x40xf32> -> tensor<4x40xf32>
  nn.yield %0 : tensor<4x40xf32>
}
func.func @f(%x: tensor<4x32xf32>, %w: tensor<32x40xf32>, %y: tensor<4x40xf32>) {
  // expected-error@+1 {{C1: no kernel @other}}
  %0 = nn.call @other(%x, %w) : (tensor<4x32xf32>, tensor<32x40xf32>) -> tensor<4x40xf32>
  return
}

// -----

nn.kernel @k(%x: tensor<4x32xf32>, %w: tensor<32x40xf32> {nn.layout = #nn.panels<1>, nn.tiled}) -> tensor<4x40xf32>
    attributes {schedule = #nn.schedule<gemm>, units = 3 : i64, scratch = 0 : i64} {
  %0 = nn.matmul %x, %w : tensor<4x32xf32>, tensor<32x40xf32> -> tensor<4x40xf32>
  nn.yield %0 : tensor<4x40xf32>
}
func.func @f(%x: tensor<4x32xf32>, %w: tensor<32x40xf32>, %y: tensor<4x40xf32>) {
  // expected-error@+1 {{C1: operands or results do not fit @k}}
  %0 = nn.call @k(%x) : (tensor<4x32xf32>) -> tensor<4x40xf32>
  return
}

// -----

nn.kernel @k(%x: tensor<4x32xf32>, %w: tensor<32x40xf32> {nn.layout = #nn.panels<1>, nn.tiled}) -> tensor<4x40xf32>
    attributes {schedule = #nn.schedule<gemm>, units = 3 : i64, scratch = 0 : i64} {
  %0 = nn.matmul %x, %w : tensor<4x32xf32>, tensor<32x40xf32> -> tensor<4x40xf32>
  nn.yield %0 : tensor<4x40xf32>
}
func.func @f(%x: tensor<4x32xf32>, %w: tensor<32x40xf32>, %t: tensor<32x32xf32>) {
  // expected-error@+1 {{C1: operand 1 is 'tensor<32x32xf32>', @k takes 'tensor<32x40xf32>'}}
  %0 = nn.call @k(%x, %t) : (tensor<4x32xf32>, tensor<32x32xf32>) -> tensor<4x40xf32>
  return
}

// -----

nn.kernel @k(%x: tensor<4x32xf32>, %w: tensor<32x40xf32> {nn.layout = #nn.panels<1>, nn.tiled}) -> tensor<4x40xf32>
    attributes {schedule = #nn.schedule<gemm>, units = 3 : i64, scratch = 0 : i64} {
  %0 = nn.matmul %x, %w : tensor<4x32xf32>, tensor<32x40xf32> -> tensor<4x40xf32>
  nn.yield %0 : tensor<4x40xf32>
}
func.func @f(%x: tensor<4x32xf32>, %w: tensor<32x40xf32>, %t: tensor<2x32xf32>, %y: tensor<4x40xf32>) {
  // expected-error@+1 {{C1: operand 0 is 'tensor<2x32xf32>'}}
  %0 = nn.call @k(%t, %w) units [0, 1] into (%y : tensor<4x40xf32>) : (tensor<2x32xf32>, tensor<32x40xf32>) -> tensor<4x40xf32>
  return
}

// -----

nn.kernel @k(%x: tensor<4x32xf32>, %w: tensor<32x40xf32> {nn.layout = #nn.panels<1>, nn.tiled}) -> tensor<4x40xf32>
    attributes {schedule = #nn.schedule<gemm>, units = 3 : i64, scratch = 0 : i64} {
  %0 = nn.matmul %x, %w : tensor<4x32xf32>, tensor<32x40xf32> -> tensor<4x40xf32>
  nn.yield %0 : tensor<4x40xf32>
}
func.func @f(%x: tensor<4x32xf32>, %w: tensor<32x40xf32>, %y: tensor<4x40xf32>) {
  // expected-error@+1 {{C2: there must be one into per result, of its type}}
  %0 = nn.call @k(%x, %w) into (%x : tensor<4x32xf32>) : (tensor<4x32xf32>, tensor<32x40xf32>) -> tensor<4x40xf32>
  return
}

// -----

nn.kernel @k(%x: tensor<4x32xf32>, %w: tensor<32x40xf32> {nn.layout = #nn.panels<1>, nn.tiled}) -> tensor<4x40xf32>
    attributes {schedule = #nn.schedule<gemm>, units = 3 : i64, scratch = 0 : i64} {
  %0 = nn.matmul %x, %w : tensor<4x32xf32>, tensor<32x40xf32> -> tensor<4x40xf32>
  nn.yield %0 : tensor<4x40xf32>
}
func.func @f(%x: tensor<4x32xf32>, %w: tensor<32x40xf32>, %y: tensor<4x40xf32>) {
  // expected-error@+1 {{C2: units must be [begin, end) with begin < end}}
  %0 = nn.call @k(%x, %w) units [1, 1] into (%y : tensor<4x40xf32>) : (tensor<4x32xf32>, tensor<32x40xf32>) -> tensor<4x40xf32>
  return
}

// -----

nn.kernel @k(%x: tensor<4x32xf32>, %w: tensor<32x40xf32> {nn.layout = #nn.panels<1>, nn.tiled}) -> tensor<4x40xf32>
    attributes {schedule = #nn.schedule<gemm>, units = 3 : i64, scratch = 0 : i64} {
  %0 = nn.matmul %x, %w : tensor<4x32xf32>, tensor<32x40xf32> -> tensor<4x40xf32>
  nn.yield %0 : tensor<4x40xf32>
}
func.func @f(%x: tensor<4x32xf32>, %w: tensor<32x40xf32>, %y: tensor<4x40xf32>) {
  // expected-error@+1 {{C2: a range of units needs one into per result}}
  %0 = nn.call @k(%x, %w) units [0, 1] : (tensor<4x32xf32>, tensor<32x40xf32>) -> tensor<4x40xf32>
  return
}

// -----

nn.kernel @k(%x: tensor<4x32xf32>, %w: tensor<32x40xf32> {nn.layout = #nn.panels<1>, nn.tiled}) -> tensor<4x40xf32>
    attributes {schedule = #nn.schedule<gemm>, units = 3 : i64, scratch = 0 : i64} {
  %0 = nn.matmul %x, %w : tensor<4x32xf32>, tensor<32x40xf32> -> tensor<4x40xf32>
  nn.yield %0 : tensor<4x40xf32>
}
func.func @f(%x: tensor<4x32xf32>, %w: tensor<32x40xf32>, %y: tensor<4x40xf32>) {
  // expected-error@+1 {{C2: units end at 4, the kernel has 3}}
  %0 = nn.call @k(%x, %w) units [0, 4] into (%y : tensor<4x40xf32>) : (tensor<4x32xf32>, tensor<32x40xf32>) -> tensor<4x40xf32>
  return
}

// -----

func.func @f(%x: tensor<8x9xf32>) {
  // expected-error@+1 {{C1: ranks, strides, dilations or element types do not agree}}
  %0 = nn.windows %x strides [0] dilations [1] : tensor<8x9xf32> -> tensor<8x3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<8x9xf32>) {
  // expected-error@+1 {{C2: windows reach element 10 of dimension 1, whose size is 9}}
  %0 = nn.windows %x strides [2] dilations [1] : tensor<8x9xf32> -> tensor<8x3x5xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x9xf32>, %f: tensor<6x4x3xf32>) {
  // expected-error@+1 {{C1: ranks, strides, dilations or low do not agree}}
  %0 = nn.conv %x, %f strides [1, 1] dilations [1] low [0] groups 1 : tensor<1x4x9xf32>, tensor<6x4x3xf32> -> tensor<1x6x7xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x9xf32>, %f: tensor<6x4x3xf32>) {
  // expected-error@+1 {{C2: channels do not agree: 'tensor<1x4x9xf32>', 'tensor<6x4x3xf32>' and 'tensor<1x6x7xf32>' in 2 groups}}
  %0 = nn.conv %x, %f strides [1] dilations [1] low [0] groups 2 : tensor<1x4x9xf32>, tensor<6x4x3xf32> -> tensor<1x6x7xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x9xf32>, %f: tensor<6x4x3xf16>) {
  // expected-error@+1 {{C3: element types do not agree, or are i1}}
  %0 = nn.conv %x, %f strides [1] dilations [1] low [0] groups 1 : tensor<1x4x9xf32>, tensor<6x4x3xf16> -> tensor<1x6x7xf16>
  return
}

// -----

func.func @f(%a: tensor<2x3xi8>) {
  // expected-error@+1 {{C1: bits must be 1, 2 or 4, not 3}}
  %0 = nn.unpack %a bits 3 : tensor<2x3xi8> -> tensor<2x6xi8>
  return
}

// -----

func.func @f(%a: tensor<2x3xi8>) {
  // expected-error@+1 {{C2: 'tensor<2x3xi8>' of 4 bits does not unpack to 'tensor<4x3xi8>'}}
  %0 = nn.unpack %a bits 4 : tensor<2x3xi8> -> tensor<4x3xi8>
  return
}

// -----

func.func @f(%a: tensor<2x3xi32>) {
  // expected-error@+1 {{C2: 'tensor<2x3xi32>' of 4 bits does not unpack}}
  %0 = nn.unpack %a bits 4 : tensor<2x3xi32> -> tensor<2x6xi32>
  return
}

// -----

func.func @f(%a: tensor<i8>) {
  // expected-error@+1 {{C2: 'tensor<i8>' of 4 bits does not unpack}}
  %0 = nn.unpack %a bits 4 : tensor<i8> -> tensor<i8>
  return
}
