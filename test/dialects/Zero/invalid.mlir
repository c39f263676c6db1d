// RUN: spillway-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{C1: the type must be a static tensor of integers or floats}}
zero.state @w "w" : tensor<?xf32> role(<parameter>) source(#zero.splat<0.0 : f32>)

// -----

// expected-error@+1 {{C1: the type must be a static tensor of integers or floats}}
zero.state @w "w" : f32 role(<parameter>) source(#zero.splat<0.0 : f32>)

// -----

// expected-error@+1 {{C2: a panel layout needs rank 2, not 1}}
zero.state @w "w" : tensor<4xf32> role(<parameter>) layout(<0>) source(#zero.splat<0.0 : f32>)

// -----

// expected-error@+1 {{C3: a tile must have at least one unit}}
zero.state @w "w" : tensor<4xf32> role(<parameter>) tile(0) source(#zero.splat<0.0 : f32>)

// -----

// expected-error@+1 {{C3: home must have one tier, or one per tile (2), not 3}}
zero.state @w "w" : tensor<4xf32> role(<parameter>) tile(2) home([#zero.tier<nvme>, #zero.tier<nvme>, #zero.tier<nvme>]) source(#zero.splat<0.0 : f32>)

// -----

// expected-error@+1 {{C4: the source has 15 bytes, the tensor 16}}
zero.state @w "w" : tensor<4xf32> role(<parameter>) source(#zero.file<"m.onnx", 0, 15>)

// -----

// expected-error@+1 {{a linked state needs a raw file as its source}}
zero.state @w "w" : tensor<4xf32> role(<parameter>) source(#zero.splat<0.0 : f32>) {zero.linked}

// -----

// expected-error@+1 {{a linked state needs a raw file as its source}}
zero.state @w "w" : tensor<2xi64> role(<parameter>) source(#zero.file<"m.onnx", 0, 3, varint = true>) {zero.linked}

// -----

// expected-error@+1 {{C4: a source is rounded to f16 or bf16, not to 'f32'}}
zero.state @w "w" : tensor<4xf32> role(<twin>) source(#zero.rounded<#zero.splat<0.0 : f32>>)

// -----

// expected-error@+1 {{C4: the source has 8 bytes, the tensor 16}}
zero.state @w "w" : tensor<4xbf16> role(<twin>) source(#zero.rounded<#zero.file<"w.bin", 0, 8>>)

// -----

// expected-error@+1 {{C4: the splat must have the element type}}
zero.state @w "w" : tensor<4xf32> role(<parameter>) source(#zero.splat<0.0 : f16>)

// -----

// expected-error@+1 {{C4: the elements must have the state's type}}
zero.state @w "w" : tensor<4xf32> role(<parameter>) source(dense<0.0> : tensor<3xf32>)

// -----

zero.state @w "w" : tensor<32x40xf32> role(<parameter>) layout(<1>) tile(2) home([#zero.tier<nvme>, #zero.tier<host>])
  source(#zero.splat<0.0 : f32>)
func.func @f() {
  // expected-error@+1 {{C1: no state @other}}
  %0 = zero.use @other : tensor<32x40xf32>
  return
}

// -----

zero.state @w "w" : tensor<32x40xf32> role(<parameter>) layout(<1>) tile(2) home([#zero.tier<nvme>, #zero.tier<host>])
  source(#zero.splat<0.0 : f32>)
func.func @f() {
  // expected-error@+1 {{C1: the result must be 'tensor<32x40xf32>'}}
  %0 = zero.use @w : tensor<32x32xf32>
  return
}

// -----

zero.state @w "w" : tensor<32x40xf32> role(<parameter>) layout(<1>) tile(2) home([#zero.tier<nvme>, #zero.tier<host>])
  source(#zero.splat<0.0 : f32>)
func.func @f() {
  // expected-error@+1 {{C1: the result must be 'tensor<32x8xf32>'}}
  %0 = zero.use @w tile 1 : tensor<32x32xf32>
  return
}

// -----

zero.state @w "w" : tensor<32x40xf32> role(<parameter>) layout(<1>) tile(2) home([#zero.tier<nvme>, #zero.tier<host>])
  source(#zero.splat<0.0 : f32>)
func.func @f() {
  // expected-error@+1 {{C2: no tile 2, @w has 2}}
  %0 = zero.use @w tile 2 : tensor<32x8xf32>
  return
}

// -----

zero.state @w "w" : tensor<32x40xf32> role(<parameter>) layout(<1>) tile(2) home([#zero.tier<nvme>, #zero.tier<host>])
  source(#zero.splat<0.0 : f32>)
func.func @f(%i: tensor<3xi64>) {
  // expected-error@+1 {{C1: no state @other}}
  %0 = zero.lookup @other[%i] : tensor<3xi64> -> tensor<3x40xf32>
  return
}

// -----

zero.state @s "s" : tensor<f32> role(<parameter>) source(#zero.splat<0.0 : f32>)
func.func @f(%i: tensor<3xi64>) {
  // expected-error@+1 {{C1: the state has no rows}}
  %0 = zero.lookup @s[%i] : tensor<3xi64> -> tensor<3xf32>
  return
}

// -----

zero.state @w "w" : tensor<32x40xf32> role(<parameter>) layout(<1>) tile(2) home([#zero.tier<nvme>, #zero.tier<host>])
  source(#zero.splat<0.0 : f32>)
func.func @f(%i: tensor<3xi64>) {
  // expected-error@+1 {{C2: the result must be 'tensor<3x40xf32>'}}
  %0 = zero.lookup @w[%i] : tensor<3xi64> -> tensor<3x32xf32>
  return
}

// -----

zero.state @w "w" : tensor<32x40xf32> role(<parameter>) layout(<1>) tile(2) home([#zero.tier<nvme>, #zero.tier<host>])
  source(#zero.splat<0.0 : f32>)
func.func @f() {
  // expected-error@+1 {{C1: the handle must hold 'tensor<32x32xf32>' in device}}
  %0 = zero.fetch @w tile 0 to <device> : <tensor<32x32xf32>, host>
  return
}

// -----

zero.state @w "w" : tensor<32x40xf32> role(<parameter>) layout(<1>) tile(2) home([#zero.tier<nvme>, #zero.tier<host>])
  source(#zero.splat<0.0 : f32>)
func.func @f() {
  // expected-error@+1 {{C1: the handle must hold 'tensor<32x8xf32>' in host}}
  %0 = zero.fetch @w tile 1 to <host> : <tensor<32x32xf32>, host>
  return
}

// -----

zero.state @w "w" : tensor<32x40xf32> role(<parameter>) layout(<1>) tile(2) home([#zero.tier<nvme>, #zero.tier<host>])
  source(#zero.splat<0.0 : f32>)
func.func @f() {
  // expected-error@+1 {{C2: no tile 2, @w has 2}}
  %0 = zero.fetch @w tile 2 to <host> : <tensor<32x8xf32>, host>
  return
}

// -----

zero.state @w "w" : tensor<32x40xf32> role(<parameter>) layout(<1>) tile(2) home([#zero.tier<nvme>, #zero.tier<host>])
  source(#zero.splat<0.0 : f32>)
func.func @f() {
  // expected-error@+1 {{C2: from nvme a tile cannot be fetched to nvme}}
  %0 = zero.fetch @w tile 0 to <nvme> : <tensor<32x32xf32>, nvme>
  return
}

// -----

zero.state @w "w" : tensor<32x40xf32> role(<parameter>) layout(<1>) tile(2) home([#zero.tier<nvme>, #zero.tier<host>])
  source(#zero.splat<0.0 : f32>)
func.func @f() {
  // expected-error@+1 {{C2: from host a tile cannot be fetched to device}}
  %0 = zero.fetch @w tile 1 to <device> : <tensor<32x8xf32>, device>
  return
}

// -----

zero.state @w "w" : tensor<32x40xf32> role(<parameter>) layout(<1>) tile(2) home([#zero.tier<nvme>, #zero.tier<host>])
  source(#zero.splat<0.0 : f32>)
func.func @f() {
  %h = zero.fetch @w tile 0 to <host> : <tensor<32x32xf32>, host>
  // expected-error@+1 {{C1: cannot move}}
  %0 = zero.move %h to <host> : <tensor<32x32xf32>, host> -> <tensor<32x32xf32>, host>
  return
}

// -----

zero.state @w "w" : tensor<32x40xf32> role(<parameter>) layout(<1>) tile(2) home([#zero.tier<nvme>, #zero.tier<host>])
  source(#zero.splat<0.0 : f32>)
func.func @f() {
  %h = zero.fetch @w tile 0 to <host> : <tensor<32x32xf32>, host>
  // expected-error@+1 {{C1: cannot move}}
  %0 = zero.move %h to <nvme> : <tensor<32x32xf32>, host> -> <tensor<32x32xf32>, nvme>
  return
}

// -----

zero.state @w "w" : tensor<32x40xf32> role(<parameter>) layout(<1>) tile(2) home([#zero.tier<nvme>, #zero.tier<host>])
  source(#zero.splat<0.0 : f32>)
func.func @f() {
  %h = zero.fetch @w tile 0 to <host> : <tensor<32x32xf32>, host>
  // expected-error@+1 {{C1: cannot move}}
  %0 = zero.move %h to <device> : <tensor<32x32xf32>, host> -> <tensor<32x8xf32>, device>
  return
}

// -----

zero.state @w "w" : tensor<32x40xf32> role(<parameter>) layout(<1>) tile(2) home([#zero.tier<nvme>, #zero.tier<host>])
  source(#zero.splat<0.0 : f32>)
func.func @f() {
  %h = zero.fetch @w tile 0 to <host> : <tensor<32x32xf32>, host>
  // expected-error@+1 {{C1: the handle holds 'tensor<32x32xf32>'}}
  %0 = zero.view %h : <tensor<32x32xf32>, host> -> tensor<32x8xf32>
  return
}

// -----

// expected-error@+1 {{C5: a partition must be between 1 and 65536 ranks}}
zero.state @w "w" : tensor<4xf32> role(<parameter>) partition(0) source(#zero.splat<0.0 : f32>)

// -----

// expected-error@+1 {{C5: a partition must be between 1 and 65536 ranks}}
zero.state @w "w" : tensor<4xf32> role(<parameter>) partition(65537) source(#zero.splat<0.0 : f32>)

// -----

// expected-error@+1 {{C5: a tile over 2 ranks must be a multiple of 4 units}}
zero.state @w "w" : tensor<32x104xf32> role(<parameter>) layout(<1>) tile(2) partition(2) source(#zero.splat<0.0 : f32>)

// -----

zero.state @w "w" : tensor<32x104xf32> role(<parameter>) layout(<1>) source(#zero.splat<0.0 : f32>)
func.func @f() {
  // expected-error@+1 {{C3: @w is not partitioned}}
  %0 = zero.fetch @w part to <host> : <tensor<32x64xf32>, host>
  return
}

// -----

zero.state @w "w" : tensor<32x104xf32> role(<parameter>) layout(<1>) tile(4) partition(2) source(#zero.splat<0.0 : f32>)
func.func @f() {
  // expected-error@+1 {{C3: a part is of one tile; @w has several}}
  %0 = zero.fetch @w part to <host> : <tensor<32x64xf32>, host>
  return
}

// -----

zero.state @w "w" : tensor<32x104xf32> role(<parameter>) layout(<1>) partition(2) source(#zero.splat<0.0 : f32>)
func.func @f() {
  // expected-error@+1 {{C1: the handle must hold 'tensor<32x64xf32>' in host}}
  %0 = zero.fetch @w part to <host> : <tensor<32x104xf32>, host>
  return
}

// -----

zero.state @w "w" : tensor<32x104xf32> role(<parameter>) layout(<1>) partition(2) source(#zero.splat<0.0 : f32>)
func.func @f() {
  %h = zero.fetch @w to <host> : <tensor<32x104xf32>, host>
  // expected-error@+1 {{C1: the source must be a part that was fetched}}
  %0 = zero.gather %h : <tensor<32x104xf32>, host> -> <tensor<32x104xf32>, host>
  return
}

// -----

zero.state @w "w" : tensor<32x104xf32> role(<parameter>) layout(<1>) partition(2) source(#zero.splat<0.0 : f32>)
func.func @f() {
  %h = zero.fetch @w part to <host> : <tensor<32x64xf32>, host>
  %w = zero.gather %h : <tensor<32x64xf32>, host> -> <tensor<32x104xf32>, host>
  // expected-error@+1 {{C1: the source must be a part, not gathered yet}}
  %0 = zero.gather %w : <tensor<32x104xf32>, host> -> <tensor<32x104xf32>, host>
  return
}

// -----

zero.state @w "w" : tensor<32x104xf32> role(<parameter>) layout(<1>) partition(2) source(#zero.splat<0.0 : f32>)
func.func @f() {
  %h = zero.fetch @w part to <host> : <tensor<32x64xf32>, host>
  // expected-error@+1 {{C2: the result must be '!zero.handle<tensor<32x104xf32>, host>'}}
  %0 = zero.gather %h : <tensor<32x64xf32>, host> -> <tensor<32x104xf32>, device>
  return
}

// -----

zero.state @w "w" : tensor<4xf32> role(<moment>) rewritten source(#zero.splat<0.0 : f32>)
func.func @f(%x: tensor<5xf32>) {
  // expected-error@+1 {{C1: the value of @w must be 'tensor<4xf32>'}}
  zero.update [@w] (%x) : tensor<5xf32>
  return
}

// -----

zero.state @w "w" : tensor<4xf32> role(<moment>) rewritten source(#zero.splat<0.0 : f32>)
func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{C1: there must be one value for each state}}
  zero.update [@w, @w] (%x) : tensor<4xf32>
  return
}

// -----

zero.state @w "w" : tensor<4xf32> role(<moment>) rewritten source(#zero.splat<0.0 : f32>)
func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{C2: no tile 1, @w has 1}}
  zero.update [@w] tile 1 (%x) : tensor<4xf32>
  return
}

// -----

zero.state @w "w" : tensor<4xf32> role(<moment>) rewritten source(#zero.splat<0.0 : f32>)
func.func @f(%x: tensor<4xf32>) {
  %h = zero.fetch @w to <host> : <tensor<4xf32>, host>
  // expected-error@+1 {{C1: the value must be the result of a call into a view of the handle}}
  zero.store %x in %h : tensor<4xf32>, <tensor<4xf32>, host>
  zero.release %h : <tensor<4xf32>, host>
  return
}

// -----

zero.state @w "w" : tensor<4xf32> role(<moment>) source(#zero.splat<0.0 : f32>)
func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{C3: @w is not rewritten}}
  zero.update [@w] (%x) : tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{C1: the handle must be '!zero.handle<tensor<4xf32>, nvme>'}}
  %s = zero.offload %x : tensor<4xf32> -> <tensor<4xf32>, host>
  return
}

// -----

zero.state @w "w" : tensor<4xf32> role(<moment>) source(#zero.splat<0.0 : f32>)
func.func @f() {
  %h = zero.fetch @w to <host> : <tensor<4xf32>, host>
  // expected-error@+1 {{C1: the handle is no offloaded value}}
  zero.settle %h : <tensor<4xf32>, host>
  zero.release %h : <tensor<4xf32>, host>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  %s = zero.offload %x : tensor<4xf32> -> <tensor<4xf32>, nvme>
  // expected-error@+1 {{C2: the handle holds 'tensor<4xf32>'}}
  %r = zero.restore %s : <tensor<4xf32>, nvme> -> tensor<5xf32>
  return
}
